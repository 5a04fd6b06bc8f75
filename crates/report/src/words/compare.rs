//! A comparison in words and rows.

use crate::Named;
use crate::record::AnyRecord;
use crate::sums::sum;
use crate::words::block_changes::{one_by_one, sooner};
use crate::words::changes::{interval, range_words, signed};
use crate::words::fact::{About, Fact, Tone};
use crate::words::profile::{changed_most, php_changed_most};
use crate::words::verdict::{self, state_word};
use crate::words::{agents, interrupted, sent};
use model::human::{bytes, count, factor, percent, plural, rate, time};
use model::{
    ArmProfile, BlockRecord, Call, CompareEnd, CompareLoad, CompareMetric, CompareRecord, CompareSettings, Duet,
    DuetSet, Estimate, FailIfState, FloorRecord, MetricRecord, Profiled, VerdictState,
};
use stats::FLAGGED_MAX;
use std::collections::BTreeSet;

/// Columns of [`row`].
pub(crate) const HEADER: [&str; 6] = ["result", "verdict", "baseline", "variants", "blocks", "calls"];
/// Columns of [`metric_rows`].
pub(crate) const METRIC_HEADER: [&str; 8] = ["", "at", "baseline", "variant", "", "change", "95 % interval", "call"];

/// Characters of a name that is still read in every sentence.
const NAME_MAX: usize = 24;

/// All that is known of a comparison.
pub(crate) fn facts(record: &CompareRecord) -> Vec<Fact> {
    let new = |label, text| Fact::new(About::Result, label, text);
    let (known, calls) = (Fact::known, calls(record));
    let missing = record.unavailable.iter().map(|(metric, why)| format!("{}: {why}", metric.words()));
    let mut facts = vec![verdict::fact(&record.verdict, None)];
    let result = known(About::Cells, "result", (!calls.is_empty()).then_some(calls));
    facts.extend(result.map(|fact| fact.with_tone(Tone::Headline)));
    facts.extend(arms(record).into_iter().map(|(role, text)| new(role, text)));
    facts.extend(uncounted(record).map(|text| new("not counted", text)));
    facts.extend(conditions(record));
    facts.push(Fact::new(About::Load, "ended", record.reason.clone()));
    facts.extend(known(About::Load, "design", design(record)));
    facts.extend(machines(record));
    facts.extend(cpu_sets(record).into_iter().map(|text| Fact::new(About::Load, "CPU sets", text)));
    facts.push(new("A/A floor", floor(record)));
    facts.extend(missing.map(|text| new("not compared", text)));
    facts.extend(profiles(record).into_iter().map(|text| Fact::new(About::Use, "profile", text)));
    facts.extend(interrupted(record.interrupted, "stopped before the comparison was done; whole blocks count"));
    facts
}

/// The comparison in plain words: what each variant does to each quantity that decides.
pub(crate) fn summary(record: &CompareRecord) -> String {
    if record.verdict.state == VerdictState::Invalid {
        return "Nothing can be said: a measurement that this rests on is not valid; the findings say why.".to_owned();
    }
    if is_aa(record) {
        return aa_summary(record);
    }
    let primary: Vec<&MetricRecord> = record.metrics.iter().filter(|metric| metric.primary).collect();
    if primary.is_empty() {
        return format!("Nothing can be said yet: {}.", record.reason);
    }
    let mut sentences: Vec<String> = primary.iter().map(|metric| sentence(record, metric)).collect();
    if primary.iter().any(|metric| metric.ratio.low.is_some()) && record.ended != CompareEnd::Stored {
        sentences.push(format!(
            "The true change is within the range given in 95 of 100 such comparisons; {}.",
            measured(record)
        ));
    }
    sentences.join(" ")
}

/// How often each variant was measured, and when: in a duet both at once, on either set of CPUs in each block.
fn measured(record: &CompareRecord) -> String {
    let blocks = record.blocks.iter().filter(|block| block.counted).count() as u64;
    match record.plan.as_ref().and_then(|plan| plan.duet.as_ref()) {
        Some(duet) => {
            format!("both variants were measured at the same time, {}", plural(blocks * duet.sets.len() as u64, "time"))
        }
        None => format!("each variant was measured {}, in turn", plural(blocks, "time")),
    }
}

