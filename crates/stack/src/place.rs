//! Where a server lives: its directory, its ports, its user, its certificate. Layouts are computed from it.

use crate::account::Account;
use crate::error::StackError;
use crate::programs;
use crate::spec::Spec;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};

/// Ports reserved for a stack: the door, and those between its parts.
const PORTS: usize = 3;

/// Everything that differs from one start to the next.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// The state directory. It has `conf`, `log`, `run`, `tmp` and `www`.
    pub(crate) dir: PathBuf,
    /// The door's port first.
    pub(crate) ports: [u16; PORTS],
    /// Whom servers run as; none: as we do.
    pub(crate) account: Option<Account>,
    /// The program of plimsoll itself, which is the built-in target.
    pub(crate) own_program: PathBuf,
    /// The program that is used instead of an installed one.
    pub(crate) binary: Option<PathBuf>,
    /// CPUs for the server; empty: all.
    pub(crate) cpus: Vec<u32>,
}

impl Place {
    /// A place that lies nowhere, for looking at configurations.
    pub(crate) fn example(spec: &Spec, own_program: PathBuf) -> Result<Self, StackError> {
        let port = if spec.settings.port == 0 { 8080 } else { spec.settings.port };
        Ok(Self {
            dir: "/tmp/plimsoll-state".into(),
            ports: [port, port.wrapping_add(1), port.wrapping_add(2)],
            account: Account::choose(spec.settings.user.as_deref())?,
            own_program,
            binary: spec.settings.binary.clone(),
            cpus: spec.settings.cpus.clone(),
        })
    }

    /// The main program of a server: the one that was named, or the installed one.
    pub(crate) fn program(&self, names: &[&str], package: &'static str) -> Result<PathBuf, StackError> {
        match &self.binary {
            Some(path) => programs::named(path),
            None => programs::find(names, package),
        }
    }

    /// Another program.
    pub(crate) fn helper(&self, names: &[&str], package: &'static str) -> Result<PathBuf, StackError> {
        programs::find(names, package)
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
    pub(crate) fn docroot(&self, spec: &Spec) -> String {
        match &spec.settings.root {
            Some(root) => root.display().to_string(),
            None => self.text("www"),
        }
    }

    /// `http` or `https`.
    pub(crate) fn url(&self, spec: &Spec) -> String {
        let scheme = if spec.settings.tls { "https" } else { "http" };
        format!("{scheme}://127.0.0.1:{}{}", self.ports[0], spec.settings.path)
    }
}

/// Ports that are free now, `door` first when it is not 0. Another program may take one before the server does; the
/// server's failure then says so.
pub(crate) fn free_ports(door: u16) -> Result<[u16; PORTS], StackError> {
    let bind = |port: u16| TcpListener::bind((Ipv4Addr::LOCALHOST, port));
    let taken = |error: std::io::Error| match door {
        0 => StackError::Machine { doing: "find a free port".into(), reason: error.to_string() },
        _ => {
            StackError::Wrong(format!("port {door} cannot be used: {error}; choose another, or 0 for any that is free"))
        }
    };
    // All are held until the last is found, so that they differ.
    let first = bind(door).map_err(taken)?;
    let mut ports = [0; PORTS];
    let others = (1..PORTS).map(|_| bind(0)).collect::<Result<Vec<_>, _>>().map_err(taken)?;
    for (port, listener) in ports.iter_mut().zip(std::iter::once(&first).chain(&others)) {
        *port = listener.local_addr().map_err(taken)?.port();
    }
    Ok(ports)
}

/// Makes `--root` and `--config` absolute, as servers have a directory of their own, and looks whether they are there.
pub(crate) fn settle_paths(spec: &mut Spec) -> Result<(), StackError> {
    let settle = |key: &str, path: &mut Option<PathBuf>, is_there: fn(&Path) -> bool, what: &str| {
        let Some(path) = path else { return Ok(()) };
        *path = std::path::absolute(&*path).map_err(|error| StackError::file("find", path, &error))?;
        if is_there(path) {
            Ok(())
        } else {
            Err(StackError::Wrong(format!("{key}={}: there is no such {what}", path.display())))
        }
    };
    settle("root", &mut spec.settings.root, Path::is_dir, "directory")?;
    settle("config", &mut spec.settings.config, Path::is_file, "file")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_differ_and_a_taken_one_is_named() {
        let ports = free_ports(0).expect("free ports");
        assert!(ports[0] != ports[1] && ports[1] != ports[2] && ports[0] != ports[2] && !ports.contains(&0));
        let holder = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let port = holder.local_addr().expect("its address").port();
        let message = free_ports(port).expect_err("it is taken").to_string();
        assert!(message.contains(&format!("port {port} cannot be used")), "{message}");
    }
}
