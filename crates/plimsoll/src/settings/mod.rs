//! From what was typed to what it means: validated, complete, free of clap.

pub(crate) mod auth;
pub(crate) mod capacity;
pub(crate) mod clients;
pub(crate) mod compare;
pub(crate) mod connect_override;
pub(crate) mod draft;
pub(crate) mod expect;
pub(crate) mod redirects;
pub(crate) mod selectors;
pub(crate) mod status_source;
pub(crate) mod target_url;
pub(crate) mod threshold;
pub(crate) mod trust;

use crate::cli::{ArrivalsArg, GeneratorArgs, WarmupArg};
use crate::environment::{is_local, usable_cpus};
use crate::exit::CommandError;
use connect_override::ConnectOverride;
use expect::Expect;
use model::{
    Address, Arrivals, Count, Load, Numbering, Plan, Quantile, Recording, Request, Stop, Target, TlsPlan, Warmup,
};
use target_url::TargetUrl;

/// Most connections of one run; beyond it local ports and descriptors end long before.
const CONNECTIONS_MAX: u64 = 1_000_000;
/// Connections of an open loop: enough that a short stall is not mistaken for the limit of the server.
pub(crate) const OPEN_CONNECTIONS: Count = Count(256);
/// Highest rate; one request a nanosecond is beyond any machine.
const RATE_MAX_PER_S: f64 = 1e9;
/// How long before a request is due its load thread stops sleeping, and for how long it awaits the response awake, where
/// nothing else is said: longer than most wake-ups on a virtual machine take; ns.
const SPIN_NS: u64 = 500_000;
/// What it may take of the mean time between two requests on a CPU that several load threads share, so that they do not
/// keep each other from sending on time.
const SPIN_SHARE_SHARED: f64 = 0.25;
/// How long a warm-up takes that ends by itself, about; ns.
const WARMUP_AUTO_NS: u64 = 2 * model::NS_PER_S;
/// Requests of a warm-up that nobody has asked for, where one of them may change something on the server: enough that its code
/// is loaded, and few beside what is measured.
const CHANGING_WARMUP_REQUESTS: u64 = 20;
/// Longest window or warm-up; ns (one week).
const TIME_MAX_NS: u64 = 7 * 24 * 3600 * model::NS_PER_S;

/// Everything of a plan that does not depend on what the probe finds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    /// What is asked for; their contracts are what is declared until the probe has looked.
    pub(crate) requests: Vec<Request>,
    /// What was taken of the recording that they are from.
    pub(crate) recording: Option<Recording>,
    pub(crate) pipeline: u32,
    pub(crate) tls: Option<TlsPlan>,
    /// Where to connect instead of the host of the URL.
    pub(crate) connect_override: Option<ConnectOverride>,
    pub(crate) keepalive: bool,
    /// True if the user has said how long a warm-up is: then it sends what it has time for.
    pub(crate) is_warmup_asked_for: bool,
    pub(crate) timeout_ns: u64,
    pub(crate) expect: Expect,
    pub(crate) threads: Option<u32>,
    pub(crate) cpus: Vec<u32>,
    /// What was asked for by `--spin`; ns.
    pub(crate) spin_ns: Option<u64>,
    /// CPUs that a server on this machine may use; empty while that is not known.
    pub(crate) server_cpus: Vec<u32>,
    /// Response time within which good responses are counted once more; ns.
    pub(crate) slo_ns: Option<u64>,
    /// Quantiles that the result has beside the usual ones.
    pub(crate) quantiles: Vec<Quantile>,
    pub(crate) seed: u64,
}

impl Settings {
    /// The plan for one load on `address`.
    pub(crate) fn plan(
        &self,
        url: &TargetUrl,
        address: &Address,
        numbering: Numbering,
        load: Load,
        stop: Stop,
        warmup: Warmup,
    ) -> Plan {
        let threads = self.threads_for(address).min(load.connections());
        let (warmup, warmup_requests) = self.careful(warmup);
        Plan {
            target: Target {
                url: url.url.clone(),
                authority: url.authority.clone(),
                address: address.clone(),
                connect_to: self.connect_override.as_ref().and_then(ConnectOverride::connect_to),
                protocol: url.protocol(),
            },
            requests: self.requests.clone(),
            recording: self.recording.clone(),
            pipeline: self.pipeline,
            numbering,
            tls: self.tls.clone(),
            spin_ns: self.spin_for(address, load, threads),
            load,
            stop,
            warmup,
            warmup_requests,
            timeout_ns: self.timeout_ns,
            keepalive: self.keepalive,
            threads,
            cpus: self.cpus.clone(),
            turns: None,
            slo_ns: self.slo_ns,
            quantiles: self.quantiles.clone(),
            seed: self.seed,
        }
    }