/// One quantity of one variant in a sentence that says what it means.
fn sentence(record: &CompareRecord, metric: &MetricRecord) -> String {
    let (variant, baseline) = (called(record, &metric.arm), called(record, baseline(record)));
    let does = does(record, metric, &baseline);
    let margin = percent(record.margin);
    match metric.call {
        Call::Better => format!("{variant} is better: it {does}."),
        Call::Worse => format!("{variant} is worse: it {does}."),
        Call::SmallChange => format!("{variant} {does}: a change, but less than the {margin} that matter."),
        Call::Same => {
            let quantity = match metric.metric {
                CompareMetric::GoodputPerS => "number of good responses per second",
                other => other.words(),
            };
            format!(
                "{variant} and {baseline} have the same {quantity}{}: if they differ, then by less than {margin}.",
                at(record, metric)
            )
        }
        Call::CannotTell if is_change(record, metric) => {
            let more = more(record, metric).map_or_else(String::new, |more| format!("; {more}"));
            format!("{variant} {does}: a change, but whether it is more than the {margin} that matter is open{more}.")
        }
        Call::CannotTell => cannot_tell(record, metric, &variant, &baseline),
    }
}

/// True if the interval is on one side of 1 and reaches beyond the margin: its direction is known, and not whether it
/// matters. Single runs that are alike within the margin say nothing of their servers.
fn is_change(record: &CompareRecord, metric: &MetricRecord) -> bool {
    let Estimate { low, high, .. } = metric.ratio;
    let is_more = low.is_some_and(|low| low > 1.0) && high.is_none_or(|high| high > 1.0 + record.margin);
    let is_less = high.is_some_and(|high| high < 1.0) && low.is_none_or(|low| low < 1.0 - record.margin);
    is_more || is_less
}

/// What a variant does, with the range: `uses 12 % more server CPU per request than 'a' (between 10.1 and 14.2 %)`.
fn does(record: &CompareRecord, metric: &MetricRecord, baseline: &str) -> String {
    let ratio = &metric.ratio;
    let what = match factor(ratio.value) {
        Some(times) => format!("{} of", multiple(metric.metric, &times)),
        None => format!("{} than", difference(metric.metric, ratio.value - 1.0)),
    };
    let because = metric.bound.as_ref().map_or_else(String::new, |bound| format!(", as {bound}"));
    let range = range_words(ratio).map_or_else(String::new, |range| format!(" ({range}{because})"));
    format!("{what} {baseline}{}{range}", at(record, metric))
}

fn multiple(metric: CompareMetric, times: &str) -> String {
    match metric {
        CompareMetric::ServerCpuNsPerRequest => format!("uses {times} the server CPU per request"),
        CompareMetric::GoodputPerS => format!("gives {times} the good responses per second"),
        CompareMetric::ResponseP50Ns
        | CompareMetric::ResponseP90Ns
        | CompareMetric::ResponseP95Ns
        | CompareMetric::ResponseP99Ns => {
            format!("takes {times} the {} of the response time", metric.short())
        }
        CompareMetric::ServerRssBytes => format!("takes {times} the memory"),
        CompareMetric::CapacityPerS => format!("meets the goal up to {times} the rate"),
    }
}

fn difference(metric: CompareMetric, change: f64) -> String {
    let size = percent(change.abs());
    let is_more = change >= 0.0;
    match metric {
        CompareMetric::ServerCpuNsPerRequest => {
            format!("uses {size} {} server CPU per request", if is_more { "more" } else { "less" })
        }
        CompareMetric::GoodputPerS => {
            format!("gives {size} {} good responses per second", if is_more { "more" } else { "fewer" })
        }
        CompareMetric::ResponseP50Ns
        | CompareMetric::ResponseP90Ns
        | CompareMetric::ResponseP95Ns
        | CompareMetric::ResponseP99Ns => {
            let quantile = metric.short();
            format!("answers {size} {} ({quantile} of the response time)", if is_more { "slower" } else { "faster" })
        }
        CompareMetric::ServerRssBytes => {
            format!("takes {size} {} memory", if is_more { "more" } else { "less" })
        }
        CompareMetric::CapacityPerS => {
            format!("meets the goal up to a rate {size} {}", if is_more { "higher" } else { "lower" })
        }
    }
}

