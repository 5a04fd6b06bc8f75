//! Settings of a comparison: its variants, loads, precision and times.

mod duet;
mod windows;

use crate::cli::compare::{CompareArgs, OnlyArg};
use crate::coordinate::compare::{ServedBefore, refusal};
use crate::exit::CommandError;
use crate::serving;
use crate::settings;
use crate::settings::capacity::CapacityOptions;
use crate::settings::clients::{self, agree_ns};
use crate::settings::threshold;
use judge::FailIf;
use model::human::{percent, plural, time};
use model::{
    AtOnce, COMPARE_ARMS_MAX, COMPARE_BLOCKS_MAX, CompareCapacity, CompareLoad, CompareSettings, CompareTimes, Duet,
    Load, NS_PER_S, Redacted, Stop, Warmup,
};
use stack::Spec;
use stats::Looks;
use windows::{MEASURED_NS, canary_ns, is_in_turns, measured_ns};

/// Rest before each trial on a server that is not restarted: what the last one left in its queues must not reach the next.
pub(crate) const REST_NS: u64 = NS_PER_S / 2;
/// Start of a server, about.
const START_NS: u64 = NS_PER_S / 2;
/// Window of the closed loop that shows what a variant gets out.
const PILOT_NS: u64 = 3 * NS_PER_S;
/// Share of what the baseline gets out at which the variants are held against each other ...
const FIXED_SHARE: f64 = 0.7;
/// ... and of what the slowest gets out at most, as latencies above its capacity would be those of a queue.
const SLOWEST_SHARE: f64 = 0.85;
/// Window of a canary at most, its warm-up, rate and connections.
const CANARY_NS: u64 = 2 * NS_PER_S;
const CANARY_WARMUP_NS: u64 = NS_PER_S / 4;
const CANARY_RATE_PER_S: f64 = 500.0;
const CANARY_CONNECTIONS: u64 = 8;
/// What a canary asks for: bytes that cost the machine something to compute and to send.
pub(crate) const CANARY: &str = "target workers=1 path=/urandom?size=16384&seed=1";
/// Shares that may be asked for.
const SHARES: std::ops::RangeInclusive<f64> = 0.001..=0.5;
/// Longest budget.
const BUDGET_MAX_NS: u64 = 7 * 24 * 3600 * NS_PER_S;
/// Starts of the server that is compared with itself, in each block, and blocks.
const AA_ARMS: usize = 4;
const AA_BLOCKS: u64 = 12;

/// Comparison that was asked for, as far as it is known before the servers are.
#[derive(Clone, Debug)]
pub(crate) struct CompareOptions {
    /// The baseline first.
    pub(crate) arms: Vec<Arm>,
    pub(crate) loads: Vec<CompareLoad>,
    rate_per_s: Option<f64>,
    connections: u32,
    /// Measured time of each variant at each load in a block, if it was asked for.
    measured_ns: Option<u64>,
    /// True if the servers of all variants run in each block, and the variants take turns.
    pub(crate) is_in_turns: bool,
    pub(crate) warmup: Warmup,
    is_warmup_asked: bool,
    blocks_max: u64,
    precision: Option<f64>,
    margin: f64,
    fail_if: Vec<String>,
    budget_ns: u64,
    /// Until agents have agreed on the start of a load; ns.
    agree_ns: u64,
    seed: u64,
    is_aa: bool,
    /// The search in each block; none without one.
    pub(crate) capacity: Option<CapacityOptions>,
    /// Where two variants run that are measured at the same time.
    pub(crate) duet: Option<Duet>,
}

/// A variant.
#[derive(Clone, Debug)]
pub(crate) struct Arm {
    /// Name that no other has.
    pub(crate) name: String,
    pub(crate) target: ArmTarget,
}

impl Arm {
    /// The server to be started, if it is one.
    fn spec(&self) -> Option<&Spec> {
        match &self.target {
            ArmTarget::Serve(spec) => Some(spec),
            ArmTarget::Url(_) | ArmTarget::Builtin => None,
        }
    }

