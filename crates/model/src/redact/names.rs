//! Names of headers, parameters, variables and flags whose values are secrets.

use std::iter::successors;

/// Parts of a name that make its value a secret, wherever they stand in it.
const PARTS: [&str; 13] = [
    "token",
    "secret",
    "key",
    "session",
    "sessid",
    "csrf",
    "xsrf",
    "passw",
    "passphrase",
    "cookie",
    "credential",
    "oauth",
    "nonce",
];
/// Words of a name that do the same, and begins and ends of such words.
const WORDS: [&str; 7] = ["sid", "pw", "pwd", "hmac", "jwt", "dsn", "otp"];
const BEGINS: [&str; 2] = ["auth", "sig"];
const ENDS: [&str; 2] = ["auth", "pass"];
/// Names of headers that are of a secret as a whole, and harmless as a part.
const HEADERS: [&str; 5] = ["x-bearer", "x-ticket", "x-client-cert", "x-ms-client-principal", "dpop"];
/// The same of parameters, variables and flags: a `ticket`, and not `ticket_price`.
const PARAMETERS: [&str; 5] = ["bearer", "ticket", "assertion", "client_assertion", "samlresponse"];
/// The same of flags and variables alone: `--code` of OAuth, where the parameter `code` is mostly a status.
const ARGUMENTS: [&str; 2] = ["code", "pin"];
/// Words that begin or end so and mean something else.
const HARMLESS: [&str; 9] =
    ["author", "authors", "authority", "bypass", "sigma", "signal", "signals", "signin", "signup"];
/// Last words of a name whose value says where a secret is, and not which.
const PLACES: [&str; 3] = ["file", "path", "dir"];
/// Parts of a name that means a secret in the middle of a sentence, too, where `key:` and `session:` do not.
const PLAIN: [&str; 8] = ["passw", "secret", "token", "cookie", "authorization", "csrf", "xsrf", "credential"];
/// Flags of load generators whose value is a body.
const BODIES: [&str; 6] = ["--body", "--data", "--data-raw", "--data-binary", "--data-urlencode", "--post-data"];
/// Begins of a value that says where a secret is, behind a scheme or not: `basic:env:NAME` is none.
const REFERENCES: [&str; 2] = ["env:", "file:"];
const SCHEMES: [&str; 2] = ["basic:", "bearer:"];
/// How often a name may have been escaped, as in a URL within a URL.
const ESCAPES_MAX: usize = 3;
/// Begins of flags without a value.
const SWITCHES: [&str; 7] = ["no-", "skip-", "disable-", "enable-", "allow-", "with-", "without-"];

/// True if the value of a header, or of anything else of that name, is a secret.
pub(super) fn is_secret(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    PARTS.iter().any(|part| lower.contains(part))
        || words(name).iter().any(|word| is_secret_word(word))
        || HEADERS.contains(&lower.as_str())
}

/// True if the value of a parameter, a variable or a flag is a secret, and not the place of one. In a URL a name may have any
/// of its letters escaped.
pub(super) fn is_secret_parameter(name: &str) -> bool {
    let is_place = |word: &String| PLACES.contains(&word.as_str()) || word.ends_with("file");
    let is_one = |name: &str| is_any(&PARAMETERS, name) || is_secret(name) && !words(name).last().is_some_and(is_place);
    // What was escaped may be a whole URL up to its parameter.
    let is_last = |name: &str| name.rsplit(['?', '&', ';', '#']).next().is_some_and(is_one);
    let mut readings = successors(unescaped(name), |name| unescaped(name)).take(ESCAPES_MAX);
    is_one(name) || readings.any(|name| is_last(&name))
}

/// The same of a flag or a variable on a command line, where `--code` is no status.
pub(super) fn is_secret_argument(name: &str) -> bool {
    is_any(&ARGUMENTS, name) || is_secret_parameter(name)
}

/// True if a name, without the dashes of a flag, is one of these as a whole.
fn is_any(known: &[&str], name: &str) -> bool {
    known.iter().any(|whole| name.trim_start_matches('-').eq_ignore_ascii_case(whole))
}