/// What a variant is called in a sentence: its name, or its letter where a name is too long to be read again and again.
fn called(record: &CompareRecord, name: &str) -> String {
    letter(record, name).map_or_else(|| format!("'{name}'"), |letter| letter.to_string())
}

/// The letter of a variant, the baseline being A; none where all names are short, or there are more variants than letters.
fn letter(record: &CompareRecord, name: &str) -> Option<char> {
    let is_long = record.arms.iter().any(|arm| arm.name.chars().count() > NAME_MAX);
    let at = record.arms.iter().position(|arm| arm.name == name).filter(|_| is_long)?;
    ('A'..='Z').nth(at)
}

/// Under which load, for people who have not read of the design.
fn at(record: &CompareRecord, metric: &MetricRecord) -> String {
    let plan = record.plan.as_ref();
    match metric.load {
        CompareLoad::Fixed => plan.map_or_else(
            || " at the fixed load".to_owned(),
            |plan| format!(" at a load of {} requests per second", count(plan.rate_per_s.round() as u64)),
        ),
        CompareLoad::Saturated => " under full load".to_owned(),
        CompareLoad::Canary | CompareLoad::Capacity | CompareLoad::Stored => String::new(),
    }
}

fn cannot_tell(record: &CompareRecord, metric: &MetricRecord, variant: &str, baseline: &str) -> String {
    let quantity = match metric.metric {
        CompareMetric::GoodputPerS => "the number of good responses per second",
        other => other.words(),
    };
    let allowed = range_words(&metric.ratio);
    let why = match (allowed, &metric.bound) {
        (Some(range), None) => format!("the measurements allow a change {range}"),
        (Some(range), Some(bound)) => format!("the change is {range} ({bound})"),
        (None, Some(bound)) => bound.clone(),
        (None, None) => format!("a range needs at least {} blocks, and there are {}", stats::RUNS_MIN, metric.ratio.n),
    };
    let more = one_by_one(record, metric).or_else(|| {
        let more = more(record, metric)?;
        let sooner = sooner(record, metric).map_or_else(String::new, |sooner| format!("; {sooner}"));
        Some(format!("{more}{sooner}"))
    });
    let more = more.map_or_else(String::new, |more| format!("; {more}"));
    format!("For {quantity}{} we cannot tell {variant} from {baseline}: {why}{more}.", at(record, metric))
}

/// What the wanted precision needs.
fn more(record: &CompareRecord, metric: &MetricRecord) -> Option<String> {
    let precision = metric.precision.filter(|precision| !precision.is_reached)?;
    // The spread of a block or two says nothing, and no number of blocks closes an open end.
    let needed = precision.blocks_needed.filter(|_| metric.ratio.low.and(metric.ratio.high).is_some())?;
    let more = needed.checked_sub(metric.ratio.n).filter(|more| *more > 0)?;
    let counted = record.blocks.iter().filter(|block| block.counted).count() as u64;
    let each_ns = record.spent_ns.checked_div(counted)?;
    Some(format!(
        "a range that is narrow enough, of ± {}, needs about {} more, {}",
        percent(precision.wanted_half_width),
        plural(more, "block"),
        time(more.saturating_mul(each_ns) as f64)
    ))
}

