//! A set-up installed, started and ended.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process_group};
use xtask::workspace;

use super::setup::{BIG_BYTES, SMALL_BYTES, Setup, WORDS};
use crate::install::{crates, python, root};
use crate::loopback::{await_ports, free_ports, write_certificate};

/// How long a server may take to start, a virtual machine's included.
const START: Duration = Duration::from_secs(30);
/// How long it may take to end before it is killed.
const END: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(50);
/// When the files were changed last, as seconds and as servers say it.
const MODIFIED_S: u64 = 1_600_000_000;
pub(super) const MODIFIED: &str = "Sun, 13 Sep 2020 12:26:40 GMT";
/// Who servers that must not be root are; Debian has it.
const USER: &str = "www-data";

/// A running server. It and what it has started end with this value.
pub(super) struct Server {
    child: Child,
    port: u16,
    tls_port: u16,
}

fn folder(setup: &Setup) -> PathBuf {
    root().join(setup.name.replace('/', "-"))
}

impl Server {
    /// Installs what is missing, writes the folder, and waits until it listens.
    pub(super) fn start(setup: &Setup) -> Result<Self> {
        let folder = folder(setup);
        std::fs::create_dir_all(&folder).with_context(|| format!("creating {}", folder.display()))?;
        let [port, tls_port] = free_ports()?;
        let fill = |text: &str| filled(text, &folder, port, tls_port);
        for (name, text) in setup.files {
            std::fs::write(folder.join(name), fill(text))?;
        }
        write_site()?;
        if setup.has_tls {
            write_certificate(&folder)?;
        }
        setup.from.install(&folder)?;
        let log = std::fs::File::create(folder.join("server.log"))?;
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "TERM", "sh", "-c", &kept(&fill(setup.start))]);
        command.current_dir(&folder).process_group(0);
        let child = command
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .context("cannot start setpriv")?;
        let mut server = Self { child, port, tls_port };
        let ports = if setup.has_tls { vec![port, tls_port] } else { vec![port] };
        let log = folder.join("server.log");
        // As it is named from the root of the repository: a page has no path of a machine.
        let log = log.strip_prefix(workspace::root()).unwrap_or(&log);
        await_ports(&mut server.child, &ports, START).with_context(|| format!("see {}", log.display()))?;
        Ok(server)
    }

    /// URL of a page.
    pub(super) fn url(&self, path: &str, tls: bool) -> String {
        let (scheme, port) = if tls { ("https", self.tls_port) } else { ("http", self.port) };
        format!("{scheme}://127.0.0.1:{port}{path}")
    }

    /// The port without TLS.
    pub(super) const fn port(&self) -> u16 {
        self.port
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let Some(group) = Pid::from_raw(self.child.id().cast_signed()) else { return };
        // Its own group: what it has started is in it as well. It may have ended by itself.
        let _ = kill_process_group(group, Signal::TERM);
        let begun = Instant::now();
        while begun.elapsed() < END && matches!(self.child.try_wait(), Ok(None)) {
            std::thread::sleep(POLL);
        }
        let _ = kill_process_group(group, Signal::KILL);
        let _ = self.child.wait();
    }
}

/// A script that ends `start` and all of its process group when this program is killed.
fn kept(start: &str) -> String {
    format!("trap 'trap - TERM; kill 0' TERM\n{{ {start}\n}} &\nwait $!")
}

fn filled(text: &str, folder: &Path, port: u16, tls_port: u16) -> String {
    let path = |path: PathBuf| path.display().to_string();
    let values = [
        port.to_string(),
        tls_port.to_string(),
        path(folder.to_owned()),
        path(root().join("site")),
        path(python()),
        path(crates()),
        path(workspace::release_binary("plimsoll")),
        USER.to_owned(),
    ];
    WORDS.iter().zip(&values).fold(text.to_owned(), |text, (word, value)| text.replace(word, value))
}

/// The pages as files, changed at a known time.
fn write_site() -> Result<()> {
    let site = root().join("site");
    std::fs::create_dir_all(&site)?;
    for (name, bytes) in [("hello", SMALL_BYTES), ("big", BIG_BYTES)] {
        std::fs::write(site.join(name), vec![b'x'; bytes as usize])?;
        let file = std::fs::File::options().write(true).open(site.join(name))?;
        file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(MODIFIED_S))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::filled;

    #[test]
    fn words_are_filled_in() {
        assert_eq!(filled("{folder}:{port}/{tls_port} {other}", "/a".as_ref(), 1, 2), "/a:1/2 {other}");
    }
}
