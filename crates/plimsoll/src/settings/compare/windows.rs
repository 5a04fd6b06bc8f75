//! The windows of a comparison: how many each variant has at each load in a block, how long they are, and how long a block takes.

use super::{Arm, CANARY_NS, CANARY_WARMUP_NS, CompareOptions, REST_NS, START_NS, duet};
use crate::cli::compare::CompareArgs;
use crate::coordinate::compare::{ServedBefore, refusal};
use crate::exit::CommandError;
use crate::settings;
use model::{AtOnce, COMPARE_AT_ONCE, COMPARE_WINDOWS_MAX, CompareLoad, NS_PER_S, Warmup};

/// Shortest window.
const WINDOW_MIN_NS: u64 = NS_PER_S;
/// Requests of each window at least, for their 99th percentile.
const WINDOW_REQUESTS: f64 = 1000.0;
/// Measured time of each variant at each load in a block by default, ...
pub(super) const MEASURED_NS: u64 = 4 * NS_PER_S;
/// ... and where that is enough for two windows in which they take turns: more blocks are worth more than longer ones.
const MEASURED_IN_TURNS_NS: u64 = 2 * NS_PER_S;
/// Length of a turn of two variants that have the fixed load at the same time. What the host of a virtual machine takes from
/// both of its CPUs comes and goes in less than a second. A second holds a whole number of rounds, so that all seconds are alike.
const TURN_NS: u64 = NS_PER_S / 10;
/// The least rate at which a turn has enough requests, and the time of either variant in a block by default: the CPU time of a
/// request differs most from second to second.
const AT_ONCE_MIN_PER_S: f64 = 1000.0;
const AT_ONCE_NS: u64 = 3 * NS_PER_S;
/// Warm-up of a server that had the same load seconds ago, and of one that had another.
const SETTLED_NS: u64 = NS_PER_S / 4;
const OTHER_LOAD_NS: u64 = NS_PER_S / 2;
/// Opening the connections of a window and closing them, about.
const BETWEEN_NS: u64 = NS_PER_S / 10;

/// The windows of a variant at a load in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Windows {
    pub(super) each_ns: u64,
    /// How many, where the variants take turns; none where one is measured after the other.
    pub(super) in_turns: Option<u64>,
    /// How two variants have the fixed load at the same time.
    pub(super) at_once: Option<AtOnce>,
}

pub(super) const fn canary_ns(window_ns: u64) -> u64 {
    if window_ns < CANARY_NS { window_ns } else { CANARY_NS }
}

/// True if the servers of all variants can run in each block, so that the variants take turns within seconds. Two with the same
/// port cannot, and agents on other machines prepare each load for longer than a turn lasts.
pub(super) fn is_in_turns(args: &CompareArgs, arms: &[Arm]) -> bool {
    let clients = &args.measured.clients;
    let is_here = clients.client.is_empty() && clients.server_host.is_none();
    let ports: Vec<u16> = arms.iter().filter_map(Arm::port).collect();
    let is_shared = ports.iter().enumerate().any(|(i, port)| ports[..i].contains(port));
    is_here && !is_shared && !args.duet && !args.one_at_a_time
}

impl CompareOptions {
    /// About how long a block takes, with a canary or without, before the rate of its loads is known; ns.
    pub(super) fn block_ns(&self, has_canary: bool) -> u64 {
        self.block_of(self.windows(f64::INFINITY, true), has_canary)
    }

