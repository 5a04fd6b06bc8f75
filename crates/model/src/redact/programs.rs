//! Passwords on the command lines of programs behind flags and words whose names do not tell it: `-u NAME:PASSWORD` of any
//! program, and `-pPASSWORD` or `AUTH PASSWORD` of those that are known.

use super::names::is_reference;

/// A program, and where on its command line passwords stand.
pub(super) struct Program {
    /// Its names, without a folder; those with a `*` are begins of names.
    names: &'static [&'static str],
    /// The word behind which all this holds, such as that of a command of the program; always when it is empty.
    command: &'static str,
    /// Short flags without a value, which may stand before others in one word.
    switches: &'static str,
    flags: &'static [Flag],
    words: &'static [Word],
}

/// A flag with a password in its value. A name without a dash is the begin of a word.
struct Flag {
    name: &'static str,
    place: Place,
    value: Value,
}

/// Where the value of a flag may stand.
#[derive(Clone, Copy)]
enum Place {
    /// In the word of the flag.
    Attached,
    /// In the next word.
    Next,
    Either,
}

/// A word, or a flag without a value, and which of the words behind it that are no flags are secret.
struct Word {
    sign: &'static str,
    secrets: &'static [usize],
}

/// What of a value is secret.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Value {
    Whole,
    /// All of it, unless it is the name of a file.
    Body,
    /// What stands behind this sign, as in `NAME:PASSWORD`.
    Behind(char),
}

const ACCOUNT: Value = Value::Behind(':');
const NO_PROGRAM: Program = Program { names: &[], command: "", switches: "", flags: &[], words: &[] };

/// What holds for each program.
pub(super) const ANY_PROGRAM: Program = Program {
    flags: &[next("-u", ACCOUNT), next("-U", ACCOUNT), either("--user", ACCOUNT), either("--proxy-user", ACCOUNT)],
    ..NO_PROGRAM
};

