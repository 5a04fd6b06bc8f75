//! What was typed, as a message may repeat it: logs keep messages, and a secret may stand where none belongs.

use model::Redacted;

/// Without the secrets that its form tells, and without an account before a host: whoever types one has taken a flag for one
/// with a URL.
pub(crate) fn shown(text: &str) -> String {
    let text = Redacted::text(Redacted::url(text).as_str()).into_inner();
    match text.rsplit_once('@') {
        Some((account, host)) if !account.is_empty() && !account.contains("://") => format!("<redacted>@{host}"),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::shown;

    #[test]
    fn secrets_are_not_repeated_in_whatever_form_they_are_typed() {
        for (typed, told) in [
            ("bob:pw@host:1", "<redacted>@host:1"),
            ("token@host", "<redacted>@host"),
            ("/run/app.sock?token=pw", "/run/app.sock?token=<redacted>"),
            ("http://h/?token=pw&a=1", "http://h/?token=<redacted>&a=1"),
            ("Authorization: Bearer pw", "Authorization: <redacted>"),
        ] {
            assert_eq!(shown(typed), told);
        }
        for plain in ["127.0.0.1:8080", "@app", "/run/app.sock", "status=200", "nginx"] {
            assert_eq!(shown(plain), plain);
        }
        assert!(!shown("http://bob:pw@h/").contains("pw"));
    }
}
