//! Draft of the settings: what was typed, while the URL is not known that completes it.

use crate::cli::observe::ObserverArgs;
use crate::cli::{GeneratorArgs, RequestArgs};
use crate::environment::usable_cpus;
use crate::exit::CommandError;
use crate::settings::connect_override::{ConnectOverride, Detour};
use crate::settings::expect::Expect;
use crate::settings::target_url::TargetUrl;
use crate::settings::trust::Trust;
use crate::settings::{Settings, auth, in_range};
use input::{Listed, RequestFile, body_file, method};
use model::{Protocol, Quantile, Redacted, Request, TlsPlan};
use std::path::{Path, PathBuf};

/// Most load threads.
const THREADS_MAX: u64 = 1024;
/// Most requests that a connection may have out: as many as the protocol machine follows.
const PIPELINE_MAX: u64 = 64;
/// Shortest and longest `--timeout`; ns.
const TIMEOUT_NS: std::ops::RangeInclusive<u64> = 1_000_000..=600_000_000_000;
/// Longest `--spin`; ns.
const SPIN_MAX_NS: u64 = 1_000_000_000;

/// Settings without their URL, checked as far as that is possible without it.
pub(crate) struct Draft {
    /// What holds for any URL; the requests, the way to the server and TLS are still missing.
    pub(crate) common: Settings,
    /// The request of the flags, without its path.
    request: Request,
    /// Where requests are read from in its place.
    file: Option<RequestFile>,
    pub(crate) detour: Option<Detour>,
    /// True if the built-in target has to speak TLS.
    pub(crate) is_builtin_tls: bool,
    is_insecure: bool,
    ca_cert: Option<PathBuf>,
    /// True if a status page is asked over TLS.
    has_https_pages: bool,
    no_resumption: bool,
}

impl Draft {
    /// Checks what was typed about request and generator.
    pub(crate) fn new(request: &RequestArgs, generator: &GeneratorArgs) -> Result<Self, CommandError> {
        let urls = request.urls.clone().map(RequestFile::Urls);
        let socket = request.unix_socket.clone().map(Detour::UnixSocket);
        Ok(Self {
            common: common(request, generator)?,
            request: single(request)?,
            file: urls.or_else(|| request.har.clone().map(RequestFile::Har)),
            detour: socket.or_else(|| request.connect_to.clone().map(Detour::ConnectTo)),
            is_builtin_tls: request.tls.tls,
            is_insecure: request.tls.insecure,
            ca_cert: request.tls.ca_cert.clone(),
            has_https_pages: false,
            no_resumption: request.tls.no_resumption,
        })
    }

    /// Whose certificates are taken of status pages.
    pub(crate) fn trust_of_pages(&self) -> Result<Trust, CommandError> {
        if self.has_https_pages { self.trust() } else { Ok(Trust::default()) }
    }

    /// Whose certificates are taken. The file of `--ca-cert` has to be there.
    fn trust(&self) -> Result<Trust, CommandError> {
        if self.is_insecure { Ok(Trust::Any) } else { Trust::read(self.ca_cert.as_deref()) }
    }

    /// The same beside these status pages, for which certificates may be named too.
    pub(crate) fn beside(mut self, args: &ObserverArgs) -> Self {
        self.has_https_pages = args.has_https_pages();
        self
    }

    /// The same, with these quantiles in the result beside the usual ones.
    pub(crate) fn with_quantiles(mut self, quantiles: Vec<Quantile>) -> Self {
        self.common.quantiles = quantiles;
        self
    }

    /// The same, with good responses within this time counted once more.
    pub(crate) const fn with_slo(mut self, slo_ns: Option<u64>) -> Self {
        self.common.slo_ns = slo_ns;
        self
    }

    /// The same, for a look at a target that may redirect.
    pub(crate) const fn taking_redirects(mut self) -> Self {
        self.common.expect.takes_redirects = true;
        self
    }

    /// The same; true if the user has said how long a warm-up is.
    pub(crate) const fn with_warmup(mut self, is_asked_for: bool) -> Self {
        self.common.is_warmup_asked_for = is_asked_for;
        self
    }

    /// One plain GET, by the generator as it was typed.
    pub(crate) fn plain(generator: &GeneratorArgs) -> Result<Self, CommandError> {
        Self::new(&RequestArgs::plain(), generator)
    }

    /// The requests of `--urls` or `--har`, if one of them was given. `url` is the server that was named.
    pub(crate) fn listed(&self, url: Option<&TargetUrl>) -> Result<Option<Listed>, CommandError> {
        Ok(self.file.as_ref().map(|file| Listed::read(file, &self.request.headers, url)).transpose()?)
    }

    /// The settings for `url`; `listed` are requests from a file.
    pub(crate) fn settings(&self, url: &TargetUrl, listed: Option<Listed>) -> Result<Settings, CommandError> {
        // In FastCGI lengths stand before what they count.
        if self.request.template && url.protocol() == Protocol::FastCgi {
            return Err(CommandError::usage("--template is for http:// and https:// URLs, not for FastCGI"));
        }
        let (mut requests, recording) = match listed {
            Some(listed) => (listed.requests, listed.recording),
            None => (vec![Request { path: url.path.clone(), ..self.request.clone() }], None),
        };
        if self.request.template {
            for request in &mut requests {
                request.template = true;
                engine::source::check(request).map_err(|e| CommandError::usage(format!("--template: {e}")))?;
            }
        }
        Ok(Settings {
            requests,
            recording,
            tls: self.tls(url)?,
            connect_override: ConnectOverride::new(self.detour.as_ref(), url)?,
            ..self.common.clone()
        })
    }