const PROGRAMS: [Program; 29] = [
    Program {
        names: &["mysql*", "mariadb*"],
        switches: "ABCEFGHIKLNQRVXYbcdfilnqrstvwxy",
        flags: &[attached("-p", Value::Whole)],
        ..NO_PROGRAM
    },
    Program {
        names: &["mysqladmin", "mariadb-admin"],
        words: &[Word { sign: "password", secrets: &[1] }],
        ..NO_PROGRAM
    },
    Program { names: &["mycli", "mytop"], flags: &[either("-p", Value::Whole)], ..NO_PROGRAM },
    Program { names: &["mongo*", "cqlsh", "ncftp*"], flags: &[either("-p", Value::Whole)], ..NO_PROGRAM },
    Program { names: &["sqlcmd", "bcp"], flags: &[either("-P", Value::Whole)], ..NO_PROGRAM },
    Program {
        names: &["redis-*", "valkey-*", "keydb-*", "memtier_benchmark"],
        flags: &[either("-a", Value::Whole)],
        ..NO_PROGRAM
    },
    Program {
        names: &["redis-cli", "valkey-cli", "keydb-cli"],
        // With a name before the password or without.
        words: &[
            Word { sign: "AUTH", secrets: &[1, 2] },
            Word { sign: "requirepass", secrets: &[1] },
            Word { sign: "masterauth", secrets: &[1] },
        ],
        ..NO_PROGRAM
    },
    // Rules of a user.
    Program {
        names: &["redis-cli", "valkey-cli", "keydb-cli"],
        command: "SETUSER",
        flags: &[attached(">", Value::Whole)],
        ..NO_PROGRAM
    },
    Program {
        names: &["redis-server", "valkey-server", "keydb-server"],
        command: "--user",
        flags: &[attached(">", Value::Whole)],
        ..NO_PROGRAM
    },
    Program {
        names: &["curl"],
        switches: "#0123469BGIJLMNORSVZafgijklnpqsv",
        flags: &[
            either("-u", ACCOUNT),
            either("-U", ACCOUNT),
            either("-E", ACCOUNT),
            either("--cert", ACCOUNT),
            either("--proxy-cert", ACCOUNT),
            either("-b", Value::Whole),
            either("-d", Value::Body),
        ],
        ..NO_PROGRAM
    },
    Program { names: &["http", "https", "httpie", "xh", "xhs"], flags: &[either("-a", Value::Whole)], ..NO_PROGRAM },
    Program { names: &["hey", "oha"], flags: &[either("-a", ACCOUNT), either("-d", Value::Body)], ..NO_PROGRAM },
    Program { names: &["bombardier"], flags: &[either("-b", Value::Body)], ..NO_PROGRAM },
    Program {
        names: &["ab"],
        switches: "SVdhiklqrw",
        flags: &[either("-A", ACCOUNT), either("-P", ACCOUNT), either("-C", Value::Whole)],
        ..NO_PROGRAM
    },
    Program { names: &["sshpass"], switches: "v", flags: &[either("-p", Value::Whole)], ..NO_PROGRAM },
    Program { names: &["ldap*"], switches: "ACIKLMNQWZcknrtuvx", flags: &[either("-w", Value::Whole)], ..NO_PROGRAM },
    Program {
        names: &["smbclient", "smbget", "rpcclient"],
        switches: "LNEgq",
        flags: &[either("-U", Value::Behind('%')), either("--user", Value::Behind('%'))],
        ..NO_PROGRAM
    },
    Program {
        names: &["lftp"],
        flags: &[either("-u", Value::Behind(',')), either("--user", Value::Behind(','))],
        ..NO_PROGRAM
    },
    Program {
        names: &["docker", "podman", "nerdctl", "buildah", "skopeo"],
        command: "login",
        flags: &[either("-p", Value::Whole)],
        ..NO_PROGRAM
    },
    Program {
        names: &["mosquitto_pub", "mosquitto_sub", "mosquitto_rr"],
        flags: &[next("-P", Value::Whole)],
        ..NO_PROGRAM
    },
    Program {
        names: &["htpasswd", "mosquitto_passwd"],
        switches: "25BDUcdimnprsv",
        // Behind a file and a name, or behind a name alone.
        words: &[Word { sign: "-b", secrets: &[2, 3] }],
        ..NO_PROGRAM
    },
    Program {
        names: &["ipmitool"],
        switches: "Vacghv",
        flags: &[either("-P", Value::Whole), either("-k", Value::Whole), either("-y", Value::Whole)],
        ..NO_PROGRAM
    },
    Program {
        names: &[
            "snmpget",
            "snmpgetnext",
            "snmpset",
            "snmpwalk",
            "snmpbulkget",
            "snmpbulkwalk",
            "snmptable",
            "snmpstatus",
            "snmptrap",
            "snmpinform",
        ],
        flags: &[either("-A", Value::Whole), either("-X", Value::Whole), either("-c", Value::Whole)],
        ..NO_PROGRAM
    },
    Program { names: &["7z", "7za", "7zr", "7zz"], flags: &[attached("-p", Value::Whole)], ..NO_PROGRAM },
    Program {
        names: &["zip", "unzip"],
        switches: "0123456789CDFJKLMSTVWXaefgjlmnopqrtuvyz",
        flags: &[either("-P", Value::Whole)],
        ..NO_PROGRAM
    },
    Program {
        names: &["openssl"],
        flags: &[
            next("-k", Value::Whole),
            next("-K", Value::Whole),
            next("-pass", Value::Whole),
            next("-passin", Value::Whole),
            next("-passout", Value::Whole),
        ],
        // The salt may stand before the password.
        words: &[Word { sign: "passwd", secrets: &[1, 2] }],
        ..NO_PROGRAM
    },
    Program {
        names: &["rabbitmqctl"],
        words: &[
            Word { sign: "add_user", secrets: &[2] },
            Word { sign: "change_password", secrets: &[2] },
            Word { sign: "authenticate_user", secrets: &[2] },
        ],
        ..NO_PROGRAM
    },
    Program {
        names: &["vault"],
        words: &[Word { sign: "login", secrets: &[1] }, Word { sign: "unseal", secrets: &[1] }],
        ..NO_PROGRAM
    },
    Program {
        names: &["consul"],
        flags: &[either("-encrypt", Value::Whole), either("--encrypt", Value::Whole)],
        ..NO_PROGRAM
    },
];

const fn attached(name: &'static str, value: Value) -> Flag {
    Flag { name, place: Place::Attached, value }
}

const fn next(name: &'static str, value: Value) -> Flag {
    Flag { name, place: Place::Next, value }
}

const fn either(name: &'static str, value: Value) -> Flag {
    Flag { name, place: Place::Either, value }
}

/// What a word says of a program's passwords.
#[derive(Clone, Copy)]
pub(super) enum Told {
    /// A value begins at this byte of the word.
    Here { from: usize, value: Value },
    /// The next word is a value.
    Next { value: Value },
    /// A word behind it is secret, the first that is no flag being the first.
    Word { place: usize },
}

impl Program {
    /// The programs that have the name in `word`.
    pub(super) fn named(word: &str) -> impl Iterator<Item = &'static Self> {
        let name = name(word);
        PROGRAMS.iter().filter(move |program| name.is_some_and(|name| program.is_called(name)))
    }

    fn is_called(&self, name: &str) -> bool {
        self.names.iter().any(|known| match known.strip_suffix('*') {
            Some(begin) => name.starts_with(begin),
            None => name == *known,
        })
    }

    /// True if `word` is the one behind which this holds.
    pub(super) fn is_command(&self, word: &str) -> bool {
        word.eq_ignore_ascii_case(self.command)
    }

    /// True if there is no such word.
    pub(super) fn is_whole(&self) -> bool {
        self.command.is_empty()
    }

    /// What a word of the command line says.
    pub(super) fn told<'a>(&'a self, word: &'a str) -> impl Iterator<Item = Told> + 'a {
        let flags = self.flags.iter().filter_map(|flag| flag.told(word, self.switches));
        let words = self.words.iter().filter(|known| known.is_in(word, self.switches)).flat_map(|known| known.secrets);
        flags.chain(words.map(|place| Told::Word { place: *place }))
    }
}