/// A name without its escapes; none if it has none. What is escaped twice has escapes still.
fn unescaped(name: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name.as_bytes();
    while let [first, behind @ ..] = rest {
        let escaped = if *first == b'%' { behind.first_chunk().and_then(escaped_byte) } else { None };
        bytes.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() { &behind[2..] } else { behind };
    }
    (bytes.len() < name.len()).then(|| String::from_utf8_lossy(&bytes).into_owned())
}

/// The byte that two digits stand for.
fn escaped_byte(digits: &[u8; 2]) -> Option<u8> {
    let [high, low] = digits.map(|digit| char::from(digit).to_digit(16));
    u8::try_from(high? << 4 | low?).ok()
}

/// True if the name means a secret wherever it stands before a colon.
pub(super) fn is_unmistakable(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    name.contains(['-', '_']) || PLAIN.iter().any(|part| lower.contains(part))
}

/// True of a flag whose value is a body.
pub(super) fn is_body(flag: &str) -> bool {
    BODIES.contains(&flag)
}

/// True of `env:NAME` and `file:PATH`, with a scheme before them or without.
pub(super) fn is_reference(value: &str) -> bool {
    let place = SCHEMES.iter().find_map(|scheme| value.strip_prefix(scheme)).unwrap_or(value);
    REFERENCES.iter().any(|begin| place.starts_with(begin))
}

/// True of a flag that has no value.
pub(super) fn is_switch(flag: &str) -> bool {
    let name = flag.trim_start_matches('-');
    SWITCHES.iter().any(|begin| name.starts_with(begin))
}

fn is_secret_word(word: &str) -> bool {
    let is_one = WORDS.contains(&word)
        || BEGINS.iter().any(|begin| word.starts_with(begin))
        || ENDS.iter().any(|end| word.ends_with(end));
    is_one && !HARMLESS.contains(&word)
}

/// The words of `X-Auth-Token`, `DB_PASSWORD` and `userSig`, in lower case.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for c in name.chars() {
        if !c.is_ascii_alphanumeric() || (was_lower && c.is_ascii_uppercase()) {
            words.push(String::new());
        }
        if let (true, Some(word)) = (c.is_ascii_alphanumeric(), words.last_mut()) {
            word.push(c.to_ascii_lowercase());
        }
        was_lower = c.is_ascii_lowercase();
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets_are_known_in_any_spelling() {
        for name in [
            "Authorization",
            "Proxy-Authorization",
            "cookie",
            "Set-Cookie",
            "X-Api-Key",
            "X-Auth-Token",
            "X-CSRF-Token",
            "X-WP-Nonce",
            "_wpnonce",
            "X-Session-Id",
            "sig",
            "X-Amz-Signature",
            "userSig",
            "api_key",
            "apikey",
            "jsessionid",
            "PHPSESSID",
            "DB_PASSWORD",
            "--db-Password",
            "passwd",
            "PGPASS",
            "MYSQL_PWD",
            "user%5Bpassword%5D",
            "spring.datasource.password",
            "requirepass",
            "p%61ssword",
            "%74oken",
            "user%5bp%2561ss%5d",
            "ticket",
            "client_assertion",
            "SAMLResponse",
            "bearer",
        ] {
            assert!(is_secret_parameter(name), "{name}");
        }
    }

    #[test]
    fn other_names_are_not() {
        for name in [
            "",
            "page",
            "author",
            "authority",
            "keepalive",
            "size",
            "signal",
            "sigma",
            "workers",
            "Accept",
            "design",
            "passenger_max_pool_size",
            "Location",
            "Server",
            "X-Client-Certainty",
            "DPoP-Version",
        ] {
            assert!(!is_secret(name), "{name}");
        }
        for name in
            ["ticket_price", "tickets", "client_assertion_type", "bearers", "code", "pin", "100%", "%zz%7", "p%61ge"]
        {
            assert!(!is_secret_parameter(name), "{name}");
        }
        for name in ["X-Bearer", "DPoP", "x-ticket", "X-Client-Cert", "X-MS-CLIENT-PRINCIPAL"] {
            assert!(is_secret(name), "{name}");
        }
        for name in ["p%61ssword-file", "password-file", "--ssl-keyfile", "PGPASSFILE", "key_path", "cookie-dir"] {
            assert!(!is_secret_parameter(name), "{name}");
        }
        assert!(is_switch("--no-auth") && !is_switch("--auth"));
    }
}
