//! Hosts as network namespaces on one switch, each with an sshd of its own. All of it ends with one process.

use crate::support::{Program, installed, list, wait_for};
use rustix::process::{Pid, Signal, kill_process};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// Makes the hosts in the directory `$1`: the coordinator `c`, the target `t`, which has an sshd too, and `h1` to `h4`, of which `h3` may run nothing and
/// `h4` has no space. On port 81 the target is slower, and `c` has one of its own. Nothing of this is seen outside, and no namespace has a way out.
const SETUP: &str = r#"
set -e
cd "$1"
mount --make-rprivate /
mount -t tmpfs none /run
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
        'PermitRootLogin prohibit-password' "SetEnv XDG_CACHE_HOME=$PWD/$1" >"$1.conf"
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

/// The setup takes no longer, nor does what is left to end by itself.
const SOON: Duration = Duration::from_secs(20);

pub(crate) struct Network {
    directory: TempDir,
    unshare: Child,
    holder: String,
}

impl Network {
    pub(crate) const TARGET: &str = "http://10.77.0.20/bytes/10";
    /// That of the coordinator.
    pub(crate) const OWN_TARGET: &str = "http://10.77.0.1/bytes/10";

    /// The hosts; why there are none where the kernel does not let us make them.
    pub(crate) fn start() -> Result<Self, String> {
        installed("sshd", "openssh-server");
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path().to_str().expect("a plain path").to_owned();
        let unshare = Command::new("unshare")
            .args(["--net", "--mount", "--pid", "--fork", "--kill-child", "bash", "-c", SETUP, "setup", &path])
            .env("PLIMSOLL", env!("CARGO_BIN_EXE_plimsoll"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(directory.path().join("setup.log")).expect("a file"))
            .spawn()
            .map_err(|error| error.to_string())?;
        let mut network = Self { directory, unshare, holder: String::new() };
        let file = network.directory.path().join("holder");
        let found = wait_for(SOON, || {
            let has_ended = network.unshare.try_wait().is_ok_and(|status| status.is_some());
            let holder = std::fs::read_to_string(&file).unwrap_or_default().trim().to_owned();
            (has_ended || !holder.is_empty()).then_some(holder)
        });
        network.holder = found.unwrap_or_default();
        if network.holder.is_empty() {
            let log = std::fs::read_to_string(network.directory.path().join("setup.log")).unwrap_or_default();
            return Err(format!(
                "no network namespaces with sshd: {}",
                log.lines().rev().find(|line| !line.is_empty()).unwrap_or("it takes too long")
            ));
        }
        Ok(network)
    }

    pub(crate) fn path(&self) -> &str {
        self.directory.path().to_str().expect("a plain path")
    }

    /// `plimsoll` on the host of the coordinator, with an ssh that knows `hosts`: known, changed or unknown.
    pub(crate) fn plimsoll(&self, hosts: &str, args: &[&str]) -> Program {
        let words = args.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" ");
        let path = self.path();
        let inside =
            format!("cd \"$0\" && PLIMSOLL_SSH='ssh -F {path}/ssh-{hosts}' exec ip netns exec c \"$PLIMSOLL\" {words}");
        // The directory it is started in is not kept by nsenter.
        let script =
            format!("exec nsenter -t {} -m -n sh -c '{}' \"$PWD\"", self.holder, inside.replace('\'', r"'\''"));
        Program::new("sh", ["-c", &script])
    }

    /// Has a host carry out a command.
    #[track_caller]
    pub(crate) fn inside(&self, host: &str, command: &str) {
        let words = ["-t", &self.holder, "-m", "-n", "ip", "netns", "exec", host, "sh", "-c", command];
        let ended = Command::new("nsenter").args(words).output().expect("nsenter runs");
        assert!(ended.status.success(), "{command}: {}", String::from_utf8_lossy(&ended.stderr));
    }

    /// Processes that run the copy of a host.
    pub(crate) fn agents(&self, host: &str) -> Vec<Pid> {
        self.with_words(&format!("{}/{host}/plimsoll/agents", self.path()))
    }

    /// Connections of the coordinator to a host.
    pub(crate) fn connections(&self, host: &str) -> Vec<Pid> {
        let all = self.with_words(&format!("{}/ssh-", self.path()));
        all.into_iter().filter(|pid| words(*pid).iter().any(|word| word == host)).collect()
    }

    /// Processes of which some word begins so.
    fn with_words(&self, begin: &str) -> Vec<Pid> {
        let number = |path: &Path| path.file_name()?.to_str()?.parse().ok().and_then(Pid::from_raw);
        let pids = list("/proc".as_ref()).into_iter().filter_map(|path| number(&path));
        // A program that a shell is told to run is no agent yet.
        pids.filter(|pid| {
            let words = words(*pid);
            words.first().is_some_and(|word| !word.ends_with("sh") || begin.contains("/ssh-"))
                && words.iter().any(|word| word.starts_with(begin))
        })
        .collect()
    }

    pub(crate) fn kill(pids: &[Pid]) {
        assert!(!pids.is_empty(), "there is nothing to kill");
        pids.iter().for_each(|pid| kill_process(*pid, Signal::KILL).expect("it runs"));
    }

    /// Neither an agent nor an ssh is left.
    #[track_caller]
    pub(crate) fn is_clean(&self) {
        let left = || {
            [self.agents("h1"), self.agents("h2"), self.agents("t"), self.with_words(&format!("{}/ssh-", self.path()))]
                .concat()
        };
        let clean = wait_for(SOON, || left().is_empty().then_some(()));
        assert!(clean.is_some(), "left: {:?}", left().into_iter().map(words).collect::<Vec<_>>());
    }
}

fn words(pid: Pid) -> Vec<String> {
    let line = std::fs::read(format!("/proc/{}/cmdline", pid.as_raw_nonzero())).unwrap_or_default();
    line.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}

impl Drop for Network {
    fn drop(&mut self) {
        // The first process of its namespace takes all others along.
        let _ = self.unshare.kill();
        let _ = self.unshare.wait();
    }
}