impl Flag {
    fn told(&self, word: &str, switches: &str) -> Option<Told> {
        let from = self.value_at(word, switches)?;
        let (is_next, value) = (from == word.len(), self.value);
        match self.place {
            Place::Attached | Place::Either if !is_next => Some(Told::Here { from, value }),
            Place::Next | Place::Either if is_next => Some(Told::Next { value }),
            _ => None,
        }
    }

    /// Where the value begins in a word with this flag: at its end when it is the next word.
    fn value_at(&self, word: &str, switches: &str) -> Option<usize> {
        if let Some(letter) = letter(self.name) {
            return behind_letter(word, letter, switches);
        }
        let rest = word.strip_prefix(self.name)?;
        let is_begin = !self.name.starts_with('-');
        match rest.strip_prefix('=') {
            Some(value) if !is_begin => (!value.is_empty()).then(|| word.len() - value.len()),
            _ => (is_begin || rest.is_empty()).then_some(self.name.len()),
        }
    }
}

impl Word {
    fn is_in(&self, word: &str, switches: &str) -> bool {
        match letter(self.sign) {
            Some(letter) => behind_letter(word, letter, switches).is_some(),
            None => word.eq_ignore_ascii_case(self.sign),
        }
    }
}

impl Value {
    /// Where the secret begins in a value; none if there is none. A user and a group, `1000:1000`, are no secret, nor is a URL.
    pub(super) fn secret_at(self, value: &str) -> Option<usize> {
        match self {
            Self::Whole => (!value.is_empty() && !is_reference(value)).then_some(0),
            Self::Body => (!value.is_empty() && !value.starts_with('@')).then_some(0),
            Self::Behind(sign) => {
                let (name, password) = value.split_once(sign)?;
                let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
                let is_other =
                    password.is_empty() || password.starts_with("//") || (is_number(name) && is_number(password));
                (!is_other).then_some(name.len() + sign.len_utf8())
            }
        }
    }
}

/// What may be the name of a program in a word: its path without the folders, and without what a shell or a list has round it.
fn name(word: &str) -> Option<&str> {
    let bytes = word.as_bytes();
    let end = bytes.iter().rposition(|byte| !is_round_name(*byte))? + 1;
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-.".contains(byte);
    let start = bytes[..end].iter().rposition(|byte| !is_part(byte)).map_or(0, |place| place + 1);
    if start == end || start > 0 && !is_round_name(bytes[start - 1]) {
        return None;
    }
    let is_begin = BEGINS[begin(&bytes[start..end])];
    (is_begin && !word.starts_with('-') && !word.contains("://")).then(|| &word[start..end])
}

/// True of what may stand round the name of a program: the ends of folders, quotes, and signs of a shell and of a list.
const fn is_round_name(byte: u8) -> bool {
    matches!(byte, b'/' | b'|' | b'&' | b'(' | b'[' | b']' | b'{' | b',' | b'"' | b'\'' | b'`' | b'\\')
}

/// The begins of the names of all programs: most words of a text have another one, and are not looked for in the table.
const BEGINS: [bool; 1 << (2 * BEGIN_BITS)] = begins();
/// Bits of each of the first two letters.
const BEGIN_BITS: usize = 5;

const fn begins() -> [bool; 1 << (2 * BEGIN_BITS)] {
    let mut begins = [false; 1 << (2 * BEGIN_BITS)];
    let mut at = 0;
    while at < PROGRAMS.len() {
        let names = PROGRAMS[at].names;
        let mut of_program = 0;
        while of_program < names.len() {
            begins[begin(names[of_program].as_bytes())] = true;
            of_program += 1;
        }
        at += 1;
    }
    begins
}

/// The place of a name among the begins.
const fn begin(name: &[u8]) -> usize {
    let mask = (1 << BEGIN_BITS) - 1;
    match name {
        [first, second, ..] => ((*first as usize & mask) << BEGIN_BITS) | (*second as usize & mask),
        _ => 0,
    }
}

/// The letter of a short flag.
const fn letter(flag: &str) -> Option<u8> {
    match flag.as_bytes() {
        [b'-', letter] => Some(*letter),
        _ => None,
    }
}

/// Where what is behind a short flag begins in a word, before which only switches may stand.
fn behind_letter(word: &str, letter: u8, switches: &str) -> Option<usize> {
    let letters = word.strip_prefix('-')?.as_bytes();
    let place = letters.iter().position(|byte| *byte == letter || !switches.as_bytes().contains(byte))?;
    (letters[place] == letter).then_some(place + 2)
}