    /// A warm-up that nobody has asked for, and how many requests it sends at most: few, where one may change something.
    fn careful(&self, warmup: Warmup) -> (Warmup, Option<u64>) {
        let changes = self.requests.iter().any(|request| !request.is_safe());
        match expected_warmup_ns(warmup) {
            duration_ns if changes && duration_ns > 0 && !self.is_warmup_asked_for => {
                (Warmup::Fixed { duration_ns }, Some(CHANGING_WARMUP_REQUESTS))
            }
            _ => (warmup, None),
        }
    }

    /// How long a load thread stays awake round each request: what was asked for, else nothing where that could take
    /// CPU time from the server. In a closed loop no request is due by schedule.
    fn spin_for(&self, address: &Address, load: Load, threads: u32) -> u64 {
        let Load::Open { rate_per_s, .. } = load else { return 0 };
        self.spin_ns.unwrap_or_else(|| {
            let cpus = self.load_cpus();
            let is_apart = !is_local(address) || are_apart(&cpus, &self.server_cpus);
            if is_apart { default_spin_ns(rate_per_s, threads, cpus.len() as u32) } else { 0 }
        })
    }

    /// How long a load thread of an agent stays awake round each request, when all have so many threads and CPUs; ns.
    pub(crate) fn remote_spin(&self, load: Load, threads: u32, cpus: u32) -> u64 {
        let Load::Open { rate_per_s, .. } = load else { return 0 };
        self.spin_ns.unwrap_or_else(|| default_spin_ns(rate_per_s, threads, cpus))
    }

    /// CPUs that the load threads may use: those they are pinned to, else all that this process may use.
    pub(crate) fn load_cpus(&self) -> Vec<u32> {
        if self.cpus.is_empty() { usable_cpus() } else { self.cpus.clone() }
    }

    /// Load threads: what was asked for, else one a pinned CPU, else all CPUs, else half of them when the server
    /// needs the others.
    fn threads_for(&self, address: &Address) -> u32 {
        let cpus = usable_cpus().len() as u32;
        self.threads.unwrap_or_else(|| match self.cpus.len() as u32 {
            0 if is_local(address) => (cpus / 2).max(1),
            0 => cpus,
            pinned => pinned,
        })
    }
}

/// True if the load has CPUs of its own beside a server that may use those of `server`; not while these are unknown.
fn are_apart(load: &[u32], server: &[u32]) -> bool {
    !server.is_empty() && load.iter().all(|cpu| !server.contains(cpu))
}

/// Busy wait of `threads` load threads on `cpus` CPUs of their own. From 2,000 requests/s on a CPU it takes the whole
/// CPU: a thread that sleeps for less than [`SPIN_NS`] gives others little, and its wake-up costs the response some 10 µs.
fn default_spin_ns(rate_per_s: f64, threads: u32, cpus: u32) -> u64 {
    let gap_ns = f64::from(threads.min(cpus)) / rate_per_s * model::NS_PER_S as f64;
    let share = if threads > cpus { SPIN_SHARE_SHARED } else { 1.0 };
    SPIN_NS.min((share * gap_ns) as u64)
}

/// Refuses `--spin` in a closed loop, where no request is due by a schedule. `instead`: what gives an open one.
pub(crate) fn no_spin(generator: &GeneratorArgs, instead: &str) -> Result<(), CommandError> {
    match generator.spin {
        None => Ok(()),
        Some(_) => Err(CommandError::usage(format!("--spin is for open loops: {instead}"))),
    }
}

/// Refuses `--pipeline` in an open loop, whose requests wait for no other.
pub(crate) fn no_pipeline(pipeline: Count) -> Result<(), CommandError> {
    match pipeline.0 {
        1 => Ok(()),
        n => Err(CommandError::usage(format!(
            "--pipeline {n} is for closed loops: at a rate a request would wait behind others on its connection"
        ))),
    }
}

/// Closed loop without a rate, open loop with one.
pub(crate) fn load(connections: Count, rate_per_s: Option<f64>, arrivals: ArrivalsArg) -> Result<Load, CommandError> {
    let connections = in_range("--connections", connections, 1, CONNECTIONS_MAX)? as u32;
    let arrivals = match arrivals {
        ArrivalsArg::Poisson => Arrivals::Poisson,
        ArrivalsArg::Constant => Arrivals::Constant,
    };
    match rate_per_s {
        None => Ok(Load::Closed { connections }),
        Some(rate) if rate > RATE_MAX_PER_S => {
            Err(CommandError::usage(format!("--rate {rate} is above {RATE_MAX_PER_S} requests per second")))
        }
        Some(rate_per_s) => Ok(Load::Open { rate_per_s, arrivals, connections }),
    }
}

/// A window of a fixed time.
pub(crate) fn window(duration: model::Duration) -> Result<Stop, CommandError> {
    if duration.ns == 0 || duration.ns > TIME_MAX_NS {
        return Err(CommandError::usage(format!("--duration {duration} is not above 0 and at most a week")));
    }
    Ok(Stop::Duration { duration_ns: duration.ns })
}

