//! Settings of a search for a capacity: its goal, its range, and its times.

use crate::cli::MeasuredArgs;
use crate::cli::capacity::CapacityArgs;
use crate::cli::compare::CompareArgs;
use crate::exit::CommandError;
use crate::settings;
use judge::goal::{Goal, Quantity};
use model::human::{percent, rate, time};
use model::{COMPARE_ARMS_MAX, CapacitySettings, CapacityTimes, Duration, Load, NS_PER_S, Stop, Warmup};

/// Rest after each trial: what it left in the server's queues must not reach the next.
pub(crate) const REST_NS: u64 = NS_PER_S / 2;
/// Window of the closed loop that shows where to begin: this, or a tenth of the budget, but not less than the least.
const PILOT_NS: u64 = 3 * NS_PER_S;
const PILOT_MIN_NS: u64 = NS_PER_S;
/// Connections of that closed loop at most.
const PILOT_CONNECTIONS: u32 = 64;
/// Part of what the closed loop got out at which the search begins, and lowest part that it goes down to.
const START_SHARE: f64 = 0.5;
const FROM_SHARE: f64 = 0.001;
/// Warm-up before each window; ns.
const WARMUP_NS: u64 = NS_PER_S;
/// Windows of trials: what is usual, and shortest ones. Growth of a backlog needs three whole seconds.
const FULL_NS: u64 = 6 * NS_PER_S;
const FULL_MIN_NS: u64 = 4 * NS_PER_S;
const SHORT_MIN_NS: u64 = 3 * NS_PER_S;
/// Requests beyond a quantile of the goal that a window should have ...
const BEYOND: f64 = 20.0;
/// ... as far as so many windows fit into the budget; and requests that any window should have.
const WINDOWS_MIN: u64 = 12;
const REQUESTS_MIN: f64 = 10.0;
/// Usual width of the bracket, widest for want of another, and those that may be asked for; shares.
const WIDTH: f64 = 0.03;
const WIDTH_MAX: f64 = 0.1;
const WIDTHS: std::ops::RangeInclusive<f64> = 0.005..=0.5;
/// A goal that lets more than this share fail has no condition on errors.
const ERRORS_MAX: f64 = 0.5;
/// Shortest and longest budget.
const BUDGET_NS: std::ops::RangeInclusive<u64> = 10 * NS_PER_S..=7 * 24 * 3600 * NS_PER_S;
/// Lowest rate; per second.
const RATE_MIN_PER_S: f64 = 0.001;
/// In a block of a comparison: time of a search, warm-up of a trial on a server that has just been under load, highest
/// rate, and middle of the parts of what a closed loop got out at which it begins.
const BLOCK_BUDGET_NS: u64 = 30 * NS_PER_S;
const BLOCK_WARMUP_NS: u64 = NS_PER_S / 2;
const BLOCK_TO_PER_S: f64 = 1e6;
const BLOCK_START_SHARE: f64 = 0.7;
/// Multiples of the golden ratio have fractions that fill the range evenly, however many there are.
const GOLDEN: f64 = 0.618_033_988_749_895;
/// Beyond so many the fractions lose their digits.
const PLACES: u64 = 1 << 20;

/// Search that was asked for, as far as it is known before the server is.
#[derive(Clone, Debug)]
pub(crate) struct CapacityOptions {
    pub(crate) goal: Goal,
    width: f64,
    from_per_s: Option<f64>,
    pub(crate) to_per_s: f64,
    /// Window of full trials; none: what the goal needs, at least `full_least_ns`.
    full_ns: Option<u64>,
    full_least_ns: u64,
    pub(crate) warmup: Warmup,
    /// Until agents have agreed on the start of a load; ns.
    agree_ns: u64,
    /// Time for all; ns.
    pub(crate) budget_ns: u64,
    seed: u64,
}

/// The closed loop that the search begins with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pilot {
    /// Good responses per second.
    pub(crate) per_s: f64,
    /// Time that it took in all; ns.
    pub(crate) took_ns: u64,
}