    /// The port that was chosen for its server.
    fn port(&self) -> Option<u16> {
        self.spec().map(|spec| spec.settings.port).filter(|port| *port > 0)
    }
}

/// What a variant is.
#[derive(Clone, Debug)]
pub(crate) enum ArmTarget {
    /// Somebody else's server.
    Url(String),
    /// A server to be started.
    Serve(Box<Spec>),
    /// The built-in server, as it is where nothing is named.
    Builtin,
}

impl ArmTarget {
    /// What it is called wherever it is shown or recorded.
    pub(crate) fn label(&self) -> String {
        match self {
            Self::Url(url) => Redacted::url(url).into_inner(),
            Self::Serve(spec) => serving::label(spec).into_inner(),
            Self::Builtin => "built-in server".to_owned(),
        }
    }
}

impl CompareOptions {
    /// Checks what was typed, before anything is started.
    pub(crate) fn new(args: &CompareArgs) -> Result<Self, CommandError> {
        threshold::writable(&args.files)?;
        let loads = loads(args)?;
        let rate_per_s = args.rate.map(|rate| rate.per_s);
        if rate_per_s.is_some() && !loads.contains(&CompareLoad::Fixed) {
            return Err(CommandError::usage("--rate is that of the fixed load, which --only leaves out"));
        }
        settings::load(settings::OPEN_CONNECTIONS, Some(rate_per_s.unwrap_or(1.0)), args.arrivals)?;
        if loads.contains(&CompareLoad::Fixed) {
            settings::no_pipeline(args.measured.request.pipeline)?;
        }
        let Load::Closed { connections } = settings::load(args.connections, None, args.arrivals)? else {
            return Err(CommandError::usage("--connections are those of a closed loop"));
        };
        let margin = share("--margin", &args.margin)?;
        let precision = args.precision.as_deref().map(|text| share("--precision", text)).transpose()?;
        let is_fixed = (args.blocks.is_some() || args.aa) && precision.is_none();
        let blocks_max = match args.blocks {
            Some(blocks) => settings::in_range("--blocks", blocks, 1, COMPARE_BLOCKS_MAX)?,
            None if is_fixed => AA_BLOCKS,
            None => COMPARE_BLOCKS_MAX,
        };
        let arms = arms(args)?;
        let duet = args.duet.then(|| duet::duet(args, &arms)).transpose()?;
        let warmup = warmup(args)?;
        let is_in_turns = is_in_turns(args, &arms);
        let options = Self {
            arms,
            rate_per_s,
            connections,
            measured_ns: measured_ns(args)?,
            is_in_turns,
            is_warmup_asked: args.warmup.is_some(),
            warmup: if duet.is_some() { agreed(warmup) } else { warmup },
            duet,
            blocks_max,
            precision: (!is_fixed).then(|| precision.unwrap_or_else(|| Looks::half_width_for(margin))),
            margin,
            fail_if: fail_if(args, &loads)?,
            budget_ns: args.budget.ns,
            agree_ns: agree_ns(&args.measured.clients),
            seed: args.measured.generator.seed,
            is_aa: args.aa,
            capacity: loads.contains(&CompareLoad::Capacity).then(|| CapacityOptions::in_blocks(args)).transpose()?,
            loads,
        };
        let block_ns = options.block_ns(true);
        if options.budget_ns < block_ns || options.budget_ns > BUDGET_MAX_NS {
            return Err(CommandError::usage(format!(
                "--budget {} is not between one block ({} with the loads, --duration and --warmup as they are) and a week",
                args.budget,
                time(block_ns as f64)
            )));
        }
        // A number of blocks that was asked for is measured as far as it fits.
        match refusal(options.budget_ns, block_ns, options.blocks_max).filter(|_| args.blocks.is_none()) {
            Some(why) => Err(CommandError::usage(why)),
            None => Ok(options),
        }
    }

    /// About how long all takes at most; ns.
    pub(crate) fn expected_ns(&self) -> u64 {
        let pilots = if self.is_aa { 1 } else { self.arms.len() as u64 };
        let pilot_ns = self.pilot_ns() + settings::expected_warmup_ns(self.warmup) + self.agree_ns;
        let blocks_ns = self.blocks_max.saturating_mul(self.block_ns(true));
        pilots * pilot_ns + blocks_ns.min(self.budget_ns)
    }

