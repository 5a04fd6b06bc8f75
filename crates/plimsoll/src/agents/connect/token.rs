//! Token of a run: the secret that a coordinator and its agents share. It comes from the environment or a file, never from a
//! command line, and is shown and stored nowhere.

use crate::exit::CommandError;
use crate::random;
use rustix::process::geteuid;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write as _};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Environment variable of the token.
pub(crate) const TOKEN_VARIABLE: &str = "PLIMSOLL_TOKEN";
/// Characters of the shortest token: whoever reaches the port can try guesses without asking anybody.
const LENGTH_MIN: usize = 32;
const LENGTH_MAX: usize = 1024;
/// Fewest bits that the characters of a token, or their differences, seem to hold: 32 random hexadecimal digits have about 117,
/// and fewer than one in a million has less than this.
const BITS_MIN: f64 = 88.0;
/// Fewest different pairs of neighbours: the same 32 digits have about 29, and a word that is repeated has as many as letters.
const PAIRS_MIN: usize = 20;
/// Random bytes of one that is made here.
const RANDOM_BYTES: usize = 32;

/// The secret.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Token(String);

/// Where a coordinator has its token from.
#[derive(Clone, Debug)]
pub(crate) enum TokenSource {
    /// It is known.
    Known(Token),
    /// It is made in this file once agents are wanted: a command that is refused, or only planned, leaves none.
    NewFile(PathBuf),
}

impl TokenSource {
    /// The file, else the environment; none if neither is given.
    pub(crate) fn find(file: Option<&Path>) -> Result<Option<Self>, CommandError> {
        let Some(file) = file else { return Ok(Token::of_environment()?.map(Self::Known)) };
        Ok(Some(Token::found(file)?.map_or_else(|| Self::NewFile(file.to_owned()), Self::Known)))
    }

    /// The token, whose file is made if it is not there.
    pub(crate) fn token(&self) -> Result<Token, CommandError> {
        match self {
            Self::Known(token) => Ok(token.clone()),
            // Another command may have made it meanwhile.
            Self::NewFile(file) => Token::found(file)?.map_or_else(|| Token::make(file), Ok),
        }
    }
}

impl fmt::Debug for Token {
    /// Without the secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

impl Token {
    /// The agent's: that of the file, else of the environment.
    pub(crate) fn of_agent(file: Option<&Path>) -> Result<Self, CommandError> {
        let found = match file {
            Some(file) => Some(Self::read(file).map_err(|error| unreadable(file, &error))??),
            None => Self::of_environment()?,
        };
        found.ok_or_else(|| {
            CommandError::usage(format!(
                "--connect needs the token of the coordinator: set {TOKEN_VARIABLE} as it is there, or write --token-file FILE"
            ))
        })
    }

    /// That of a file; none if it is not there.
    fn found(file: &Path) -> Result<Option<Self>, CommandError> {
        match Self::read(file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            read => read.map_err(|error| unreadable(file, &error))?.map(Some),
        }
    }

    /// A new one.
    pub(crate) fn random() -> Result<Self, CommandError> {
        let bytes = random::bytes::<RANDOM_BYTES>()
            .map_err(|why| CommandError::usage(format!("cannot make a token: {why}")))?;
        let mut text = String::with_capacity(2 * RANDOM_BYTES);
        for byte in bytes {
            // A string takes whatever is written.
            let _ = write!(text, "{byte:02x}");
        }
        Ok(Self(text))
    }

    /// The secret, for keys and for the environment of an agent.
    pub(crate) fn secret(&self) -> &str {
        &self.0
    }

    fn of_environment() -> Result<Option<Self>, CommandError> {
        match std::env::var_os(TOKEN_VARIABLE) {
            None => Ok(None),
            Some(text) => {
                let text = text.into_string().map_err(|_| wrong(TOKEN_VARIABLE, "is no text"))?;
                Self::checked(TOKEN_VARIABLE, &text).map(Some)
            }
        }
    }

    /// An I/O error if there is no such file, else a refusal of what it is.
    fn read(path: &Path) -> io::Result<Result<Self, CommandError>> {
        let file = File::options().read(true).custom_flags(rustix::fs::OFlags::NONBLOCK.bits() as i32).open(path)?;
        let metadata = file.metadata()?;
        let named = format!("--token-file {}", path.display());
        let is_foreign = metadata.uid() != geteuid().as_raw() && !geteuid().is_root();
        if !metadata.is_file() || is_foreign || metadata.mode() & 0o077 != 0 {
            return Ok(Err(wrong(&named, "can be read by others, or is no file of yours: chmod 600 makes it private")));
        }
        let mut text = String::new();
        file.take(LENGTH_MAX as u64 + 2).read_to_string(&mut text)?;
        Ok(Self::checked(&named, &text))
    }

