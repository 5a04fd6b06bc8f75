//! Credentials that never stand on the command line, where every user of the machine can read them.

use crate::exit::CommandError;
use crate::output::printer;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;

/// Longest secret; servers take heads of some kilobytes.
const SECRET_MAX_BYTES: u64 = 16 << 10;
/// Permission bits with which somebody else than the owner can read a file.
const READABLE_BY_OTHERS: u32 = 0o044;
const NAME: &str = "Authorization";
const FORMS: &str = "write basic:env:VAR, basic:file:PATH, bearer:env:VAR or bearer:file:PATH";

/// The header that `--auth` asks for: `SCHEME:SOURCE:NAME`. No message ever holds the secret.
pub(crate) fn header(text: &str) -> Result<(String, String), CommandError> {
    // The value may be a secret that was typed by mistake; it is not repeated.
    let wrong = || CommandError::usage(format!("--auth names no scheme and source; {FORMS}"));
    let (scheme, source) = text.split_once(':').ok_or_else(wrong)?;
    if !["basic", "bearer"].contains(&scheme) {
        return Err(wrong());
    }
    let (secret, whence) = match source.split_once(':') {
        Some(("env", name)) => (from_env(name)?, format!("the variable {name}")),
        Some(("file", path)) => (from_file("--auth", path)?, format!("the file {path}")),
        _ => return Err(CommandError::usage(not_typed("--auth", scheme))),
    };
    value(scheme, secret.trim_end_matches(['\r', '\n']))
        .map(|value| (NAME.into(), value))
        .map_err(|why| CommandError::usage(format!("--auth: {whence} {why}")))
}

/// That a secret is not typed after `flag`, where every user of the machine could read it, and the shortest other way.
pub(crate) fn not_typed(flag: &str, scheme: &str) -> String {
    let (what, file) = if scheme == "bearer" { ("TOKEN", "token") } else { ("USER:PASSWORD", "login") };
    format!(
        "{flag} takes no secret, as every user of this machine could read it there; put it into a file: \
         printf '{what}' > {file}; chmod 600 {file}; and write --auth {scheme}:file:{file} (or {scheme}:env:VAR)"
    )
}

/// True if a header would be in conflict with `--auth`.
pub(crate) fn is_authorization(header: &str) -> bool {
    header.eq_ignore_ascii_case(NAME)
}

fn value(scheme: &str, secret: &str) -> Result<String, &'static str> {
    if secret.is_empty() {
        return Err("is empty");
    }
    if scheme == "basic" {
        return match secret.contains(':') {
            true => Ok(format!("Basic {}", STANDARD.encode(secret))),
            false => Err("holds no user:password"),
        };
    }
    let value = format!("Bearer {secret}");
    if http::HeaderValue::from_str(&value).is_err() || secret.contains(char::is_whitespace) {
        return Err("holds no token: it has characters that a header cannot carry");
    }
    Ok(value)
}

fn from_env(name: &str) -> Result<String, CommandError> {
    // What cannot be the name of a variable may be the secret itself.
    if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        return Err(CommandError::usage(format!("--auth names no variable; {FORMS}")));
    }
    match std::env::var(name) {
        Ok(secret) if secret.len() as u64 > SECRET_MAX_BYTES => {
            Err(too_long("--auth", &format!("the variable {name}")))
        }
        Ok(secret) => Ok(secret),
        Err(std::env::VarError::NotPresent) => {
            Err(CommandError::usage(format!("--auth: the variable {name} is not set; is it exported?")))
        }
        Err(std::env::VarError::NotUnicode(_)) => {
            Err(CommandError::usage(format!("--auth: the variable {name} holds bytes that are no text")))
        }
    }
}

/// The content of a file for `flag`; says so when others can read it.
pub(crate) fn from_file(flag: &str, path: &str) -> Result<String, CommandError> {
    let wrong = |error| CommandError::usage(format!("{flag}: cannot read the file {path}: {error}"));
    let file = std::fs::File::open(path).map_err(wrong)?;
    let mode = file.metadata().map_err(wrong)?.permissions().mode();
    let mut secret = String::new();
    file.take(SECRET_MAX_BYTES + 1).read_to_string(&mut secret).map_err(wrong)?;
    if mode & READABLE_BY_OTHERS != 0 {
        printer::note(&format!("warning: {flag}: other users can read {path}; chmod 600 keeps it yours"));
    }
    if secret.len() as u64 > SECRET_MAX_BYTES { Err(too_long(flag, &format!("the file {path}"))) } else { Ok(secret) }
}

fn too_long(flag: &str, what: &str) -> CommandError {
    CommandError::usage(format!("{flag}: {what} has more than {SECRET_MAX_BYTES} bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_those_of_the_rfcs() {
        // RFC 7617 section 2 and RFC 6750 section 2.1.
        assert_eq!(value("basic", "Aladdin:open sesame").unwrap(), "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
        assert_eq!(value("bearer", "mF_9.B5f-4.1JqM").unwrap(), "Bearer mF_9.B5f-4.1JqM");
    }

    #[test]
    fn what_is_no_secret_is_refused_without_being_repeated() {
        for (scheme, secret) in
            [("basic", "s3cret"), ("basic", ""), ("bearer", "s3 cret"), ("bearer", "s3cret\r\nX: y")]
        {
            assert!(!value(scheme, secret).unwrap_err().contains("s3"), "{scheme} {secret}");
        }
        for text in ["s3cret", "basic:s3cret", "basic:user:s3cret", "digest:env:s3cret", "basic:env:", ""] {
            let message = header(text).unwrap_err().message;
            assert!(message.contains("basic:env:VAR") && !message.contains("s3cret"), "{text}: {message}");
        }
    }
}
