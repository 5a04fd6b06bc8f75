//! A run in words and rows: for the terminal, the page, Markdown and the summary.

use crate::Named;
use crate::bounds::is_goodput_bound;
use crate::record::AnyRecord;
use crate::sums::{failed_share, sum};
use crate::words::fact::{About, Fact, Tone};
use crate::words::latency::{Latency, has_first_byte, quantile_text, quantiles};
use crate::words::observed::{self, SERVER_COLUMN, cores_number};
use crate::words::verdict::{self, state_word};
use crate::words::{agents, brief, limiter, next, profile, recording, sent, served, thresholds};
use model::human::{self, count, percent, percent_exact, plural, rate, time};
use model::{Arrivals, Basis, Estimate, Fruitless, Load, MixRecord, NS_PER_S, Observed, Quantile, RunRecord};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::Display;

/// Columns of [`row`].
pub(crate) const RUN_HEADER: [&str; 8] =
    ["result", "verdict", "goodput", "p50", "p99", "failed", SERVER_COLUMN, "target"];
/// Header of [`mix_rows`].
pub(crate) const MIX_HEADER: [&str; 4] = ["request", "answered", "good", "mean"];
/// Where less of the time was taken, rates can be compared.
const TAKEN_MIN: f64 = 0.01;
/// Failures and statuses named in a line.
const NAMED_MAX: usize = 5;

/// All that is known of a run.
pub(crate) fn facts(record: &RunRecord) -> Vec<Fact> {
    let environment = &record.environment;
    let known = Fact::known;
    let mut facts = vec![verdict::fact(&record.verdict, Some(&record.plan))];
    facts.push(Fact::new(About::Result, "goodput", goodput(record)).with_tone(Tone::Headline));
    facts.extend(known(About::Result, "throughput", throughput(record)));
    facts.extend(cells(record));
    facts.extend(known(About::Figures, "latency", response_times(record)));
    facts.extend(known(About::Figures, "first byte", first_bytes(record)));
    facts.push(Fact::new(About::Figures, "errors", errors(record)));
    facts.extend(known(About::Figures, "objective", objective(record)));
    facts.extend(brief::of_run(record));
    facts.extend(limiter::facts(record.limiter.as_ref()));
    facts.extend(known(About::Result, "server CPU", cpu_per_request(record)));
    facts.extend(next::after_run(record));
    facts.push(Fact::new(About::Load, "load", load(record)));
    facts.extend(sent::fact(record.sent_in_all));
    facts.extend(known(About::Load, "disturbed", disturbed(record)));
    facts.extend(known(About::Load, "on schedule", schedule(record)));
    facts.push(Fact::new(About::Target, "target", record.plan.target.to_string()));
    facts.extend(recording::fact(&record.plan));
    facts.extend(served::fact(environment.served.as_ref()));
    facts.extend(agents::machines(environment, std::iter::once(record)));
    facts.extend(agents::each(record));
    facts.extend(agents::shortfall(record));
    facts.extend(requests(record));
    facts.extend(used(record));
    facts.extend(thresholds::facts(&record.thresholds));
    facts
}

/// The cells of the tables of latencies and requests that are read first.
fn cells(record: &RunRecord) -> Vec<Fact> {
    let response = &record.latency_ns.response;
    let shown = |quantile: Quantile| match quantile_text(&record.verdict, quantile, quantile.of(response)) {
        text if text == "-" => "not told: too few requests".to_owned(),
        text => text,
    };
    let mut cells = Vec::new();
    if response.n > 0 {
        cells.push(Fact::new(About::Cells, "response time, median", shown(Quantile::P50)));
        cells.push(Fact::new(About::Cells, "response time, 99 % within", shown(Quantile::P99)));
    }
    cells.push(Fact::new(About::Cells, "failed", failed(record)));
    cells
}

/// The quantiles of the response time that are known, in a line.
pub(crate) fn response_times(record: &RunRecord) -> Option<String> {
    (record.latency_ns.response.n > 0).then(|| known_quantiles(record, Latency::Response))
}

/// The quantiles of the time to the first byte that are known, in a line; none where responses come in one piece.
fn first_bytes(record: &RunRecord) -> Option<String> {
    has_first_byte(record).then(|| known_quantiles(record, Latency::FirstByte))
}

fn known_quantiles(record: &RunRecord, latency: Latency) -> String {
    let cell = |quantile: Quantile| match latency.cell(record, quantile) {
        text if text == "-" => None,
        text => Some(format!("{quantile} {text}")),
    };
    let all: Vec<_> = quantiles(record).into_iter().filter_map(cell).collect();
    all.join(", ")
}

