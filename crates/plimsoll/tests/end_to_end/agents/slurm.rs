//! Agents that Slurm starts, on three nodes of one machine that have a network of their own. All of it ends with one process.

use super::SOON;
use super::connected::{TOKEN, is_nowhere};
use crate::support::{Program, count, installed, list, plimsoll, skip, wait_for};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// Starts munge, slurmctld, three slurmds and a target in the directory `$1`. Slurm takes no address of loopback.
const SETUP: &str = r#"
set -e
cd "$1"
ip link set lo up
ip link add veth0 type veth peer name veth1
ip addr add 10.77.0.1/24 dev veth0
ip link set veth0 up
ip link set veth1 up
"$PLIMSOLL" target --listen 10.77.0.1:80 --first-byte 5ms >target 2>&1 &
mkdir state log
dd if=/dev/urandom of=munge.key bs=1024 count=1 status=none
chmod 600 munge.key
printf 'CgroupPlugin=autodetect\n' >cgroup.conf
cat >slurm.conf <<END
ClusterName=lab
SlurmctldHost=$(hostname)(10.77.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$PWD/munge.sock
CryptoType=crypto/munge
StateSaveLocation=$PWD/state
SlurmdSpoolDir=$PWD/%n
SlurmctldPidFile=$PWD/slurmctld.pid
SlurmdPidFile=$PWD/%n.pid
SlurmctldLogFile=$PWD/log/slurmctld
SlurmdLogFile=$PWD/log/%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/builtin
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=2
NodeName=n1 NodeAddr=10.77.0.1 NodeHostname=$(hostname) Port=7001 CPUs=2 State=UNKNOWN
NodeName=n2 NodeAddr=10.77.0.1 NodeHostname=$(hostname) Port=7002 CPUs=2 State=UNKNOWN
NodeName=n3 NodeAddr=10.77.0.1 NodeHostname=$(hostname) Port=7003 CPUs=2 State=UNKNOWN
PartitionName=load Nodes=n[1-3] Default=YES State=UP
END
export SLURM_CONF="$PWD/slurm.conf"
munged --foreground --force --key-file="$PWD/munge.key" --socket="$PWD/munge.sock" --pid-file="$PWD/munged.pid" \
    --log-file="$PWD/log/munged" --seed-file="$PWD/munged.seed" >log/munged.said 2>&1 &
for _ in {1..100}; do [ -S munge.sock ] && break; sleep 0.05; done
slurmctld -D >log/slurmctld.said 2>&1 &
for n in n1 n2 n3; do slurmd -D -N $n >log/$n.said 2>&1 & done
idle=0
for _ in {1..200}; do
    idle=$(sinfo -h -N -o %T 2>log/sinfo | grep -c idle || true)
    [ "$idle" = 3 ] && break
    sleep 0.05
done
[ "$idle" = 3 ] || { cat log/n1.said log/slurmctld.said log/sinfo >&2; exit 1; }
touch ready
exec sleep infinity
"#;

/// The nodes; they end with this value.
struct Slurm {
    directory: TempDir,
    unshare: Child,
}

impl Slurm {
    /// The nodes; why there are none where the kernel does not let us make them.
    fn start() -> Result<Self, String> {
        for (program, package) in
            [("slurmctld", "slurmctld"), ("slurmd", "slurmd"), ("srun", "slurm-client"), ("munged", "munge")]
        {
            installed(program, package);
        }
        let directory = tempfile::tempdir().expect("a temporary directory");
        let log = directory.path().join("setup.log");
        let namespaces = ["--net", "--mount", "--mount-proc", "--pid", "--fork", "--kill-child"];
        let unshare = Command::new("unshare")
            .args(namespaces)
            .args(["bash", "-c", SETUP, "setup"])
            .arg(directory.path())
            .env("PLIMSOLL", env!("CARGO_BIN_EXE_plimsoll"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(&log).expect("a file"))
            .spawn()
            .map_err(|error| error.to_string())?;
        let mut slurm = Self { directory, unshare };
        let ready = slurm.directory.path().join("ready");
        let is_ready = wait_for(SOON, || {
            let has_ended = slurm.unshare.try_wait().is_ok_and(|status| status.is_some());
            (has_ended || ready.exists()).then_some(!has_ended)
        });
        if is_ready != Some(true) {
            let log = std::fs::read_to_string(log).unwrap_or_default();
            let last = log.lines().rev().find(|line| !line.is_empty()).unwrap_or("it takes too long");
            return Err(format!("no nodes of Slurm in a network namespace: {last}"));
        }
        Ok(slurm)
    }

    /// A program in the network of the nodes.
    fn program(&self, words: &[&str]) -> Program {
        let net = format!("--net=/proc/{}/ns/net", self.inside());
        let conf = format!("SLURM_CONF={}/slurm.conf", self.directory.path().display());
        let token = format!("PLIMSOLL_TOKEN={TOKEN}");
        Program::new("nsenter", [&[&net, "env", &conf, &token][..], words].concat())
    }

    fn run(&self, agents: u32, more: &[&str]) -> Program {
        let client = format!("slurm://{agents}");
        let load = ["-c", "8", "--warmup", "500ms", "--json", "--agents-listen", "10.77.0.1:0"];
        let words = [env!("CARGO_BIN_EXE_plimsoll"), "run", "http://10.77.0.1/bytes/10", "--client", &client];
        self.program(&[&words[..], &load, more].concat())
    }

    /// Number of a process of the namespace, seen from here: the first child of `unshare`.
    fn inside(&self) -> u32 {
        let pid = self.unshare.id();
        let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
        children.trim().parse().expect("it has a child")
    }

    /// Agents on the nodes.
    fn agents() -> Vec<Pid> {
        processes(|words| {
            words.get(2..4).is_some_and(|words| words[0] == b"--connect" && words[1].starts_with(b"10.77.0.1:"))
        })
    }

    /// No agent is left, and no job.
    #[track_caller]
    fn is_clean(&self) {
        let clean = wait_for(SOON, || {
            let queue = self.program(&["squeue", "-h"]).run();
            (Self::agents().is_empty() && queue.exits(0).stdout.is_empty()).then_some(())
        });
        assert!(clean.is_some(), "left: {:?}", Self::agents());
    }
}

impl Drop for Slurm {
    fn drop(&mut self) {
        // The first process of its namespace takes all others along.
        let _ = self.unshare.kill();
        let _ = self.unshare.wait();
    }
}

/// Processes whose words are these.
pub(super) fn processes(are: impl Fn(&[&[u8]]) -> bool) -> Vec<Pid> {
    let pids = list("/proc".as_ref()).into_iter();
    let pids = pids.filter_map(|path| path.file_name()?.to_str()?.parse().ok().and_then(Pid::from_raw));
    pids.filter(|pid| {
        let line = std::fs::read(format!("/proc/{}/cmdline", pid.as_raw_nonzero())).unwrap_or_default();
        are(&line.split(|byte| *byte == 0).collect::<Vec<_>>())
    })
    .collect()
}

fn names(record: &Value) -> Vec<&str> {
    record["agents"].as_array().expect("agents").iter().filter_map(|agent| agent["name"].as_str()).collect()
}

/// One test, as the nodes are for one machine at a time.
#[test]
fn slurm_starts_agents_and_whatever_happens_none_is_left() {
    let slurm = match Slurm::start() {
        Ok(slurm) => slurm,
        Err(why) => return skip(&why),
    };
    let ended = slurm.run(3, &["-d", "1s"]).run();
    let record = ended.measured().json();
    assert_eq!(names(&record), ["slurm://1", "slurm://2", "slurm://3"], "{record:#}");
    slurm.is_clean();
    is_nowhere(TOKEN, &ended.path("."));
    for stored in ["state", "log"] {
        is_nowhere(TOKEN, &slurm.directory.path().join(stored));
    }
    too_many_or_too_late_is_told(&slurm);
    a_lost_agent_leaves_the_others(&slurm);
    for (signal, code) in [(Signal::INT, Some(130)), (Signal::KILL, None)] {
        let started = slurm.run(2, &["-d", "60s"]).start();
        started.wait_for_events("tick", 2);
        started.signal(signal);
        assert_eq!(started.end().status.code(), code);
        slurm.is_clean();
    }
}

fn too_many_or_too_late_is_told(slurm: &Slurm) {
    let fails = |agents, wait, more: &[&str], named: &[&str]| {
        let ended = slurm.run(agents, &[&["-q", "-d", "1s", "--agents-wait", wait], more].concat()).run();
        ended.fails(2, named);
        assert!(list(&ended.path("plimsoll-runs")).is_empty(), "no directory is left");
        slurm.is_clean();
    };
    fails(
        4,
        "30s",
        &[],
        &["agent slurm://", "srun ended with 1", "Unable to allocate resources: Requested", "4 nodes"],
    );
    fails(2, "30s", &["--srun", "srun -p nope"], &["agent slurm://", "Invalid partition name"]);
    fails(2, "1s", &["--srun", "sh -c 'exec sleep 61.75'"], &["agent slurm://", "within 1s, 0 of 2 agents did"]);
    assert_eq!(processes(|words| words.contains(&&b"61.75"[..])), [], "what was started as srun is ended");
}

fn a_lost_agent_leaves_the_others(slurm: &Slurm) {
    let started = slurm.run(2, &["-d", "3s", "--on-agent-loss", "continue"]).start();
    started.wait_for_events("tick", 2);
    let agents = Slurm::agents();
    assert_eq!(agents.len(), 2);
    kill_process(agents[0], Signal::KILL).expect("it runs");
    let record = started.end().exits(5).json();
    let lost = record["agents"].as_array().expect("agents").iter().filter(|agent| agent["lost"].is_object()).count();
    assert_eq!((lost, record["interrupted"].as_bool()), (1, Some(true)), "{record:#}");
    assert!(count(&record, "requests.good") > 100, "{record:#}");
    slurm.is_clean();
}

#[test]
fn what_slurm_is_not_asked_for_is_refused_before_anything_is_started() {
    let run = |args: &[&str]| plimsoll(["run", "http://192.0.2.1/"].iter().chain(args).copied()).run();
    run(&["--client", "slurm://2"]).fails(2, &["slurm://2", "--agents-listen", "10.0.0.1:0"]);
    run(&["--client", "slurm://none"]).fails(2, &["--client", "1 to 128", "slurm://2"]);
    let listen = ["--agents-listen", "127.0.0.1:0"];
    run(&[&["--client", "slurm://1", "--srun", "srun '"][..], &listen].concat()).fails(2, &["--srun", "quotes"]);
    run(&["--client", "ssh://a", "--srun", "srun"]).fails(2, &["--srun", "slurm://N"]);
    let target = crate::support::Target::start(&[]);
    let missing = ["run", &target.url("/"), "--client", "slurm://1", "--srun", "/nowhere/srun", listen[0], listen[1]];
    plimsoll(missing).run().fails(2, &["cannot start \"/nowhere/srun\"", "slurm://1", "--srun"]);
}
