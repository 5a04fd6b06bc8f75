//! The target: what it answers, what stands in front of it, and whether it keeps answering when many ask at once.

use super::limits::queue_remedy;
use super::{Machine, ask, fine, judged, remedy, row, unavailable};
use crate::Outcome;
use crate::facts::surplus::Surplus;
use crate::text::list;
use model::human::{bytes, count, plural, time};
use model::{Body, Burst, CheckRow, CheckState, Coded, Evidence, Fetch, HttpTraits, Refusal, SizeBand, TargetCheck};
use std::collections::BTreeMap;

/// Responses of the load that is foreseen where a rule counts them.
const FORESEEN: u64 = 1000;
/// Ends of paths that no server answers with a page when it has what was asked for.
const NO_PAGES: [&str; 14] = [
    ".css", ".gif", ".ico", ".jpeg", ".jpg", ".js", ".json", ".pdf", ".png", ".svg", ".txt", ".webp", ".woff2", ".xml",
];
const HTML: &str = "text/html";
/// A smaller body is in one packet with its headers, compressed or not.
const COMPRESSIBLE_MIN_BYTES: u64 = 1400;
const COMPRESS: &str = "let the server compress text for clients that take it (gzip on and gzip_types of nginx, mod_deflate, \
                        encode of Caddy), which costs CPU time for each page that is not kept compressed: measure before \
                        and after with -H 'Accept-Encoding: gzip'";
/// Headers by which a cache says that a response has gone through it, whether it had it or not.
const TELL_OF_CACHE: [&str; 7] =
    ["age", "cache-status", "cf-cache-status", "x-cache", "x-cache-status", "x-proxy-cache", "x-varnish"];
const CACHE: &str = "if users get the page from a page cache or CDN, measure at its address; if there is none, one may save \
                     most of the work on pages that are alike for all (fastcgi_cache or proxy_cache of nginx, Varnish)";

/// Everything that is looked at of a target.
#[must_use]
pub fn target(target: &TargetCheck, machine: &Machine<'_>) -> Vec<CheckRow> {
    let evidence = Evidence { probe: Some(target.probe.clone()), ..machine.evidence() };
    let look = Look { target, evidence, keepalive: machine.plan.keepalive };
    let mut rows = vec![look.connection(), look.redirect(), look.body(), look.coding(), look.caches()];
    rows.extend([look.version(), look.kept()]);
    if machine.is_target_here && machine.plan.target.address.tcp().is_some() {
        rows.push(look.queue(machine));
    }
    match (&target.burst, &target.burst_unavailable) {
        (Some(burst), _) => rows.extend(look.burst(burst)),
        (None, why) => rows.push(unavailable("ER-08", REFUSED, why.clone().unwrap_or_default())),
    }
    rows
}

const REFUSED: &str = "many at once";

/// What was seen of the target, and the load that is planned.
struct Look<'a> {
    target: &'a TargetCheck,
    evidence: Evidence,
    keepalive: bool,
}

