//! URL of a target, taken apart.

use crate::InputError;
use http::Uri;
use model::{Protocol, Redacted};
use std::path::PathBuf;

/// A URL that can be measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetUrl {
    /// In full, with scheme.
    pub url: String,
    /// For the `Host` header.
    pub authority: String,
    /// Name or IP address, without brackets.
    pub host: String,
    /// That of the URL, or the default of its scheme; 0 of a Unix socket.
    pub port: u16,
    /// What it begins with.
    pub scheme: Scheme,
    /// Unix socket that the URL names in place of host and port.
    pub socket: Option<PathBuf>,
    /// Path and query.
    pub path: String,
}

/// Scheme of a URL that can be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// `http://`
    Http,
    /// `https://`
    Https,
    /// `fastcgi://` and `fastcgi+unix:`
    FastCgi,
}

/// Name and default port of each.
const SCHEMES: [(Scheme, &str, u16); 3] =
    [(Scheme::Http, "http", 80), (Scheme::Https, "https", 443), (Scheme::FastCgi, "fastcgi", 9000)];
/// Begin of a URL with a Unix socket: `fastcgi+unix:SOCKET:PATH`.
const FASTCGI_UNIX: &str = "fastcgi+unix:";

impl TargetUrl {
    /// Reads a URL; `http://` may be left out.
    ///
    /// # Errors
    /// If it is none, names no host, holds credentials, or has another scheme.
    pub fn parse(text: &str) -> Result<Self, InputError> {
        // What stands before an @ may be a password, and messages end up in logs.
        let shown = Redacted::url(text);
        let wrong = |why: &str| InputError::new(format!("{shown:?} cannot be measured: {why}"));
        if let Some(rest) = text.strip_prefix(FASTCGI_UNIX) {
            let parts = rest.split_once(":/").filter(|(socket, _)| !socket.is_empty());
            let (socket, path) = parts
                .ok_or_else(|| wrong("write fastcgi+unix:SOCKET:PATH, as fastcgi+unix:/run/app.sock:/srv/index.php"))?;
            return Ok(Self::over_socket(text, socket, &format!("/{path}")));
        }
        // A query may hold another URL.
        let is_scheme = |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
        let has_scheme = text.split_once("://").is_some_and(|(name, _)| is_scheme(name));
        let full = if has_scheme { text.to_owned() } else { format!("http://{text}") };
        let uri: Uri = full.parse().map_err(|e| wrong(&format!("it is not a URL ({e})")))?;
        let name = uri.scheme_str().unwrap_or("missing");
        let known = SCHEMES.into_iter().find(|(_, known, _)| *known == name);
        let (scheme, _, default_port) =
            known.ok_or_else(|| wrong(&format!("the scheme is {name}, not http, https or fastcgi")))?;
        let authority = uri.authority().ok_or_else(|| wrong("it names no host"))?;
        if authority.as_str().contains('@') {
            return Err(wrong(
                "it holds credentials; give them with --auth basic:env:VAR or --auth basic:file:PATH instead",
            ));
        }
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
        let port = match authority.as_str().rsplit_once(':').filter(|(_, port)| !port.contains(']')) {
            None => default_port,
            Some(_) => {
                authority.port_u16().filter(|port| *port > 0).ok_or_else(|| wrong("its port is not 1 to 65535"))?
            }
        };
        if host.is_empty() {
            return Err(wrong("it names no host"));
        }
        // As it is displayed, a query without a path has one.
        let path = uri.path_and_query().map_or_else(|| "/".to_owned(), ToString::to_string);
        let shown =
            if port == default_port { authority.host().to_owned() } else { format!("{}:{port}", authority.host()) };
        let url = format!("{}://{shown}{path}", scheme.name());
        Ok(Self { url, authority: shown, host, port, scheme, socket: None, path })
    }

    /// FastCGI over a Unix socket.
    fn over_socket(url: &str, socket: &str, path: &str) -> Self {
        let host = "localhost".to_owned();
        Self {
            url: url.to_owned(),
            authority: host.clone(),
            host,
            port: 0,
            scheme: Scheme::FastCgi,
            socket: Some(socket.into()),
            path: path.to_owned(),
        }
    }