    /// About how long a block with such windows takes, with a canary or without; ns.
    pub(super) fn block_of(&self, windows: Windows, has_canary: bool) -> u64 {
        let warmup_ns = settings::expected_warmup_ns(self.warmup);
        let first_ns = windows.each_ns + warmup_ns + REST_NS + self.agree_ns;
        let canary_ns = if has_canary { canary_ns(windows.each_ns) + CANARY_WARMUP_NS + START_NS } else { 0 };
        if self.duet.is_some() {
            return duet::PLACEMENTS * (first_ns + 2 * START_NS) + canary_ns;
        }
        let of_load = |(nth, load): (usize, &CompareLoad)| {
            let of_first_ns = match windows.in_turns {
                Some(_) if nth > 0 => windows.each_ns + self.warmup_before(ServedBefore::OtherLoad).1,
                _ => first_ns,
            };
            let more = windows.in_turns.unwrap_or(1) - 1;
            match (load, &self.capacity) {
                (CompareLoad::Capacity, Some(capacity)) => capacity.budget_ns,
                (CompareLoad::Fixed, _) if let Some(at_once) = windows.at_once => {
                    (at_once.window_ns + warmup_ns + REST_NS) / COMPARE_AT_ONCE
                }
                _ => of_first_ns + more * (windows.each_ns + self.warmup_before(ServedBefore::SameLoad).1 + BETWEEN_NS),
            }
        };
        let arm_ns = self.loads.iter().enumerate().map(of_load).sum::<u64>() + START_NS;
        self.arms.len() as u64 * arm_ns + canary_ns
    }

    /// The windows of a variant at a load in a block, where that has so many requests per second and no process serves
    /// two variants (`are_apart`). They are shortened where the time for all blocks holds too few for an interval otherwise.
    pub(super) fn windows(&self, rate_per_s: f64, are_apart: bool) -> Windows {
        if !self.is_in_turns {
            return Windows { each_ns: self.measured_ns.unwrap_or(MEASURED_NS), in_turns: None, at_once: None };
        }
        let are_two = self.arms.len() as u64 == COMPARE_AT_ONCE;
        let at_once = (are_apart && are_two && rate_per_s >= AT_ONCE_MIN_PER_S)
            .then(|| AtOnce { turn_ns: TURN_NS, window_ns: self.measured_ns.unwrap_or(AT_ONCE_NS) * COMPARE_AT_ONCE });
        let of = |measured_ns: u64| {
            let by_requests = rate_per_s * measured_ns as f64 / NS_PER_S as f64 / WINDOW_REQUESTS;
            let most = (measured_ns / WINDOW_MIN_NS).min(COMPARE_WINDOWS_MAX);
            let in_turns = most.min(by_requests as u64).max(1);
            Windows { each_ns: measured_ns / in_turns, in_turns: Some(in_turns), at_once }
        };
        let short = of(self.measured_ns.unwrap_or(MEASURED_IN_TURNS_NS));
        let long = of(self.measured_ns.unwrap_or(MEASURED_NS));
        let is_enough =
            short.in_turns > Some(1) || refusal(self.budget_ns, self.block_of(long, true), self.blocks_max).is_some();
        if is_enough { short } else { long }
    }

    /// The warm-up of a server that has done this before, and about how long it takes; ns.
    pub(super) fn warmup_before(&self, before: ServedBefore) -> (Warmup, u64) {
        let short = match before {
            ServedBefore::SameLoad => SETTLED_NS,
            ServedBefore::OtherLoad if !self.is_warmup_asked => OTHER_LOAD_NS,
            ServedBefore::OtherLoad | ServedBefore::Nothing => u64::MAX,
        };
        let whole_ns = settings::expected_warmup_ns(self.warmup);
        match short < whole_ns {
            true => (Warmup::Fixed { duration_ns: short }, short),
            false => (self.warmup, whole_ns),
        }
    }
}