impl CapacityOptions {
    /// Checks what was typed, before anything is started.
    pub(crate) fn new(args: &CapacityArgs) -> Result<Self, CommandError> {
        settings::no_pipeline(args.measured.request.pipeline)?;
        if args.to.per_s > settings::RATE_MAX_PER_S {
            let (to, most) = (rate(args.to.per_s), rate(settings::RATE_MAX_PER_S));
            return Err(CommandError::usage(format!("--to {to} is above {most}")));
        }
        settings::load(args.connections, Some(args.to.per_s), args.arrivals)?;
        let goal = Goal::parse(args.goal.as_deref()).map_err(|why| CommandError::usage(format!("--goal {why}")))?;
        agree(&goal, &args.measured)?;
        let from_per_s = args.from.map(|from| from.per_s);
        if let Some(from_per_s) = from_per_s.filter(|from_per_s| *from_per_s > args.to.per_s) {
            let (from, to) = (rate(from_per_s), rate(args.to.per_s));
            return Err(CommandError::usage(format!("--from {from} is above --to {to}")));
        }
        if from_per_s.unwrap_or(args.to.per_s).min(args.to.per_s) < RATE_MIN_PER_S {
            return Err(CommandError::usage("--from and --to are at least 0.001 requests per second"));
        }
        if !BUDGET_NS.contains(&args.budget.ns) {
            return Err(CommandError::usage(format!("--budget {} is not between 10s and a week", args.budget)));
        }
        let options = Self {
            width: width(args.width.as_deref(), goal.errors_max())?,
            goal,
            from_per_s,
            to_per_s: args.to.per_s,
            full_ns: args.duration.map(full_ns).transpose()?,
            full_least_ns: FULL_NS,
            warmup: settings::warmup(args.warmup, WARMUP_NS)?,
            agree_ns: settings::clients::agree_ns(&args.measured.clients),
            budget_ns: args.budget.ns,
            seed: args.measured.generator.seed,
        };
        let least_ns = options.pilot_ns() + options.overhead_ns() + 2 * (options.window_ns() + options.overhead_ns());
        if least_ns > options.budget_ns {
            return Err(CommandError::usage(format!(
                "--budget {} has no room for two trials: they need {} with --duration and --warmup as they are",
                args.budget,
                time(least_ns as f64)
            )));
        }
        Ok(options)
    }

    /// Short searches in the blocks of a comparison, on servers that are warm.
    pub(crate) fn in_blocks(args: &CompareArgs) -> Result<Self, CommandError> {
        let goal = Goal::parse(args.goal.as_deref()).map_err(|why| CommandError::usage(format!("--goal {why}")))?;
        agree(&goal, &args.measured)?;
        if let Some(share) = goal.conditions().iter().find(|condition| condition.quantity == Quantity::CpuShare) {
            return Err(CommandError::usage(format!(
                "--goal {share}: variants may have other CPUs; write a number of CPUs, such as cpu<1.5"
            )));
        }
        settings::no_pipeline(args.measured.request.pipeline)?;
        let options = Self {
            width: width(None, goal.errors_max())?,
            goal,
            from_per_s: None,
            to_per_s: BLOCK_TO_PER_S,
            full_ns: None,
            full_least_ns: FULL_MIN_NS,
            warmup: Warmup::Fixed { duration_ns: BLOCK_WARMUP_NS },
            agree_ns: settings::clients::agree_ns(&args.measured.clients),
            budget_ns: args.capacity_budget.map_or(BLOCK_BUDGET_NS, |budget| budget.ns),
            seed: args.measured.generator.seed,
        };
        let least_ns = 2 * (FULL_MIN_NS + options.overhead_ns());
        if !(least_ns..=*BUDGET_NS.end()).contains(&options.budget_ns) {
            return Err(CommandError::usage(format!(
                "--capacity-budget {} is not between two trials ({}) and a week",
                args.capacity_budget.unwrap_or(Duration { ns: BLOCK_BUDGET_NS }),
                time(least_ns as f64)
            )));
        }
        Ok(options)
    }

    /// The search in a block of a comparison, of a variant that got `per_s` out of a closed loop. It begins at another
    /// part of that in each block: what is left open between the last two loads would else be the same in all blocks,
    /// and look like an effect.
    pub(crate) fn search_in_block(&self, per_s: f64, block: u64, arm: usize) -> CapacitySettings {
        let search = self.search(&Pilot { per_s, took_ns: 0 }, 0);
        let place = (block.wrapping_mul(COMPARE_ARMS_MAX) + arm as u64 + self.seed % PLACES) as f64;
        let part = BLOCK_START_SHARE * ((place * GOLDEN).fract() - 0.5).exp2();
        let start_per_s = (part * per_s).clamp(search.from_per_s, search.to_per_s);
        CapacitySettings { start_per_s, seed: self.seed.wrapping_add(block), ..search }
    }

    /// Window of the closed loop; ns.
    fn pilot_ns(&self) -> u64 {
        (self.budget_ns / 10).clamp(PILOT_MIN_NS, PILOT_NS)
    }

