//! Somebody else's server as a process of our own: with a directory and a port for itself, ended by its pid.

use super::{installed, wait_for};
use rustix::process::{Pid, Signal, kill_process};
use std::ffi::OsString;
use std::fs::{File, Permissions, read_to_string, set_permissions};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// A start or an end that takes longer has failed.
const PATIENCE: Duration = Duration::from_secs(10);
/// Starts before a port that was free and is taken again has become another problem.
const STARTS: usize = 3;

/// A server that listens. Ends with this value.
pub(crate) struct PrivateServer {
    child: Child,
    address: SocketAddr,
    directory: TempDir,
}

impl PrivateServer {
    /// Runs `program` of the Debian package in the foreground. `configure` fills the directory for a server at that
    /// address and returns the arguments.
    #[track_caller]
    pub(crate) fn start(program: &str, package: &str, configure: impl Fn(&Path, SocketAddr) -> Vec<OsString>) -> Self {
        let path = installed(program, package);
        let mut said = String::new();
        for _ in 0..STARTS {
            match Self::try_start(&path, &configure) {
                Ok(server) => return server,
                Err(output) => said = output,
            }
        }
        panic!("{program} does not listen: {said}");
    }

    /// One start; an error is what the server said.
    fn try_start(program: &Path, configure: impl Fn(&Path, SocketAddr) -> Vec<OsString>) -> Result<Self, String> {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let root = directory.path();
        // Workers of a server that root starts give up their rights.
        set_permissions(root, Permissions::from_mode(0o755)).expect("our own directory");
        // Most servers cannot be given port 0 and say which they took.
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|listener| listener.local_addr());
        let address = free.expect("a free port");
        let arguments = configure(root, address);
        let output = File::create(root.join("output")).expect("a file");
        let child = Command::new(installed("setpriv", "util-linux"))
            // Without it a test that is killed would leave the server behind.
            .arg("--pdeathsig=TERM")
            .arg(program)
            .args(arguments)
            .current_dir(root)
            .env("HOME", root)
            .stdin(Stdio::null())
            .stdout(output.try_clone().expect("a descriptor"))
            .stderr(output)
            .spawn()
            .expect("setpriv starts");
        let mut server = Self { child, address, directory };
        let listens = wait_for(PATIENCE, || {
            let ended = !matches!(server.child.try_wait(), Ok(None));
            let listens = !ended && TcpStream::connect(address).is_ok();
            (ended || listens).then_some(listens)
        });
        if listens == Some(true) {
            return Ok(server);
        }
        server.stop();
        let said = ["output", "error.log"].map(|name| read_to_string(server.path(name)).unwrap_or_default());
        Err(said.concat())
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// A file of its directory.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Ends it in good order, with its workers and what it has to write; does nothing when it has ended.
    pub(crate) fn stop(&mut self) {
        if !matches!(self.child.try_wait(), Ok(None)) {
            return;
        }
        let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
        if wait_for(PATIENCE, || (!matches!(self.child.try_wait(), Ok(None))).then_some(())).is_none() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

impl Drop for PrivateServer {
    fn drop(&mut self) {
        self.stop();
    }
}
