//! One measured load in a terminal.

use super::Style;
use super::layout::{columns, labelled, labelled_bold, limiter, shortened, table};
use super::observed;
pub(crate) use super::profile::line as profile;
use super::thresholds::thresholds;
use super::verdict::{finding_of, findings, headline_of, is_bound_by};
use crate::agents;
use crate::sent;
use crate::sums::sum;
use model::human::{self, count, percent, plural, rate, time};
use model::{
    Arrivals, Basis, Bound, DISTURBANCE_RULES, Estimate, Fruitless, Load, MixRecord, NS_PER_S, Quantiles, RunRecord,
    Verdict,
};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::Display;

/// Names of the quantiles shown, and their keys in the evidence of `LD-04` and `ER-05`.
const SHOWN: [(&str, &str); 5] = [("p50", "p50"), ("p90", "p90"), ("p99", "p99"), ("p99.9", "p99_9"), ("max", "max")];
/// Header of [`mix_rows`].
pub(crate) const MIX_HEADER: [&str; 4] = ["request", "answered", "good", "mean"];
/// Requests of a mix shown.
const MIX_MAX: usize = 20;
/// Columns of the figures beside the name of a request.
const MIX_FIGURES: usize = 34;
/// Of such a name at least as much is shown.
const MIX_NAME_MIN: usize = 12;
/// Where less of the time was taken, rates can be compared.
const TAKEN_MIN: f64 = 0.01;
/// Failures and statuses named in a line.
const NAMED_MAX: usize = 5;

/// The whole result of a run: verdict, headline, latencies, what failed, the client, findings with remedies.
/// Ends with a newline.
#[must_use]
pub fn run(record: &RunRecord, style: &Style) -> String {
    let style = *style;
    let mut out = headline_of(&record.verdict, Some(&record.plan), style);
    out.push_str(&labelled_bold("goodput", &goodput(record), style));
    let (good, all) = (rate(record.goodput_per_s.value), rate(record.throughput_per_s));
    if good != all {
        out.push_str(&labelled("throughput", &format!("{all} (every complete response, wrong ones too)"), style));
    }
    if let Some(text) = cpu_per_request(record) {
        out.push_str(&labelled("CPU/request", &text, style));
    }
    out.push_str(&limiter(record.limiter.as_ref(), style));
    out.push_str(&labelled("load", &load(record), style));
    out.extend(sent::line(record.sent_in_all).map(|text| labelled(sent::LABEL, &text, style)));
    if let Some(text) = disturbed(record) {
        out.push_str(&labelled("disturbed", &text, style));
    }
    if let Some(text) = schedule(record) {
        out.push_str(&labelled("on schedule", &text, style));
    }
    out.push_str(&labelled("target", &record.plan.target.to_string(), style));
    if let Some(served) = &record.environment.served {
        out.push_str(&labelled("server", &crate::served::line(served), style));
    }
    if let Some(text) = agents::server_host(&record.environment) {
        out.push_str(&labelled("server", &text, style));
    }
    if let Some(text) = agents::bandwidth(&record.environment) {
        out.push_str(&labelled("bandwidth", &text, style));
    }
    for (label, text) in agents::lines(record) {
        out.push_str(&labelled(label, &text, style));
    }
    if let Some((label, text)) = agents::shortfall(record) {
        out.push_str(&labelled(label, &text, style));
    }
    out.push('\n');
    out.push_str(&latency(record, style));
    out.push('\n');
    out.push_str(&requests(record, style));
    out.push_str(&mix(record, style));
    if let Some(text) = connections(record) {
        out.push_str(&labelled("connections", &text, style));
    }
    if let Some(text) = tls(record) {
        out.push_str(&labelled("tls", &text, style));
    }
    out.push_str(&labelled("traffic", &traffic(record), style));
    out.push_str(&labelled("client", &client(record), style));
    if let Some(text) = observed::server(record) {
        out.push_str(&labelled("server", &text, style));
    }
    for (label, text) in observed::companions(record) {
        out.push_str(&labelled("beside it", &format!("{label}: {text}"), style));
    }
    for text in observed::pools(record) {
        out.push_str(&labelled("workers", &text, style));
    }
    if let Some(text) = profile(record.profile.as_ref(), record.profile_unavailable.as_deref()) {
        out.push_str(&labelled("profile", &text, style));
    }
    out.push_str(&thresholds(&record.thresholds, style));
    out.push_str(&findings(&record.verdict, style));
    out
}

