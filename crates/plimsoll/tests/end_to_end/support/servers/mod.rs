//! The web servers of this world, each with the same small site: files, compression, an empty answer, TLS.

mod apache;
mod caddy;
mod lighttpd;
mod log;
mod nginx;

pub(crate) use log::Logged;
pub(crate) use nginx::{Nginx, SOCKET};

use super::{Certificate, PrivateServer};
use std::ffi::OsString;
use std::fs::{Permissions, create_dir_all, set_permissions, write};
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

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
    process: PrivateServer,
    secure: bool,
}

impl Server {
    #[track_caller]
    pub(crate) fn start(kind: Kind, site: Site<'_>) -> Self {
        let (program, package) = match kind {
            Kind::Nginx => ("nginx", "nginx-light"),
            Kind::Apache => ("apache2", "apache2-bin"),
            Kind::Lighttpd => ("lighttpd", "lighttpd"),
            Kind::Caddy => ("caddy", "caddy"),
        };
        let process = PrivateServer::start(program, package, |root, address| {
            fill(root, site);
            configure(kind, root, address, site)
        });
        Self { kind, process, secure: site.tls.is_some() }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}://{}{path}", if self.secure { "https" } else { "http" }, self.address())
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.process.address()
    }

    /// A file of its directory.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.process.path(name)
    }

    /// Ends it, and returns what its access log says.
    #[track_caller]
    pub(crate) fn log(mut self) -> Vec<Logged> {
        self.process.stop();
        let text = std::fs::read_to_string(self.process.path("access.log")).expect("it keeps a log");
        match self.kind {
            Kind::Caddy => text.lines().map(Logged::from_json).collect(),
            Kind::Nginx | Kind::Apache | Kind::Lighttpd => text.lines().map(Logged::from_common).collect(),
        }
    }
}

/// The files of the site, and what else every server may need.
fn fill(root: &Path, site: Site<'_>) {
    create_dir_all(root.join("temp")).expect("a directory");
    for (name, content) in site.files.iter().chain(&[("empty", "printf 'Status: 204\\r\\n\\r\\n'\n".as_bytes())]) {
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

/// Writes the configuration and returns the arguments.
fn configure(kind: Kind, root: &Path, address: SocketAddr, site: Site<'_>) -> Vec<OsString> {
    let (file, text, arguments): (_, _, &[&str]) = match kind {
        Kind::Nginx => ("nginx.conf", nginx::configuration(address, site), &["-p", ".", "-e", "error.log", "-c"]),
        Kind::Apache => ("apache.conf", apache::configuration(root, address, site), &["-DFOREGROUND", "-f"]),
        Kind::Lighttpd => ("lighttpd.conf", lighttpd::configuration(root, address, site), &["-D", "-f"]),
        Kind::Caddy => ("Caddyfile", caddy::configuration(root, address, site), &["run", "--config"]),
    };
    let path = root.join(file);
    write(&path, text).expect("a file");
    arguments.iter().map(OsString::from).chain([path.into()]).collect()
}
