//! A cluster that ends with its value, and programs in its network.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use tempfile::TempDir;

use xtask::packages::{self, Tool};
use xtask::workspace;

const SETUP: &str = include_str!("setup.sh");
const TOOLS: &[Tool] = &[
    Tool::new("unshare", &["util-linux"]),
    Tool::new("ip", &["iproute2"]),
    Tool::new("cc", &["gcc", "libc6-dev"]),
    Tool::new("openssl", &["openssl"]),
    Tool::new("etcd", &["etcd-server"]),
    Tool::new("containerd", &["containerd"]),
    Tool::new("runc", &["runc"]),
    Tool::new("/usr/lib/cni/bridge", &["containernetworking-plugins"]),
];
/// Namespace of the agents.
const NAMESPACE: &str = "load";
/// Page with the rights that a user needs, as a Role.
const PAGE: &str = "docs/reference/agents.md";
/// The cluster is there within this time.
const UP: Duration = Duration::from_secs(180);
const LOOK: Duration = Duration::from_millis(100);

/// What a cluster is made of.
pub(super) struct Parts {
    /// The programs of Kubernetes.
    pub(super) kubernetes: PathBuf,
    pub(super) plimsoll: PathBuf,
    /// Its image, as an archive.
    pub(super) image: PathBuf,
}

/// A cluster of two nodes, with a target beside it.
pub(super) struct Cluster {
    directory: TempDir,
    unshare: Child,
    parts: Parts,
    /// The first process of its namespaces.
    holder: String,
    /// Below each hierarchy of cgroups.
    cgroup: String,
}

impl Cluster {
    /// URL of the target.
    pub(super) const TARGET: &str = "http://10.77.0.20/bytes/10";

    pub(super) fn start(parts: Parts) -> Result<Self> {
        packages::ensure(TOOLS)?;
        let directory = tempfile::tempdir()?;
        let role = directory.path().join("role.yaml");
        fs::write(&role, rights(&workspace::read(PAGE)?)?)?;
        let cgroup = format!("plimsoll-{}", std::process::id());
        let log = File::create(directory.path().join("setup.log"))?;
        let mut command = Command::new("unshare");
        command.args(["--net", "--mount", "--mount-proc", "--pid", "--fork", "--kill-child"]);
        command.args(["bash", "-c", SETUP, "setup"]).arg(directory.path().join("cluster"));
        fs::create_dir(directory.path().join("cluster"))?;
        let Parts { kubernetes, plimsoll, image } = &parts;
        command.env("KUBERNETES", kubernetes).env("PLIMSOLL", plimsoll).env("IMAGE", image);
        command.env("ROLE", role).env("CGROUP", &cgroup);
        let unshare = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().context("unshare")?;
        let mut cluster = Self { directory, unshare, parts, holder: String::new(), cgroup };
        cluster.await_holder()?;
        Ok(cluster)
    }

    fn await_holder(&mut self) -> Result<()> {
        let (ready, since) = (self.path().join("holder"), Instant::now());
        while !ready.exists() {
            let has_ended = self.unshare.try_wait()?.is_some();
            ensure!(!has_ended && since.elapsed() < UP, "no cluster: {}", self.last_said()?);
            std::thread::sleep(LOOK);
        }
        let pid = self.unshare.id();
        let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"))?;
        children.trim().clone_into(&mut self.holder);
        Ok(())
    }

    /// The last line of the setup, and of each program.
    fn last_said(&self) -> Result<String> {
        let mut files = vec![self.directory.path().join("setup.log")];
        let logs = fs::read_dir(self.path().join("log")).into_iter().flatten().flatten();
        files.extend(logs.map(|entry| entry.path()));
        let mut said = String::new();
        for file in files {
            let text = String::from_utf8_lossy(&fs::read(&file)?).into_owned();
            let last = text.lines().rev().find(|line| !line.is_empty()).unwrap_or_default();
            said.push_str(&format!("\n{}: {last:.300}", file.file_name().unwrap_or_default().to_string_lossy()));
        }
        Ok(said)
    }

    /// Where its files are.
    pub(super) fn path(&self) -> PathBuf {
        self.directory.path().join("cluster")
    }

    /// A program on a host, in a folder of its own.
    fn on(&self, host: &str) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["-t", &self.holder, "-m", "-n", "-p", "nsenter"]).arg(format!("--net=/run/netns/{host}"));
        command.stdin(Stdio::null());
        command
    }

    /// plimsoll on the coordinator's host, with the kubeconfig of a user.
    pub(super) fn plimsoll(&self, user: &str, folder: &Path) -> Command {
        let mut command = self.on("c");
        command.arg("env").arg("-C").arg(folder);
        command.arg(format!("KUBECONFIG={}/{user}.conf", self.path().display())).arg(&self.parts.plimsoll);
        command
    }

    /// What kubectl prints of the agents' namespace, as the administrator. No word of the line has a blank.
    pub(super) fn kubectl(&self, line: &str) -> Result<String> {
        let mut command = self.on("c");
        command.arg(&self.parts.kubernetes).args(["kubectl", "--kubeconfig"]).arg(self.path().join("admin.conf"));
        text(command.args(["--namespace", NAMESPACE]).args(line.split_whitespace()).output()?)
    }

    /// Has a host carry out a command.
    pub(super) fn shell(&self, host: &str, script: &str) -> Result<String> {
        text(self.on(host).args(["sh", "-c", script]).output()?)
    }

    /// Takes the link of a host away, or gives it back.
    pub(super) fn link(&self, host: &str, state: &str) -> Result<()> {
        self.shell("sw", &format!("ip link set dev {host} {state}")).map(drop)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // The first process of its namespace takes all others along.
        let _ = self.unshare.kill();
        let _ = self.unshare.wait();
        let hierarchies = fs::read_dir("/sys/fs/cgroup").into_iter().flatten().flatten();
        hierarchies.for_each(|hierarchy| remove_cgroups(&hierarchy.path().join(&self.cgroup)));
    }
}

/// Removes cgroups without processes, from the leaves.
fn remove_cgroups(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_cgroups(&entry.path());
        }
    }
    let _ = fs::remove_dir(folder);
}

fn text(output: Output) -> Result<String> {
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if !output.status.success() {
        bail!("{}: {}", output.status, said(&output.stderr));
    }
    Ok(said(&output.stdout))
}

/// The Role on a page.
fn rights(page: &str) -> Result<String> {
    let blocks = page.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next());
    let role = blocks.into_iter().find(|block| block.contains("kind: Role\n"));
    role.map(str::to_owned).with_context(|| format!("{PAGE} has no Role"))
}

#[cfg(test)]
mod tests {
    use super::{PAGE, rights};
    use xtask::workspace;

    #[test]
    fn the_rights_of_the_page_are_those_that_the_cluster_gives() {
        let role = rights(&workspace::read(PAGE).unwrap()).unwrap();
        assert!(
            role.contains("kind: Role") && role.contains("name: plimsoll") && role.contains("pods/portforward"),
            "{role}"
        );
        assert!(!role.contains('*'), "no right is for everything: {role}");
        assert!(rights("no block").is_err());
    }
}