    /// The closed loop, which has at most as many connections as the trials, and one for each of so many agents.
    pub(crate) fn pilot(&self, connections: u32, agents: u32) -> (Load, Stop) {
        let load = Load::Closed { connections: connections.min(PILOT_CONNECTIONS.max(agents)) };
        (load, Stop::Duration { duration_ns: self.pilot_ns() })
    }

    /// The search after the closed loop, where a restart of the server takes `restart_ns`.
    pub(crate) fn search(&self, pilot: &Pilot, restart_ns: u64) -> CapacitySettings {
        let full_ns = self.full_ns_at(pilot.per_s);
        let least_per_s = REQUESTS_MIN * NS_PER_S as f64 / full_ns as f64;
        let from_per_s = self.from_per_s.unwrap_or_else(|| (FROM_SHARE * pilot.per_s).max(least_per_s));
        let from_per_s = from_per_s.min(self.to_per_s);
        let start_per_s = if pilot.per_s > 0.0 { settings::two_digits(START_SHARE * pilot.per_s) } else { from_per_s };
        CapacitySettings {
            from_per_s,
            to_per_s: self.to_per_s,
            start_per_s: start_per_s.clamp(from_per_s, self.to_per_s),
            width: self.width,
            times: CapacityTimes {
                short_ns: (full_ns / 2).max(SHORT_MIN_NS).min(full_ns),
                full_ns,
                overhead_ns: self.overhead_ns().saturating_add(restart_ns),
                budget_ns: self.budget_ns.saturating_sub(pilot.took_ns),
            },
            seed: self.seed,
        }
    }

    /// Window of full trials on a server that does `per_s`: as long as the finest quantile of the goal asks for, within
    /// what the budget allows.
    fn full_ns_at(&self, per_s: f64) -> u64 {
        let wanted_s = match self.goal.finest_quantile() {
            Some(quantile) if per_s > 0.0 => BEYOND / (1.0 - quantile) / per_s,
            _ => 0.0,
        };
        let wanted_ns = (wanted_s.ceil() * NS_PER_S as f64) as u64;
        let most_ns = (self.budget_ns / WINDOWS_MIN / NS_PER_S * NS_PER_S).max(self.full_least_ns);
        self.full_ns.unwrap_or_else(|| wanted_ns.clamp(self.full_least_ns, most_ns))
    }

    /// Window of full trials as far as it is known before the server is; ns.
    pub(crate) fn window_ns(&self) -> u64 {
        self.full_ns.unwrap_or(FULL_NS)
    }

    /// Time of a trial beyond its window, without a restart; ns.
    const fn overhead_ns(&self) -> u64 {
        settings::expected_warmup_ns(self.warmup) + self.agree_ns + REST_NS
    }
}

/// Fails where the goal and another flag contradict each other.
fn agree(goal: &Goal, measured: &MeasuredArgs) -> Result<(), CommandError> {
    let timeout = measured.request.timeout;
    if let Some(slowest) = goal.slowest().filter(|slowest| slowest.limit > timeout.ns as f64) {
        return Err(CommandError::usage(format!(
            "--goal {slowest}: after --timeout {timeout} a request has failed, however long it would have taken; raise \
             --timeout"
        )));
    }
    if let Some(condition) = goal.of_slo().filter(|_| measured.slo.is_none()) {
        return Err(CommandError::usage(format!(
            "--goal {condition} needs the response time that it is about: add --slo 200ms"
        )));
    }
    match goal.of_server() {
        Some(condition) if measured.no_observe => Err(CommandError::usage(format!(
            "--goal {condition} needs to see the server, which --no-observe turns off; leave one of them out"
        ))),
        _ => Ok(()),
    }
}

/// Width of the bracket. Where requests may fail, goodput and load differ by as much: nothing narrower means anything.
fn width(text: Option<&str>, errors_max: f64) -> Result<f64, CommandError> {
    let is_bounded = errors_max <= ERRORS_MAX;
    let Some(text) = text else { return Ok(if is_bounded { errors_max.clamp(WIDTH, WIDTH_MAX) } else { WIDTH }) };
    let number = text.trim().trim_end_matches('%').trim_end();
    let is_plain = !number.is_empty() && number.chars().all(|c| c.is_ascii_digit() || c == '.');
    let width = number.parse::<f64>().ok().filter(|_| is_plain).map(|percent| percent / 100.0);
    let width = width.filter(|width| WIDTHS.contains(width));
    let width =
        width.ok_or_else(|| CommandError::usage(format!("--width {text:?} is not between 0.5% and 50%; try 3%")))?;
    if width < errors_max && is_bounded {
        let allowed = percent(errors_max);
        return Err(CommandError::usage(format!(
            "--width {text} is below the {allowed} of the requests that the goal lets fail; allow fewer errors, or a \
             wider bracket"
        )));
    }
    Ok(width)
}

