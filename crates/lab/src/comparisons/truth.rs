//! The true change of a variant, measured without any figure of plimsoll: the CPU time that the processes of both variants
//! have used, as `/proc` has it, over a fixed number of requests of plain clients.
//!
//! The clients keep the server as busy as the fixed load of a comparison does. A server that is asked for one thing after the
//! other has to be woken up for each of them, so that the same change is another share of its CPU time.
//!
//! Two starts of one server differ by a per cent and more, so that a change of 3 % would take a hundred starts to be known well.
//! Each server works in rounds that are all the same: what many rounds more take is known from a few starts, and from that how
//! many are 3 %.

use std::panic::resume_unwind;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use model::Estimate;
use serde::{Deserialize, Serialize};
use stats::paired_ratio;

use super::Server;
use super::client::Client;
use crate::calibrate::Random;
use crate::child::{Killed, announced};
use crate::usage::{children, pin, process_cpu_s};

/// Stretches of each variant in a start, in turn with those of the other.
const STRETCHES: usize = 100;
/// About how long one of them is: so short that whatever slows the machine slows both.
const STRETCH: Duration = Duration::from_millis(100);
/// Requests before the first of them take so long.
const WARM_UP: Duration = Duration::from_secs(1);
/// Clients of each variant, with a connection each.
const CLIENTS: usize = 16;
/// Mean of the time that a client waits before a request, in response times of one client alone: the servers are busy for a
/// little more than `CLIENTS / PAUSE` of the time if they have one CPU.
const PAUSE: u32 = 22;
/// The change that comparisons are to find.
const CHANGE: f64 = 0.03;
/// CPU of the clients. The servers have all, as in a comparison.
const CLIENT_CPU: usize = 0;
/// Forecast of the time of a start; s.
pub(super) const START_S: f64 = 2.0 * STRETCHES as f64 * STRETCH.as_millis() as f64 / 1e3 + 3.0;

/// What was measured of a variant and of one with many more rounds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Truth {
    /// What `--serve` takes for the one before the change, and for the one with many more rounds, without the folders of this
    /// machine.
    pub(super) variants: [String; 2],
    /// CPU time of a request of the one and of the other, of each start; ns.
    pub(super) cpu_ns: Vec<(f64, f64)>,
    /// Requests of each in all starts.
    pub(super) requests: u64,
}

impl Truth {
    /// Starts both variants of a server so many times; says before each how many came before it.
    pub(super) fn measure(
        plimsoll: &Path,
        server: Server,
        variants: &[String; 2],
        starts: u32,
        mut begins: impl FnMut(u32),
    ) -> Result<Self> {
        let shown = variants.each_ref().map(|variant| server.without_folders(variant));
        let mut truth = Self { variants: shown, cpu_ns: Vec::new(), requests: 0 };
        for start in 0..starts {
            begins(start);
            let [one, other] = variants.each_ref().map(|variant| Running::start(plimsoll, variant));
            let (requests, pair) = measure([one?, other?])?;
            truth.requests += requests;
            truth.cpu_ns.push(pair);
        }
        Ok(truth)
    }

    /// So many of the `measured` rounds more are a change of 3 %.
    pub(super) fn rounds_of_change(&self, measured: u32) -> u32 {
        let change = paired_ratio(&self.cpu_ns).value - 1.0;
        (f64::from(measured) * CHANGE / change).round() as u32
    }

    /// CPU time after the change of [`Self::rounds_of_change`] divided by that before it, with its interval.
    pub(super) fn ratio(&self, measured: u32) -> Estimate {
        let share = f64::from(self.rounds_of_change(measured)) / f64::from(measured);
        let Estimate { value, low, high, n } = paired_ratio(&self.cpu_ns);
        let of_change = |ratio: f64| 1.0 + share * (ratio - 1.0);
        Estimate { value: of_change(value), low: low.map(of_change), high: high.map(of_change), n }
    }
}

/// Stretches of both variants in turn, on a thread of their own, as servers that a pinned thread starts would stay on its CPU.
fn measure(mut running: [Running; 2]) -> Result<(u64, (f64, f64))> {
    let alternate = || pin(CLIENT_CPU).and_then(|()| alternate(&mut running));
    std::thread::scope(|scope| scope.spawn(alternate).join()).unwrap_or_else(|panic| resume_unwind(panic))
}

