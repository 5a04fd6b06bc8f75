//! Hosts as network namespaces on one switch, each with an sshd of its own. All of it ends with one process.

use crate::child::Killed;
use rustix::process::Pid;
use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Makes the hosts in the directory `$1`: the coordinator `c`, the target `t`, which has an sshd too, and `h1` to `h4`, of which
/// `h3` may run nothing and `h4` has no space. On port 81 the target is slower, and `c` has one of its own. Nothing of
/// this is seen outside, and no namespace has a way out.
const SETUP: &str = r#"
set -e
cd "$1"
mount --make-rprivate /
# A login runs nothing of this machine's own: what a shell starts with may take a minute, and wait for who was killed in it.
for startup in ~root/.bashrc /etc/bash.bashrc; do
    [ ! -f "$startup" ] || mount --bind /dev/null "$startup"
done
mount -t tmpfs none /run
# Servers run as nobody, who has to pass.
chmod 755 "$1"
mkdir -p /run/netns /run/sshd h1 h2 h3 h4 t
mount -t tmpfs -o noexec none h3
mount -t tmpfs -o size=256k none h4
ip netns add sw
ip -n sw link add br0 type bridge
ip -n sw link set br0 up
host() {
    ip netns add "$1"
    ip link add veth0 netns "$1" type veth peer name "$1" netns sw
    ip -n sw link set dev "$1" master br0 up
    ip -n "$1" addr add "$2/24" dev veth0
    ip -n "$1" link set veth0 up
    ip -n "$1" link set lo up
}
host c 10.77.0.1
host t 10.77.0.20
ssh-keygen -q -t ed25519 -N '' -f id
ssh-keygen -q -t ed25519 -N '' -f hostkey
ssh-keygen -q -t ed25519 -N '' -f otherkey
cp id.pub authorized_keys
printf 'StrictHostKeyChecking yes\nUser root\nIdentityFile %s/id\nIdentitiesOnly yes\n' "$1" >common
login() {
    printf '%s\n' "ListenAddress $2" "HostKey $PWD/hostkey" "AuthorizedKeysFile $PWD/authorized_keys" \
        "PidFile $PWD/$1.pid" 'PasswordAuthentication no' 'UsePAM no' 'StrictModes no' \
        'PermitRootLogin prohibit-password' "SetEnv XDG_CACHE_HOME=$PWD/$1 TMPDIR=$PWD/$1" >"$1.conf"
    ip netns exec "$1" /usr/sbin/sshd -f "$PWD/$1.conf" -E "$PWD/$1.log"
    printf 'Host %s\nHostName %s\n' "$1" "$2" >>names
    echo "$2 $(cut -d' ' -f1,2 hostkey.pub)" >>known
    echo "$2 $(cut -d' ' -f1,2 otherkey.pub)" >>changed
}
login t 10.77.0.20
for n in 1 2 3 4; do
    host h$n 10.77.0.1$n
    login h$n 10.77.0.1$n
done
printf 'Host h9\nHostName 10.77.0.19\n' >>names
: >unknown
for hosts in known changed unknown; do
    { cat common; printf 'UserKnownHostsFile %s/%s\n' "$1" $hosts; cat names; } >ssh-$hosts
done
serve() {
    ip netns exec "$1" "$PLIMSOLL" target --listen "$2" --first-byte "$3" >"target-$2" 2>&1 &
    # It has a line to say as soon as it listens.
    for _ in {1..400}; do [ -s "target-$2" ] && break; sleep 0.05; done
}
serve t 10.77.0.20:80 20ms
serve t 10.77.0.20:81 30ms
serve c 10.77.0.1:80 20ms
read -r pid rest </proc/self/stat
echo "$pid" >holder.part
mv holder.part holder
exec sleep infinity
"#;

/// The setup takes no longer.
const SOON: Duration = Duration::from_secs(20);
/// Time between two looks whether it is there.
const LOOK: Duration = Duration::from_millis(10);
/// Options before the host are those of an ssh: its configuration lies here, and begins so.
const SSH: &str = "ssh-";

/// Hosts that end with this value.
pub struct Network {
    /// The first process of its namespace takes all others along.
    unshare: Killed,
    directory: TempDir,
    holder: String,
}

