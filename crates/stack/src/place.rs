//! Where a server lives: its directory, its ports, its user, its certificate. Layouts are computed from it.

use crate::account::Account;
use crate::error::StackError;
use crate::programs;
use crate::settings::Settings;
use crate::topology::usable_cpus;
use rustls::crypto::ring;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};

/// Ports reserved for a stack: the endpoint, and those between its parts.
const PORTS: usize = 3;

/// Digits of a secret, 4 bits each.
const SECRET_DIGITS: usize = 24;

/// Everything that differs from one start to the next.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// The state directory. A server reads `conf` and `www` there, and writes to `data`, `home`, `log`, `run` and `tmp`.
    pub(crate) dir: PathBuf,
    /// The endpoint's port first.
    pub(crate) ports: [u16; PORTS],
    /// Whom servers run as; none: as we do.
    pub(crate) account: Option<Account>,
    /// The program of plimsoll itself, which is the built-in target.
    pub(crate) own_program: PathBuf,
    /// The program that is used instead of an installed one.
    pub(crate) binary: Option<PathBuf>,
    /// CPUs for the server; empty: all.
    pub(crate) cpus: Vec<u32>,
    /// Where programs and files of packages are looked for.
    pub(crate) source: Source,
    /// What nobody else can guess, for passwords that are made here: letters and digits.
    pub(crate) secret: String,
}

/// Where programs and files of packages are looked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Source {
    /// On this machine.
    #[default]
    Installed,
    /// Nowhere: they are in an image that is still to be built, where Debian 12 has them, programs on its `PATH`.
    Image,
    /// Nowhere, and all are missing: for the names of the packages.
    Nothing,
}

impl Place {
    /// A place that lies nowhere, for looking at configurations.
    pub(crate) fn example(settings: &Settings, own_program: PathBuf) -> Result<Self, StackError> {
        let port = if settings.port == 0 { 8080 } else { settings.port };
        Ok(Self {
            dir: "/tmp/plimsoll-state".into(),
            ports: [port, port.wrapping_add(1), port.wrapping_add(2)],
            account: Account::choose(settings.user.as_deref())?,
            own_program,
            binary: settings.binary.clone(),
            cpus: settings.cpus.clone(),
            source: Source::Installed,
            secret: "0".repeat(SECRET_DIGITS),
        })
    }

    /// The main program of a server: the one that was named, or the installed one.
    pub(crate) fn program(&self, names: &[&str], package: &'static str) -> Result<PathBuf, StackError> {
        match &self.binary {
            Some(path) => programs::named(path),
            None => self.helper(names, package),
        }
    }

    /// Another program.
    pub(crate) fn helper(&self, names: &[&str], package: &'static str) -> Result<PathBuf, StackError> {
        match self.source {
            Source::Installed => programs::find(names, package),
            Source::Image => Ok(names[0].into()),
            Source::Nothing => Err(programs::missing(names[0], package)),
        }
    }

    /// A file that `package` brings, such as a module of a server.
    pub(crate) fn file(&self, path: PathBuf, package: &'static str) -> Result<PathBuf, StackError> {
        match self.source {
            Source::Installed => programs::file(path, package),
            Source::Image => Ok(path),
            Source::Nothing => Err(programs::missing(&path.display().to_string(), package)),
        }
    }

    /// A path below the state directory.
    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.dir.join(relative)
    }

    /// The same as text, for configurations.
    pub(crate) fn text(&self, relative: &str) -> String {
        self.path(relative).display().to_string()
    }

    /// What is served: the directory that was named, or our own.
    pub(crate) fn docroot(&self, settings: &Settings) -> String {
        match &settings.root {
            Some(root) => root.display().to_string(),
            None => self.text("www"),
        }
    }

    /// `http` or `https`.
    pub(crate) fn url(&self, settings: &Settings) -> String {
        let scheme = if settings.tls { "https" } else { "http" };
        format!("{scheme}://{}:{}{}", settings.address, self.ports[0], settings.path)
    }
}

/// Ports that are free now: of `address` the first, which is `endpoint` when that is not 0, and of loopback. Another program may
/// take one before the server does; the server's failure then says so.
pub(crate) fn free_ports(address: Ipv4Addr, endpoint: u16) -> Result<[u16; PORTS], StackError> {
    let bind = |address: Ipv4Addr, port: u16| TcpListener::bind((address, port));
    let taken = |error: std::io::Error| match endpoint {
        0 => StackError::Machine { doing: "find a free port".into(), reason: error.to_string() },
        _ => StackError::Wrong(format!(
            "port {endpoint} cannot be used: {error}; choose another, or 0 for any that is free"
        )),
    };
    // All are held until the last is found, so that they differ.
    let first = bind(address, endpoint).map_err(|error| foreign(address, &error).unwrap_or_else(|| taken(error)))?;
    let mut ports = [0; PORTS];
    let others = (1..PORTS).map(|_| bind(Ipv4Addr::LOCALHOST, 0)).collect::<Result<Vec<_>, _>>().map_err(taken)?;
    for (port, listener) in ports.iter_mut().zip(std::iter::once(&first).chain(&others)) {
        *port = listener.local_addr().map_err(taken)?.port();
    }
    Ok(ports)
}