/// A quantile of the response time as far as it may be told: `-` when too few requests are behind it, `>= x` when the
/// timeout cut it, `<= x` when most of it may be the client's own lateness.
pub(crate) fn quantile(verdict: &Verdict, key: &str, ns: u64) -> String {
    shown(verdict, key, ns, quantile_bound(verdict, key))
}

/// On which side of it the true one is, where only that is known; also of one that is not shown.
pub(crate) fn quantile_bound(verdict: &Verdict, key: &str) -> Option<Bound> {
    let is_late = || names(verdict, "CL-03", &format!("{key}_at_most_ns"));
    service_bound(verdict, key).or_else(|| is_late().then_some(Bound::AtMost))
}

/// The same of the service time, which begins when the request is sent.
fn service_bound(verdict: &Verdict, key: &str) -> Option<Bound> {
    match names(verdict, "ER-05", &format!("{key}_at_least_ns")) {
        true => Some(Bound::AtLeast),
        false => is_disturbed(verdict).then_some(Bound::AtMost),
    }
}

fn shown(verdict: &Verdict, key: &str, ns: u64, bound: Option<Bound>) -> String {
    // Without a response there is none, and no response takes 0 ns.
    match ns == 0 || names(verdict, "LD-04", &format!("{key}_tail_n")) {
        true => "-".to_owned(),
        false => format!("{}{}", bound.map_or("", Bound::sign), time(ns as f64)),
    }
}

/// True if `rule` has fired with `key` among its figures.
fn names(verdict: &Verdict, rule: &str, key: &str) -> bool {
    finding_of(verdict, rule).is_some_and(|found| found.evidence.contains_key(key))
}

/// `3 iterations of 10.0 s`, or `30.0 s`.
pub(crate) fn measured(record: &RunRecord) -> String {
    let iterations = record.iterations.max(1);
    let each = time(record.measured_ns as f64 / f64::from(iterations));
    if iterations == 1 { each } else { format!("{iterations} iterations of {each}") }
}

