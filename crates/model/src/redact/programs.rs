//! Passwords behind flags whose names do not tell it: `-u NAME:PASSWORD` of any program, and `-pPASSWORD` of those that are known.

use super::REDACTED;

/// A program, and its flags with a password as their value.
pub(super) struct Program {
    /// Begins of its name, without its folder.
    begins: &'static [&'static str],
    flags: &'static [&'static str],
    /// True if the value may stand in the same argument as the flag.
    is_attached: bool,
}

const PROGRAMS: [Program; 6] = [
    Program { begins: &["mysql", "mariadb", "mycli", "mytop"], flags: &["-p"], is_attached: true },
    Program { begins: &["sshpass"], flags: &["-p"], is_attached: true },
    Program { begins: &["redis-", "valkey-", "memtier_benchmark"], flags: &["-a"], is_attached: false },
    Program { begins: &["mongo"], flags: &["-p"], is_attached: false },
    Program { begins: &["ldap"], flags: &["-w"], is_attached: false },
    Program { begins: &["lftp", "ncftp"], flags: &["-p"], is_attached: false },
];
/// Flags of any program with `NAME:PASSWORD` as their value.
const ACCOUNTS: [&str; 4] = ["-u", "-U", "--user", "--proxy-user"];
/// The same of ab alone, as they mean other things to others.
const ACCOUNTS_OF_AB: [&str; 2] = ["-A", "-P"];

/// The program that an argument names.
pub(super) fn named(argument: &str) -> Option<&'static Program> {
    let name = base(argument);
    PROGRAMS.iter().find(|program| program.begins.iter().any(|begin| name.starts_with(begin)))
}

/// True if an argument is ab.
pub(super) fn is_ab(argument: &str) -> bool {
    base(argument) == "ab"
}

fn base(argument: &str) -> &str {
    argument.rsplit('/').next().unwrap_or(argument)
}

impl Program {
    /// True if the argument behind `flag` is a password.
    pub(super) fn takes_password(&self, flag: &str) -> bool {
        self.flags.contains(&flag)
    }

    /// The flag of an argument that has its password too.
    pub(super) fn with_password<'a>(&self, argument: &'a str) -> Option<&'a str> {
        let flag = self
            .flags
            .iter()
            .find(|flag| self.is_attached && argument.len() > flag.len() && argument.starts_with(**flag))?;
        Some(&argument[..flag.len()])
    }
}

/// True if the value of a flag may be `NAME:PASSWORD`.
pub(super) fn is_account(flag: &str, is_ab: bool) -> bool {
    ACCOUNTS.contains(&flag) || (is_ab && ACCOUNTS_OF_AB.contains(&flag))
}

/// `NAME:PASSWORD` without its password; none of any other text. A user and a group, `1000:1000`, are no secret, nor is a URL.
pub(super) fn account(value: &str) -> Option<String> {
    let (name, password) = value.split_once(':')?;
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let is_other = password.is_empty() || password.starts_with("//") || (is_number(name) && is_number(password));
    (!is_other).then(|| format!("{name}:{REDACTED}"))
}
