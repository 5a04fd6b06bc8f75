//! The web servers of this world, each with the same small site: files, compression, an empty answer, TLS.

mod apache;
mod caddy;
mod lighttpd;
mod log;
mod nginx;

pub(crate) use log::Logged;
pub(crate) use nginx::{Nginx, SOCKET};

use super::{Certificate, address, serve};
use stack::{Running, Spec};
use std::fs::{Permissions, create_dir_all, set_permissions, write};
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// What every site has, so that one sees that it is up.
const READY: &str = "/ready";

/// Whose server it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Nginx,
    Apache,
    Lighttpd,
    Caddy,
}

impl Kind {
    pub(crate) const ALL: [Self; 4] = [Self::Nginx, Self::Apache, Self::Lighttpd, Self::Caddy];
}

/// What a server serves, and how.
///
/// `.txt` is compressed for who asks, and `/empty` is answered 204.
#[derive(Clone, Copy)]
pub(crate) struct Site<'a> {
    /// Name, which may have folders in it, and content.
    pub(crate) files: &'a [(&'a str, &'a [u8])],
    /// With TLS: its versions as nginx names them, such as `TLSv1.3`, and the certificate.
    pub(crate) tls: Option<(&'a str, &'a Certificate)>,
    /// Requests after which it closes a connection; Caddy has no such limit.
    pub(crate) requests_per_connection: u32,
    /// Workers that nginx has besides its master; 0: one process without a master.
    pub(crate) nginx_workers: u32,
    /// What else nginx is told.
    pub(crate) nginx_directives: &'a str,
}

impl<'a> Site<'a> {
    /// These files, without TLS and with connections that last.
    pub(crate) fn of(files: &'a [(&'a str, &'a [u8])]) -> Self {
        Self { files, tls: None, requests_per_connection: 1_000_000, nginx_workers: 0, nginx_directives: "" }
    }
}

/// A listening server. Ends with this value.
pub(crate) struct Server {
    kind: Kind,
    running: Running,
    /// Outlives the server.
    directory: TempDir,
}

impl Server {
    #[track_caller]
    pub(crate) fn start(kind: Kind, site: Site<'_>) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let root = directory.path();
        // The server may be another user, and writes its access log here.
        set_permissions(root, Permissions::from_mode(0o777)).expect("our own directory");
        fill(root, site);
        let (name, text) = match kind {
            Kind::Nginx => ("nginx", nginx::configuration(root, site)),
            Kind::Apache => ("apache", apache::configuration(root, site)),
            Kind::Lighttpd => ("lighttpd", lighttpd::configuration(root, site)),
            Kind::Caddy => ("caddy", caddy::configuration(root, site)),
        };
        let path = root.join("configuration");
        write(&path, text).expect("a file");
        let tls = if site.tls.is_some() { "on" } else { "off" };
        let settings = [("config", path.to_str().expect("a path in UTF-8")), ("path", READY), ("tls", tls)];
        let settings = settings.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let running = serve(&Spec::new(name, &settings, Vec::new(), None).expect("it is known"));
        Self { kind, running, directory }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        self.running.url().and_then(|url| url.strip_suffix(READY)).expect("HTTP").to_owned() + path
    }

    pub(crate) fn address(&self) -> SocketAddr {
        address(&self.running)
    }

    #[track_caller]
    pub(crate) fn pid(&self) -> i32 {
        self.running.processes().next().expect("it runs").1
    }

    /// A file of its directory.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Ends it, and returns what its access log says of all but the start.
    #[track_caller]
    pub(crate) fn log(self) -> Vec<Logged> {
        assert_eq!(self.running.stop(), [""; 0]);
        let text = std::fs::read_to_string(self.directory.path().join("access.log")).expect("it keeps a log");
        let logged = text.lines().map(match self.kind {
            Kind::Caddy => Logged::from_json,
            Kind::Nginx | Kind::Apache | Kind::Lighttpd => Logged::from_common,
        });
        logged.filter(|logged| logged.path != READY).collect()
    }
}

/// The files of the site, and what else every server may need.
fn fill(root: &Path, site: Site<'_>) {
    let own: [(&str, &[u8]); 2] = [("empty", b"printf 'Status: 204\\r\\n\\r\\n'\n"), (&READY[1..], b"ready")];
    for (name, content) in site.files.iter().chain(&own) {
        let path = root.join("www").join(name);
        create_dir_all(path.parent().expect("it is in www")).expect("a directory");
        write(&path, content).expect("a file");
        // Some are programs.
        set_permissions(path, Permissions::from_mode(0o755)).expect("our own file");
    }
    if let Some((_, certificate)) = site.tls {
        write(root.join("cert.pem"), &certificate.pem).expect("a file");
        write(root.join("key.pem"), &certificate.key_pem).expect("a file");
    }
}