    fn pilot_ns(&self) -> u64 {
        self.measured_ns.unwrap_or(MEASURED_NS).min(PILOT_NS)
    }

    /// The closed loop that a variant begins with.
    pub(crate) fn pilot(&self) -> (Load, Stop) {
        let load = Load::Closed { connections: self.connections };
        (load, Stop::Duration { duration_ns: self.pilot_ns() })
    }

    /// A trial of a load, on a server that has done this before.
    pub(crate) fn trial(
        &self,
        args: &CompareArgs,
        load: CompareLoad,
        before: ServedBefore,
        settings: &CompareSettings,
    ) -> Result<(Load, Stop, Warmup), CommandError> {
        let window = Stop::Duration { duration_ns: settings.times.window_ns };
        let (warmup, _) = self.warmup_before(before);
        match load {
            CompareLoad::Canary => {
                let load = settings::load(
                    model::Count(CANARY_CONNECTIONS),
                    Some(CANARY_RATE_PER_S),
                    crate::cli::ArrivalsArg::Constant,
                )?;
                let warmup = Warmup::Fixed { duration_ns: CANARY_WARMUP_NS };
                Ok((load, Stop::Duration { duration_ns: canary_ns(settings.times.window_ns) }, warmup))
            }
            CompareLoad::Fixed => {
                let at_rate = |per_s: f64| settings::load(settings::OPEN_CONNECTIONS, Some(per_s), args.arrivals);
                match settings.at_once {
                    // In its turns the rate of a load is a multiple of its mean.
                    Some(AtOnce { window_ns, .. }) => {
                        let load = at_rate(settings.rate_per_s / settings.arms as f64)?;
                        Ok((load, Stop::Duration { duration_ns: window_ns }, agreed(warmup)))
                    }
                    None => Ok((at_rate(settings.rate_per_s)?, window, warmup)),
                }
            }
            CompareLoad::Saturated | CompareLoad::Capacity | CompareLoad::Stored => {
                Ok((Load::Closed { connections: self.connections }, window, warmup))
            }
        }
    }

    /// A trial of a search for the capacity.
    pub(crate) fn searched_load(&self, args: &CompareArgs, rate_per_s: f64) -> Result<Load, CommandError> {
        settings::load(settings::OPEN_CONNECTIONS, Some(rate_per_s), args.arrivals)
    }

    /// The plan, where closed loops got so many good responses per second out of the variants. There is a canary where this
    /// machine has a part in what is measured. Variants have a load at the same time only where they `are_apart`: no process
    /// serves two of them.
    pub(crate) fn settings(&self, pilots_per_s: &[f64], has_canary: bool, are_apart: bool) -> CompareSettings {
        let baseline = pilots_per_s.first().copied().unwrap_or_default();
        let slowest = pilots_per_s.iter().copied().fold(f64::INFINITY, f64::min);
        let share = match self.duet {
            Some(_) => duet::FIXED_SHARE * slowest,
            None => (FIXED_SHARE * baseline).min(SLOWEST_SHARE * slowest),
        };
        let rate_per_s = self.rate_per_s.unwrap_or_else(|| settings::two_digits(share));
        let windows = self.windows(rate_per_s.min(slowest), are_apart);
        CompareSettings {
            arms: self.arms.len() as u64,
            loads: self.loads.clone(),
            rate_per_s,
            connections: self.connections,
            seed: self.seed,
            blocks_max: self.blocks_max,
            precision: self.precision,
            margin: self.margin,
            fail_if: self.fail_if.clone(),
            is_aa: self.is_aa,
            capacity: self
                .capacity
                .as_ref()
                .map(|capacity| CompareCapacity { goal: capacity.goal.to_string(), budget_ns: capacity.budget_ns }),
            duet: self.duet.clone(),
            windows: windows.in_turns,
            at_once: windows.at_once,
            without_canary: !has_canary,
            times: CompareTimes {
                window_ns: windows.each_ns,
                block_ns: self.block_of(windows, has_canary),
                budget_ns: self.budget_ns,
            },
        }
    }
}

