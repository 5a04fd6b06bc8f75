//! `cargo xtask containers`: the Compose file of `plimsoll stack compose`, with podman and an image of debootstrap(8).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::loopback::{free_ports, get};
use xtask::workspace;

/// Debian, under the name that the image begins with.
const BASE: &str = "docker.io/library/debian:bookworm-slim";
const IMAGE: &str = "localhost/plimsoll-wordpress";
/// crun needs rights and a layout of cgroups that not every machine has; runc does not.
const CONTAINERS_CONF: &str = "[containers]\ndefault_ulimits = [\"nofile=4096:4096\", \"nproc=4096:4096\"]\n\
    [engine]\nruntime = \"runc\"\ncgroup_manager = \"cgroupfs\"\nevents_logger = \"file\"\n";
/// Time until the front page answers, with the database to be filled.
const UP_MAX: Duration = Duration::from_secs(120);
const POLL: Duration = Duration::from_millis(250);
/// So many posts, the latest of which stands on the front page.
const POSTS: u32 = 12;

/// WordPress in containers, from its Compose file to one verified front page, and down again: podman, runc, podman-compose and
/// debootstrap, as root. Nothing is taken from a registry of images; 5 minutes
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// Directory of images, kept for the next time [default: target/containers]
    #[arg(long, value_name = "DIR")]
    storage: Option<PathBuf>,
}

/// Starts the stack, asks for its front page, and ends it.
///
/// # Errors
/// If a program fails, or the page is not the front page of the stack.
pub fn run(options: Options) -> Result<()> {
    ensure!(rustix::process::geteuid().is_root(), "debootstrap needs root");
    let plimsoll = workspace::build_plimsoll()?;
    let storage = options.storage.unwrap_or_else(|| workspace::root().join("target/containers"));
    let podman = Podman::new(&storage)?;
    let work = tempfile::tempdir()?;
    let stack = work.path().join("stack");
    let [port, _] = free_ports()?;
    let settings = [format!("port={port}"), format!("posts={POSTS}"), "children=2".to_owned()];
    let mut compose = Command::new(plimsoll);
    workspace::run(compose.args(["stack", "compose", "wordpress", "--output"]).arg(&stack).args(settings))?;
    podman.image(&stack.join("image"))?;
    let begun = Instant::now();
    let answered = podman.compose(&stack, &["up", "-d"]).and_then(|()| front_page(port));
    if answered.is_err() {
        // Why is in what the services have said.
        podman.compose(&stack, &["logs"])?;
    }
    let up = begun.elapsed();
    podman.compose(&stack, &["down"])?;
    println!("the front page of {} bytes was verified after {:.1} s", answered?, up.as_secs_f64());
    Ok(())
}

/// podman with settings and images of its own.
pub(crate) struct Podman {
    storage: PathBuf,
}

impl Podman {
    pub(crate) fn new(storage: &Path) -> Result<Self> {
        fs::create_dir_all(storage)?;
        let shown = storage.display();
        let text =
            format!("[storage]\ndriver = \"overlay\"\ngraphroot = \"{shown}/root\"\nrunroot = \"{shown}/run\"\n");
        fs::write(storage.join("storage.conf"), text)?;
        fs::write(storage.join("containers.conf"), CONTAINERS_CONF)?;
        Ok(Self { storage: storage.to_owned() })
    }

    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("CONTAINERS_CONF", self.storage.join("containers.conf"));
        command.env("CONTAINERS_STORAGE_CONF", self.storage.join("storage.conf"));
        command
    }

    fn has(&self, image: &str) -> Result<bool> {
        Ok(self.command("podman").args(["image", "exists", image]).status().context("podman")?.success())
    }

    /// Builds the image of the stack, on a base that debootstrap makes where there is none.
    fn image(&self, folder: &Path) -> Result<()> {
        if !self.has(BASE)? {
            let tree = tempfile::tempdir()?;
            let tar = tree.path().with_extension("tar");
            workspace::run(Command::new("debootstrap").args(["--variant=minbase", "bookworm"]).arg(tree.path()))?;
            workspace::run(Command::new("tar").arg("-C").arg(tree.path()).arg("-cf").arg(&tar).arg("."))?;
            let imported = workspace::run(self.command("podman").arg("import").arg(&tar).arg(BASE));
            fs::remove_file(&tar)?;
            imported?;
        }
        workspace::run(self.command("podman").args(["build", "--network", "host", "--tag", IMAGE]).arg(folder))
    }

    fn compose(&self, folder: &Path, arguments: &[&str]) -> Result<()> {
        workspace::run(self.command("podman-compose").current_dir(folder).args(arguments))
    }
}

/// Waits for the front page and returns its length in bytes.
fn front_page(port: u16) -> Result<usize> {
    let begun = Instant::now();
    loop {
        let answer = get(&format!("127.0.0.1:{port}"), "/", UP_MAX);
        match &answer {
            Ok(page) if page.starts_with("HTTP/1.1 200 ") => {
                let latest = format!("Post {POSTS} ");
                ensure!(page.contains(&latest) && page.contains("</html>"), "another page answers: {page:.300}");
                return Ok(page.len());
            }
            _ if begun.elapsed() < UP_MAX => std::thread::sleep(POLL),
            Ok(page) => bail!("after {} s it answers {:?}", UP_MAX.as_secs(), page.lines().next()),
            Err(error) => bail!("after {} s it does not answer: {error}", UP_MAX.as_secs()),
        }
    }
}
