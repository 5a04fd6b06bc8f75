//! Takes a URL apart and finds its addresses, once, before anything is measured.

use crate::exit::Trouble;
use http::Uri;
use judge::audit::redact;
use model::Address;
use std::net::ToSocketAddrs;

/// A URL that can be measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TargetUrl {
    /// In full, with scheme.
    pub(crate) url: String,
    /// For the `Host` header.
    pub(crate) authority: String,
    pub(crate) host: String,
    pub(crate) port: u16,
    /// Whether the scheme is https.
    pub(crate) tls: bool,
    /// Path and query.
    pub(crate) path: String,
}

const HTTP_PORT: u16 = 80;
const HTTPS_PORT: u16 = 443;

impl TargetUrl {
    /// Reads a URL; `http://` may be left out.
    pub(crate) fn parse(text: &str) -> Result<Self, Trouble> {
        // What stands before an @ may be a password, and messages end up in logs.
        let shown = redact(text).0;
        let wrong = |why: &str| Trouble::usage(format!("{shown:?} cannot be measured: {why}"));
        let full = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
        let uri: Uri = full.parse().map_err(|e| wrong(&format!("it is not a URL ({e})")))?;
        let (tls, default_port) = match uri.scheme_str() {
            Some("http") => (false, HTTP_PORT),
            Some("https") => (true, HTTPS_PORT),
            other => return Err(wrong(&format!("the scheme is {}, not http or https", other.unwrap_or("missing")))),
        };
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
        let path = uri.path_and_query().map_or("/", |p| p.as_str()).to_owned();
        let shown =
            if port == default_port { authority.host().to_owned() } else { format!("{}:{port}", authority.host()) };
        let scheme = if tls { "https" } else { "http" };
        Ok(Self { url: format!("{scheme}://{shown}{path}"), authority: shown, host, port, tls, path })
    }

    /// Scheme, host and port.
    pub(crate) fn origin(&self) -> String {
        format!("{}://{}", if self.tls { "https" } else { "http" }, self.authority)
    }

    /// Whether `other` is on the same server: scheme, host and port.
    pub(crate) fn is_same_server(&self, other: &Self) -> bool {
        (self.tls, self.port) == (other.tls, other.port) && self.host.eq_ignore_ascii_case(&other.host)
    }
}

/// All addresses of a host, in the order of the system's resolver.
pub(crate) fn resolve(host: &str, port: u16) -> Result<Vec<Address>, Trouble> {
    let found = (host, port)
        .to_socket_addrs()
        .map_err(|error| Trouble::target(format!("cannot find the host {host:?}: {error}; is the name right?")))?;
    Ok(found.map(Address::Tcp).collect())
}

/// Whether `address` belongs to this machine: only then can a socket be bound to it.
pub(crate) fn is_local(address: &Address) -> bool {
    address.tcp().is_none_or(|tcp| tcp.ip().is_loopback() || std::net::UdpSocket::bind((tcp.ip(), 0)).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_taken_apart() {
        let url = TargetUrl::parse("localhost:8080/a?b=c").unwrap();
        assert_eq!((url.host.as_str(), url.port, url.path.as_str()), ("localhost", 8080, "/a?b=c"));
        assert_eq!((url.authority.as_str(), url.url.as_str()), ("localhost:8080", "http://localhost:8080/a?b=c"));
        let url = TargetUrl::parse("http://[::1]:81").unwrap();
        assert_eq!((url.host.as_str(), url.port, url.authority.as_str()), ("::1", 81, "[::1]:81"));
        assert_eq!(TargetUrl::parse("http://x/").unwrap().authority, "x");
        let url = TargetUrl::parse("https://x/y").unwrap();
        assert_eq!((url.tls, url.port, url.authority.as_str(), url.url.as_str()), (true, 443, "x", "https://x/y"));
        assert_eq!(TargetUrl::parse("https://x:80/").unwrap().authority, "x:80");
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