/// The requests that failed, of all: also that none did.
pub(crate) fn errors(record: &RunRecord) -> String {
    let all = plural(record.requests.counts.planned, "request");
    match sum(record.requests.failures.values().copied()) {
        0 => format!("none of {all}"),
        failed => format!("{} of {all} ({})", count(failed), percent(failed_share(record))),
    }
}

/// How many of all requests were answered well within the objective, and how many good responses a second that makes; none
/// without an objective.
fn objective(record: &RunRecord) -> Option<String> {
    let counts = &record.requests.counts;
    let slo_ns = record.plan.slo_ns?;
    let share = counts.slo_share(Some(slo_ns))?;
    let bound = if is_goodput_bound(record) { ">= " } else { "" };
    let per_s = record.goodput_per_s.value * counts.within_slo as f64 / counts.good.max(1) as f64;
    let all = plural(counts.planned, "request");
    Some(format!(
        "{} of {all} answered well within {} (--slo): {bound}{}",
        percent_exact(share),
        time(slo_ns as f64),
        rate(per_s)
    ))
}

/// What became of the requests; nothing when none failed and all ended.
fn requests(record: &RunRecord) -> Vec<Fact> {
    let requests = &record.requests;
    let failed = sum(requests.failures.values().copied());
    let unfinished = match requests.counts.unfinished {
        0 if failed == 0 => return Vec::new(),
        0 => String::new(),
        n => format!(", {} without a response when the load was ended", count(n)),
    };
    let all = format!(
        "{} planned, {} sent, {} answered, {} good, {} failed ({}){unfinished}",
        count(requests.counts.planned),
        count(requests.counts.sent),
        count(requests.counts.completed),
        count(requests.counts.good),
        count(failed),
        percent(failed_share(record))
    );
    let status = (!requests.status.is_empty()).then(|| most_frequent(&requests.status));
    let facts = [
        Fact::known(About::Requests, "requests", Some(all)),
        Fact::known(About::Requests, "failures", (failed > 0).then(|| most_frequent(&requests.failures))),
        Fact::known(About::Requests, "status", status),
    ];
    facts.into_iter().flatten().collect()
}

/// What client, network and server used.
fn used(record: &RunRecord) -> Vec<Fact> {
    let known = |label, text| Fact::known(About::Use, label, text);
    let new = |label, text| Fact::new(About::Use, label, text);
    let companions = observed::companions(record).into_iter().map(|(label, text)| format!("{label}: {text}"));
    let mut facts: Vec<Fact> = known("connections", connections(record)).into_iter().collect();
    facts.extend(known("tls", tls(record)));
    facts.push(new("traffic", traffic(record)));
    facts.push(new("load generator", load_generator(record)));
    facts.extend(known("server", observed::server(record)));
    facts.extend(companions.map(|text| new("beside the server", text)));
    facts.extend(observed::pools(record).into_iter().map(|text| new("workers", text)));
    facts.extend(known("profile", profile::line(record.profile.as_ref(), record.profile_unavailable.as_deref())));
    facts
}

/// `3 iterations of 10.0 s`, or `30.0 s`.
pub(crate) fn measured(record: &RunRecord) -> String {
    let iterations = record.iterations.max(1);
    let each = time(record.measured_ns as f64 / f64::from(iterations));
    if iterations == 1 { each } else { format!("{iterations} iterations of {each}") }
}

fn load(record: &RunRecord) -> String {
    let plan = &record.plan;
    let model = match plan.load {
        Load::Closed { connections } => format!("closed loop, {}", plural(u64::from(connections), "connection")),
        Load::Open { rate_per_s, connections, .. } => {
            let connections = plural(u64::from(connections), "connection");
            let offered = offered(record).map_or_else(String::new, |text| format!(", {text},"));
            format!("open loop, {}{offered} over at most {connections}", rate(rate_per_s))
        }
    };
    let keepalive = if plan.keepalive { "" } else { ", a new connection for each request" };
    let pipeline = match plan.pipeline {
        1 => String::new(),
        depth => format!(" with {depth} requests out on each"),
    };
    let what = match plan.requests.as_slice() {
        [only] => only.method.clone(),
        several => format!("a mix of {} requests", several.len()),
    };
    format!("{model}{pipeline}{keepalive}, {what} for {}", measured(record))
}

/// What an open loop has offered in the window, where the gaps between independent users came to another rate than was asked
/// for.
fn offered(record: &RunRecord) -> Option<String> {
    let Load::Open { rate_per_s, arrivals: Arrivals::Poisson, .. } = record.plan.load else { return None };
    let offered_per_s = record.requests.counts.planned as f64 / (record.measured_ns as f64 / NS_PER_S as f64);
    let (asked, offered) = (rate(rate_per_s), rate(offered_per_s));
    (record.measured_ns > 0 && asked != offered).then(|| format!("of which chance (Poisson) offered {offered}"))
}