pub(crate) fn load(record: &RunRecord) -> String {
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
pub(crate) fn schedule(record: &RunRecord) -> Option<String> {
    let (planned, sent) = (record.requests.counts.planned, record.requests.counts.sent);
    let missing = planned.saturating_sub(sent);
    if record.plan.load.is_closed() || missing == 0 {
        return None;
    }
    // Of what is missing, as 99.8 % would round to all.
    let share = percent(missing as f64 / planned as f64);
    Some(format!("all but {share} of the requests were sent ({} of {})", count(sent), count(planned)))
}

/// True if CPU time that was taken makes the numbers bounds.
pub(crate) fn is_disturbed(verdict: &Verdict) -> bool {
    DISTURBANCE_RULES.iter().any(|rule| is_bound_by(verdict, rule))
}

/// True if the goodput is only a lower bound.
pub(crate) fn is_goodput_bound(record: &RunRecord) -> bool {
    ["CL-01", "CL-18"].iter().any(|rule| is_bound_by(&record.verdict, rule)) || is_disturbed(&record.verdict)
}

/// What was set aside, and why; none when nothing was.
pub(crate) fn disturbed(record: &RunRecord) -> Option<String> {
    let seen = record.disturbance.as_ref()?;
    let cause = seen.cause.filter(|_| seen.set_aside_ns > 0)?;
    let (aside, all) = (time(seen.set_aside_ns as f64), time(record.measured_ns as f64));
    let prolonged = match seen.prolonged_ns {
        0 => String::new(),
        ns => format!("; measured {} longer for it", time(ns as f64)),
    };
    let what = match seen.basis {
        Basis::Clean => format!("set aside, with {}", plural(seen.set_aside_requests, "request")),
        Basis::Whole => "disturbed, and too little was left without".to_owned(),
    };
    Some(format!("{aside} of {all} {what} ({} most){prolonged}", cause.words()))
}

/// What the server needs for one response, a headline where rates cannot be compared: where CPU time was taken. Else it stands
/// beside the server.
pub(crate) fn cpu_per_request(record: &RunRecord) -> Option<String> {
    record.disturbance.as_ref().filter(|seen| seen.taken_share > TAKEN_MIN)?;
    let cost = record.known_server_cpu_ns()?;
    let interval = match (cost.low, cost.high) {
        (Some(low), Some(high)) => format!(" (95 % interval {} to {})", time(low), time(high)),
        _ => String::new(),
    };
    let has_companions = record.observed.as_ref().is_some_and(|observed| !observed.companions.is_empty());
    let whose = if has_companions { "of the server and its companions" } else { "of the server" };
    let unseen = record.observed.as_ref().map_or_else(String::new, observed::unseen);
    let note =
        "It leaves out the time for which others had their CPUs, but a lower clock frequency and colder caches count.";
    Some(format!("{} {whose}{interval}{unseen}. {note}", time(cost.value)))
}

pub(crate) fn goodput(record: &RunRecord) -> String {
    let Estimate { value, low, high, n } = record.goodput_per_s;
    let bound = if is_goodput_bound(record) { ">= " } else { "" };
    match (low, high) {
        (Some(low), Some(high)) => {
            format!("{bound}{} (95 % interval {} to {}, n = {n})", rate(value), rate(low), rate(high))
        }
        _ => format!("{bound}{}", rate(value)),
    }
}

fn latency(record: &RunRecord, style: Style) -> String {
    let latency = &record.latency_ns;
    if latency.response.n == 0 {
        return labelled("latency", "no response time was recorded", style);
    }
    let closed = record.plan.load.is_closed();
    let (rows, all) = rows(record);
    let mut out = if closed {
        String::new()
    } else {
        labelled("latency", "response from the time due, service from the time sent", style)
    };
    let wide = by_row(&record.verdict, if closed { "latency" } else { "" }, &all);
    if columns(&wide) <= style.width {
        out.push_str(&wide);
        return out;
    }
    out.push_str(&by_column(&record.verdict, &rows));
    if !closed {
        let slips = [&latency.slip_client, &latency.slip_blocked].map(|slip| time(slip.p99 as f64));
        out.push_str(&labelled("p99 late", &format!("client {}, blocked {}", slips[0], slips[1]), style));
    }
    out
}

/// A latency and what it is called.
type Row<'a> = (&'static str, &'a Quantiles);

/// Response and service times as far as they differ, and the same with the lateness that occurred.
fn rows(record: &RunRecord) -> (Vec<Row<'_>>, Vec<Row<'_>>) {
    let latency = &record.latency_ns;
    let closed = record.plan.load.is_closed();
    let mut rows = Vec::new();
    // In a closed loop a request is intended when it is sent, so that both are the same.
    if !(closed && latency.response == latency.service) {
        rows.push(("response", &latency.response));
    }
    rows.push(("service", &latency.service));
    let mut all = rows.clone();
    if !closed {
        let late = [("send delay", &latency.slip_client), ("connection wait", &latency.slip_blocked)];
        all.extend(late.into_iter().filter(|(_, slip)| slip.max > 0));
    }
    (rows, all)
}

/// Name and quantiles of each latency, as far as they may be told; empty when nothing was recorded.
pub(crate) fn latencies(record: &RunRecord) -> Vec<Vec<String>> {
    if record.latency_ns.response.n == 0 {
        return Vec::new();
    }
    rows(record).1.iter().map(|row| cells(&record.verdict, row)).collect()
}

fn cells(verdict: &Verdict, (name, quantiles): &Row<'_>) -> Vec<String> {
    let cells = SHOWN.iter().zip(values(quantiles)).map(|((_, key), ns)| cell(verdict, name, key, ns));
    [(*name).to_owned()].into_iter().chain(cells).collect()
}

/// Quantiles across, latencies down.
fn by_row(verdict: &Verdict, title: &str, rows: &[Row<'_>]) -> String {
    let header: Vec<_> = [title].into_iter().chain(SHOWN.map(|(name, _)| name)).collect();
    let rows: Vec<_> = rows.iter().map(|row| cells(verdict, row)).collect();
    table(&header, &rows, 1, 2)
}

/// Latencies across, quantiles down: for narrow terminals.
fn by_column(verdict: &Verdict, columns: &[(&str, &Quantiles)]) -> String {
    let header: Vec<_> = [""].into_iter().chain(columns.iter().map(|(name, _)| *name)).collect();
    let rows: Vec<_> = SHOWN
        .iter()
        .enumerate()
        .map(|(i, (name, key))| {
            let cells = columns.iter().map(|(column, quantiles)| cell(verdict, column, key, values(quantiles)[i]));
            [(*name).to_owned()].into_iter().chain(cells).collect()
        })
        .collect();
    table(&header, &rows, 1, 2)
}

/// The timeout cuts response and service times; slip is known even of requests that were never answered.
fn cell(verdict: &Verdict, row: &str, key: &str, ns: u64) -> String {
    match row {
        "response" => quantile(verdict, key, ns),
        "service" => shown(verdict, key, ns, service_bound(verdict, key)),
        _ => time(ns as f64),
    }
}

fn values(quantiles: &Quantiles) -> [u64; 5] {
    [quantiles.p50, quantiles.p90, quantiles.p99, quantiles.p99_9, quantiles.max]
}

/// What became of the requests; empty when nothing failed.
fn requests(record: &RunRecord, style: Style) -> String {
    let requests = &record.requests;
    let failed = sum(requests.failures.values().copied());
    if failed == 0 {
        return String::new();
    }
    let share = failed_share(record);
    let text = format!(
        "{} planned, {} sent, {} answered, {} good, {} failed ({})",
        count(requests.counts.planned),
        count(requests.counts.sent),
        count(requests.counts.completed),
        count(requests.counts.good),
        count(failed),
        percent(share)
    );
    let mut out = labelled("requests", &text, style);
    out.push_str(&labelled("failures", &most_frequent(&requests.failures), style));
    if !requests.status.is_empty() {
        out.push_str(&labelled("status", &most_frequent(&requests.status), style));
    }
    out
}

/// The requests of a mix, those that took most of the time first; empty when there is but one.
fn mix(record: &RunRecord, style: Style) -> String {
    let mut rows = mix_rows(record);
    let more = rows.len().saturating_sub(MIX_MAX);
    rows.truncate(MIX_MAX);
    let room = style.width.saturating_sub(MIX_FIGURES).max(MIX_NAME_MIN);
    for row in &mut rows {
        row[0] = shortened(&row[0], room);
    }
    match rows.len() {
        0 => String::new(),
        _ if more == 0 => table(&MIX_HEADER, &rows, 1, 2) + "\n",
        _ => table(&MIX_HEADER, &rows, 1, 2) + &format!("and {more} more\n\n"),
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
pub(crate) fn failed(record: &RunRecord) -> String {
    match sum(record.requests.failures.values().copied()) {
        0 => "none".to_owned(),
        failed => format!("{} ({})", count(failed), percent(failed_share(record))),
    }
}

/// Failed share of the requests, 0 to 1.
pub(crate) fn failed_share(record: &RunRecord) -> f64 {
    let requests = &record.requests;
    let failed = sum(requests.failures.values().copied());
    failed as f64 / requests.counts.planned.max(requests.counts.good.saturating_add(failed)).max(1) as f64
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

pub(crate) fn client(record: &RunRecord) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Finding, FindingState, VerdictState};

    fn verdict(rule: &str, key: &str) -> Verdict {
        let finding = Finding {
            rule: rule.to_owned(),
            state: FindingState::Bound,
            message: String::new(),
            remedy: String::new(),
            evidence: [(key.to_owned(), 4e6)].into(),
        };
        Verdict { state: VerdictState::Bound, findings: vec![finding], unchecked: Vec::new(), unchecked_why: [].into() }
    }

    #[test]
    fn own_lateness_bounds_the_response_time_from_above_and_no_other() {
        let late = verdict("CL-03", "p99_at_most_ns");
        assert_eq!(cell(&late, "response", "p99", 4_000_000), "<= 4.00 ms");
        assert_eq!(cell(&late, "response", "p50", 4_000_000), "4.00 ms");
        assert_eq!(cell(&late, "service", "p99", 2_000_000), "2.00 ms");
        assert_eq!(cell(&late, "send delay", "p99", 2_000_000), "2.00 ms");
        let cut = verdict("ER-05", "p99_at_least_ns");
        assert_eq!(cell(&cut, "service", "p99", 2_000_000), ">= 2.00 ms", "the timeout cuts both");
    }
}
