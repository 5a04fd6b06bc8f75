//! Plan of one load: validated, serialisable, complete.

use crate::human::{count, plural};
use crate::{Address, NS_PER_S, Quantile};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Timeout of a plan that says nothing else; ns.
const TIMEOUT_NS: u64 = NS_PER_S;

/// Everything the engine needs to know to put one load on one target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Where the load goes.
    pub target: Target,
    /// How the connections are encrypted; none: they are not.
    #[serde(default)]
    pub tls: Option<TlsPlan>,
    /// What is asked for, at least one request; several are mixed by weight.
    pub requests: Vec<Request>,
    /// What was taken of the recording that the requests are from; none of requests from elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recording: Option<Recording>,
    /// Requests that a connection may have out at the same time; above 1 in closed loops only.
    #[serde(default = "one")]
    pub pipeline: u32,
    /// What the fields of templates begin with.
    #[serde(default)]
    pub numbering: Numbering,
    /// When requests are sent.
    pub load: Load,
    /// How long the measured window lasts.
    pub stop: Stop,
    /// What comes before the measured window and is excluded from it.
    pub warmup: Warmup,
    /// Requests that the warm-up sends at most; none: as many as it has time for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warmup_requests: Option<u64>,
    /// A request without a complete response after this time counts as failed; ns.
    pub timeout_ns: u64,
    /// True if a connection serves more than one request.
    pub keepalive: bool,
    /// Load threads; never more than connections.
    pub threads: u32,
    /// CPUs the load threads are pinned to, round robin; empty means not pinned.
    pub cpus: Vec<u32>,
    /// How long before a request is due by schedule its load thread stops sleeping, and for how long it awaits the response
    /// awake; 0: it is woken by either. ns
    #[serde(default)]
    pub spin_ns: u64,
    /// When it is this load's turn, of several at the same time; none: it is never interrupted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<Turns>,
    /// Response time within which a good response meets the objective of the service (`--slo`); none without one. ns
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slo_ns: Option<u64>,
    /// Quantiles of the latencies that the result has beside the usual ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quantiles: Vec<Quantile>,
    /// Seed of everything random in the run.
    pub seed: u64,
}

/// Turns of several open loops with one clock, of which one sends at a time. The rate of the load is the mean over all of the
/// time: in its turns it is `of` times as high.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turns {
    /// Length of a turn; ns, above 0.
    pub turn_ns: u64,
    /// Which of them the load has; below `of`.
    pub index: u32,
    /// Loads that take turns; above 0.
    pub of: u32,
}

/// Where the load goes. The address is resolved once, before the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// The URL as given, without userinfo.
    pub url: String,
    /// Value of the `Host` header: host, and port if it is not the default one.
    pub authority: String,
    /// What is connected to: an address of the URL's host, or what was named instead of it.
    pub address: Address,
    /// `HOST:PORT` that was named instead of the URL's, if any was.
    #[serde(default)]
    pub connect_to: Option<String>,
    /// What is spoken there.
    #[serde(default, skip_serializing_if = "Protocol::is_http1")]
    pub protocol: Protocol,
}

/// A protocol of requests and responses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// HTTP/1.1.
    #[default]
    Http1,
    /// FastCGI, as a web server speaks it to an application; the path of a request is the file of the script.
    FastCgi,
}

impl Protocol {
    const fn is_http1(&self) -> bool {
        matches!(self, Self::Http1)
    }
}

/// How connections are encrypted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TlsPlan {
    /// True if the server's certificate has to be valid and trusted.
    pub verify: bool,
    /// Protocols offered by ALPN.
    pub alpn: Vec<String>,
    /// True if later connections may resume the session of earlier ones.
    pub resumption: bool,
    /// The host of the URL: looked for in the certificate, and sent as SNI unless it is an IP address.
    pub server_name: String,
    /// Certificates trusted besides those of the system, DER; not stored.
    #[serde(skip)]
    pub extra_roots: Vec<Vec<u8>>,
}

/// A request that is repeated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// Method, upper case.
    pub method: String,
    /// Origin-form target: path and query.
    pub path: String,
    /// Additional headers in the order given; secrets are replaced before a plan is stored.
    pub headers: Vec<(String, String)>,
    /// Length of the body; bytes.
    pub body_bytes: u64,
    /// The body itself; not stored.
    #[serde(skip)]
    pub body: Vec<u8>,
    /// How often it is sent, in proportion to the others.
    #[serde(default = "one")]
    pub weight: u32,
    /// True if `{{fields}}` in path, headers and body are filled in again for each request.
    #[serde(default)]
    pub template: bool,
    /// What its response must be to count as good.
    #[serde(default)]
    pub contract: Contract,
}

/// What was taken of a recording (`--har`). Every recorded request is in one of the other counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recording {
    /// Scheme, host and port of the server whose requests were taken, as it was recorded.
    pub origin: String,
    /// Requests that were taken.
    pub taken: u64,
    /// Requests that were recorded with an answer, to whichever server.
    pub recorded: u64,
    /// Requests that were left out because they went to other servers.
    pub other_servers: u64,
    /// Requests to this server that were left out because a redirect was the answer.
    pub redirects: u64,
    /// Requests to this server that were left out because their body was not recorded.
    pub without_body: u64,
}

