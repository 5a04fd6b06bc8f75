//! Where a server tells of itself, from what was typed.

use crate::exit::CommandError;
use crate::settings::auth;
use crate::settings::trust::Trust;
use model::Redacted;
use std::borrow::Cow;
use std::path::PathBuf;
use url::Url;

const FLAG: &str = "--status";
const MYSQL_PORT: u16 = 3306;
const REDIS_PORT: u16 = 6379;
/// How clients call databases behind TLS.
const TLS_SCHEMES: [&str; 4] = ["rediss", "mysqls", "mysql+tls", "redis+tls"];
/// Who asks a MariaDB on a Unix socket when nobody is named.
const MYSQL_USER: &str = "root";
/// Parameters behind a URL.
const PASSWORD_FILE: &str = "password-file";
const USER: &str = "user";
const FORMS: &str = "write http://HOST/PATH, mysql://USER@HOST:PORT, mysql+unix://USER@/PATH.sock, redis://HOST:PORT \
                     or redis+unix:///PATH.sock";

/// A status page, or a database that is asked for its counters.
#[derive(Clone)]
pub(crate) struct Source {
    /// As it is shown and recorded.
    pub(crate) url: Redacted,
    pub(crate) kind: Kind,
}

#[derive(Clone)]
pub(crate) enum Kind {
    Page(Page),
    Mysql(Login),
    Redis(Login),
}

/// A status page of a web server.
#[derive(Clone)]
pub(crate) struct Page {
    /// May hold a secret and is never shown.
    pub(crate) url: String,
    pub(crate) host: String,
    pub(crate) port: u16,
    /// How certificates are checked; none without TLS.
    pub(crate) trust: Option<Trust>,
}

/// How a database is reached.
#[derive(Clone)]
pub(crate) struct Login {
    pub(crate) place: Place,
    pub(crate) user: Option<String>,
    /// Never printed.
    pub(crate) password: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Tcp(String, u16),
    Unix(PathBuf),
}

impl Source {
    /// What a text names; certificates of https:// pages are checked by `trust`.
    pub(crate) fn parse(text: &str, trust: &Trust) -> Result<Self, CommandError> {
        Self::with_variable(text, trust, |variable| std::env::var(variable).ok())
    }

    /// A page of a server that was started by plimsoll, which asks for no password: the one in a variable is of another
    /// database, and whoever took the place of the server could ask for it. Its certificate is its own.
    pub(crate) fn of_started(text: &str) -> Result<Self, CommandError> {
        Self::with_variable(text, &Trust::Any, |_| None)
    }