    /// Scheme, host and port.
    #[must_use]
    pub fn origin(&self) -> String {
        match &self.socket {
            Some(socket) => format!("{FASTCGI_UNIX}{}:", socket.display()),
            None => format!("{}://{}", self.scheme.name(), self.authority),
        }
    }

    /// True if connections are encrypted.
    #[must_use]
    pub fn is_tls(&self) -> bool {
        self.scheme == Scheme::Https
    }

    /// What is spoken there.
    #[must_use]
    pub const fn protocol(&self) -> Protocol {
        match self.scheme {
            Scheme::Http | Scheme::Https => Protocol::Http1,
            Scheme::FastCgi => Protocol::FastCgi,
        }
    }

    /// True if `other` is on the same server: scheme, host and port.
    #[must_use]
    pub fn is_same_server(&self, other: &Self) -> bool {
        (self.scheme, self.port, &self.socket) == (other.scheme, other.port, &other.socket)
            && self.host.eq_ignore_ascii_case(&other.host)
    }
}

impl Scheme {
    /// What stands before the colon.
    #[must_use]
    pub fn name(self) -> &'static str {
        SCHEMES.into_iter().find(|(scheme, ..)| *scheme == self).map_or("", |(_, name, _)| name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_taken_apart() {
        let redirected = TargetUrl::parse("localhost:8080/login?next=http://shop/").unwrap();
        assert_eq!((redirected.port, redirected.path.as_str()), (8080, "/login?next=http://shop/"));
        let url = TargetUrl::parse("localhost:8080/a?b=c").unwrap();
        assert_eq!((url.host.as_str(), url.port, url.path.as_str()), ("localhost", 8080, "/a?b=c"));
        assert_eq!((url.authority.as_str(), url.url.as_str()), ("localhost:8080", "http://localhost:8080/a?b=c"));
        let url = TargetUrl::parse("http://[::1]:81").unwrap();
        assert_eq!((url.host.as_str(), url.port, url.authority.as_str()), ("::1", 81, "[::1]:81"));
        assert_eq!(TargetUrl::parse("http://x/").unwrap().authority, "x");
        let url = TargetUrl::parse("http://x?a=b").unwrap();
        assert_eq!((url.path.as_str(), url.url.as_str()), ("/?a=b", "http://x/?a=b"));
        let url = TargetUrl::parse("https://x/y").unwrap();
        assert_eq!(
            (url.scheme, url.port, url.authority.as_str(), url.url.as_str()),
            (Scheme::Https, 443, "x", "https://x/y")
        );
        assert_eq!(TargetUrl::parse("https://x:80/").unwrap().authority, "x:80");
    }

    #[test]
    fn applications_are_reached_over_tcp_and_over_sockets() {
        let url = TargetUrl::parse("fastcgi://127.0.0.1/srv/a.php?x=1").unwrap();
        assert_eq!((url.protocol(), url.port, url.path.as_str()), (Protocol::FastCgi, 9000, "/srv/a.php?x=1"));
        assert_eq!(url.origin() + &url.path, "fastcgi://127.0.0.1/srv/a.php?x=1");
        let text = "fastcgi+unix:/run/php/fpm.sock:/srv/a.php?x=http://y";
        let url = TargetUrl::parse(text).unwrap();
        let (socket, path) = (Some(PathBuf::from("/run/php/fpm.sock")), "/srv/a.php?x=http://y");
        assert_eq!((&url.socket, url.path.as_str(), url.origin() + &url.path), (&socket, path, text.to_owned()));
        assert!(TargetUrl::parse("fastcgi+unix:/run/fpm.sock").unwrap_err().message.contains("SOCKET:PATH"));
    }

    #[test]
    fn what_cannot_be_measured_is_named_with_its_reason() {
        for (text, why) in [
            ("ftp://x/", "scheme is ftp"),
            ("http://", "not a URL"),
            ("http://user:secret@x/", "credentials"),
            ("http://x:0/", "port"),
            ("http://x:99999/", "port"),
            ("http://a b/", "not a URL"),
        ] {
            let message = TargetUrl::parse(text).unwrap_err().message;
            assert!(message.contains(why), "{text}: {message}");
        }
    }
}
