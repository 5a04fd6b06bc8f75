//! `cargo xtask hog`: a program that takes a CPU in bursts, ahead of everybody else where that is permitted, and says how
//! much it has taken.

use std::io::{BufRead, BufReader};
use std::process::{ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Signal;
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};

use super::bursts::{Bursts, Cycle, LengthOptions, Lengths};
use crate::child::Killed;
use crate::usage::pin;

/// How often a burst looks whether it is to end.
const LOOK: Duration = Duration::from_millis(5);
/// Longest a hog may run.
const TIME_MAX_S: f64 = 3600.0;
/// The lowest real-time priority goes ahead of every ordinary process.
const AHEAD: [&str; 3] = ["chrt", "--fifo", "1"];
/// Number of `SCHED_FIFO` in `/proc/PID/stat`.
const SCHED_FIFO: u32 = 1;

/// A program that takes a CPU in bursts, ahead of others where that is permitted, and prints its account as JSON
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Options {
    /// The CPU
    #[arg(long, value_name = "N")]
    cpu: usize,
    /// Share of the time, 0 to 0.9
    #[arg(long, value_name = "S")]
    share: f64,
    /// Length in seconds
    #[arg(long, value_name = "T")]
    seconds: f64,
    /// Seed of lengths and places of bursts
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// End when stdin does
    #[arg(long)]
    until_eof: bool,
    #[command(flatten)]
    lengths: LengthOptions,
}

/// Takes the CPU until its time is over, or stdin ends with `--until-eof`; then prints its account as JSON.
pub fn run(options: Options) -> Result<()> {
    let Options { cpu, share, seconds, seed, until_eof, lengths } = options;
    let lengths = lengths.lengths()?;
    ensure!(0.0 < seconds && seconds <= TIME_MAX_S, "--seconds {seconds} is not above 0 and at most {TIME_MAX_S}");
    let bursts = Bursts::new(share, lengths, seed)?;
    end_with_parent()?;
    pin(cpu)?;
    println!("{}", take(bursts, &End::new(Duration::from_secs_f64(seconds), until_eof))?);
    Ok(())
}

/// A hog must never outlive who wanted it.
fn end_with_parent() -> Result<()> {
    let parent = rustix::process::getppid();
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).context("following the parent process")?;
    ensure!(rustix::process::getppid() == parent, "the parent process has ended");
    Ok(())
}

/// The bursts; returns the account.
fn take(bursts: Bursts, end: &End) -> Result<Value> {
    let (began, cpu_before) = (Instant::now(), cpu_time());
    let mut count = 0_u64;
    for Cycle { before, burst, after } in bursts {
        end.sleep(before);
        if end.is_reached() {
            break;
        }
        count += 1;
        busy(burst, end);
        end.sleep(after);
    }
    let (wall_s, cpu_s) = (began.elapsed().as_secs_f64(), (cpu_time() - cpu_before).as_secs_f64());
    let policy = procfs::process::Process::myself().and_then(|own| own.stat()).context("/proc/self/stat")?.policy;
    Ok(json!({
        "busy_share": cpu_s / wall_s.max(f64::MIN_POSITIVE),
        "wall_s": wall_s,
        "bursts": count,
        "is_ahead": policy == Some(SCHED_FIFO),
    }))
}

fn busy(burst: Duration, end: &End) {
    let until = Instant::now() + burst;
    while Instant::now() < until && !end.is_reached() {
        let look = until.min(Instant::now() + LOOK);
        while Instant::now() < look {
            std::hint::spin_loop();
        }
    }
}

fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

/// When it is over.
struct End {
    at: Instant,
    /// Also when stdin ends, which it does with the process that holds the other end.
    until_eof: bool,
}

impl End {
    fn new(time: Duration, until_eof: bool) -> Self {
        Self { at: Instant::now() + time, until_eof }
    }

    fn is_reached(&self) -> bool {
        Instant::now() >= self.at || self.waits(Duration::ZERO)
    }

    fn sleep(&self, time: Duration) {
        let until = self.at.min(Instant::now() + time);
        while let Some(left) = until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) {
            if self.waits(left) {
                return;
            }
        }
    }

    /// Waits for the end of stdin, `time` at most; whether it came.
    fn waits(&self, time: Duration) -> bool {
        if !self.until_eof {
            std::thread::sleep(time);
            return false;
        }
        let stdin = std::io::stdin();
        let time = Timespec { tv_sec: time.as_secs() as i64, tv_nsec: i64::from(time.subsec_nanos()) };
        poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(&time)).is_ok_and(|ready| ready > 0)
    }
}

/// A running hog, which ends with this value.
pub(super) struct Hog {
    child: Killed,
    /// Its end is the sign to finish.
    stdin: Option<ChildStdin>,
}

/// What a hog has taken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Account {
    pub(super) busy_share: f64,
    /// True if it went ahead of ordinary processes.
    pub(super) is_ahead: bool,
}

impl Hog {
    /// Starts one on `cpu`, for `seconds` at most.
    pub(super) fn start(cpu: u32, share: f64, lengths: Lengths, seed: u64, seconds: f64) -> Result<Self> {
        let own = std::env::current_exe().context("the path of this program")?;
        let mut command = match may_go_ahead() {
            true => {
                let mut command = Command::new(AHEAD[0]);
                command.args(&AHEAD[1..]).arg(own);
                command
            }
            false => Command::new(own),
        };
        command.args(["hog", "--until-eof"]);
        for (name, value) in [
            ("--cpu", f64::from(cpu)),
            ("--share", share),
            ("--seconds", seconds.min(TIME_MAX_S)),
            ("--burst-min", lengths.shortest_s),
            ("--burst-max", lengths.longest_s),
        ] {
            command.arg(name).arg(value.to_string());
        }
        command.arg("--seed").arg(seed.to_string()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = Killed(command.spawn().context("starting a hog")?);
        let stdin = child.stdin.take();
        Ok(Self { child, stdin })
    }

    /// Ends it and returns its account.
    pub(super) fn finish(mut self) -> Result<Account> {
        drop(self.stdin.take());
        let out = self.child.stdout.take().context("it is piped")?;
        let mut line = String::new();
        BufReader::new(out).read_line(&mut line)?;
        account(&line)
    }
}

/// True if real-time priority is permitted here.
fn may_go_ahead() -> bool {
    let mut command = Command::new(AHEAD[0]);
    command.args(&AHEAD[1..]).arg("true").stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

fn account(line: &str) -> Result<Account> {
    let said: Value = serde_json::from_str(line).context("the hog gave no account of itself")?;
    let busy_share = said["busy_share"].as_f64().context("the hog's account has no busy_share")?;
    Ok(Account { busy_share, is_ahead: said["is_ahead"] == true })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::parsed;

    #[test]
    fn an_account_is_read_back() {
        let line = r#"{"busy_share":0.198,"wall_s":60.2,"bursts":12,"is_ahead":true}"#;
        assert_eq!(account(line).unwrap(), Account { busy_share: 0.198, is_ahead: true });
        assert!(account("").is_err() && account("{}").is_err());
    }

    #[test]
    fn what_is_asked_of_a_hog_is_checked_before_it_begins() {
        for line in
            ["", "--cpu 0", "--cpu 0 --share 0.2", "--cpu 0 --share 2 --seconds 1", "--cpu 0 --share 0.2 --seconds 0"]
        {
            assert!(parsed::<Options>(line).map_err(Into::into).and_then(run).is_err(), "{line}");
        }
    }
}