    /// `variable` tells the value of a variable of the environment.
    fn with_variable(
        text: &str,
        trust: &Trust,
        variable_of: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, CommandError> {
        // What may be a password is not repeated.
        let shown = Redacted::url(text);
        let wrong = |why: &str| CommandError::usage(format!("{FLAG} {shown:?} {why}; {FORMS}"));
        let (without_user, user) = socket_user(text);
        let url = Url::parse(&without_user).map_err(|error| wrong(&format!("is not a URL ({error})")))?;
        if TLS_SCHEMES.contains(&url.scheme()) {
            return Err(wrong(
                "asks for TLS; databases are asked without TLS, over loopback, a Unix socket or a tunnel",
            ));
        }
        let (scheme, is_unix) = match url.scheme().split_once('+') {
            Some((scheme, "unix")) => (scheme, true),
            Some(_) => return Err(wrong("has an unknown scheme")),
            None => (url.scheme(), false),
        };
        let variable = match scheme {
            "mysql" => "PLIMSOLL_MYSQL_PASSWORD",
            "redis" => "PLIMSOLL_REDIS_PASSWORD",
            _ => "",
        };
        if url.password().is_some() || user.is_some_and(|user| user.contains(':')) {
            let instead = if variable.is_empty() {
                String::new()
            } else {
                format!("; set {variable} or add ?{PASSWORD_FILE}=PATH")
            };
            return Err(CommandError::usage(format!(
                "{FLAG} {shown:?} holds a password, which every user of the machine can read{instead}"
            )));
        }
        match (scheme, is_unix) {
            ("http" | "https", false) if url.username().is_empty() => {
                let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else {
                    return Err(wrong("names no host"));
                };
                let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
                let trust = (scheme == "https").then(|| trust.clone());
                Ok(Self { url: shown.clone(), kind: Kind::Page(Page { url: text.to_owned(), host, port, trust }) })
            }
            ("http" | "https", false) => Err(wrong("names a user; pages that ask for one cannot be read")),
            ("mysql", _) => {
                let mut login = login(&url, (!is_unix).then_some(MYSQL_PORT), variable_of(variable), wrong)?;
                login.user = user.map(decoded).or(login.user);
                login.user.get_or_insert_with(|| MYSQL_USER.to_owned());
                Ok(Self { url: shown.clone(), kind: Kind::Mysql(login) })
            }
            ("redis", _) => {
                let mut login = login(&url, (!is_unix).then_some(REDIS_PORT), variable_of(variable), wrong)?;
                login.user = user.map(decoded).or(login.user);
                Ok(Self { url: shown.clone(), kind: Kind::Redis(login) })
            }
            _ => Err(wrong("has an unknown scheme")),
        }
    }
}

/// `SCHEME+unix://USER@/PATH` without its user, and the user: URLs have none without a host, and a Unix socket has no host.
fn socket_user(text: &str) -> (Cow<'_, str>, Option<&str>) {
    let of_socket = text.split_once("+unix://").and_then(|(scheme, rest)| {
        let (user, path) = rest.split_once("@/").filter(|(user, _)| !user.contains(['/', '?']))?;
        Some((format!("{scheme}+unix:///{path}"), user))
    });
    match of_socket {
        Some((url, user)) => (url.into(), Some(user).filter(|user| !user.is_empty())),
        None => (text.into(), None),
    }
}

/// `offered` may be the password; `wrong` makes a message of what is wrong with the URL.
fn login(
    url: &Url,
    port: Option<u16>,
    offered: Option<String>,
    wrong: impl Fn(&str) -> CommandError,
) -> Result<Login, CommandError> {
    let (mut user, mut password) = (None, offered.filter(|password| !password.is_empty()));
    for (name, value) in url.query_pairs() {
        match name.as_ref() {
            PASSWORD_FILE => {
                let secret = auth::from_file(FLAG, &value)?;
                password = Some(secret.trim_end_matches(['\r', '\n']).to_owned());
            }
            USER => user = Some(value.into_owned()),
            other => return Err(wrong(&format!("has an unknown parameter {other:?}"))),
        }
    }
    if !url.username().is_empty() {
        user = Some(decoded(url.username()));
    }
    let place = match (port, url.host_str().filter(|host| !host.is_empty())) {
        (None, None) if url.path().len() > 1 => Place::Unix(decoded(url.path()).into()),
        (None, _) => return Err(wrong("names no socket")),
        (Some(port), Some(host)) => {
            let host = host.trim_start_matches('[').trim_end_matches(']');
            Place::Tcp(host.to_owned(), url.port().unwrap_or(port))
        }
        (Some(_), None) => return Err(wrong("names no host")),
    };
    Ok(Login { place, user, password })
}

/// Text of a URL without its escapes.
fn decoded(text: &str) -> String {
    percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// PHP of a site can stand in the place of its database, and ask for a password in the clear.
    #[test]
    fn the_password_of_another_database_is_not_offered_to_one_that_was_started() {
        let password = |source: Source| match source.kind {
            Kind::Mysql(login) | Kind::Redis(login) => login.password,
            Kind::Page(_) => None,
        };
        for url in ["mysql+unix://root@/run/db.sock", "redis+unix:///run/redis.sock"] {
            let named = Source::with_variable(url, &Trust::default(), |_| Some("s3cret".into())).unwrap();
            assert_eq!(password(named).as_deref(), Some("s3cret"), "{url}");
            assert_eq!(password(Source::of_started(url).unwrap()), None, "{url}");
        }
    }

    fn parse(text: &str) -> Result<Source, CommandError> {
        Source::parse(text, &Trust::default())
    }

    #[track_caller]
    fn login(text: &str) -> Login {
        match parse(text).expect("a source").kind {
            Kind::Mysql(login) | Kind::Redis(login) => login,
            Kind::Page(_) => panic!("{text} is a page"),
        }
    }

    #[test]
    fn databases_are_reached_over_tcp_and_unix_sockets() {
        let tcp = login("mysql://me@db.example");
        assert_eq!((tcp.place, tcp.user.as_deref()), (Place::Tcp("db.example".into(), 3306), Some("me")));
        let unix = login("mysql+unix:///run/my%20db.sock?user=ob");
        assert_eq!((unix.place, unix.user.as_deref()), (Place::Unix("/run/my db.sock".into()), Some("ob")));
        let named = login("mysql+unix://o%62@/run/my.sock");
        assert_eq!((named.place, named.user.as_deref()), (Place::Unix("/run/my.sock".into()), Some("ob")));
        assert_eq!(login("redis+unix://@/r.sock").place, Place::Unix("/r.sock".into()));
        assert_eq!(login("mysql+unix:///a.sock").user.as_deref(), Some("root"));
        let redis = login("redis://[::1]:7000");
        assert_eq!((redis.place, redis.user), (Place::Tcp("::1".into(), 7000), None));
    }

    #[test]
    fn a_password_comes_from_a_file_and_never_from_the_url() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("secret");
        std::fs::write(&path, "s3cret\n").unwrap();
        let found = login(&format!("redis://h?password-file={}", path.display()));
        assert_eq!(found.password.as_deref(), Some("s3cret"));
        for text in
            ["mysql://me:s3cret@h", "redis://:s3cret@h", "mysql+unix://me:s3cret@/a.sock", "http://me:s3cret@h/"]
        {
            let message = parse(text).err().unwrap().message;
            assert!(message.contains("holds a password") && !message.contains("s3cret"), "{message}");
        }
    }

    #[test]
    fn a_page_is_asked_with_its_token_and_shown_without() {
        let source = parse("http://h/status?token=s3cret&json").unwrap();
        assert_eq!(source.url.as_str(), "http://h/status?token=<redacted>&json");
        assert!(matches!(source.kind, Kind::Page(page) if page.url == "http://h/status?token=s3cret&json"));
    }

    #[test]
    fn what_cannot_be_asked_is_named_with_what_can() {
        for (text, why) in [
            ("nginx", "is not a URL"),
            ("ftp://h/", "unknown scheme"),
            ("mysql+tls://h/", "databases are asked without TLS"),
            ("rediss://h/", "databases are asked without TLS"),
            ("mysql+ssh://h/", "unknown scheme"),
            ("http+unix:///x", "unknown scheme"),
            ("mysql+unix://", "names no socket"),
            ("mysql://h?tls=1", "unknown parameter \"tls\""),
            ("http://me@h/", "names a user"),
        ] {
            let message = parse(text).err().unwrap().message;
            assert!(message.contains(why) && message.contains("redis://HOST:PORT"), "{text}: {message}");
        }
        assert!(parse("redis://h?password-file=/no/such").err().unwrap().message.contains("/no/such"));
    }
}