/// Measured time of each variant at each load in a block, if it was asked for.
pub(super) fn measured_ns(args: &CompareArgs) -> Result<Option<u64>, CommandError> {
    let Some(duration) = args.duration else { return Ok(None) };
    settings::window(duration)?;
    match duration.ns {
        WINDOW_MIN_NS.. => Ok(Some(duration.ns)),
        _ => Err(CommandError::usage(format!(
            "--duration {duration} is shorter than 1s: machine and processes are looked at once a second"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::args;
    use super::*;

    fn options(flags: &[&str]) -> CompareOptions {
        let flags = [&["http://127.0.0.1:1/", "http://127.0.0.1:2/"], flags].concat();
        CompareOptions::new(&args(&flags)).unwrap_or_else(|error| panic!("{flags:?}: {}", error.message))
    }

    /// Number and length in seconds of the windows at saturation, and the length of that of both at the fixed load.
    fn windows(flags: &[&str], rate_per_s: f64) -> (Option<u64>, f64, Option<f64>) {
        let windows = options(flags).windows(rate_per_s, true);
        let seconds = |ns: u64| ns as f64 / NS_PER_S as f64;
        (windows.in_turns, seconds(windows.each_ns), windows.at_once.map(|at_once| seconds(at_once.window_ns)))
    }

    #[test]
    fn fast_servers_take_turns_in_short_windows_and_slow_ones_have_one_window_of_enough_requests() {
        assert_eq!(windows(&[], 5_000.0), (Some(2), 1.0, Some(6.0)));
        assert_eq!(windows(&["-d", "4s"], 5_000.0), (Some(4), 1.0, Some(8.0)));
        assert_eq!(windows(&["-d", "9s"], 5_000.0), (Some(4), 2.25, Some(18.0)));
        assert_eq!(windows(&[], 600.0), (Some(2), 2.0, None), "a window of 1 s would have too few");
        assert_eq!(windows(&[], 200.0), (Some(1), 4.0, None));
        assert_eq!(windows(&["-d", "4s"], 600.0), (Some(2), 2.0, None));
        assert_eq!(windows(&["--one-at-a-time"], 5_000.0), (None, 4.0, None));
        assert_eq!(windows(&["--client", "ssh://a,ssh://b"], 5_000.0), (None, 4.0, None), "agents");
        let three = ["http://127.0.0.1:3/"];
        assert_eq!(windows(&three, 5_000.0), (Some(2), 1.0, None), "turns at once are those of two");
        assert_eq!(options(&[]).windows(5_000.0, false).at_once, None, "one process serves both");
    }

    #[test]
    fn windows_are_shortened_where_the_budget_holds_too_few_blocks_of_long_ones() {
        assert_eq!(windows(&["--budget", "2m"], 200.0), (Some(1), 2.0, None));
        assert_eq!(windows(&["--budget", "5m"], 200.0), (Some(1), 4.0, None));
    }

    #[test]
    fn servers_that_are_to_have_one_port_do_not_run_at_the_same_time() {
        let of = |flags: &[&str]| CompareOptions::new(&args(flags)).map(|options| options.is_in_turns).ok();
        assert_eq!(of(&["--serve", "target port=8090", "--serve", "target port=8090"]), Some(false));
        assert_eq!(of(&["--serve", "target port=8090", "--serve", "target port=8091"]), Some(true));
        assert_eq!(of(&["--serve", "target", "--serve", "target"]), Some(true));
    }

    #[test]
    fn a_server_that_is_warm_is_warmed_up_for_a_moment() {
        let warmup = |flags: &[&str]| {
            let before = [ServedBefore::Nothing, ServedBefore::OtherLoad, ServedBefore::SameLoad];
            before.map(|before| options(flags).warmup_before(before).1 as f64 / NS_PER_S as f64)
        };
        assert_eq!(warmup(&[]), [2.0, 0.5, 0.25]);
        assert_eq!(warmup(&["--warmup", "10s"]), [10.0, 10.0, 0.25], "what was asked for is for each load");
        assert_eq!(warmup(&["--warmup", "0s"]), [0.0; 3]);
    }

    #[test]
    fn a_block_in_turns_is_about_as_long_as_its_trials() {
        let block_s = |flags: &[&str], rate_per_s: f64| {
            let options = options(flags);
            options.block_of(options.windows(rate_per_s, true), true) as f64 / NS_PER_S as f64
        };
        let canary = 1.0 + 0.25 + 0.5;
        let saturated = (0.5 + 1.0) + (0.25 + 1.0 + 0.1);
        assert_eq!(block_s(&[], 5_000.0), canary + 2.0 * (0.5 + (6.0 + 2.0 + 0.5) / 2.0 + saturated));
        let slow = 2.0 * (0.5 + (2.0 + 4.0 + 0.5) + (0.5 + 4.0));
        assert_eq!(block_s(&[], 200.0), 2.0 + 0.75 + slow);
    }
}