impl Look<'_> {
    fn first(&self) -> Option<&Fetch> {
        self.target.probe.fetches.first()
    }

    fn connection(&self) -> CheckRow {
        let HttpTraits { version, tls, .. } = &self.target.http_traits;
        let took = self.first().map_or_else(String::new, |first| format!(" in {}", time(first.connect_ns as f64)));
        let server = self.first().and_then(|first| first.server.as_deref());
        let server = server.map_or_else(String::new, |server| format!(" from {server}"));
        let tls = tls.as_ref().map_or_else(String::new, |tls| format!(", {} with {}", tls.version, tls.cipher));
        fine("CL-17", "connection", format!("{} connected{took}{tls}, {version}{server}", self.target.address))
    }

    fn redirect(&self) -> CheckRow {
        const WHAT: &str = "redirect";
        let mut evidence = self.evidence.clone();
        for fetch in &self.target.probe.fetches {
            evidence.cohort.counts.completed += 1;
            *evidence.cohort.status.entry(fetch.status).or_default() += 1;
        }
        let way = &self.target.redirects;
        if let Some(probe) = &mut evidence.probe {
            probe.redirects.clone_from(way);
            probe.redirects.extend(self.target.canonical_url.clone());
        }
        let status = self.first().map_or(0, |first| first.status);
        let found = match (way.as_slice(), &self.target.canonical_url) {
            ([], _) => format!("none: {} answers {status} itself", self.target.url),
            (way, Some(url)) => format!("status {status} to {}; the page is {url}", way.join(" -> ")),
            (way, None) => format!("status {status} to {}, where no page was found", way.join(" -> ")),
        };
        judged("ER-02", WHAT, found, ask("ER-02", &evidence))
    }

    fn body(&self) -> CheckRow {
        const WHAT: &str = "body";
        let (Some(first), probe) = (self.first(), &self.target.probe) else {
            return unavailable("ER-03", WHAT, "the target was not fetched");
        };
        let kind = first.content_type.as_deref().unwrap_or("no content type");
        let n = plural(probe.fetches.len() as u64, "answer");
        let path = self.evidence.plan.requests[0].path.split('?').next().unwrap_or_default().to_ascii_lowercase();
        if kind.starts_with(HTML) && first.status < 300 && NO_PAGES.iter().any(|end| path.ends_with(end)) {
            let found = format!("{kind} came for {path}: an error page with status {}?", first.status);
            return row("ER-03", WHAT, CheckState::Warning, found, self.body_remedy());
        }
        if let Some(surplus) = Surplus::of(&self.evidence) {
            let found = format!("{kind} {}", surplus.found());
            return judged("ER-03", WHAT, found, ask("ER-03", &self.evidence));
        }
        match probe.body {
            Body::Stable => fine("ER-03", WHAT, format!("{} of {kind}, the same in {n}", bytes(first.size_bytes))),
            Body::ChangingBytes => {
                let found = format!("{} of {kind}, other bytes in each of {n}", bytes(first.size_bytes));
                fine("ER-03", WHAT, found)
            }
            Body::ChangingSize => {
                let sizes = || probe.fetches.iter().map(|fetch| fetch.size_bytes);
                let seen = SizeBand { min: sizes().min().unwrap_or(0), max: sizes().max().unwrap_or(0) };
                let good = self.evidence.plan.requests[0].contract.size_bytes;
                let good =
                    good.map_or_else(|| "the size is not checked".to_owned(), |band| format!("good are {}", of(band)));
                let found = format!("{kind} of another size in each of {n} ({}); {good}", of(seen));
                row("ER-03", WHAT, CheckState::Note, found, self.body_remedy())
            }
        }
    }

    /// What ER-03 advises when bodies are not as expected.
    fn body_remedy(&self) -> Option<String> {
        let mut evidence = self.evidence.clone();
        evidence.plan.requests[0].contract.size_bytes = Some(SizeBand { min: 0, max: 0 });
        evidence.cohort.counts.completed = FORESEEN;
        evidence.cohort.failures.insert("contract.size".to_owned(), FORESEEN);
        remedy("ER-03", &evidence)
    }

    fn coding(&self) -> CheckRow {
        const WHAT: &str = "compression";
        let HttpTraits { plain, compressed, .. } = &self.target.http_traits;
        let Some(asked) = compressed else {
            let why = match &plain.encoding {
                Some(encoding) => format!("{encoding}, as the request says what it takes"),
                None => "the request says itself what it takes, or may change something".to_owned(),
            };
            return unavailable("ER-10", WHAT, why);
        };
        match (&plain.encoding, &asked.encoding) {
            (None, None) if self.is_compressible() => {
                let found = format!(
                    "none, also for clients that take gzip: {} are sent uncompressed to every browser",
                    bytes(plain.size_bytes)
                );
                row("ER-10", WHAT, CheckState::Note, found, Some(COMPRESS.to_owned()))
            }
            (None, None) => fine("ER-10", WHAT, "none, also for clients that take it; nothing here would gain by it"),
            (Some(encoding), _) => {
                let found = format!("{encoding} without being asked for");
                row("ER-10", WHAT, CheckState::Note, found, Some(as_browsers_do(asked)))
            }
            (None, Some(encoding)) => {
                let (less, more) = (bytes(asked.size_bytes), bytes(plain.size_bytes));
                let found = format!(
                    "{more} uncompressed are measured, and every browser is sent {less} with {encoding}: another server is \
                     measured than users have"
                );
                row("ER-10", WHAT, CheckState::Note, found, Some(as_browsers_do(asked)))
            }
        }
    }

    fn caches(&self) -> CheckRow {
        let headers = &self.target.http_traits.cache_headers;
        let told: Vec<_> = headers.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        let told = if told.is_empty() { "no header of a cache".to_owned() } else { told.join("; ") };
        match ask("ER-11", &self.evidence) {
            Outcome::Pass if self.is_page() && !headers.keys().any(|name| TELL_OF_CACHE.contains(&name.as_str())) => {
                let found = format!(
                    "{told}: no page cache was seen, so the server makes the page for each visitor, unless it is a file"
                );
                row("ER-11", "caches", CheckState::Note, found, Some(CACHE.to_owned()))
            }
            outcome => judged("ER-11", "caches", told, outcome),
        }
    }

    /// True if the answer is a page that users look at.
    fn is_page(&self) -> bool {
        let is_html = |fetch: &Fetch| fetch.content_type.as_deref().is_some_and(|kind| kind.starts_with(HTML));
        self.first().is_some_and(|first| first.status == 200 && is_html(first))
    }

    /// True if the body is a text long enough to be compressed.
    fn is_compressible(&self) -> bool {
        let kind = self.first().and_then(|first| first.content_type.as_deref()).unwrap_or_default();
        let is_text = ["text/", "json", "javascript", "xml", "svg"].iter().any(|part| kind.contains(part));
        is_text && self.target.http_traits.plain.size_bytes >= COMPRESSIBLE_MIN_BYTES
    }

    fn version(&self) -> CheckRow {
        const WHAT: &str = "protocol";
        let HttpTraits { version, answered_on_one, asked_on_one, .. } = &self.target.http_traits;
        if version != "HTTP/1.0" {
            return fine("ER-09", WHAT, version);
        }
        let found = format!("{version}: no chunks, and connections are kept only by a private agreement");
        // Whether they are kept is what matters, and told beside this.
        let state = if answered_on_one == asked_on_one { CheckState::Note } else { CheckState::Warning };
        let advice = "measure the server that users reach, or let this one answer in HTTP/1.1".to_owned();
        row("ER-09", WHAT, state, found, Some(advice))
    }

    fn kept(&self) -> CheckRow {
        const WHAT: &str = "keep-alive";
        let HttpTraits { asked_on_one, answered_on_one, .. } = self.target.http_traits;
        if !self.keepalive {
            return fine("ER-09", WHAT, "not asked for: a connection for each request");
        }
        if asked_on_one == 1 {
            let says = if self.first().is_some_and(|first| first.keepalive) { "open" } else { "closed" };
            return unavailable("ER-09", WHAT, format!("only one request was made; the server leaves it {says}"));
        }
        let mut evidence = self.evidence.clone();
        evidence.flow.completed = FORESEEN;
        if answered_on_one < asked_on_one {
            evidence.flow.opened = FORESEEN / u64::from(answered_on_one.max(1));
        }
        let found = format!("{answered_on_one} of {asked_on_one} requests answered on one connection");
        judged("ER-09", WHAT, found, ask("ER-09", &evidence))
    }

    fn queue(&self, machine: &Machine<'_>) -> CheckRow {
        const WHAT: &str = "accept queue";
        let backlog = machine.samples.iter().find_map(|sample| sample.sockets.as_ref()?.accept_backlog);
        let Some(backlog) = backlog else {
            let why = machine.unseen("server").unwrap_or_else(|| "the kernel does not report it".to_owned());
            return unavailable("NE-01", WHAT, why);
        };
        let connections = u64::from(machine.plan.load.connections());
        let found = format!("{} may wait to be accepted", plural(backlog, "connection"));
        if connections <= backlog {
            return fine("NE-01", WHAT, found);
        }
        let found = format!("{found}, and {} are opened at once", count(connections));
        row("NE-01", WHAT, CheckState::Warning, found, queue_remedy(machine.evidence()))
    }

    /// What became of the burst: who refused it, what failed in it, and whether its bodies were right.
    fn burst(&self, burst: &Burst) -> Vec<CheckRow> {
        let sent = format!(
            "{} over {} in {}",
            plural(burst.sent.into(), "request"),
            plural(burst.connections.into(), "connection"),
            time(burst.length_ns as f64)
        );
        let mut rows = Vec::new();
        match &burst.first_refused {
            Some(first) => rows.push(self.refused(burst, first, &sent)),
            None => rows.push(not_refused(burst, &sent)),
        }
        let sum =
            |of: fn(&str) -> bool| -> u32 { burst.failures.iter().filter(|(name, _)| of(name)).map(|(_, n)| n).sum() };
        let failed = sum(|name| !is_of_body(name)).saturating_sub(burst.refused);
        rows.extend(self.failed(burst, failed, &sent));
        let bodies = sum(is_of_body);
        if bodies > 0 {
            let found = format!("{} of {sent} had another body than the probe saw", count(bodies.into()));
            rows.push(row("ER-03", "bodies", CheckState::Invalid, found, self.body_remedy()));
        }
        rows
    }

    fn refused(&self, burst: &Burst, first: &Refusal, sent: &str) -> CheckRow {
        let how = match (first.status, &first.failure) {
            (Some(status), _) => format!("status {status}"),
            (None, failure) => failure.clone().unwrap_or_default(),
        };
        let wait = first.retry_after.as_ref().map_or_else(String::new, |wait| format!(", Retry-After: {wait}"));
        let found = format!(
            "{} of {sent} refused, from request {} on ({how}{wait})",
            count(burst.refused.into()),
            first.request
        );
        // Whatever it answers: what is to be done is what is to be done about a limit, unless it is a ban.
        let status = first.status.filter(|status| *status == 403).unwrap_or(429);
        let mut evidence = self.evidence.clone();
        evidence.plan.requests.iter_mut().for_each(|request| request.contract.declared = false);
        evidence.cohort.counts.completed = FORESEEN;
        evidence.cohort.status = BTreeMap::from([(status, FORESEEN)]);
        let advice = remedy("ER-08", &evidence);
        let figures = [("refused", burst.refused), ("sent", burst.sent), ("first_refused", first.request)];
        let figures = figures.map(|(name, value)| (name.to_owned(), f64::from(value))).into();
        CheckRow { figures, ..row("ER-08", REFUSED, CheckState::Invalid, found, advice) }
    }

    /// What failed otherwise, if ER-01 minds it.
    fn failed(&self, burst: &Burst, failed: u32, sent: &str) -> Option<CheckRow> {
        let mut evidence = self.evidence.clone();
        evidence.cohort.counts.planned = burst.sent.into();
        evidence.cohort.counts.good = burst.good.into();
        evidence.cohort.failures = burst.failures.iter().map(|(name, n)| (name.clone(), u64::from(*n))).collect();
        evidence.cohort.status = burst.status.iter().map(|(status, n)| (*status, u64::from(*n))).collect();
        evidence.cohort.counts.completed = evidence.cohort.status.values().sum();
        let names = burst.failures.iter().filter(|(name, _)| !is_of_body(name));
        let names: Vec<_> = names.map(|(name, n)| format!("{n} {name}")).collect();
        let found = format!("{} of {sent} failed ({})", count(failed.into()), list(&names));
        match ask("ER-01", &evidence) {
            outcome @ Outcome::Fired(_) if failed > 0 => Some(judged("ER-01", "errors", found, outcome)),
            _ => None,
        }
    }
}