/// The share of an open loop's requests that were sent at all; none when that is every one.
fn schedule(record: &RunRecord) -> Option<String> {
    let (planned, sent) = (record.requests.counts.planned, record.requests.counts.sent);
    let missing = planned.saturating_sub(sent);
    if record.plan.load.is_closed() || missing == 0 {
        return None;
    }
    // Of what is missing, as 99.8 % would round to all.
    let share = percent(missing as f64 / planned as f64);
    Some(format!("all but {share} of the requests were sent ({} of {})", count(sent), count(planned)))
}

/// What was set aside, and why; none when nothing was.
fn disturbed(record: &RunRecord) -> Option<String> {
    let seen = record.disturbance.as_ref()?;
    let cause = seen.cause.filter(|_| seen.set_aside_ns > 0)?;
    let (aside, all) = (time(seen.set_aside_ns as f64), time(record.measured_ns as f64));
    let prolonged = match seen.prolonged_ns {
        0 => String::new(),
        ns => format!("; measured {} longer for it", time(ns as f64)),
    };
    let cause = cause.words();
    let what = match seen.basis {
        Basis::Clean => {
            let requests = plural(seen.set_aside_requests, "request");
            format!("was set aside with {requests}, mostly because of {cause}")
        }
        Basis::Whole => {
            format!(
                "was disturbed, mostly because of {cause}; too little other time was left, so that nothing was set aside"
            )
        }
    };
    Some(format!("{aside} of {all} {what}{prolonged}"))
}

/// What the server needs for one response, a headline where rates cannot be compared: where CPU time was taken. Else it stands
/// beside the server.
fn cpu_per_request(record: &RunRecord) -> Option<String> {
    record.disturbance.as_ref().filter(|seen| seen.taken_share > TAKEN_MIN)?;
    let cost = record.known_server_cpu_ns()?;
    let interval = match (cost.low, cost.high) {
        (Some(low), Some(high)) => format!(" (95 % interval {} to {})", time(low), time(high)),
        _ => String::new(),
    };
    let has_companions = record.observed.as_ref().is_some_and(|observed| !observed.companions.is_empty());
    let whose = if has_companions { "of the server and its companions" } else { "of the server" };
    let unseen = record.observed.as_ref().map_or_else(String::new, observed::unseen);
    let note = "excludes the time that others had the CPUs; still varies with clock speed and cache state";
    Some(format!("{} per request {whose}{interval}{unseen} ({note})", time(cost.value)))
}

/// The rate of all complete responses, where it is not the goodput.
fn throughput(record: &RunRecord) -> Option<String> {
    let (good, all) = (rate(record.goodput_per_s.value), rate(record.throughput_per_s));
    (good != all).then(|| format!("{all} (every complete response, wrong ones too)"))
}

fn goodput(record: &RunRecord) -> String {
    let Estimate { value, low, high, n } = record.goodput_per_s;
    let bound = if is_goodput_bound(record) { ">= " } else { "" };
    match (low, high) {
        (Some(low), Some(high)) => {
            format!("{bound}{} (95 % interval {} to {}, n = {n})", rate(value), rate(low), rate(high))
        }
        _ => format!("{bound}{}", rate(value)),
    }
}

/// Request, answers, share of them that were good, mean response time; those that took most of the time first.
pub(crate) fn mix_rows(record: &RunRecord) -> Vec<Vec<String>> {
    let mut mix: Vec<_> = record.requests.mix.iter().collect();
    mix.sort_by_key(|one| Reverse(u128::from(one.completed) * u128::from(one.response_mean_ns)));
    let row = |one: &MixRecord| {
        let good = one.good as f64 / one.completed.max(1) as f64;
        let mean = if one.completed == 0 { "-".to_owned() } else { time(one.response_mean_ns as f64) };
        vec![format!("{} {}", one.method, one.path), count(one.completed), percent(good), mean]
    };
    mix.into_iter().map(row).collect()
}

/// Failed requests by number and share.
fn failed(record: &RunRecord) -> String {
    match sum(record.requests.failures.values().copied()) {
        0 => "none".to_owned(),
        failed => format!("{} ({})", count(failed), percent(failed_share(record))),
    }
}

/// `name count` for the most frequent entries, the most frequent first.
fn most_frequent<K: Display + Ord>(counts: &BTreeMap<K, u64>) -> String {
    let mut entries: Vec<_> = counts.iter().collect();
    entries.sort_by_key(|(_, n)| Reverse(**n));
    let mut items: Vec<_> =
        entries.iter().take(NAMED_MAX).map(|(name, n)| format!("{name} x {}", count(**n))).collect();
    if entries.len() > NAMED_MAX {
        items.push(format!("{} more", entries.len() - NAMED_MAX));
    }
    items.join(", ")
}

