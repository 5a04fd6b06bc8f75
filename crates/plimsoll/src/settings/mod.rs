//! From what was typed to what it means: validated, complete, free of clap.

pub(crate) mod auth;
pub(crate) mod connect_override;
pub(crate) mod expect;
pub(crate) mod redirects;
pub(crate) mod requests;
pub(crate) mod selectors;
pub(crate) mod target_url;

use crate::cli::{ArrivalsArg, GeneratorArgs, RequestArgs, TlsArgs, WarmupArg};
use crate::exit::CommandError;
use crate::session::environment::usable_cpus;
use connect_override::ConnectOverride;
use expect::Expect;
use model::{Address, Arrivals, Count, Load, Numbering, Plan, Protocol, Request, Stop, Target, TlsPlan, Warmup};
use std::path::Path;
use target_url::{TargetUrl, is_local};

/// Largest request body.
const BODY_MAX_BYTES: u64 = 64 << 20;
/// Most connections of one run; beyond it local ports and descriptors end long before.
const CONNECTIONS_MAX: u64 = 1_000_000;
/// Most load threads.
const THREADS_MAX: u64 = 1024;
/// Most requests that a connection may have out: as many as the protocol machine follows.
const PIPELINE_MAX: u64 = 64;
/// Highest rate; one request a nanosecond is beyond any machine.
const RATE_MAX_PER_S: f64 = 1e9;
/// Shortest and longest `--timeout`; ns.
const TIMEOUT_NS: std::ops::RangeInclusive<u64> = 1_000_000..=600_000_000_000;
/// How long before a request is due its load thread stops sleeping, and for how long it awaits the response awake, where
/// nothing else is said: longer than most wake-ups on a virtual machine take; ns.
const SPIN_NS: u64 = 500_000;
/// What each of the two may take of the mean time between two requests on a CPU, so that half of the CPU stays free.
const SPIN_SHARE_MAX: f64 = 0.25;
/// Longest `--spin`; ns.
const SPIN_MAX_NS: u64 = 1_000_000_000;
/// Longest window or warm-up; ns (one week).
const TIME_MAX_NS: u64 = 7 * 24 * 3600 * model::NS_PER_S;

/// Everything of a plan that does not depend on what the probe finds.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// What is asked for; their contracts are what is declared until the probe has looked.
    pub(crate) requests: Vec<Request>,
    pub(crate) pipeline: u32,
    pub(crate) tls: Option<TlsPlan>,
    /// Where to connect instead of the host of the URL.
    pub(crate) connect_override: Option<ConnectOverride>,
    pub(crate) keepalive: bool,
    pub(crate) timeout_ns: u64,
    pub(crate) expect: Expect,
    pub(crate) threads: Option<u32>,
    pub(crate) cpus: Vec<u32>,
    /// What was asked for by `--spin`; ns.
    pub(crate) spin_ns: Option<u64>,
    /// CPUs that a server on this machine may use; empty while that is not known.
    pub(crate) server_cpus: Vec<u32>,
    pub(crate) seed: u64,
}

