//! One long load whose sampling is stopped and continued every few seconds.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use model::{Event, NS_PER_S, Phase, Tick};
use rustix::process::{Pid, Signal, kill_process};

use super::runs::{Bench, RECORD, orders};
use crate::child::Killed;

/// How long sampling goes on, or is stopped: long enough for some samples.
const STRETCH_S: usize = 2;
/// Of both stretches of a pair; s.
pub(super) const PAIR_S: f64 = 2.0 * STRETCH_S as f64;
/// The load, on a core of its own from another one, as `--serve` has it.
const LOAD: [&str; 8] = ["-c", "16", "-t", "1", "--cpus", "1", "--warmup", "1s"];
/// Who takes the samples: a second load that does nothing else, once a second.
const LOOKS: [&str; 10] = ["-c", "1", "-R", "1", "-t", "1", "--cpus", "1", "--warmup", "1s"];
/// Of both after the last pair; s.
const SPARE_S: usize = 30;
/// Nothing takes longer than that until the next second is written down.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Goodput without samples and with them, of stretches side by side; either is the first equally often.
///
/// The samples are those of a second run on the same server, which is stopped and let go on as a process: the load itself
/// never changes, nor does the server.
pub(super) fn pairs(bench: &Bench, pairs: usize, seed: u64, mut begins: impl FnMut(usize)) -> Result<Vec<(f64, f64)>> {
    let (_target, url) = bench.target(&["--cpus", "0"])?;
    let long = format!("{}s", pairs * 2 * STRETCH_S + SPARE_S);
    let start = |name: &str, flags: &[&str]| -> Result<(Killed, Ticks)> {
        let directory = bench.records.path().join(name);
        std::fs::create_dir(&directory)?;
        let mut command = bench.command(&[&[url.as_str(), "-d", &long], flags].concat(), &directory);
        let run = Killed(command.stdout(Stdio::null()).spawn().context("starting plimsoll")?);
        Ok((run, Ticks::of(&directory.join(RECORD))?))
    };
    let (looks, mut looked) = start("looks", &LOOKS)?;
    looked.next()?;
    let (_load, mut ticks) = start("load", &[&LOAD[..], &["--no-observe"]].concat())?;
    ticks.next()?;
    let looks = Looks(looks);
    let mut goodput = Vec::new();
    for (pair, order) in orders(pairs, seed).into_iter().enumerate() {
        begins(pair);
        let mut per_s = [f64::NAN; 2];
        for way in order {
            looks.go_on(way == 1)?;
            let stretch = (0..STRETCH_S).map(|_| ticks.next()).collect::<Result<Vec<Tick>>>()?;
            per_s[way] = per_s_of(&stretch);
        }
        goodput.push(per_s.into());
    }
    Ok(goodput)
}

/// Good responses per second of these ticks.
fn per_s_of(ticks: &[Tick]) -> f64 {
    let good: u64 = ticks.iter().map(|tick| tick.flow.good).sum();
    let length_ns: u64 = ticks.iter().map(|tick| tick.to_ns - tick.from_ns).sum();
    good as f64 * NS_PER_S as f64 / length_ns as f64
}

/// The run that takes the samples.
struct Looks(Killed);

impl Looks {
    fn go_on(&self, on: bool) -> Result<()> {
        let signal = if on { Signal::CONT } else { Signal::STOP };
        kill_process(Pid::from_child(&self.0), signal).context("the run that looks has ended")
    }
}

/// The seconds of a run as they are written down.
struct Ticks(BufReader<std::fs::File>);

impl Ticks {
    fn of(record: &Path) -> Result<Self> {
        let path = record.join("events.jsonl");
        let began = Instant::now();
        while !path.exists() {
            ensure!(began.elapsed() < TIMEOUT, "{} does not come", path.display());
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(Self(BufReader::new(std::fs::File::open(path)?)))
    }

    /// The next one of the window, as soon as it is over.
    fn next(&mut self) -> Result<Tick> {
        let began = Instant::now();
        let mut line = String::new();
        loop {
            self.0.read_line(&mut line)?;
            if !line.ends_with('\n') {
                ensure!(began.elapsed() < TIMEOUT, "the load writes nothing down any more");
                std::thread::sleep(Duration::from_millis(1));
                continue;
            }
            if let Event::Tick(tick) = serde_json::from_str(&line).context("a line of events.jsonl")?
                && tick.phase == Phase::Measure
            {
                return Ok(*tick);
            }
            line.clear();
        }
    }
}