impl Network {
    /// Address of the host of the servers.
    pub const SERVERS: &str = "10.77.0.20";

    /// The hosts, on two of which `program`, which is plimsoll, serves.
    ///
    /// # Errors
    /// Why there are none, where the kernel does not let us make them.
    pub fn start(program: &Path) -> Result<Self, String> {
        let wrong = |error: std::io::Error| format!("no network namespaces with sshd: {error}");
        let directory = tempfile::tempdir().map_err(wrong)?;
        let log = File::create(directory.path().join("setup.log")).map_err(wrong)?;
        let mut command = Command::new("unshare");
        command.args(["--net", "--mount", "--pid", "--fork", "--kill-child", "bash", "-c", SETUP, "setup"]);
        command.arg(directory.path()).env("PLIMSOLL", program);
        let unshare = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().map_err(wrong)?;
        let mut network = Self { unshare: Killed(unshare), directory, holder: String::new() };
        network.holder = network.await_holder().ok_or_else(|| network.why())?;
        Ok(network)
    }

    /// The process that holds the namespaces; none if it has ended, or takes too long.
    fn await_holder(&mut self) -> Option<String> {
        let (file, since) = (self.directory.path().join("holder"), Instant::now());
        while since.elapsed() < SOON {
            match std::fs::read_to_string(&file) {
                Ok(holder) if !holder.trim().is_empty() => return Some(holder.trim().to_owned()),
                _ if !matches!(self.unshare.try_wait(), Ok(None)) => return None,
                _ => std::thread::sleep(LOOK),
            }
        }
        None
    }

    fn why(&self) -> String {
        let log = std::fs::read_to_string(self.directory.path().join("setup.log")).unwrap_or_default();
        let last = log.lines().rev().find(|line| !line.is_empty()).unwrap_or("it takes too long");
        format!("no network namespaces with sshd: {last}")
    }

    /// Where keys, configuration and the hosts' copies of the program are.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Words of an ssh that knows `hosts`: known, changed or unknown.
    pub fn ssh(&self, hosts: &str) -> String {
        format!("ssh -F {}/{SSH}{hosts}", self.path().display())
    }

    /// A command on a host, which becomes the program that is added to it.
    pub fn on(&self, host: &str) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["-t", &self.holder, "-m", "-n", "ip", "netns", "exec", host]);
        command
    }

    /// Has a host carry out a command; what it prints.
    ///
    /// # Errors
    /// What it says when it fails.
    pub fn shell(&self, host: &str, command: &str) -> Result<String, String> {
        let ended = self.on(host).args(["sh", "-c", command]).output().map_err(|error| format!("nsenter: {error}"))?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if ended.status.success() {
            Ok(text(&ended.stdout))
        } else {
            Err(format!("{command}: {}", text(&ended.stderr)))
        }
    }

    /// Processes that run the copy of a host.
    pub fn agents(&self, host: &str) -> Vec<Pid> {
        running(&self.path().join(host).join("plimsoll/agents"))
    }

    /// Connections of the coordinator to any host.
    pub fn all_connections(&self) -> Vec<Pid> {
        with_word(&format!("{}/{SSH}", self.path().display()))
    }

    /// Connections of the coordinator to a host.
    pub fn connections(&self, host: &str) -> Vec<Pid> {
        let is_to = |pid: &Pid| words(*pid).iter().any(|word| word == host);
        self.all_connections().into_iter().filter(is_to).collect()
    }
}

/// Processes of programs below a directory.
pub fn running(below: &Path) -> Vec<Pid> {
    // A program that a shell is told to run does not run yet.
    let is_shell = |pid: &Pid| words(*pid).first().is_none_or(|word| word.ends_with("sh"));
    with_word(&format!("{}/", below.display())).into_iter().filter(|pid| !is_shell(pid)).collect()
}

/// Processes of which some word begins so.
fn with_word(begin: &str) -> Vec<Pid> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok().and_then(Pid::from_raw));
    pids.filter(|pid| words(*pid).iter().any(|word| word.starts_with(begin))).collect()
}

/// The command line of a process; empty when it has ended.
pub fn words(pid: Pid) -> Vec<String> {
    let line = std::fs::read(format!("/proc/{}/cmdline", pid.as_raw_nonzero())).unwrap_or_default();
    line.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}