impl Recording {
    /// What was left out, by its reason; none if everything was taken.
    #[must_use]
    pub fn left_out(&self) -> Option<String> {
        let to_others = format!("{} to other servers", plural(self.other_servers, "request"));
        let redirected =
            format!("{} that {} answered by a redirect", plural(self.redirects, "request"), were(self.redirects));
        let without_body = format!("{} whose body was not recorded", plural(self.without_body, "request"));
        let counts = [(self.other_servers, to_others), (self.redirects, redirected), (self.without_body, without_body)];
        let texts: Vec<String> = counts.into_iter().filter(|(count, _)| *count > 0).map(|(_, text)| text).collect();
        match texts.split_last() {
            None => None,
            Some((last, [])) => Some(last.clone()),
            Some((last, before)) => Some(format!("{} and {last}", before.join(", "))),
        }
    }
}

impl fmt::Display for Recording {
    /// What was taken.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (taken, recorded) = (count(self.taken), count(self.recorded));
        write!(f, "{taken} of the {recorded} recorded requests, those to {}", self.origin)
    }
}

const fn were(count: u64) -> &'static str {
    if count == 1 { "was" } else { "were" }
}

/// Where the numbers and names in templates begin, so that no two loads of a measurement make the same ones.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Numbering {
    /// Number of the first request.
    pub first: u64,
    /// Text that differs from one call of the program to the next.
    pub token: String,
}

/// When requests are sent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "mode", rename_all = "snake_case")]
pub enum Load {
    /// N connections, each sending its next request as soon as it has the response.
    Closed {
        /// Connections, all opened before the clock starts.
        connections: u32,
    },
    /// Requests at instants of a schedule that does not wait for responses.
    Open {
        /// Requests per second over all threads.
        rate_per_s: f64,
        /// How the instants are spread.
        arrivals: Arrivals,
        /// Connections opened beforehand, and so the cap on requests in flight.
        connections: u32,
    },
}

/// How open-loop instants are spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arrivals {
    /// Independent exponential gaps: what many independent users do.
    Poisson,
    /// Equal gaps.
    Constant,
}

/// How long the measured window lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "until", rename_all = "snake_case")]
pub enum Stop {
    /// A fixed time.
    Duration {
        /// Length of the measured window; ns.
        duration_ns: u64,
    },
    /// A fixed number of requests.
    Count {
        /// Requests in the measured window, over all connections.
        requests: u64,
    },
}

impl Stop {
    /// Planned length of the window; none of a number of requests. ns
    #[must_use]
    pub const fn duration_ns(self) -> Option<u64> {
        match self {
            Self::Duration { duration_ns } => Some(duration_ns),
            Self::Count { .. } => None,
        }
    }
}

/// What comes before the measured window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "warmup", rename_all = "snake_case")]
pub enum Warmup {
    /// A fixed time.
    Fixed {
        /// Length; ns.
        duration_ns: u64,
    },
    /// Until MSER-5 finds the goodput series settled.
    Auto,
}

/// The content of one body in this many is looked at when the contract asks for content. Prime, so that it is never
/// in step with a server whose every tenth or sixteenth answer is wrong.
pub const BODY_SAMPLE_EVERY: u64 = 17;

/// What a response must be to count as good.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contract {
    /// The status, or none: any 2xx.
    pub status: Option<u16>,
    /// The body size, if it is part of the contract.
    pub size_bytes: Option<SizeBand>,
    /// Text that the body must hold as it comes over the wire, looked for in one response in [`BODY_SAMPLE_EVERY`].
    #[serde(default)]
    pub body_text: Option<String>,
    /// FNV-1a hash that the body must have, compared in one response in [`BODY_SAMPLE_EVERY`].
    #[serde(default)]
    pub body_hash: Option<u64>,
    /// FNV-1a hash of the bodies that the probe got, which were all the same: one response in [`Contract::compared_every`] is
    /// compared with it and counted if it has another, and is as good as the others. None where they were not the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usual_hash: Option<u64>,
    /// True if the user wrote the status down, as opposed to the probe having found it.
    pub declared: bool,
}

impl Contract {
    /// One body in so many is compared with the probe's, where nothing asks for its content. A byte takes about 1 ns to hash, and
    /// all of it is to take no more than a hundredth of what the client needs for a response. Primes, as
    /// [`BODY_SAMPLE_EVERY`].
    #[must_use]
    pub fn compared_every(&self) -> u64 {
        if self.body_text.is_some() || self.body_hash.is_some() {
            return BODY_SAMPLE_EVERY;
        }
        match self.size_bytes.map_or(u64::MAX, |size| size.max) {
            ..512 => BODY_SAMPLE_EVERY,
            512..4_096 => 101,
            4_096.. => 509,
        }
    }
}