/// Loads of each block.
fn loads(args: &CompareArgs) -> Result<Vec<CompareLoad>, CommandError> {
    let mut loads = match args.only {
        None if args.duet => vec![CompareLoad::Fixed],
        None => vec![CompareLoad::Fixed, CompareLoad::Saturated],
        Some(OnlyArg::Fixed) => vec![CompareLoad::Fixed],
        Some(OnlyArg::Saturated) => vec![CompareLoad::Saturated],
        Some(OnlyArg::Capacity) => Vec::new(),
    };
    let is_searched = args.capacity || args.only == Some(OnlyArg::Capacity);
    if is_searched {
        loads.push(CompareLoad::Capacity);
    }
    let flag = args
        .goal
        .is_some()
        .then_some("--goal")
        .or_else(|| args.capacity_budget.is_some().then_some("--capacity-budget"));
    match flag.filter(|_| !is_searched) {
        Some(flag) => Err(CommandError::usage(format!("{flag} is about the capacity: add --capacity"))),
        None => Ok(loads),
    }
}

/// The variants, with their names.
fn arms(args: &CompareArgs) -> Result<Vec<Arm>, CommandError> {
    let urls = args.targets.iter().map(|url| ArmTarget::Url(url.clone()));
    let specs =
        clients::specs(&args.measured.clients, &args.serve)?.into_iter().map(|spec| ArmTarget::Serve(Box::new(spec)));
    let mut targets: Vec<ArmTarget> = urls.chain(specs).collect();
    if args.aa && targets.is_empty() {
        targets.push(ArmTarget::Builtin);
    }
    match (args.aa, targets.len()) {
        (true, 1) => targets = vec![targets[0].clone(); if args.duet { 2 } else { AA_ARMS }],
        (true, n) => return Err(CommandError::usage(format!("--aa compares one server with itself, not {n}"))),
        (false, 0 | 1) => {
            return Err(CommandError::usage(
                "a comparison needs a baseline and a variant: two URLs, two --serve, two directories of runs, or --aa \
                 for one server with itself",
            ));
        }
        (false, n) if n as u64 > COMPARE_ARMS_MAX => {
            return Err(CommandError::usage(format!("{n} variants are more than {COMPARE_ARMS_MAX}")));
        }
        (false, _) => {}
    }
    if args.measured.observe.server.is_some() && !args.aa {
        return Err(CommandError::usage(
            "--server names one server, and each variant has its own; leave it out, or run each variant by itself",
        ));
    }
    let labels: Vec<String> = targets.iter().map(ArmTarget::label).collect();
    let names = names(&args.name, &labels, args.aa)?;
    Ok(targets.into_iter().zip(names).map(|(target, name)| Arm { name, target }).collect())
}

/// A name for each label that no other has: those that were given, or the labels; one for all where all are one server.
pub(crate) fn names(given: &[String], labels: &[String], is_aa: bool) -> Result<Vec<String>, CommandError> {
    let is_for_all = given.len() == 1 && is_aa;
    if !given.is_empty() && given.len() != labels.len() && !is_for_all {
        return Err(CommandError::usage(format!(
            "{} with --name and {}: name all of them or none",
            plural(given.len() as u64, "name"),
            plural(labels.len() as u64, "variant")
        )));
    }
    if given.iter().any(|name| name.trim().is_empty()) {
        return Err(CommandError::usage("--name is empty"));
    }
    let mut names: Vec<String> = Vec::new();
    for (i, label) in labels.iter().enumerate() {
        let name = given.get(i).or_else(|| given.last()).map_or_else(|| label.clone(), |name| name.trim().to_owned());
        let name = Redacted::text(&name).into_inner();
        let mut numbered = (2..).map(|n| format!("{name} ({n})"));
        let free = if names.contains(&name) { numbered.find(|other| !names.contains(other)) } else { None };
        names.push(free.unwrap_or(name));
    }
    Ok(names)
}

