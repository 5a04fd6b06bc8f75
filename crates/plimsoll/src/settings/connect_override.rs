//! Where to connect instead of the host of the URL: `--unix-socket`, `--connect-to` and `--server-ip`.

use crate::exit::CommandError;
use crate::settings::target_url::{TargetUrl, resolve};
use crate::typed::shown;
use model::{Address, Redacted};
use std::net::IpAddr;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

const FORM: &str = "write for example 127.0.0.1:8080, [::1]:8080 or shop.example:443:127.0.0.1:8443";

/// Another way to the server, as it was typed; what it means depends on the URL.
pub(crate) enum Detour {
    UnixSocket(PathBuf),
    ConnectTo(String),
    ServerIp(IpAddr),
}

impl Detour {
    /// The flag that asks for it.
    pub(crate) const fn flag(&self) -> &'static str {
        match self {
            Self::UnixSocket(_) => "--unix-socket",
            Self::ConnectTo(_) => "--connect-to",
            Self::ServerIp(_) => "--server-ip",
        }
    }
}

/// Another way to the server. Request, SNI and certificate stay those of the URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ConnectOverride {
    Unix(PathBuf),
    Host { host: String, port: u16 },
}

impl ConnectOverride {
    /// What was asked for, if anything was.
    pub(crate) fn new(detour: Option<&Detour>, url: &TargetUrl) -> Result<Option<Self>, CommandError> {
        if let Some(socket) = &url.socket {
            let shown = Redacted::url(&url.url);
            return match detour.map(Detour::flag) {
                Some(flag) => {
                    Err(CommandError::usage(format!("{flag} and {shown} say two different things; leave one out")))
                }
                None => unix(&shown, socket).map(Some),
            };
        }
        match detour {
            Some(Detour::UnixSocket(path)) => {
                unix(&format!("--unix-socket {}", shown(&path.to_string_lossy())), path).map(Some)
            }
            Some(Detour::ConnectTo(text)) => host(text, url).map(Some),
            Some(Detour::ServerIp(ip)) => Ok(Some(Self::Host { host: ip.to_string(), port: url.port })),
            None => Ok(None),
        }
    }

    /// Host and port that are connected to instead of the URL's, unless it is a Unix socket.
    pub(crate) fn connect_to(&self) -> Option<String> {
        match self {
            Self::Host { host, port } if host.contains(':') => Some(format!("[{host}]:{port}")),
            Self::Host { host, port } => Some(format!("{host}:{port}")),
            Self::Unix(_) => None,
        }
    }

    /// What to try to connect to, in this order.
    pub(crate) fn addresses(&self) -> Result<Vec<Address>, CommandError> {
        match self {
            Self::Unix(path) => Ok(vec![Address::Unix(path.clone())]),
            Self::Host { host, port } => resolve(host, *port),
        }
    }
}

/// A path that is missing is the server's fault: it may not have been started.
fn unix(asked: &str, path: &Path) -> Result<ConnectOverride, CommandError> {
    let wrong = |why: &str| Err(CommandError::usage(format!("{asked}: {why}")));
    if path.to_str().is_none_or(str::is_empty) {
        return wrong("the path is empty or no UTF-8");
    }
    // A name in the abstract namespace, which has no file.
    if let Some(name) = path.to_str().and_then(|path| path.strip_prefix('@')) {
        return match rustix::net::SocketAddrUnix::new_abstract_name(name.as_bytes()) {
            Ok(_) if !name.is_empty() => Ok(ConnectOverride::Unix(path.into())),
            Ok(_) => wrong("the name of the abstract socket is empty"),
            Err(_) => wrong("the name of an abstract socket has at most 107 bytes"),
        };
    }
    if rustix::net::SocketAddrUnix::new(path).is_err() {
        return wrong("the path of a Unix socket has at most 108 bytes; go there and give a relative one");
    }
    match std::fs::metadata(path) {
        Ok(file) if !file.file_type().is_socket() => wrong("this is no socket"),
        // Messages about a socket that is not there would repeat what may be a secret.
        Err(_) if path.to_str().is_some_and(|path| shown(path) != path) => {
            wrong("a socket has no parameters; give its path alone")
        }
        _ => Ok(ConnectOverride::Unix(path.into())),
    }
}