/// Connections that were missing, had to be reopened, had no response, or were needed of those that an open loop may have; none
/// when all stayed open, as they should.
fn connections(record: &RunRecord) -> Option<String> {
    let connections = record.connections;
    let [established, requested] = [connections.established, connections.requested].map(u64::from);
    let is_whole = established == requested;
    let mut told = Vec::new();
    if connections.grown > 0 && is_whole {
        let (needed, most) = (established + connections.grown, u64::from(record.plan.load.connections()));
        told.push(format!("{} of at most {} were needed", count(needed), count(most)));
    } else if !is_whole || connections.reconnects > 0 {
        told.push(format!("{} of {} open at the start", count(established), count(requested)));
    }
    if connections.reconnects > 0 {
        told.push(format!("{} reopened later", count(connections.reconnects)));
    }
    told.extend(fruitless(&connections.fruitless));
    (!told.is_empty()).then(|| told.join(", "))
}

/// Connections that had no response, by what ended them.
fn fruitless(lost: &Fruitless) -> Vec<String> {
    let Fruitless { refused, unopened, reset, closed } = *lost;
    let ends = [(refused, "refused"), (unopened, "never opened")];
    let open = [(reset, "reset"), (closed, "closed")];
    let ends = ends.map(|(n, how)| (n, how.to_owned()));
    let open = open.map(|(n, how)| (n, format!("{how} before their first response")));
    let all = ends.into_iter().chain(open).filter(|(n, _)| *n > 0);
    all.map(|(n, how)| format!("{} {how}", count(n))).collect()
}

/// What TLS came to; none without it.
fn tls(record: &RunRecord) -> Option<String> {
    let session = record.tls.as_ref()?;
    let handshake = &record.latency_ns.handshake;
    let verified =
        if record.plan.tls.as_ref().is_some_and(|tls| tls.verify) { "" } else { ", certificate not checked" };
    let times = match handshake.n {
        0 => String::new(),
        _ => format!(" p50 {}, max {},", time(handshake.p50 as f64), time(handshake.max as f64)),
    };
    let (version, cipher, resumed) = (&session.version, &session.cipher, count(session.resumed));
    Some(format!("{version} {cipher}{verified}; {},{times} {resumed} resumed", plural(handshake.n, "handshake")))
}

fn traffic(record: &RunRecord) -> String {
    format!("{} received, {} sent", human::bytes(record.bytes.received), human::bytes(record.bytes.sent))
}

fn load_generator(record: &RunRecord) -> String {
    let generator = record.generator;
    let threads = plural(u64::from(generator.threads), "load thread");
    let busy = busy(generator.busy_max).map_or_else(String::new, |share| format!(", at most {share} busy"));
    // Without requests there is nothing to share it among.
    let cost = match record.requests.counts.completed {
        0 => String::new(),
        _ => format!(", {} of CPU per request", time(generator.cpu_ns_per_request)),
    };
    format!("{threads}{busy}{cost}")
}

/// Busy share of a load thread; none where no second was long enough to tell.
pub(crate) fn busy(share: f64) -> Option<String> {
    (share > 0.0).then(|| percent(share))
}

/// A run in one line.
pub(crate) fn row(named: Named<'_>) -> Option<Vec<String>> {
    let AnyRecord::Run(record) = named.record else { return None };
    let response = &record.latency_ns.response;
    let shown = |quantile: Quantile| quantile_text(&record.verdict, quantile, quantile.of(response));
    Some(vec![
        named.name.to_owned(),
        state_word(record.verdict.state).to_owned(),
        goodput(record),
        shown(Quantile::P50),
        shown(Quantile::P99),
        percent(failed_share(record)),
        server(record),
        record.plan.target.url.clone(),
    ])
}

/// A run in a sentence.
pub(crate) fn summary(record: &RunRecord) -> String {
    let p99 = match quantile_text(&record.verdict, Quantile::P99, record.latency_ns.response.p99) {
        text if text == "-" => String::new(),
        text => format!(", p99 {text}"),
    };
    let cpu = record
        .known_server_cpu_ns()
        .map_or_else(String::new, |cpu| format!(", server CPU {} per request", time(cpu.value)));
    format!("goodput {}{p99}, failed {}{cpu}", goodput(record), percent(failed_share(record)))
}

/// The CPUs that the server and its companions kept busy.
fn server(run: &RunRecord) -> String {
    let cores = run.observed.as_ref().and_then(Observed::server_cpu_cores);
    cores.map_or_else(|| "-".to_owned(), cores_number)
}