fn aa_summary(record: &CompareRecord) -> String {
    let Some(first) = record.aa_floor.first() else {
        return format!("Nothing can be said of this machine yet: {}.", record.aa_floor_basis);
    };
    let shown: Vec<String> = CompareMetric::ALL.into_iter().filter_map(|metric| resolvable(record, metric)).collect();
    let blocks = record.blocks.iter().filter(|block| block.counted).count() as u64;
    let (flagged, all) = record.aa_floor.iter().fold((0_u64, 0_u64), |(flagged, all), FloorRecord { floor, .. }| {
        (flagged.saturating_add(floor.flagged), all.saturating_add(floor.comparisons))
    });
    // Over all quantities: of the few comparisons of one alone, two that are flagged by chance are more than a tenth.
    let trust = match flagged as f64 > FLAGGED_MAX * all as f64 {
        true => "more than one in ten, so small changes must not be believed on this machine",
        false => "about as many as there should be (one in twenty)",
    };
    format!(
        "One server was compared with itself ({}), so every difference is noise. Comparisons of some {} here show \
         changes of {}. Of {all} comparisons {flagged} saw a change that was not there: {trust}.",
        plural(blocks, "block"),
        plural(first_blocks(blocks, first.floor.comparisons), "block"),
        shown.join(", ")
    )
}

/// Change of a quantity that is shown: `goodput by 2.1 %`, with the load where it is known at several.
fn resolvable(record: &CompareRecord, metric: CompareMetric) -> Option<String> {
    let of_metric = record.aa_floor.iter().filter(|floor| floor.metric == metric);
    let known: Vec<(CompareLoad, f64)> = of_metric.filter_map(|one| Some((one.load, one.floor.resolvable?))).collect();
    let changes: Vec<String> = match known.as_slice() {
        [] => return None,
        [(_, only)] => vec![percent(*only)],
        several => several.iter().map(|(load, change)| format!("{} ({})", percent(*change), load.words())).collect(),
    };
    Some(format!("{} by {}", metric.words(), changes.join(" and ")))
}

/// Blocks of each of the comparisons of a server with itself.
const fn first_blocks(blocks: u64, _comparisons: u64) -> u64 {
    if blocks < 12 { blocks } else { 6 }
}

fn is_aa(record: &CompareRecord) -> bool {
    record.plan.as_ref().is_some_and(|plan| plan.is_aa)
}

/// Name of the baseline.
pub(crate) fn baseline(record: &CompareRecord) -> &str {
    record.arms.first().map_or("", |arm| &arm.name)
}

/// The floor in a line: what comparing the baseline with itself gives, or why that is not known and what the blocks
/// themselves resolve.
fn floor(record: &CompareRecord) -> String {
    if !record.aa_floor.is_empty() {
        let each = record.aa_floor.iter().map(|one| {
            let name = format!("{}, {}", one.metric.words(), one.load.words());
            let resolvable = one.floor.resolvable.map_or_else(|| "-".to_owned(), percent);
            format!("{name}: {resolvable} ({} of {} flagged)", one.floor.flagged, one.floor.comparisons)
        });
        return each.collect::<Vec<_>>().join("; ");
    }
    let resolved = decisive(record).into_iter().filter_map(|(load, metric)| {
        let of = record.metrics.iter().filter(|one| (one.load, one.metric) == (load, metric));
        let changes = of.filter_map(|one| Some(stats::resolvable(one.sd_log?, one.ratio.n)));
        Some(format!("{} {}", metric.words(), percent(changes.reduce(f64::max)?)))
    });
    let resolved: Vec<String> = resolved.collect();
    match resolved.is_empty() {
        true => record.aa_floor_basis.clone(),
        false => format!(
            "{}; by their own spread these blocks show changes of {}",
            record.aa_floor_basis,
            resolved.join(", ")
        ),
    }
}