/// Conditions of `--fail-if`, each for a quantity that is measured.
pub(crate) fn fail_if(args: &CompareArgs, loads: &[CompareLoad]) -> Result<Vec<String>, CommandError> {
    let wrong = |why: String| CommandError::usage(format!("--fail-if {why}"));
    let mut texts = Vec::new();
    for text in &args.fail_if {
        for condition in FailIf::parse(text).map_err(wrong)? {
            condition.load(loads).map_err(wrong)?;
            texts.push(condition.to_string());
        }
    }
    Ok(texts)
}

/// Warm-up before each window.
fn warmup(args: &CompareArgs) -> Result<Warmup, CommandError> {
    match args.warmup {
        Some(_) => settings::warmup(args.warmup, 0),
        None if args.measured.clients.client.is_empty() => Ok(Warmup::Auto),
        None => Ok(agreed(Warmup::Auto)),
    }
}

/// A warm-up that ends for all load generators at the same time: instead of one that ends by itself one of about as long.
const fn agreed(warmup: Warmup) -> Warmup {
    Warmup::Fixed { duration_ns: settings::expected_warmup_ns(warmup) }
}

/// Percent of a flag, as a share.
pub(crate) fn share(flag: &str, text: &str) -> Result<f64, CommandError> {
    let number = text.trim().trim_end_matches('%').trim_end();
    let is_plain = !number.is_empty() && number.chars().all(|c| c.is_ascii_digit() || c == '.');
    let share = number.parse::<f64>().ok().filter(|_| is_plain).map(|percent| percent / 100.0);
    share.filter(|share| SHARES.contains(share)).ok_or_else(|| {
        let (least, most) = (percent(*SHARES.start()), percent(*SHARES.end()));
        CommandError::usage(format!("{flag} {text:?} is not between {least} and {most}; try 2%"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Verb};
    use clap::Parser;

    pub(super) fn args(flags: &[&str]) -> CompareArgs {
        let words = ["plimsoll", "compare"].iter().chain(flags);
        let Verb::Compare(args) = Cli::try_parse_from(words).unwrap().verb else { panic!("another verb") };
        args
    }

    fn options(flags: &[&str]) -> CompareOptions {
        let flags = [&["http://127.0.0.1:1/", "http://127.0.0.1:2/"], flags].concat();
        CompareOptions::new(&args(&flags)).unwrap_or_else(|error| panic!("{flags:?}: {}", error.message))
    }

    #[test]
    fn the_fixed_load_is_below_what_any_variant_gets_out() {
        let rate = |flags: &[&str], pilots: &[f64]| options(flags).settings(pilots, true, true).rate_per_s;
        assert_eq!(rate(&[], &[1_000.0, 990.0]), 700.0);
        assert_eq!(rate(&[], &[1_000.0, 400.0]), 340.0, "85 % of the slowest");
        assert_eq!(rate(&["-R", "123"], &[1_000.0, 400.0]), 123.0);
    }

    #[test]
    fn precision_follows_from_the_margin_unless_the_blocks_are_fixed() {
        let plan = |flags: &[&str]| {
            let plan = options(flags).settings(&[1.0, 1.0], true, true);
            (plan.precision, plan.blocks_max, plan.margin)
        };
        assert_eq!(plan(&[]), (Some(0.006), COMPARE_BLOCKS_MAX, 0.02));
        assert_eq!(plan(&["--margin", "5%"]), (Some(0.015), COMPARE_BLOCKS_MAX, 0.05));
        assert_eq!(plan(&["--blocks", "8"]), (None, 8, 0.02));
        assert_eq!(plan(&["--blocks", "30", "--precision", "1%"]), (Some(0.01), 30, 0.02));
    }

    #[test]
    fn one_server_is_started_several_times_to_be_compared_with_itself() {
        let options = CompareOptions::new(&args(&["--aa", "http://127.0.0.1:1/", "--name", "a"])).unwrap();
        let names: Vec<&str> = options.arms.iter().map(|arm| arm.name.as_str()).collect();
        assert_eq!(names, ["a", "a (2)", "a (3)", "a (4)"]);
        let plan = options.settings(&[1.0; 4], true, true);
        assert_eq!((plan.is_aa, plan.precision, plan.blocks_max), (true, None, AA_BLOCKS));
        assert_eq!(CompareOptions::new(&args(&["--aa"])).unwrap().arms.len(), AA_ARMS, "the built-in server");
    }

    #[test]
    fn names_are_unique_and_secrets_are_not_shown() {
        let of = |given: &[&str], labels: &[&str]| {
            let texts = |all: &[&str]| all.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
            names(&texts(given), &texts(labels), false).map_err(|error| error.message)
        };
        assert_eq!(of(&[], &["x", "x", "y"]).unwrap(), ["x", "x (2)", "y"]);
        assert_eq!(of(&["old", "new"], &["x", "y"]).unwrap(), ["old", "new"]);
        for labels in [["x", "y"], ["x", "x"]] {
            assert!(of(&["old"], &labels).unwrap_err().contains("1 name with --name and 2 variants"), "{labels:?}");
        }
        let shown = of(&["http://u:s3cret@h/", "b"], &["x", "y"]).unwrap();
        assert!(!shown[0].contains("s3cret"), "{shown:?}");
    }

    #[test]
    fn a_block_is_about_as_long_as_its_trials() {
        let block_s = |flags: &[&str]| {
            let flags = [&["--one-at-a-time"], flags].concat();
            options(&flags).block_ns(true) as f64 / NS_PER_S as f64
        };
        assert_eq!(block_s(&["-d", "4s", "--warmup", "1s"]), 2.0 * (2.0 * 5.5 + 0.5) + 2.75);
        assert_eq!(block_s(&["-d", "1s", "--warmup", "0s", "--only", "fixed"]), 2.0 * 2.0 + 1.75);
        let searched = ["-d", "4s", "--warmup", "1s", "--capacity"];
        assert_eq!(block_s(&searched), 2.0 * (2.0 * 5.5 + 30.0 + 0.5) + 2.75);
        assert_eq!(block_s(&["--only", "capacity", "--capacity-budget", "1m", "--budget", "20m"]), 2.0 * 60.5 + 2.75);
    }

    #[test]
    fn agents_take_time_before_each_trial_and_end_their_warm_up_together() {
        let both = options(&["-d", "4s", "--client", "ssh://a,ssh://b"]);
        assert_eq!(both.warmup, Warmup::Fixed { duration_ns: 2 * NS_PER_S });
        let trial_ns = 6 * NS_PER_S + REST_NS + both.agree_ns;
        let trials_ns = 2 * (2 * trial_ns + START_NS);
        assert!(both.agree_ns > 0 && both.block_ns(false) == trials_ns, "{both:?}");
        let plan = both.settings(&[1_000.0, 1_000.0], false, true);
        assert_eq!((plan.without_canary, plan.times.block_ns), (true, trials_ns));
    }

    #[test]
    fn a_capacity_is_searched_for_where_it_is_asked_for() {
        use CompareLoad::{Capacity, Fixed, Saturated};
        assert_eq!(options(&["--capacity"]).loads, [Fixed, Saturated, Capacity]);
        assert_eq!(options(&["--capacity", "--only", "fixed"]).loads, [Fixed, Capacity]);
        let only = options(&["--only", "capacity", "--goal", "p99<50ms"]);
        assert_eq!(only.loads, [Capacity]);
        let plan = only.settings(&[1_000.0, 1_000.0], true, true).capacity.expect("it is searched for");
        assert_eq!((plan.goal.as_str(), plan.budget_ns), ("p99<50ms,errors<0.1%,send-rate>99%", 30 * NS_PER_S));
        assert_eq!(options(&[]).settings(&[1.0], true, true).capacity, None);
        let refused = args(&["http://h/", "http://i/", "--goal", "p99<1s"]);
        assert!(CompareOptions::new(&refused).unwrap_err().message.contains("--goal is about the capacity"));
    }
}