    /// Puts a new one into a new file that nobody else can read.
    fn make(path: &Path) -> Result<Self, CommandError> {
        let token = Self::random()?;
        File::options()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)
            .and_then(|mut file| writeln!(file, "{}", token.0))
            .map_err(|error| CommandError::usage(format!("cannot make the token file {}: {error}", path.display())))?;
        Ok(token)
    }

    fn checked(named: &str, text: &str) -> Result<Self, CommandError> {
        let text = text.trim();
        if !(LENGTH_MIN..=LENGTH_MAX).contains(&text.len()) || !looks_random(text.as_bytes()) {
            return Err(wrong(
                named,
                &format!("is no token: {LENGTH_MIN} random characters or more, such as openssl rand -hex 32 prints"),
            ));
        }
        Ok(Self(text.to_owned()))
    }
}

/// False for what is no random text, such as a word that is repeated, a row of the alphabet or few different characters. Words
/// that follow each other look random; each guess of these takes the time of a derivation.
fn looks_random(text: &[u8]) -> bool {
    let pairs: BTreeSet<_> = text.windows(2).collect();
    let steps: Vec<u8> = text.windows(2).map(|two| two[1].wrapping_sub(two[0])).collect();
    pairs.len() >= PAIRS_MIN && bits(text).min(bits(&steps)) >= BITS_MIN
}

/// Bits in a text by how often each byte is in it (Shannon), as if each were chosen without the others.
fn bits(text: &[u8]) -> f64 {
    let mut counts = BTreeMap::new();
    text.iter().for_each(|byte| *counts.entry(byte).or_insert(0_u32) += 1);
    let n = text.len() as f64;
    counts.into_values().map(f64::from).map(|count| count * (n / count).log2()).sum()
}

fn wrong(named: &str, why: &str) -> CommandError {
    CommandError::usage(format!("{named} {why}"))
}

fn unreadable(path: &Path, error: &io::Error) -> CommandError {
    CommandError::usage(format!("cannot read --token-file {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::prelude::{BASE64_STANDARD as STANDARD, Engine};
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_token_is_long_and_never_shown() {
        let token = Token::random().expect("random numbers");
        assert_eq!(token.secret().len(), 64);
        assert_ne!(token, Token::random().expect("random numbers"));
        assert!(!format!("{token:?}").contains(token.secret()));
        let guessed = [
            "password".repeat(4),
            "password".repeat(4) + "1234",
            "0123456789".repeat(4)[..37].to_owned(),
            "abcdefgh".repeat(5) + "ij",
        ];
        let rows = ["abcdefghijklmnopqrstuvwxyz0123456789", "zyxwvutsrqponmlkjihgfedcbaZYXWVUTSRQPONMLKJIHGFEDCBA"];
        let few = ["a".repeat(64), "ab1".repeat(1000), "aabbbabaabababbbbaababaaabbabababbab".to_owned()];
        let all = guessed.iter().chain(&few).map(String::as_str).chain(rows).chain(["", "short"]);
        for text in all {
            let refused = Token::checked("PLIMSOLL_TOKEN", text).expect_err("no token").message;
            assert!(refused.contains("PLIMSOLL_TOKEN") && refused.contains("openssl"), "{refused}");
            assert!(text.len() < 32 || !refused.contains(text), "{refused}");
        }
    }

    /// In bytes, hexadecimal digits or base64, as `openssl rand` prints them.
    #[test]
    fn random_tokens_of_any_alphabet_are_taken() {
        for _ in 0..2000 {
            let hex = Token::random().expect("random numbers").0;
            let digits = &hex[..LENGTH_MIN];
            let base64 = STANDARD.encode(random::bytes::<24>().expect("random numbers"));
            for text in [hex.as_str(), digits, &base64] {
                assert!(Token::checked("PLIMSOLL_TOKEN", text).is_ok(), "{text}");
            }
        }
    }

    #[test]
    fn a_token_file_is_made_once_and_is_private() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path().join("token");
        let find = || TokenSource::find(Some(&path)).expect("it can be used").expect("it is named");
        let source = find();
        let made = source.token().expect("it is made");
        assert_eq!(std::fs::metadata(&path).expect("it is there").mode() & 0o777, 0o600);
        for source in [source, find()] {
            assert_eq!(source.token().expect("it is read"), made);
        }
        assert_eq!(Token::of_agent(Some(&path)).expect("it is read"), made);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).expect("our own file");
        let refused = Token::of_agent(Some(&path)).expect_err("others read it").message;
        assert!(refused.contains("chmod 600") && !refused.contains(made.secret()), "{refused}");
        let missing = Token::of_agent(Some(&directory.path().join("none"))).expect_err("it is not there").message;
        assert!(missing.contains("cannot read --token-file"), "{missing}");
    }
}