/// How it was measured.
pub(crate) fn design(record: &CompareRecord) -> Option<String> {
    let plan = record.plan.as_ref()?;
    let counted = record.blocks.iter().filter(|block| block.counted).count() as u64;
    let mut parts = vec![format!("{} in shuffled order, seed {}", plural(counted, "block"), plan.seed)];
    if plan.duet.is_some() {
        parts.push("both variants at once, on sets of CPUs that are swapped in each block".to_owned());
    }
    for load in &plan.loads {
        parts.push(match load {
            CompareLoad::Fixed => format!("open loop at {}", rate(plan.rate_per_s)),
            CompareLoad::Capacity => search(plan),
            CompareLoad::Saturated | CompareLoad::Canary | CompareLoad::Stored => {
                format!("closed loop of {}", plural(plan.connections.into(), "connection"))
            }
        });
    }
    parts.extend(plan.at_once.map(|at_once| {
        let (window, turn) = (time(at_once.window_ns as f64), time(at_once.turn_ns as f64));
        format!("the fixed load of both in windows of {window}, in turns of {turn}")
    }));
    let window = time(plan.times.window_ns as f64);
    parts.push(match plan.windows {
        Some(1) => format!("windows of {window}, in turns"),
        Some(windows) => format!("{windows} windows of {window} each, in turns"),
        None => format!("windows of {window}"),
    });
    if plan.without_canary {
        parts.push("no canary, as this machine has no part in it".to_owned());
    }
    let again = record.blocks.iter().filter(|block| !block.counted).count() as u64;
    let trials = sum(record.blocks.iter().map(|block| block.trials_repeated));
    if again > 0 {
        parts.push(format!("{} not counted", plural(again, "further block")));
    }
    if trials > 0 {
        parts.push(format!("{} repeated", plural(trials, "trial")));
    }
    Some(format!("{}; {} in all", parts.join("; "), time(record.spent_ns as f64)))
}

/// What was sent, other machines that took part, and the loss of one; none of stored runs, each of which has its own.
fn machines(record: &CompareRecord) -> Vec<Fact> {
    if record.plan.is_none() {
        return Vec::new();
    }
    let machines = agents::machines(&record.environment, record.runs.iter().map(|of| &of.run));
    sent::fact(record.sent_in_all).into_iter().chain(machines).chain(agents::lost(record.agent_lost.as_ref())).collect()
}

/// The search for the capacity of each variant in each block.
fn search(plan: &CompareSettings) -> String {
    let Some(capacity) = &plan.capacity else { return "search for the capacity".to_owned() };
    format!("search for the highest rate with {} in {}", capacity.goal, time(capacity.budget_ns as f64))
}

/// Where the two variants of a duet ran, what that means for their figures, and what one set of CPUs does; nothing outside one.
fn cpu_sets(record: &CompareRecord) -> Vec<String> {
    let Some(duet) = record.plan.as_ref().and_then(|plan| plan.duet.as_ref()) else { return Vec::new() };
    let mut lines = vec![sets(duet)];
    let large = record.positions.iter().filter(|position| position.is_large);
    lines.extend(large.map(|position| {
        let range = interval(&position.ratio).map_or_else(String::new, |range| format!(" ({range})"));
        format!(
            "{} {} on set 2{range}, whichever variant runs there: the sets are not alike, which cancels as they are swapped",
            position.metric.words(),
            signed(position.ratio.value - 1.0)
        )
    }));
    lines
}

fn sets(duet: &Duet) -> String {
    let list = |cpus: &[u32]| cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    let set = |(i, set): (usize, &DuetSet)| match set.server == set.load {
        true => format!("set {}: CPU {} for server and load", i + 1, list(&set.server)),
        false => format!("set {}: server {}, load {}", i + 1, list(&set.server), list(&set.load)),
    };
    let each: Vec<String> = duet.sets.iter().enumerate().map(set).collect();
    let means = match duet.sets.iter().any(|set| set.one_core) {
        true => {
            "; server and load share a core, so response times hold what the load takes of it, and differ less than those \
             of the servers alone"
        }
        false => "",
    };
    format!("{}{means}", each.join("; "))
}

/// The variants: what each name stands for.
fn arms(record: &CompareRecord) -> Vec<(&'static str, String)> {
    let named = record.arms.iter().enumerate().filter(|(_, arm)| !is_aa(record) || arm.name == baseline(record));
    named
        .map(|(i, arm)| {
            let role = if i == 0 { "baseline" } else { "variant" };
            let target = if arm.target == arm.name { String::new() } else { format!(": {}", arm.target) };
            let pilot = arm
                .pilot_per_s
                .map_or_else(String::new, |per_s| format!("; {} in a closed loop before the blocks", rate(per_s)));
            let letter = letter(record, &arm.name).map_or_else(String::new, |letter| format!("{letter} is "));
            (role, format!("{letter}'{}'{target}{pilot}", arm.name))
        })
        .collect()
}