fn full_ns(duration: Duration) -> Result<u64, CommandError> {
    settings::window(duration)?;
    match duration.ns {
        FULL_MIN_NS.. => Ok(duration.ns),
        _ => Err(CommandError::usage(format!(
            "--duration {duration} is shorter than 4s: growth of a backlog could not be told from chance"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Verb};
    use clap::Parser;

    fn args(flags: &[&str]) -> CapacityArgs {
        let words = ["plimsoll", "capacity", "http://127.0.0.1:1/"].iter().chain(flags);
        let Verb::Capacity(args) = Cli::try_parse_from(words).unwrap().verb else { panic!("another verb") };
        args
    }

    fn options(flags: &[&str]) -> CapacityOptions {
        CapacityOptions::new(&args(flags)).unwrap_or_else(|error| panic!("{flags:?}: {}", error.message))
    }

    #[track_caller]
    fn refused(flags: &[&str], said: &str) {
        let message = CapacityOptions::new(&args(flags)).expect_err("it is wrong").message;
        assert!(message.contains(said) && !message.contains('\n'), "{flags:?}: {message}");
    }

    const PILOT: Pilot = Pilot { per_s: 1_234.0, took_ns: 5 * NS_PER_S };

    #[test]
    fn the_search_begins_at_half_of_what_a_closed_loop_gets() {
        let search = options(&[]).search(&PILOT, 0);
        assert_eq!((search.start_per_s, search.to_per_s, search.width), (620.0, 1e6, 0.03));
        assert!((search.from_per_s - 10.0 / 6.0).abs() < 1e-9, "ten requests in a window: {}", search.from_per_s);
        let times = CapacityTimes { budget_ns: 225 * NS_PER_S, ..CapacityTimes::default() };
        assert_eq!(search.times, times);
        let narrow = options(&["--from", "700", "--to", "5k", "--width", "2%", "-d", "10s", "--warmup", "2s"]);
        let search = narrow.search(&PILOT, 4 * NS_PER_S);
        assert_eq!((search.from_per_s, search.start_per_s, search.to_per_s, search.width), (700.0, 700.0, 5e3, 0.02));
        assert_eq!((search.times.short_ns, search.times.full_ns), (5 * NS_PER_S, 10 * NS_PER_S));
        assert_eq!(search.times.overhead_ns, 6_500_000_000, "with a restart of 4 s");
        let nothing = options(&[]).search(&Pilot { per_s: 0.0, ..PILOT }, 0);
        assert_eq!(nothing.start_per_s, nothing.from_per_s);
    }

    #[test]
    fn agents_take_time_before_each_trial_and_a_connection_each() {
        let alone = options(&[]);
        let both = options(&["--client", "ssh://a,ssh://b"]);
        let overhead_ns = |options: &CapacityOptions| options.search(&PILOT, 0).times.overhead_ns;
        assert_eq!(overhead_ns(&both) - overhead_ns(&alone), 1_250_000_000);
        let connections = |connections, agents| both.pilot(connections, agents).0.connections();
        assert_eq!([connections(256, 2), connections(256, 100), connections(16, 2)], [64, 100, 16]);
    }

    #[test]
    fn windows_are_as_long_as_the_quantiles_of_the_goal_ask_for() {
        let full_s = |flags: &[&str], per_s: f64| {
            options(flags).search(&Pilot { per_s, ..PILOT }, 0).times.full_ns as f64 / NS_PER_S as f64
        };
        assert_eq!((full_s(&["--goal", "p99<1s"], 1e4), full_s(&["--goal", "p99<1s"], 200.0)), (6.0, 10.0));
        assert_eq!(full_s(&["--goal", "p99.9<1s"], 200.0), 19.0, "a twelfth of the budget");
        assert_eq!(full_s(&["--goal", "p99.9<1s", "--budget", "1h"], 200.0), 100.0);
        assert_eq!(full_s(&["--goal", "p99.9<1s", "-d", "5s"], 200.0), 5.0);
        assert_eq!(options(&["-d", "4s"]).search(&PILOT, 0).times.short_ns, 3 * NS_PER_S);
    }

    #[test]
    fn the_bracket_is_no_narrower_than_the_errors_that_are_allowed() {
        let width = |flags: &[&str]| options(flags).search(&PILOT, 0).width;
        assert_eq!(width(&["--goal", "errors<5%"]), 0.05);
        assert_eq!(
            (width(&["--goal", "errors<100%"]), width(&["--goal", "errors<100%", "--width", "1"])),
            (0.03, 0.01)
        );
        refused(&["--goal", "errors<5%", "--width", "3%"], "below the 5.0 % of the requests that the goal lets fail");
    }

    #[test]
    fn what_cannot_be_searched_is_refused_in_a_line() {
        refused(&["--goal", "erors<1%"], "--goal \"erors<1%\": no such quantity (did you mean errors?)");
        refused(&["--goal", "p99<10s"], "--goal p99<10s: after --timeout 5s a request has failed");
        refused(&["--goal", "cpu<80%", "--no-observe"], "--goal cpu<80% needs to see the server");
        refused(&["--from", "2k", "--to", "1k"], "--from 2,000/s is above --to 1,000/s");
        refused(&["--from", "0.0001"], "at least 0.001 requests per second");
        refused(&["--budget", "5s"], "--budget 5s is not between 10s and a week");
        refused(&["--budget", "15s", "-d", "10s"], "--budget 15s has no room for two trials: they need");
        refused(&["--width", "0.1%"], "--width \"0.1%\" is not between 0.5% and 50%");
        refused(&["--width", "narrow"], "--width \"narrow\" is not between");
        refused(&["-d", "3s"], "--duration 3s is shorter than 4s");
        refused(&["--pipeline", "2"], "--pipeline 2 is for closed loops");
        refused(&["--to", "2G"], "--to 2,000,000,000/s is above 1,000,000,000/s");
        refused(&["-c", "0"], "--connections 0");
        assert!(CapacityOptions::new(&args(&["--goal", "p99<10s", "--timeout", "20s"])).is_ok());
    }

    fn in_blocks(flags: &[&str]) -> Result<CapacityOptions, String> {
        let urls = ["plimsoll", "compare", "http://127.0.0.1:1/", "http://127.0.0.1:2/", "--capacity"];
        let Verb::Compare(args) = Cli::try_parse_from(urls.iter().chain(flags)).unwrap().verb else { panic!("a verb") };
        CapacityOptions::in_blocks(&args).map_err(|error| error.message)
    }

    #[test]
    fn searches_in_blocks_are_short_and_begin_at_another_load_in_each() {
        let options = in_blocks(&[]).unwrap();
        let search = |block, arm| options.search_in_block(1_000.0, block, arm);
        let times = search(0, 0).times;
        assert_eq!((times.budget_ns, times.full_ns, times.short_ns), (30 * NS_PER_S, 4 * NS_PER_S, 3 * NS_PER_S));
        let starts: Vec<f64> = (0..8).flat_map(|block| [0, 1].map(|arm| search(block, arm).start_per_s)).collect();
        assert!(starts.iter().all(|start| (490.0..1_000.0).contains(start)), "{starts:?}");
        let lowest = starts.iter().copied().fold(f64::INFINITY, f64::min);
        let upper = starts.iter().filter(|start| **start > lowest * 2f64.sqrt()).count();
        assert!((6..=10).contains(&upper), "as many in either half: {starts:?}");
        assert_eq!(search(3, 1), search(3, 1), "the same place, the same search");
    }

    #[test]
    fn what_cannot_be_searched_in_blocks_is_refused_in_a_line() {
        assert!(in_blocks(&["--goal", "cpu<80%"]).unwrap_err().contains("write a number of CPUs, such as cpu<1.5"));
        assert!(in_blocks(&["--goal", "p99<9s"]).unwrap_err().contains("--goal p99<9s: after --timeout 5s"));
        assert!(in_blocks(&["--goal", "erors<1%"]).unwrap_err().contains("did you mean errors?"));
        assert!(
            in_blocks(&["--capacity-budget", "5s"]).unwrap_err().contains("--capacity-budget 5s is not between two")
        );
        assert!(in_blocks(&["--goal", "cpu<1.5,p99<50ms", "--capacity-budget", "1m"]).is_ok());
    }

    #[test]
    fn rates_have_two_digits() {
        assert_eq!([1_234.0, 99.6, 55_555.0].map(settings::two_digits), [1_200.0, 100.0, 56_000.0]);
        assert!((settings::two_digits(0.056_7) - 0.057).abs() < 1e-12);
    }
}