/// `HOST:PORT`, or curl's `HOST1:PORT1:HOST2:PORT2` where the first two have to be those of the URL; what is empty is
/// that of the URL.
fn host(text: &str, url: &TargetUrl) -> Result<ConnectOverride, CommandError> {
    let wrong = |why: &str| CommandError::usage(format!("--connect-to {:?} {why}; {FORM}", shown(text)));
    let parts = parts(text);
    let (host, port) = match parts[..] {
        [host, port] => (host, port),
        [from_host, from_port, host, port] => {
            let fits = (from_host.is_empty() || from_host.eq_ignore_ascii_case(&url.host))
                && (from_port.is_empty() || from_port == url.port.to_string());
            if !fits {
                return Err(wrong(&format!("is for another host or port than {}", Redacted::url(&url.url))));
            }
            (host, port)
        }
        _ => return Err(wrong("is not HOST:PORT")),
    };
    let port = if port.is_empty() { Some(url.port) } else { port.parse().ok().filter(|port| *port > 0) };
    Ok(ConnectOverride::Host {
        host: if host.is_empty() { url.host.clone() } else { host.into() },
        port: port.ok_or_else(|| wrong("has no port of 1 to 65535"))?,
    })
}

/// What stands between colons that are not in brackets, without these.
fn parts(text: &str) -> Vec<&str> {
    let mut inside = false;
    let split = text.split(|c| {
        inside = c == '[' || inside && c != ']';
        c == ':' && !inside
    });
    split.map(|part| part.strip_prefix('[').and_then(|part| part.strip_suffix(']')).unwrap_or(part)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn to(text: &str) -> Result<(String, u16), String> {
        let url = TargetUrl::parse("https://shop.example/a").unwrap();
        match host(text, &url) {
            Ok(ConnectOverride::Host { host, port }) => Ok((host, port)),
            Ok(other) => panic!("{other:?}"),
            Err(error) => Err(error.message),
        }
    }

    #[test]
    fn hosts_and_ports_are_read_in_both_forms() {
        for (text, host, port) in [
            ("127.0.0.1:8080", "127.0.0.1", 8080),
            ("[::1]:81", "::1", 81),
            ("other.example:", "other.example", 443),
            (":8443", "shop.example", 8443),
            ("shop.example:443:10.0.0.1:8443", "10.0.0.1", 8443),
            ("SHOP.example::[fe80::1]:", "fe80::1", 443),
            ("::localhost:1", "localhost", 1),
        ] {
            assert_eq!(to(text), Ok((host.into(), port)), "{text}");
        }
    }

    /// They were ignored.
    #[test]
    fn another_way_than_the_socket_that_a_url_names_is_refused() {
        let url = TargetUrl::parse("fastcgi+unix:/nowhere/app.sock:/srv/index.php").unwrap();
        for detour in [
            Detour::UnixSocket("/nowhere/other.sock".into()),
            Detour::ConnectTo("127.0.0.1:9000".into()),
            Detour::ServerIp("192.0.2.1".parse().unwrap()),
        ] {
            let message = ConnectOverride::new(Some(&detour), &url).unwrap_err().message;
            assert_eq!(message, format!("{} and {} say two different things; leave one out", detour.flag(), url.url));
        }
        let socket = ConnectOverride::Unix("/nowhere/app.sock".into());
        assert_eq!(ConnectOverride::new(None, &url).unwrap(), Some(socket));
    }

    #[test]
    fn a_name_in_the_abstract_namespace_needs_no_file() {
        let read = |path: &str| unix("--unix-socket", Path::new(path)).map_err(|error| error.message);
        assert_eq!(read("@app"), Ok(ConnectOverride::Unix("@app".into())));
        assert!(read("@").unwrap_err().ends_with("the name of the abstract socket is empty"));
        assert!(read(&format!("@{}", "x".repeat(108))).unwrap_err().contains("at most 107 bytes"));
    }

    #[test]
    fn what_leads_nowhere_is_named() {
        for text in ["", "host", "host:0", "host:99999", "host:x", "[::1]", "a:1:b:2", "shop.example:80:b:2"] {
            let message = to(text).unwrap_err();
            assert!(message.contains(&format!("{text:?}")) && message.contains("--connect-to"), "{message}");
        }
    }
}