/// Inclusive bounds of a body size; bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SizeBand {
    /// Smallest allowed.
    pub min: u64,
    /// Largest allowed.
    pub max: u64,
}

impl Request {
    /// A GET without anything.
    #[must_use]
    pub fn get(path: &str) -> Self {
        Self {
            method: "GET".into(),
            path: path.into(),
            headers: Vec::new(),
            body_bytes: 0,
            body: Vec::new(),
            weight: 1,
            template: false,
            contract: Contract::default(),
        }
    }

    /// True if its method changes nothing on the server (RFC 9110 section 9.2.1).
    #[must_use]
    pub fn is_safe(&self) -> bool {
        ["GET", "HEAD", "OPTIONS", "TRACE"].contains(&self.method.as_str())
    }
}

impl Plan {
    /// `GET /` of one thread on connections that are kept open, without a warm-up.
    #[must_use]
    pub fn new(target: Target, load: Load, stop: Stop) -> Self {
        Self {
            target,
            tls: None,
            requests: vec![Request::get("/")],
            recording: None,
            pipeline: 1,
            numbering: Numbering::default(),
            load,
            stop,
            warmup: Warmup::Fixed { duration_ns: 0 },
            warmup_requests: None,
            timeout_ns: TIMEOUT_NS,
            keepalive: true,
            threads: 1,
            cpus: Vec::new(),
            spin_ns: 0,
            turns: None,
            slo_ns: None,
            quantiles: Vec::new(),
            seed: 0,
        }
    }

    /// What responses must be, one contract for each request.
    pub fn contracts(&self) -> impl Iterator<Item = &Contract> {
        self.requests.iter().map(|request| &request.contract)
    }
}

const fn one() -> u32 {
    1
}

impl Target {
    /// HTTP/1 without TLS at an address of its own name.
    #[must_use]
    pub fn at(address: Address) -> Self {
        Self {
            url: format!("http://{address}/"),
            authority: address.to_string(),
            address,
            connect_to: None,
            protocol: Protocol::default(),
        }
    }
}

impl fmt::Display for Target {
    /// The URL, and the address that is connected to unless the URL says it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { url, address, .. } = self;
        if url.contains(&format!("//{address}/")) { write!(f, "{url}") } else { write!(f, "{url} ({address})") }
    }
}

impl Load {
    /// Connections opened before the clock starts.
    #[must_use]
    pub const fn connections(&self) -> u32 {
        match self {
            Self::Closed { connections } | Self::Open { connections, .. } => *connections,
        }
    }

    /// True if the schedule waits for responses.
    #[must_use]
    pub const fn is_closed(&self) -> bool {
        matches!(self, Self::Closed { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A plan as it was written before plans could say anything about TLS.
    const OLD: &str = r#"{"target":{"url":"http://h/","authority":"h","address":"127.0.0.1:80"},
        "requests":[{"method":"GET","path":"/","headers":[],"body_bytes":0}],"load":{"mode":"closed","connections":1},
        "stop":{"until":"count","requests":1},"warmup":{"warmup":"auto"},"timeout_ns":1,"keepalive":true,"threads":1,
        "cpus":[],"seed":1}"#;

    #[test]
    fn a_target_tells_its_address_unless_the_url_does() {
        let shown = |url: &str, address: &str| {
            let (url, address) = (url.into(), address.parse().unwrap());
            Target { url, ..Target::at(address) }.to_string()
        };
        assert_eq!(shown("http://[::1]:81/a", "[::1]:81"), "http://[::1]:81/a");
        assert_eq!(shown("http://[::1]:81/a", "[::1]:82"), "http://[::1]:81/a ([::1]:82)");
        assert_eq!(shown("http://h/", "unix:/s"), "http://h/ (unix:/s)");
    }

    #[test]
    fn what_was_left_out_of_a_recording_is_said_by_its_reason() {
        let of = |other_servers, redirects, without_body| {
            Recording { other_servers, redirects, without_body, ..Recording::default() }.left_out()
        };
        assert_eq!(of(0, 0, 0), None);
        assert_eq!(of(0, 1, 0).unwrap(), "1 request that was answered by a redirect");
        assert_eq!(
            of(4, 2, 1).unwrap(),
            "4 requests to other servers, 2 requests that were answered by a redirect and 1 request whose body was not \
             recorded"
        );
    }

    #[test]
    fn a_plan_without_tls_reads_back_and_one_with_it_too() {
        let mut plan: Plan = serde_json::from_str(OLD).unwrap();
        assert_eq!(plan.tls, None);
        assert_eq!((plan.requests.len(), plan.requests[0].weight, plan.pipeline), (1, 1, 1));
        assert_eq!(plan.target.address, Address::Tcp(([127, 0, 0, 1], 80).into()));
        let alpn = vec!["http/1.1".to_owned()];
        plan.tls =
            Some(TlsPlan { verify: true, alpn, resumption: false, server_name: "h".into(), extra_roots: Vec::new() });
        let text = serde_json::to_string(&plan).unwrap();
        assert_eq!(serde_json::from_str::<Plan>(&text).unwrap(), plan, "{text}");
    }
}