    /// How to encrypt: not at all without https.
    fn tls(&self, url: &TargetUrl) -> Result<Option<TlsPlan>, CommandError> {
        if !url.is_tls() {
            let given = [
                ("--insecure", self.is_insecure && !self.has_https_pages),
                ("--ca-cert", self.ca_cert.is_some() && !self.has_https_pages),
                ("--no-resumption", self.no_resumption),
            ];
            return match given.into_iter().find(|(_, given)| *given) {
                Some((flag, _)) => {
                    let shown = Redacted::url(&url.url);
                    Err(CommandError::usage(format!("{flag} is for https:// URLs, not for {shown}")))
                }
                None => Ok(None),
            };
        }
        Ok(Some(self.trust()?.plan(&url.host, !self.no_resumption)))
    }
}

/// What holds for any URL.
fn common(request: &RequestArgs, generator: &GeneratorArgs) -> Result<Settings, CommandError> {
    if !TIMEOUT_NS.contains(&request.timeout.ns) {
        return Err(CommandError::usage(format!("--timeout {} is not between 1ms and 10m", request.timeout)));
    }
    let usable = usable_cpus();
    if let Some(cpu) = generator.cpus.iter().find(|cpu| !usable.contains(cpu)) {
        return Err(CommandError::usage(format!("--cpus {cpu}: this process may use the CPUs {usable:?} only")));
    }
    let threads = generator.threads.map(|n| in_range("--threads", n, 1, THREADS_MAX)).transpose()?;
    Ok(Settings {
        pipeline: in_range("--pipeline", request.pipeline, 1, PIPELINE_MAX)? as u32,
        keepalive: !request.no_keepalive,
        timeout_ns: request.timeout.ns,
        expect: request.expect.as_deref().map_or_else(|| Ok(Expect::default()), Expect::parse)?,
        threads: threads.map(|n| n as u32),
        cpus: generator.cpus.clone(),
        spin_ns: generator.spin.map(spin_ns).transpose()?,
        seed: generator.seed,
        ..Settings::default()
    })
}

/// `--spin` within bounds.
fn spin_ns(time: model::Duration) -> Result<u64, CommandError> {
    match time.ns {
        ns if ns <= SPIN_MAX_NS => Ok(ns),
        _ => Err(CommandError::usage(format!("--spin {time} is longer than 1s"))),
    }
}

/// The request of the flags, without its path.
fn single(args: &RequestArgs) -> Result<Request, CommandError> {
    let default = if args.body.is_some() { "POST" } else { "GET" };
    let body = body(args.body.as_deref())?;
    Ok(Request {
        method: method(args.method.as_deref().unwrap_or(default))?,
        headers: headers(args)?,
        body_bytes: body.len() as u64,
        body,
        template: args.template,
        ..Request::get("")
    })
}

/// The headers that were typed, and the one of `--auth`.
fn headers(request: &RequestArgs) -> Result<Vec<(String, String)>, CommandError> {
    if request.user.is_some() {
        return Err(CommandError::usage(auth::not_typed("-u", "basic")));
    }
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
    // The value may be a secret.
    let shown = Redacted::header(text);
    let wrong =
        |why: &str| CommandError::usage(format!("--header {shown:?} {why}; write for example 'Accept: text/html'"));
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
    body_file(Path::new(file)).map_err(|error| CommandError::usage(format!("--body {text}: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// curl -d, ab -p and hey -d post; this had sent GET with a body.
    #[test]
    fn a_body_without_a_method_is_posted() {
        let method = |method: Option<&str>, body: Option<&str>| {
            let (method, body) = (method.map(str::to_owned), body.map(str::to_owned));
            single(&RequestArgs { method, body, ..RequestArgs::plain() }).unwrap().method
        };
        assert_eq!([method(None, None), method(None, Some("x")), method(None, Some(""))], ["GET", "POST", "POST"]);
        assert_eq!(method(Some("get"), Some("x")), "GET");
    }

    #[test]
    fn headers_need_a_name_and_a_colon() {
        assert_eq!(header("X-A:  b ").unwrap(), ("X-A".into(), "b".into()));
        for text in ["nocolon", ": x", "X A: b", "X-A: b\r\nEvil: 1", "Content-Length: 3"] {
            assert!(header(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_body_file_that_cannot_be_read_is_named() {
        let message = body(Some("@/nowhere/at-all")).unwrap_err().message;
        assert!(message.contains("/nowhere/at-all") && message.contains("cannot read"), "{message}");
    }

    #[test]
    fn a_body_file_without_an_end_is_refused_at_the_limit() {
        // Its size is 0, and it was read until memory ended.
        let message = body(Some("@/dev/zero")).unwrap_err().message;
        assert!(message.contains("--body @/dev/zero") && message.contains("more than 67108864 bytes"), "{message}");
    }
}
