//! File systems that fill up or fail, each in a mount namespace of its own, which ends with the process that holds it.

use crate::child::Killed;
use rustix::process::geteuid;
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Room for a result that is written whole, and a failing device behind it: 8 MiB and 24 MiB.
const SMALL: &str = "mount -t tmpfs -o size=8m,mode=0755 tmpfs \"$1\" && mkdir \"$1/place\"";
/// A device whose blocks are on a small file system get their room when they are first written. Each write is carried out at
/// once, so that it fails where it is made.
const FAILING: &str = "PATH=$PATH:/usr/sbin:/sbin; mount -t tmpfs -o size=24m,mode=0755 tmpfs \"$1\" && \
     truncate -s 64m \"$1/image\" && mkfs.ext2 -q -F -N 512 \"$1/image\" && mkdir \"$1/place\" && \
     mount -o loop,sync \"$1/image\" \"$1/place\"";
const READY: &str = "ready";
/// More than either has room for: whoever writes so much writes elsewhere.
const BALLAST_MAX_BYTES: u64 = 64 << 20;

/// One that is mounted; gone with this value.
pub(super) struct Disk {
    holder: Killed,
    /// The small file system, seen through the holder.
    root: PathBuf,
}

impl Disk {
    /// 8 MiB in memory.
    pub(super) fn small(folder: &Path) -> Result<Self, String> {
        Self::hold(SMALL, folder)
    }

    /// One on a device that fails once the memory below it is full.
    pub(super) fn failing(folder: &Path) -> Result<Self, String> {
        if geteuid().is_root() { Self::hold(FAILING, folder) } else { Err("a loop device needs root".into()) }
    }

    /// Has `script` mount it in `folder`, or says why it cannot.
    fn hold(script: &str, folder: &Path) -> Result<Self, String> {
        let wrong = |error: std::io::Error| format!("no file system of our own: {error}");
        std::fs::create_dir(folder).map_err(wrong)?;
        let how: &[&str] = if geteuid().is_root() { &["--mount"] } else { &["--map-root-user", "--mount"] };
        let mut command = Command::new("unshare");
        // It ends with its stdin, whatever becomes of us.
        let script = format!("{{ {script}; }} && echo {READY} && exec cat");
        command.args(how).args(["sh", "-c"]).arg(script).arg("sh").arg(folder);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let holder = Killed(command.spawn().map_err(wrong)?);
        let root =
            PathBuf::from(format!("/proc/{}/root", holder.id())).join(folder.strip_prefix("/").unwrap_or(folder));
        let mut disk = Self { holder, root };
        let mut line = String::new();
        if let Some(stdout) = disk.holder.stdout.take() {
            BufReader::new(stdout).read_line(&mut line).map_err(wrong)?;
        }
        if line.trim_end() == READY {
            return Ok(disk);
        }
        // It has ended, or does so now.
        let _ = disk.holder.kill();
        let mut said = String::new();
        if let Some(mut stderr) = disk.holder.stderr.take() {
            stderr.read_to_string(&mut said).map_err(wrong)?;
        }
        Err(format!("no file system of our own: {}", said.trim().replace('\n', "; ")))
    }

    /// Where results go.
    pub(super) fn place(&self) -> PathBuf {
        self.root.join("place")
    }

    /// Takes all the room that is left.
    pub(super) fn fill(&self) -> Result<(), String> {
        let wrong = |error: std::io::Error| format!("cannot fill the disk: {error}");
        let mut ballast = File::create(self.root.join("ballast")).map_err(wrong)?;
        let mut written = 0;
        while written < BALLAST_MAX_BYTES {
            match ballast.write(&[0; 1 << 16]) {
                Ok(length) => written += length as u64,
                Err(error) if error.kind() == ErrorKind::StorageFull => return Ok(()),
                Err(error) => return Err(wrong(error)),
            }
        }
        Err("the disk is not full after 64 MiB: it is not ours".into())
    }
}