/// The blocks that do not count, and why most of them do not; none where all do.
pub(crate) fn uncounted(record: &CompareRecord) -> Option<String> {
    let mut reasons: Vec<(&str, usize)> = Vec::new();
    for why in record.blocks.iter().filter(|block| !block.counted).map(|block| block.uncounted_why.as_deref()) {
        let why = why.unwrap_or("for no reason that is known");
        match reasons.iter_mut().find(|(known, _)| *known == why) {
            Some((_, n)) => *n += 1,
            None => reasons.push((why, 1)),
        }
    }
    let n: usize = reasons.iter().map(|(_, n)| n).sum();
    let (why, _) = reasons.iter().max_by_key(|(_, n)| *n)?;
    let most = if reasons.len() > 1 { ", most of them because of this: " } else { ": " };
    Some(format!("{n} of {}{most}{why}", plural(record.blocks.len() as u64, "block")))
}

/// Conditions of `--fail-if` with what came of them.
fn conditions(record: &CompareRecord) -> impl Iterator<Item = Fact> + use<'_> {
    let one = |condition: &model::FailIfRecord| {
        let tone = match condition.state {
            FailIfState::Passed => Tone::Good,
            FailIfState::CannotTell => Tone::Unsure,
            FailIfState::Failed => Tone::Bad,
        };
        let (of, word) = (of_variant(record, &condition.arm), condition_word(condition.state));
        Fact::new(About::Result, "fail-if", format!("{}{of}: {word}", condition.condition)).with_tone(tone)
    };
    record.conditions.iter().map(one)
}

/// What came of a condition, in a word or two.
pub(crate) const fn condition_word(state: FailIfState) -> &'static str {
    match state {
        FailIfState::Passed => "passed",
        FailIfState::CannotTell => "cannot tell",
        FailIfState::Failed => "failed",
    }
}

/// Which variant is meant, where there are several.
pub(crate) fn of_variant(record: &CompareRecord, arm: &str) -> String {
    if record.arms.len() > 2 { format!(" of '{arm}'") } else { String::new() }
}

/// What came of the profile of each variant: where its server spends more or less of its CPU time than that of the baseline,
/// or why that is not known.
fn profiles(record: &CompareRecord) -> Vec<String> {
    let Some((first, others)) = record.profiles.split_first() else { return Vec::new() };
    if let Some(why) = &first.unavailable {
        return vec![format!("none of '{}': {why}", first.arm)];
    }
    let one = |of: &ArmProfile| match (&first.profile, &of.profile, &of.unavailable) {
        (_, _, Some(why)) => Some(format!("none of '{}': {why}", of.arm)),
        (Some(before), Some(after), None) => Some(format!(
            "the server of '{}', against '{}' at {}: {}; {} and {} samples{}",
            of.arm,
            first.arm,
            of.load.words(),
            changed_most(&of.functions),
            count(server_samples(after)),
            count(server_samples(before)),
            php_changed_most(&of.php_functions).map_or_else(String::new, |php| format!("; {php}"))
        )),
        _ => None,
    };
    others.iter().filter_map(one).collect()
}

fn server_samples(profile: &Profiled) -> u64 {
    let servers = profile.processes.iter().filter(|process| process.role.is_serving());
    sum(servers.map(|process| process.samples))
}

/// Each quantity of each variant, in the columns of [`METRIC_HEADER`].
pub(crate) fn metric_rows(record: &CompareRecord) -> Vec<Vec<String>> {
    let several = record.arms.len() > 2;
    record.metrics.iter().map(|metric| metric_row(metric, several)).collect()
}

fn metric_row(metric: &MetricRecord, several: bool) -> Vec<String> {
    vec![
        metric.metric.words().to_owned(),
        metric.load.words().to_owned(),
        value(metric.metric, metric.baseline),
        value(metric.metric, metric.value),
        if several { metric.arm.clone() } else { String::new() },
        signed(metric.ratio.value - 1.0),
        interval(&metric.ratio).unwrap_or_else(|| "-".to_owned()),
        metric.call.words().to_owned(),
    ]
}

