//! Facts that follow from the claims of an output.

use super::claim::{Claims, Figure, Mode};
use super::context::Context;
use stats::{LoadPoint, PoolFitResult, RateFit, fit_pool, fit_rate};

/// Facts that follow from the claims of one output.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Facts {
    /// Requests that were made.
    pub(crate) attempted: Option<f64>,
    /// Of these: not good.
    pub(crate) failed: Option<f64>,
    /// Of these: with a bad status or without an answer; neither redirects nor wrong sizes.
    pub(crate) erred: Option<f64>,
    /// Good responses per second; none when badness cannot be told.
    pub(crate) goodput_per_s: Option<f64>,
    /// Connections asked for, and open as far as that follows.
    pub(crate) connections: Option<(u64, u64)>,
    /// True if the tool measured a time that cannot be.
    pub(crate) clock_is_broken: bool,
    /// Size of a body that is known to be that of every response.
    pub(crate) body_bytes: Option<f64>,
    /// Of a table over connections.
    pub(crate) fit: Option<PoolFitResult>,
    /// Of a table over rates.
    pub(crate) rate_fit: Option<RateFit>,
}

/// Requests that are not among the responses.
const UNANSWERED: [Figure; 2] = [Figure::Broken, Figure::BadOrBroken];

impl Facts {
    pub(crate) fn of(claims: &Claims, context: &Context) -> Self {
        let sum = |figures: &[Figure]| figures.iter().filter_map(|figure| claims.get(*figure)).sum::<f64>();
        let responses = claims.get(Figure::Responses);
        let attempted = responses.map(|n| n + sum(&UNANSWERED));
        // Without a count of bad statuses nobody knows what was good.
        let erred = claims.get(Figure::BadStatus).map(|bad| bad + sum(&UNANSWERED));
        let failed = erred.map(|erred| erred + sum(&[Figure::Redirects, Figure::WrongSize]));
        let good = attempted.zip(failed).map(|(attempted, failed)| (attempted - failed).max(0.0));
        let body_bytes = claims.get(Figure::BodyBytes);
        let is_wrong =
            body_bytes.zip(context.expect_size_bytes).is_some_and(|(body, expected)| !same_size(body, expected));
        let varies =
            claims.tool == "ab" && erred == Some(0.0) && claims.get(Figure::WrongSize).is_some_and(|n| n > 0.0);
        let times = claims.get(Figure::Duration).zip(claims.get(Figure::DurationAsked));
        let clock_is_broken = times.is_some_and(|(ns, asked)| is_broken(ns, asked));
        // Of a tool that keeps so many results alone, its rate is of all.
        let kept_all = |n: f64| claims.kept_max.is_none_or(|kept| n < kept);
        let per_s = |good: f64| match (claims.get(Figure::Throughput), attempted) {
            (Some(throughput), Some(attempted)) if !kept_all(attempted) => Some(throughput * good / attempted.max(1.0)),
            _ => claims.get(Figure::Duration).filter(|ns| *ns > 0.0).map(|ns| good / ns * 1e9),
        };
        let goodput_per_s = good
            .and_then(per_s)
            // How many bodies were wrong cannot be told from their mean size, nor whether a page that varies is one.
            .filter(|_| !is_wrong && !clock_is_broken && !varies && !claims.may_overlap);
        let is_closed = claims.mode == Some(Mode::Closed);
        let fit = is_closed.then(|| fit_pool(&points(claims))).flatten();
        let rate_fit = claims.over_rate.then(|| fit_rate(&points(claims))).flatten();
        let connections = connections(claims);
        Self { attempted, failed, erred, goodput_per_s, connections, fit, rate_fit, clock_is_broken, body_bytes }
    }

    pub(crate) fn failed_share(&self) -> Option<f64> {
        Some(self.failed? / self.attempted.filter(|n| *n > 0.0)?)
    }
}

/// Printed mean sizes are rounded, and ab's and httperf's are exact.
pub(crate) fn same_size(body: f64, expected: u64) -> bool {
    (body - expected as f64).abs() < 1.0
}

/// Connections asked for and established: wrk opens the same whole number in each thread.
fn connections(claims: &Claims) -> Option<(u64, u64)> {
    let requested = claims.get(Figure::Connections)? as u64;
    let shared_out = match claims.get(Figure::Threads) {
        Some(threads) if claims.tool.starts_with("wrk") && threads >= 1.0 => {
            (requested / threads as u64).saturating_mul(threads as u64)
        }
        _ => requested,
    };
    let missing = claims.get(Figure::ConnectErrors)? as u64;
    Some((requested, shared_out.saturating_sub(missing)))
}

/// So much less than was asked for is no run that somebody has stopped.
pub(crate) fn is_broken(ns: f64, asked_ns: f64) -> bool {
    ns < 0.01 * asked_ns || ns > 100.0 * asked_ns.max(1e9)
}

fn points(claims: &Claims) -> Vec<LoadPoint> {
    claims.table.iter().map(|row| LoadPoint { load: row.load, goodput_per_s: row.throughput_per_s }).collect()
}