impl Settings {
    /// Checks what was typed about request and generator, for `url`; `listed` are requests from a file.
    pub(crate) fn new(
        request: &RequestArgs,
        generator: &GeneratorArgs,
        url: &TargetUrl,
        listed: Option<Vec<Request>>,
    ) -> Result<Self, CommandError> {
        if !TIMEOUT_NS.contains(&request.timeout.ns) {
            return Err(CommandError::usage(format!("--timeout {} is not between 1ms and 10m", request.timeout)));
        }
        let usable = usable_cpus();
        if let Some(cpu) = generator.cpus.iter().find(|cpu| !usable.contains(cpu)) {
            return Err(CommandError::usage(format!("--cpus {cpu}: this process may use the CPUs {usable:?} only")));
        }
        let threads = generator.threads.map(|n| in_range("--threads", n, 1, THREADS_MAX)).transpose()?;
        if url.protocol() == Protocol::FastCgi {
            suits_fastcgi(request)?;
        }
        let mut requests = listed.map_or_else(|| Ok(vec![single(request, url)?]), Ok)?;
        if request.template {
            for request in &mut requests {
                request.template = true;
                engine::source::check(request).map_err(|e| CommandError::usage(format!("--template: {e}")))?;
            }
        }
        Ok(Self {
            requests,
            pipeline: in_range("--pipeline", request.pipeline, 1, PIPELINE_MAX)? as u32,
            tls: tls(&request.tls, url)?,
            connect_override: ConnectOverride::new(request, url)?,
            keepalive: !request.no_keepalive,
            timeout_ns: request.timeout.ns,
            expect: request.expect.as_deref().map_or_else(|| Ok(Expect::default()), Expect::parse)?,
            threads: threads.map(|n| n as u32),
            cpus: generator.cpus.clone(),
            spin_ns: generator.spin.map(spin_ns).transpose()?,
            server_cpus: Vec::new(),
            seed: generator.seed,
        })
    }

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
        Plan {
            target: Target {
                url: url.url.clone(),
                authority: url.authority.clone(),
                address: address.clone(),
                connect_to: self.connect_override.as_ref().and_then(ConnectOverride::connect_to),
                protocol: url.protocol(),
            },
            requests: self.requests.clone(),
            pipeline: self.pipeline,
            numbering,
            tls: self.tls.clone(),
            spin_ns: self.spin_for(address, load, threads),
            load,
            stop,
            warmup,
            timeout_ns: self.timeout_ns,
            keepalive: self.keepalive,
            threads,
            cpus: self.cpus.clone(),
            seed: self.seed,
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

/// Busy wait of `threads` load threads on `cpus` CPUs of their own: bounded, so that half of each CPU stays free.
fn default_spin_ns(rate_per_s: f64, threads: u32, cpus: u32) -> u64 {
    // Threads that share a CPU take their busy waits from each other.
    let gap_ns = f64::from(threads.min(cpus)) / rate_per_s * model::NS_PER_S as f64;
    SPIN_NS.min((SPIN_SHARE_MAX * gap_ns) as u64)
}

/// `--spin` within bounds.
fn spin_ns(time: model::Duration) -> Result<u64, CommandError> {
    match time.ns {
        ns if ns <= SPIN_MAX_NS => Ok(ns),
        _ => Err(CommandError::usage(format!("--spin {time} is longer than 1s"))),
    }
}

/// The request of the flags.
fn single(args: &RequestArgs, url: &TargetUrl) -> Result<Request, CommandError> {
    let body = body(args.body.as_deref())?;
    Ok(Request {
        method: method(&args.method)?,
        headers: headers(args)?,
        body_bytes: body.len() as u64,
        body,
        ..Request::get(&url.path)
    })
}

/// Refuses what FastCGI has not: a connection carries one request at a time, and lengths stand before what they count.
fn suits_fastcgi(args: &RequestArgs) -> Result<(), CommandError> {
    let given = [("--pipeline", args.pipeline.0 != 1), ("--template", args.template)];
    match given.into_iter().find(|(_, given)| *given) {
        Some((flag, _)) => {
            Err(CommandError::usage(format!("{flag} is for http:// and https:// URLs, not for FastCGI")))
        }
        None => Ok(()),
    }
}

/// Refuses `--pipeline` in an open loop, whose requests wait for no other.
pub(crate) fn no_pipeline(args: &RequestArgs) -> Result<(), CommandError> {
    match args.pipeline.0 {
        1 => Ok(()),
        n => Err(CommandError::usage(format!(
            "--pipeline {n} is for closed loops: at a rate a request would wait behind others on its connection"
        ))),
    }
}

/// How to encrypt: not at all without https.
fn tls(args: &TlsArgs, url: &TargetUrl) -> Result<Option<TlsPlan>, CommandError> {
    if !url.is_tls() {
        let given = [
            ("--insecure", args.insecure),
            ("--ca-cert", args.ca_cert.is_some()),
            ("--no-resumption", args.no_resumption),
        ];
        return match given.into_iter().find(|(_, given)| *given) {
            Some((flag, _)) => Err(CommandError::usage(format!("{flag} is for https:// URLs, not for {}", url.url))),
            None => Ok(None),
        };
    }
    let extra_roots = args.ca_cert.as_ref().map(|path| {
        let wrong = |why: String| CommandError::usage(format!("--ca-cert {}: {why}", path.display()));
        let pem = std::fs::read(path).map_err(|e| wrong(format!("cannot read the file: {e}")))?;
        engine::tls::certificates(&pem).map_err(|e| wrong(e.to_string()))
    });
    Ok(Some(TlsPlan {
        verify: !args.insecure,
        alpn: vec!["http/1.1".into()],
        resumption: !args.no_resumption,
        server_name: url.host.clone(),
        extra_roots: extra_roots.transpose()?.unwrap_or_default(),
    }))
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

pub(crate) fn warmup(arg: WarmupArg) -> Result<Warmup, CommandError> {
    match arg {
        WarmupArg::Auto => Ok(Warmup::Auto),
        WarmupArg::Fixed(time) if time.ns <= TIME_MAX_NS => Ok(Warmup::Fixed { duration_ns: time.ns }),
        WarmupArg::Fixed(time) => Err(CommandError::usage(format!("--warmup {time} is longer than a week"))),
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

pub(crate) fn method(text: &str) -> Result<String, CommandError> {
    let method = text.to_ascii_uppercase();
    match http::Method::from_bytes(method.as_bytes()) {
        Ok(_) if method == "CONNECT" => {
            Err(CommandError::usage("--method CONNECT opens a tunnel and cannot be measured"))
        }
        Ok(_) => Ok(method),
        Err(_) => Err(CommandError::usage(format!("--method {text:?} is not an HTTP method; write for example POST"))),
    }
}

/// The headers that were typed, and the one of `--auth`.
pub(crate) fn headers(request: &RequestArgs) -> Result<Vec<(String, String)>, CommandError> {
    let mut headers = request.headers.iter().map(|h| header(h)).collect::<Result<Vec<_>, _>>()?;
    if let Some(text) = &request.auth {
        if headers.iter().any(|(name, _)| auth::is_authorization(name)) {
            return Err(CommandError::usage("--auth and --header Authorization exclude each other; drop the header"));
        }
        headers.push(auth::header(text)?);
    }
    Ok(headers)
}

fn header(text: &str) -> Result<(String, String), CommandError> {
    let wrong =
        |why: &str| CommandError::usage(format!("--header {text:?} {why}; write for example 'Accept: text/html'"));
    let (name, value) = text.split_once(':').ok_or_else(|| wrong("has no colon"))?;
    let (name, value) = (name.trim(), value.trim());
    http::HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong("has no valid name"))?;
    http::HeaderValue::from_str(value).map_err(|_| wrong("has a value with forbidden characters"))?;
    if ["content-length", "transfer-encoding"].contains(&name.to_ascii_lowercase().as_str()) {
        return Err(wrong("is set by plimsoll itself"));
    }
    Ok((name.into(), value.into()))
}

fn body(text: Option<&str>) -> Result<Vec<u8>, CommandError> {
    let Some(text) = text else { return Ok(Vec::new()) };
    let Some(file) = text.strip_prefix('@') else { return Ok(text.into()) };
    body_file(Path::new(file)).map_err(|why| CommandError::usage(format!("--body {text}: {why}")))
}

/// The content of a file that is sent as a body, or why it cannot be.
pub(crate) fn body_file(path: &Path) -> Result<Vec<u8>, String> {
    let unreadable = |error: std::io::Error| format!("cannot read the file: {error}");
    let size = std::fs::metadata(path).map_err(unreadable)?.len();
    if size > BODY_MAX_BYTES {
        return Err(format!("the file has {size} bytes; at most {BODY_MAX_BYTES} can be sent"));
    }
    std::fs::read(path).map_err(unreadable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_need_a_name_and_a_colon() {
        assert_eq!(header("X-A:  b ").unwrap(), ("X-A".into(), "b".into()));
        for text in ["nocolon", ": x", "X A: b", "X-A: b\r\nEvil: 1", "Content-Length: 3"] {
            assert!(header(text).is_err(), "{text}");
        }
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
    fn a_busy_wait_takes_a_quarter_of_a_cpu_at_most_before_and_after_a_request() {
        let at = |rate_per_s, threads, cpus| default_spin_ns(rate_per_s, threads, cpus);
        assert_eq!([at(100.0, 1, 1), at(1000.0, 1, 1), at(5000.0, 1, 1)], [500_000, 250_000, 50_000]);
        assert_eq!(at(5000.0, 2, 2), 100_000, "each thread has half of the requests");
        assert_eq!(at(5000.0, 4, 1), 50_000, "four threads on one CPU wait for all of them");
        assert_eq!(at(5000.0, 1, 4), 50_000);
    }

    #[test]
    fn the_busy_wait_follows_from_where_server_and_load_run() {
        let local: Address = "127.0.0.1:80".parse().unwrap();
        let far: Address = "192.0.2.1:80".parse().unwrap();
        let open = Load::Open { rate_per_s: 1000.0, arrivals: Arrivals::Poisson, connections: 8 };
        let spin = |cpus: &[u32], server: &[u32], address, load| {
            let settings = Settings { cpus: cpus.into(), server_cpus: server.into(), ..plain() };
            settings.spin_for(address, load, 1)
        };
        assert_eq!(spin(&[1], &[0], &local, open), 250_000, "CPUs of their own");
        assert_eq!(spin(&[1], &[0, 1], &local, open), 0, "the server may use ours");
        assert_eq!(spin(&[1], &[], &local, open), 0, "nobody knows where the server runs");
        assert_eq!(spin(&[1], &[], &far, open), 250_000, "on another machine");
        assert_eq!(spin(&[1], &[0], &local, Load::Closed { connections: 8 }), 0, "nothing is due in a closed loop");
        let asked = Settings { spin_ns: Some(5_000), ..plain() };
        assert_eq!(asked.spin_for(&local, open, 1), 5_000);
    }

    fn plain() -> Settings {
        Settings {
            requests: Vec::new(),
            pipeline: 1,
            tls: None,
            connect_override: None,
            keepalive: true,
            timeout_ns: model::NS_PER_S,
            expect: Expect::default(),
            threads: None,
            cpus: Vec::new(),
            spin_ns: None,
            server_cpus: Vec::new(),
            seed: 1,
        }
    }

    #[test]
    fn a_body_file_that_cannot_be_read_is_named() {
        let message = body(Some("@/nowhere/at-all")).unwrap_err().message;
        assert!(message.contains("/nowhere/at-all") && message.contains("cannot read"), "{message}");
    }
}