/// Of an address that this machine does not have.
fn foreign(address: Ipv4Addr, error: &std::io::Error) -> Option<StackError> {
    let why = || format!("address={address} is no address of this machine, so that no server can listen there");
    (error.kind() == std::io::ErrorKind::AddrNotAvailable).then(|| StackError::Wrong(why()))
}

/// A new secret.
pub(crate) fn secret() -> Result<String, StackError> {
    let mut bytes = [0; SECRET_DIGITS / 2];
    let filled = ring::default_provider().secure_random.fill(&mut bytes);
    let failed = |_| StackError::Machine { doing: "get random numbers".into(), reason: "the kernel gives none".into() };
    filled.map_err(failed)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Looks whether CPUs that were asked for are ours to give.
pub(crate) fn check_cpus(asked: &[u32]) -> Result<(), StackError> {
    // A kernel that does not tell will refuse by itself.
    let Some(usable) = usable_cpus() else { return Ok(()) };
    let Some(missing) = asked.iter().find(|cpu| !usable.contains(cpu)) else { return Ok(()) };
    let list: Vec<String> = usable.iter().map(u32::to_string).collect();
    Err(StackError::Wrong(format!("cpus: CPU {missing} cannot be used; there are {}", list.join(", "))))
}

/// Looks whether the user that the server runs as may listen on a port.
pub(crate) fn check_port(port: u16, account: Option<&Account>) -> Result<(), StackError> {
    let first = std::fs::read_to_string("/proc/sys/net/ipv4/ip_unprivileged_port_start").unwrap_or_default();
    let first: u16 = first.trim().parse().unwrap_or(1024);
    match account {
        Some(account) if account.uid != 0 && port != 0 && port < first => Err(StackError::Wrong(format!(
            "port {port} is for root, and the server runs as {}; choose one from {first} on, or --user root",
            account.name
        ))),
        _ => Ok(()),
    }
}

/// Makes `--root` and `--config` absolute, as servers have a directory of their own, and looks whether they are there.
pub(crate) fn settle_paths(settings: &mut Settings) -> Result<(), StackError> {
    let settle = |key: &str, path: &mut Option<PathBuf>, is_there: fn(&Path) -> bool, what: &str| {
        let Some(path) = path else { return Ok(()) };
        *path = std::path::absolute(&*path).map_err(|error| StackError::file("find", path, &error))?;
        if is_there(path) {
            Ok(())
        } else {
            Err(StackError::Wrong(format!("{key}={}: there is no such {what}", path.display())))
        }
    };
    settle("root", &mut settings.root, Path::is_dir, "directory")?;
    settle("config", &mut settings.config, Path::is_file, "file")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_server_cannot_have_is_named() {
        let message = check_cpus(&[1023]).expect_err("no such CPU").to_string();
        assert!(message.starts_with("cpus: CPU 1023 cannot be used; there are "), "{message}");
        let account = |uid| Account { name: "nobody".into(), group: String::new(), uid, gid: uid };
        let message = check_port(1, Some(&account(65_534))).expect_err("for root").to_string();
        assert!(message.starts_with("port 1 is for root, and the server runs as nobody"), "{message}");
        assert!(check_port(1, Some(&account(0))).is_ok() && check_port(1, None).is_ok());
        assert!(check_port(0, Some(&account(65_534))).is_ok());
    }

    #[test]
    fn no_two_places_have_one_secret() {
        let (first, second) = (secret().expect("random numbers"), secret().expect("random numbers"));
        assert!(first != second && first.len() == SECRET_DIGITS);
    }

    #[test]
    fn ports_differ_and_a_taken_one_is_named() {
        let ports = free_ports(Ipv4Addr::LOCALHOST, 0).expect("free ports");
        assert!(ports[0] != ports[1] && ports[1] != ports[2] && ports[0] != ports[2] && !ports.contains(&0));
        let holder = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let port = holder.local_addr().expect("its address").port();
        let message = free_ports(Ipv4Addr::LOCALHOST, port).expect_err("it is taken").to_string();
        assert!(message.contains(&format!("port {port} cannot be used")), "{message}");
    }
}