/// The row of a burst of which no request was refused, as far as it was answered.
fn not_refused(burst: &Burst, sent: &str) -> CheckRow {
    let lost = burst.failures.iter().filter(|(name, _)| !name.starts_with("contract.")).map(|(_, n)| n);
    let ended: u32 = burst.status.values().chain(lost).sum();
    match burst.sent.saturating_sub(ended) {
        0 => fine("ER-08", REFUSED, format!("no request refused ({sent})")),
        silent => {
            let found =
                format!("no request refused ({sent}), but {} had no answer when the burst ended", count(silent.into()));
            let advice =
                "see whether one request alone is as slow: a firewall that drops packets sends no answer".to_owned();
            row("ER-08", REFUSED, CheckState::Note, found, Some(advice))
        }
    }
}

/// True if a failure is that of a complete answer with a good status.
fn is_of_body(failure: &str) -> bool {
    failure.starts_with("contract.") && failure != "contract.status"
}

/// How to measure what browsers get.
fn as_browsers_do(asked: &Coded) -> String {
    let encoding = asked.encoding.as_deref().unwrap_or("gzip");
    format!("measure what users get: -H 'Accept-Encoding: {encoding}'")
}

fn of(band: SizeBand) -> String {
    format!("{} to {} bytes", count(band.min), count(band.max))
}