/// What `--warmup` says, else one of this length; ns.
pub(crate) fn warmup(arg: Option<WarmupArg>, default_ns: u64) -> Result<Warmup, CommandError> {
    match arg {
        None => Ok(Warmup::Fixed { duration_ns: default_ns }),
        Some(WarmupArg::Auto) => Ok(Warmup::Auto),
        Some(WarmupArg::Fixed(time)) if time.ns <= TIME_MAX_NS => Ok(Warmup::Fixed { duration_ns: time.ns }),
        Some(WarmupArg::Fixed(time)) => Err(CommandError::usage(format!("--warmup {time} is longer than a week"))),
    }
}

/// A positive value with two digits.
pub(crate) fn two_digits(value: f64) -> f64 {
    let unit = 10f64.powf(value.log10().floor() - 1.0);
    (value / unit).round() * unit
}

/// About how long a warm-up takes; ns.
pub(crate) const fn expected_warmup_ns(warmup: Warmup) -> u64 {
    match warmup {
        Warmup::Fixed { duration_ns } => duration_ns,
        Warmup::Auto => WARMUP_AUTO_NS,
    }
}

/// `n` when it lies in the range, else a line that names the flag.
pub(crate) fn in_range(flag: &str, n: Count, min: u64, max: u64) -> Result<u64, CommandError> {
    if (min..=max).contains(&n.0) {
        Ok(n.0)
    } else {
        Err(CommandError::usage(format!("{flag} {} is not between {min} and {max}", n.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_change_something_is_warmed_up_by_few_unless_a_warm_up_is_asked_for() {
        let second = Warmup::Fixed { duration_ns: model::NS_PER_S };
        let of = |methods: &[&str], is_warmup_asked_for, warmup| {
            let request = |method: &&str| Request { method: (*method).to_owned(), ..Request::get("/") };
            let requests = methods.iter().map(request).collect();
            Settings { requests, is_warmup_asked_for, ..Settings::default() }.careful(warmup)
        };
        assert_eq!(of(&["GET", "HEAD"], false, second), (second, None));
        assert_eq!(of(&["GET", "POST"], false, second), (second, Some(CHANGING_WARMUP_REQUESTS)));
        assert_eq!(of(&["DELETE"], true, second), (second, None));
        assert_eq!(of(&["PUT"], false, Warmup::Fixed { duration_ns: 0 }), (Warmup::Fixed { duration_ns: 0 }, None));
        let bounded = Warmup::Fixed { duration_ns: WARMUP_AUTO_NS };
        assert_eq!(of(&["PATCH"], false, Warmup::Auto), (bounded, Some(CHANGING_WARMUP_REQUESTS)));
    }

    #[test]
    fn the_load_is_apart_only_from_a_server_whose_cpus_are_known_and_others() {
        assert!(are_apart(&[1], &[0]));
        assert!(are_apart(&[2, 3], &[0, 1]));
        assert!(!are_apart(&[0, 1], &[0]), "one CPU in common");
        assert!(!are_apart(&[0], &[0]));
        assert!(!are_apart(&[1], &[]), "the server may be anywhere");
    }

    #[test]
    fn a_busy_wait_lasts_from_one_request_to_the_next_at_most() {
        let at = |rate_per_s, threads, cpus| default_spin_ns(rate_per_s, threads, cpus);
        assert_eq!([at(100.0, 1, 1), at(1000.0, 1, 1), at(5000.0, 1, 1)], [500_000, 500_000, 200_000]);
        assert_eq!(at(5000.0, 2, 2), 400_000, "each thread has half of the requests");
        assert_eq!(at(5000.0, 4, 1), 50_000, "four threads on one CPU wait for all of them");
        assert_eq!(at(5000.0, 1, 4), 200_000);
    }

    #[test]
    fn the_busy_wait_follows_from_where_server_and_load_run() {
        let local: Address = "127.0.0.1:80".parse().unwrap();
        let far: Address = "192.0.2.1:80".parse().unwrap();
        let open = Load::Open { rate_per_s: 1000.0, arrivals: Arrivals::Poisson, connections: 8 };
        let spin = |cpus: &[u32], server: &[u32], address, load| {
            let settings = Settings { cpus: cpus.into(), server_cpus: server.into(), ..Settings::default() };
            settings.spin_for(address, load, 1)
        };
        assert_eq!(spin(&[1], &[0], &local, open), 500_000, "CPUs of their own");
        assert_eq!(spin(&[1], &[0, 1], &local, open), 0, "the server may use ours");
        assert_eq!(spin(&[1], &[], &local, open), 0, "nobody knows where the server runs");
        assert_eq!(spin(&[1], &[], &far, open), 500_000, "on another machine");
        assert_eq!(spin(&[1], &[0], &local, Load::Closed { connections: 8 }), 0, "nothing is due in a closed loop");
        let asked = Settings { spin_ns: Some(5_000), ..Settings::default() };
        assert_eq!(asked.spin_for(&local, open, 1), 5_000);
    }
}
