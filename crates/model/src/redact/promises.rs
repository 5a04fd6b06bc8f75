//! Promises of the redactor on arbitrary texts, and the places in which a secret is known to stand.

use super::{REDACTED, Redacted, count_secrets};

/// Places of a secret in a word or a few: what stands right before it and right behind it.
pub(super) const PLACES: [(&str, &str); 32] = [
    ("http://h/x?token=", ""),
    ("/x?page=1&api_key=", "&y=1"),
    ("?sig=", ""),
    ("/cb#access_token=", "&type=x"),
    ("/a;jsessionid=", "?x=1"),
    ("http://user:", "@h/x"),
    ("https://", "@h/"),
    ("postgres://app:", "@db:5432/shop"),
    ("redis://:", "@h"),
    ("app:", "@tcp(db:3306)/shop"),
    ("DB_PASSWORD=", ""),
    ("env=DB_PASSWORD=", " -- ./server"),
    ("--password ", " --port 80"),
    ("--api-key=", ""),
    ("password=\"", "\""),
    ("'secret' => '", "'"),
    ("{\"user\":1,\"password\": \"", "\",\"x\":1}"),
    ("\\\"token\\\":\\\"", "\\\""),
    ("Server=db;Password=", ";Port=1"),
    ("/login?next=%2Fa%3Ftoken%3D", "%26b&c=1"),
    ("Bearer ", ""),
    ("-H 'Cookie: theme=\"dark\"; s=", "' http://h/"),
    ("-H \"X-Api-Key : ", "\" http://h/"),
    ("--body '{\"x\":\"", "\"}' http://h/"),
    ("http://h/?page=1&p%61ss=", "&y=1"),
    ("web -u bob:", ""),
    ("server -- bin/mysql -u root -p", " on CPU 0"),
    ("redis-cli -a ", " ping"),
    ("redis-cli AUTH bob ", ""),
    ("curl -sSubob:", " http://h/"),
    ("openssl enc -pass pass:", " -in x"),
    ("rabbitmqctl add_user bob ", ""),
];

/// Begins of lines in which all that follows is a secret.
pub(super) const HEADERS: [&str; 7] = [
    "Authorization: Basic ",
    "Cookie: theme=\"dark\"; session=",
    "X-Api-Key : ",
    "Authorization: Digest username=\"u\", response=\"",
    "x-csrf-token:",
    "Key: ",
    "> Set-Cookie: a=b; c=",
];

/// Arguments of a process, the last of which ends with a secret.
pub(super) const ARGUMENTS: [(&str, &str); 14] = [
    ("--password", ""),
    ("", "--password="),
    ("", "DB_PASSWORD="),
    ("", "--env=DB_PASSWORD="),
    ("-H", "Cookie: "),
    ("", "-HX-Api-Key : "),
    ("--header", "Authorization:"),
    ("", "--header=Cookie: "),
    ("", "Authorization: "),
    ("--body", ""),
    ("", "--body="),
    ("-b", ""),
    ("", "-b"),
    ("-kqb", ""),
];

/// A secret as it may be, which no text has by chance.
const SECRET: &str = "S3cr3t-zK9w.Lm~7Q+x=";
/// What takes the place of a secret in a text that is tried.
const HERE: char = '\t';
/// Length of a line that a text is cut to.
const LINE_CHARS_MAX: usize = 40;

/// Takes `data` as a text, and behind its first byte as what stands before and behind a secret, a tab between them: what is
/// redacted has no secret and is the same when it is redacted again, keeps its lines and is bounded; and the secret is not
/// in it, whichever known place it has.
pub(crate) fn keep(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    check_any(&text);
    let Some((place, rest)) = data.split_first() else { return };
    let rest = String::from_utf8_lossy(rest);
    let (before, behind) = rest.split_once(HERE).unwrap_or((&rest, ""));
    if !before.contains(SECRET) && !behind.contains(SECRET) {
        check_places(usize::from(*place), before, behind);
    }
}

fn check_any(text: &str) {
    let shown = Redacted::text(text);
    assert_eq!((&Redacted::text(&shown), count_secrets(&shown)), (&shown, 0), "{text:?}");
    assert_eq!(shown.matches('\n').count(), text.matches('\n').count(), "{text:?} is shown as {shown:?}");
    assert!(shown.len() <= (text.len() + 1) * REDACTED.len(), "{text:?} is shown as {shown:?}");
    let line = Redacted::line(text, LINE_CHARS_MAX);
    assert!(!line.contains(char::is_control) && line.chars().count() <= 2 * LINE_CHARS_MAX, "{text:?}: {line:?}");
    let url = Redacted::url(text);
    assert_eq!(Redacted::url(&url), url, "{text:?}");
    let header = Redacted::header(text);
    assert_eq!(Redacted::header(&header), header, "{text:?}");
    let command = Redacted::command(text.split(' '));
    assert_eq!(Redacted::command(command.iter()), command, "{text:?}");
    let own = Redacted::own_command(text.split(' '));
    assert_eq!(Redacted::own_command(own.iter()), own, "{text:?}");
}

fn check_places(place: usize, before: &str, behind: &str) {
    let hidden = |shown: &str| assert!(!shown.contains(SECRET), "{place}, {before:?}, {behind:?}: {shown:?}");
    let (left, right) = PLACES[place % PLACES.len()];
    hidden(&Redacted::text(&format!("{before} {left}{SECRET}{right} {behind}")));
    let header = HEADERS[place % HEADERS.len()];
    hidden(&Redacted::text(&format!("{before}\n{header}{SECRET}\r\n{behind}")));
    let (flag, left) = ARGUMENTS[place % ARGUMENTS.len()];
    let last = format!("{left}{SECRET}");
    // A flag before it would take the next argument for its own.
    if !before.starts_with('-') {
        let arguments = [before, flag, &last, behind];
        hidden(&Redacted::own_command(arguments.iter().filter(|argument| !argument.is_empty())).join("\n"));
    }
    hidden(&Redacted::url(&format!("http://h/?page=1&token={SECRET}&{behind}")));
}
