//! Servers that stand by themselves: left to their supervisor, with what others have to know of them.

use crate::layout::Endpoint;
use crate::php_profile::PhpSamples;
use model::{Address, PhpClock, Served, Setting};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// A server with all its processes, as it was when it was ready.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    /// What it is called; several may have one name.
    pub name: String,
    /// Where it answers.
    pub endpoint: Option<Endpoint>,
    /// Its state directory.
    pub state: PathBuf,
    /// Number of the user that it runs as.
    pub uid: u32,
    /// What was asked for, and the steps to it.
    pub served: Served,
    /// Processes that were started, in their order: name and number.
    pub processes: Vec<(String, i32)>,
    /// URLs of its status pages and of the databases in it.
    pub status: Vec<String>,
    /// Certificate of the endpoint, PEM; none without TLS.
    pub certificate: Option<String>,
    /// A file with `user:password` for who uses it; none where it asks for no password.
    pub credentials: Option<PathBuf>,
    /// What its page has to hold whatever becomes of its content, such as its end; none: any answer of status 200 is one.
    #[serde(default)]
    pub page_holds: Option<String>,
    /// What its PHP functions are sampled by; none where they are not.
    #[serde(default)]
    pub php_profile: Option<PhpClock>,
    /// What bounds how much it does at a time.
    #[serde(default)]
    pub limits: Vec<Setting>,
    /// What has ended by itself since: name and how.
    pub ended: Vec<(String, String)>,
}

impl Standing {
    /// Samples of its PHP functions; none where they are not sampled.
    #[must_use]
    pub fn php_samples(&self) -> Option<PhpSamples> {
        self.php_profile.map(|clock| PhpSamples { state: self.state.clone(), clock })
    }

    /// True if this is where it listens. Another address of this machine is that of another server, whatever its port.
    pub(crate) fn is_at(&self, address: &Address) -> bool {
        match (self.endpoint.as_ref(), address) {
            (Some(Endpoint::Http { url }), Address::Tcp(address)) => url.contains(&format!("//{address}/")),
            (Some(Endpoint::FastCgi { socket, .. }), Address::Unix(path)) => is_same(socket, path),
            _ => false,
        }
    }

    /// The URL that is measured; none when it speaks neither HTTP nor FastCGI.
    #[must_use]
    pub fn url(&self) -> Option<&str> {
        match self.endpoint.as_ref()? {
            Endpoint::Http { url } | Endpoint::FastCgi { url, .. } => Some(url),
            Endpoint::Socket { .. } => None,
        }
    }
}

/// True if both paths lead to one file.
fn is_same(one: &Path, other: &Path) -> bool {
    one == other || one.canonicalize().ok().zip(other.canonicalize().ok()).is_some_and(|(one, other)| one == other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn another_address_with_the_port_of_a_stack_is_another_server() {
        let url = "http://127.0.0.1:8080/shop/".to_owned();
        let standing = Standing { endpoint: Some(Endpoint::Http { url }), ..Standing::default() };
        let is_at = |address: &str| standing.is_at(&address.parse().expect("an address"));
        assert!(is_at("127.0.0.1:8080"));
        for other in
            ["[::1]:8080", "127.0.0.2:8080", "192.0.2.1:8080", "127.0.0.1:80", "127.0.0.1:18080", "unix:/run/a"]
        {
            assert!(!is_at(other), "{other}");
        }
    }

    #[test]
    fn a_stack_without_a_front_is_found_at_its_socket() {
        let dir = tempfile::tempdir().expect("a directory");
        let socket = dir.path().join("run/php-fpm.sock");
        let url = format!("fastcgi+unix:{}:/srv/index.php", socket.display());
        let endpoint = Some(Endpoint::FastCgi { url, socket: socket.clone(), script: "/srv/index.php".into() });
        let standing = Standing { endpoint, ..Standing::default() };
        assert!(standing.is_at(&Address::Unix(socket.clone())));
        let link = dir.path().join("link");
        std::fs::create_dir(dir.path().join("run")).and_then(|()| symlink("run", &link)).expect("folders");
        assert!(!standing.is_at(&Address::Unix(link.join("php-fpm.sock"))), "nobody knows");
        std::fs::write(&socket, "").expect("a file");
        assert!(standing.is_at(&Address::Unix(link.join("php-fpm.sock"))), "another way to it");
        std::fs::write(dir.path().join("run/other.sock"), "").expect("a file");
        for other in [Address::Unix(dir.path().join("run/other.sock")), "127.0.0.1:9000".parse().expect("an address")] {
            assert!(!standing.is_at(&other), "{other}");
        }
        let plain = Standing { endpoint: Some(Endpoint::Socket { path: socket.clone() }), ..Standing::default() };
        assert!(!plain.is_at(&Address::Unix(socket)), "it is no FastCGI");
    }
}