/// A change with its interval and what is called.
pub(crate) fn change(metric: &MetricRecord) -> String {
    let range = interval(&metric.ratio).map_or_else(String::new, |range| format!(" ({range})"));
    format!("{}{range}: {}", signed(metric.ratio.value - 1.0), metric.call.words())
}

/// A value of a quantity in its unit.
pub(crate) fn value(metric: CompareMetric, value: f64) -> String {
    match metric {
        CompareMetric::GoodputPerS | CompareMetric::CapacityPerS => rate(value),
        CompareMetric::ServerRssBytes => bytes(value as u64),
        CompareMetric::ServerCpuNsPerRequest
        | CompareMetric::ResponseP50Ns
        | CompareMetric::ResponseP90Ns
        | CompareMetric::ResponseP95Ns
        | CompareMetric::ResponseP99Ns => time(value),
    }
}

/// Columns of [`block_rows`].
pub(crate) fn block_header(record: &CompareRecord) -> Vec<String> {
    let first = ["block", "order"].map(str::to_owned);
    let primary = decisive(record).into_iter().flat_map(|(load, metric)| {
        let named = move |arm: &model::ArmRecord| format!("{} {}, {}", arm.name, metric.short(), load.words());
        record.arms.iter().map(named).collect::<Vec<_>>()
    });
    first.into_iter().chain(primary).chain(["canary", "took", ""].map(str::to_owned)).collect()
}

/// Each block in the order measured.
pub(crate) fn block_rows(record: &CompareRecord) -> Vec<Vec<String>> {
    let decisive = decisive(record);
    let row = |(i, block): (usize, &BlockRecord)| {
        let values = decisive.iter().flat_map(|(load, metric)| {
            record.arms.iter().map(move |arm| {
                let known = block.values.get(&arm.name).and_then(|of| of.get(load)?.get(metric).copied());
                known.map_or_else(|| "-".to_owned(), |known| value(*metric, known))
            })
        });
        let canary = block.canary_cpu_ns_per_request.map_or_else(|| "-".to_owned(), time);
        let mark = match (&block.uncounted_why, block.canary_deviates) {
            (Some(why), _) => why.clone(),
            (None, true) => "the machine was another".to_owned(),
            (None, false) => String::new(),
        };
        let first = [(i + 1).to_string(), block.order.join(", ")];
        first.into_iter().chain(values).chain([canary, time(block.took_ns as f64), mark]).collect()
    };
    record.blocks.iter().enumerate().map(row).collect()
}

/// The quantities that decide, in the order of the result.
pub(crate) fn decisive(record: &CompareRecord) -> Vec<(CompareLoad, CompareMetric)> {
    let mut told = BTreeSet::new();
    let primary = record.metrics.iter().filter(|one| one.primary).map(|one| (one.load, one.metric));
    primary.filter(|one| told.insert(*one)).collect()
}

/// A comparison in a line among others.
pub(crate) fn row(named: Named<'_>) -> Option<Vec<String>> {
    let AnyRecord::Compare(record) = named.record else { return None };
    let variants: Vec<&str> = record.arms.iter().skip(1).map(|arm| arm.name.as_str()).collect();
    Some(vec![
        named.name.to_owned(),
        state_word(record.verdict.state).to_owned(),
        baseline(record).to_owned(),
        variants.join(", "),
        record.blocks.iter().filter(|block| block.counted).count().to_string(),
        calls(record),
    ])
}

/// The quantities that decide, each with its change and call.
fn calls(record: &CompareRecord) -> String {
    let primary = record.metrics.iter().filter(|metric| metric.primary);
    let one = |metric: &MetricRecord| {
        let change = signed(metric.ratio.value - 1.0);
        format!("{} {} {change} ({})", metric.arm, metric.metric.short(), metric.call.words())
    };
    primary.map(one).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_change_is_a_multiple_in_a_sentence() {
        let gives = |times| multiple(CompareMetric::GoodputPerS, times);
        assert_eq!(gives("184 times"), "gives 184 times the good responses per second");
    }
}