/// Requests of either variant, and the CPU time of one request of either; ns.
fn alternate(running: &mut [Running; 2]) -> Result<(u64, (f64, f64))> {
    let [one, other] = running;
    // Both are asked as often, as in a comparison: a server that is busier has less to do beside its rounds, as it sleeps and
    // is woken up less often.
    let pause = PAUSE * (one.warm_up()? + other.warm_up()?) / 2;
    // So many are answered in a stretch, as the clients wait for most of the time.
    let requests = (CLIENTS as f64 * STRETCH.as_secs_f64() / pause.as_secs_f64()).ceil() as u64;
    let used_s = |running: &[Running; 2]| -> Result<[f64; 2]> { Ok([running[0].cpu_s()?, running[1].cpu_s()?]) };
    let before_s = used_s(running)?;
    for stretch in 0..STRETCHES {
        // A B, B A, A B, ...: neither is always the first.
        for variant in [stretch % 2, (stretch + 1) % 2] {
            running[variant].load(requests, pause, stretch as u64)?;
        }
    }
    let after_s = used_s(running)?;
    let requests = requests * STRETCHES as u64;
    let of = |variant: usize| 1e9 * (after_s[variant] - before_s[variant]) / requests as f64;
    Ok((requests, (of(0), of(1))))
}

/// A variant that runs, and clients of it.
struct Running {
    processes: Vec<i32>,
    clients: Vec<Client>,
    _server: Killed,
}

impl Running {
    fn start(plimsoll: &Path, variant: &str) -> Result<Self> {
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "TERM"]).arg(plimsoll).args(["serve", variant]);
        let (server, said) = announced(&mut command).with_context(|| variant.to_owned())?;
        let url = said["url"].as_str().context("the server has no URL")?;
        let address = url.trim_start_matches("http://").trim_end_matches('/');
        let started = said["processes"].as_array().into_iter().flatten().filter_map(|process| process["pid"].as_i64());
        let mut processes: Vec<i32> = started.map(|pid| pid as i32).collect();
        // Those that they have started, and so on.
        let mut next = 0;
        while let Some(process) = processes.get(next) {
            processes.extend(children(*process));
            next += 1;
        }
        let clients = (0..CLIENTS).map(|_| Client::connect(address)).collect::<Result<_>>()?;
        Ok(Self { processes, clients, _server: server })
    }

    /// Requests of the first client alone until it is warm; the mean time of one of them.
    fn warm_up(&mut self) -> Result<Duration> {
        let (begin, mut requests) = (Instant::now(), 0_u32);
        let client = self.clients.first_mut().context("there are clients")?;
        while begin.elapsed() < WARM_UP {
            client.get()?;
            requests += 1;
        }
        Ok(begin.elapsed() / requests)
    }

    /// So many requests of all clients together, each of which waits before each request for a random time.
    fn load(&mut self, requests: u64, pause: Duration, seed: u64) -> Result<()> {
        let left = AtomicU64::new(requests);
        let is_next = || left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok();
        let act = |client: &mut Client, mut random: Random| -> Result<()> {
            while is_next() {
                std::thread::sleep(pause.mul_f64(random.exponential(1.0)));
                client.get()?;
            }
            Ok(())
        };
        std::thread::scope(|scope| {
            let clients = self.clients.iter_mut().zip(0..);
            let random = |client: u64| Random::new(seed * CLIENTS as u64 + client);
            let threads: Vec<_> =
                clients.map(|(client, number)| scope.spawn(move || act(client, random(number)))).collect();
            threads.into_iter().try_for_each(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)))
        })
    }

    /// CPU time that its processes have used so far; s.
    fn cpu_s(&self) -> Result<f64> {
        self.processes.iter().map(|process| process_cpu_s(*process)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::Truth;

    #[test]
    fn the_rounds_are_those_of_three_per_cent_and_the_ratio_is_theirs() {
        let cpu_ns = (0..6).map(|start| f64::from(100 + start)).map(|before| (before, 1.31 * before)).collect();
        let truth = Truth { variants: ["a".into(), "b".into()], cpu_ns, requests: 1 };
        assert_eq!(truth.rounds_of_change(100), 10, "31 % are 100 rounds, so that 3 % are 9.7");
        let ratio = truth.ratio(100);
        assert!((ratio.value - 1.031).abs() < 1e-9 && ratio.low.is_some_and(|low| low > 1.030), "{ratio:?}");
        let few = Truth { cpu_ns: truth.cpu_ns[..5].to_vec(), ..truth };
        assert_eq!(few.ratio(100).low, None, "too few starts for an interval");
    }
}
