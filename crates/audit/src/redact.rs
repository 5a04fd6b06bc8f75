//! Secrets in what other tools have printed: found, and never printed again.

/// Headers whose values are secrets.
pub const SECRET_HEADERS: [&str; 5] = ["authorization", "proxy-authorization", "cookie", "x-api-key", "x-auth-token"];
/// Parameters of a URL whose values are secrets.
const SECRET_PARAMETERS: [&str; 6] = ["password=", "passwd=", "token=", "api_key=", "apikey=", "secret="];
const REDACTED: &str = "<redacted>";

/// `text` with secrets replaced, and how many there were: values of secret headers, user names and passwords in URLs,
/// secret parameters, and what follows `Basic` or `Bearer`.
#[must_use]
pub fn redact(text: &str) -> (String, u64) {
    let (text, headers) = headers(text);
    let (text, users) = userinfo(&text);
    let (text, parameters) = parameters(&text);
    (text, headers + users + parameters)
}

/// Everything behind a secret header's colon, up to the end of the line or of its quotes.
fn headers(text: &str) -> (String, u64) {
    let mut out = String::with_capacity(text.len());
    let mut found = 0;
    for line in text.split_inclusive('\n') {
        let lower = line.to_ascii_lowercase();
        let colon =
            SECRET_HEADERS.iter().filter_map(|name| lower.find(&format!("{name}:")).map(|at| at + name.len() + 1));
        let Some(from) = colon.min() else {
            out.push_str(line);
            continue;
        };
        let rest = &line[from..];
        let end = rest.find(['"', '\'', '\n', '\\']).unwrap_or(rest.len());
        if rest[..end].trim() == REDACTED || rest[..end].trim().is_empty() {
            out.push_str(line);
            continue;
        }
        found += 1;
        out.push_str(&format!("{} {REDACTED}{}", &line[..from], &rest[end..]));
    }
    (out, found)
}

/// The part before `@` in the authority of a URL.
fn userinfo(text: &str) -> (String, u64) {
    let mut out = String::with_capacity(text.len());
    let mut found = 0;
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (front, behind) = rest.split_at(at + 3);
        out.push_str(front);
        let end = behind.find(|c: char| c == '/' || c.is_whitespace() || c == '"' || c == '\'').unwrap_or(behind.len());
        match behind[..end].rfind('@') {
            Some(user) if &behind[..user] != REDACTED => {
                found += 1;
                out.push_str(REDACTED);
                rest = &behind[user..];
            }
            _ => rest = behind,
        }
    }
    out.push_str(rest);
    (out, found)
}

/// The values of secret parameters, in one pass.
fn parameters(text: &str) -> (String, u64) {
    let lower = text.to_ascii_lowercase();
    let mut out = String::with_capacity(text.len());
    let (mut from, mut found) = (0, 0);
    while let Some(equals) = text[from..].find('=').map(|at| from + at + 1) {
        out.push_str(&text[from..equals]);
        from = equals;
        if !SECRET_PARAMETERS.iter().any(|name| lower[..equals].ends_with(name)) {
            continue;
        }
        let rest = &text[from..];
        let end = rest.find(|c: char| "&\"'#;,".contains(c) || c.is_whitespace()).unwrap_or(rest.len());
        if end > 0 && &rest[..end] != REDACTED {
            out.push_str(REDACTED);
            found += 1;
            from += end;
        }
    }
    out.push_str(&text[from..]);
    (out, found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_replaced_and_counted() {
        let cases = [
            ("httperf --add-header=\"Authorization: Basic dXNlcjpwdw==\\n\" --uri=/", 1),
            ("wrk -H 'Cookie: sid=abc' http://user:pw@h/x?token=abc&y=1", 3),
            ("-H \"x-api-key: k\"", 1),
        ];
        for (text, n) in cases {
            let (kept, found) = redact(text);
            assert_eq!(found, n, "{kept}");
            for secret in ["dXNlcjpwdw", "sid=abc", "pw@", "token=abc", ": k"] {
                assert!(!kept.contains(secret), "{kept}");
            }
            assert_eq!(redact(&kept).1, 0, "what is redacted has no secret: {kept}");
        }
        let plain = "Running 30s test @ http://h/x?size=1 and mail@example.org";
        assert_eq!(redact(plain), (plain.to_owned(), 0));
    }
}
