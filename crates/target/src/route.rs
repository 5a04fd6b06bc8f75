//! Routes: endpoint, parameters and faults of a request, each within a named bound.

use model::{ByteSize, Count, Duration, NS_PER_S};

use super::body::{Fill, PIECE_BYTES};
use super::faults::{AnswerFaults, Break, SLEEP_MAX_NS};
use super::query::{BadParameter, Parameter, Query};
use super::random::Dist;

/// Largest body of `/bytes/SIZE`, `/zero`, `/urandom` and `/download`.
pub const BYTES_MAX: u64 = 1 << 30;
/// Largest chunk of `/download`.
pub const CHUNK_MAX: u64 = PIECE_BYTES as u64;
/// Largest deviation of the logarithm of a lognormal sleep.
pub const SIGMA_MAX: f64 = 3.0;
/// Longest burn of `/cpu`; ns.
pub const CPU_MAX_NS: u64 = 10 * NS_PER_S;
/// Longest time a slow body may take; ns.
pub const SLOW_BODY_MAX_NS: u64 = 600 * NS_PER_S;

/// Body of `/zero` and `/urandom` when nobody says; bytes.
const SIZE_DEFAULT: u64 = 2048;
/// Chunks of `/download`, and its body in such chunks, when nobody says.
const CHUNK_DEFAULT: u64 = 2048;
const CHUNKS_DEFAULT: u64 = 10;
/// Time of `/sleep` when nobody says; ns.
const SLEEP_DEFAULT_NS: u64 = NS_PER_S;
/// Chunk of `/bytes/SIZE?chunked`; bytes.
const BYTES_CHUNK: usize = 16 * 1024;

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Plan {
    pub(super) route: Route,
    pub(super) faults: AnswerFaults,
}

/// What is at a path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Route {
    Landing,
    /// A body of this size, in chunks of that or with its length.
    Body {
        fill: Fill,
        size: u64,
        chunk: Option<usize>,
    },
    Sleep {
        delay_ns: u64,
    },
    SleepDrawn {
        dist: Dist,
        seed: u64,
    },
    Status(u16),
    Cpu {
        burn_ns: u64,
    },
    Pool,
    /// Counts the body, and refuses another size than expected.
    Upload {
        expect: Option<u64>,
    },
    Stats,
}

impl Plan {
    /// True if it lets the client choose how long the server, or a worker of its pool, is busy with it.
    pub(super) fn is_guarded(&self) -> bool {
        let chosen =
            matches!(self.route, Route::Cpu { .. } | Route::Sleep { .. } | Route::SleepDrawn { .. } | Route::Pool);
        chosen || self.faults != AnswerFaults::default()
    }
}

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RouteError {
    Unknown,
    Parameter(BadParameter),
}

impl From<BadParameter> for RouteError {
    fn from(bad: BadParameter) -> Self {
        Self::Parameter(bad)
    }
}

type Read<T> = Result<T, BadParameter>;

/// The plan for a request target (path and query).
pub(super) fn plan(target: &str) -> Result<Plan, RouteError> {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let query = Query(query);
    let route = route(path, query)?;
    Ok(Plan { route, faults: faults(query, &route)? })
}

fn route(path: &str, query: Query<'_>) -> Result<Route, RouteError> {
    let Some(path) = path.strip_prefix('/') else { return Err(RouteError::Unknown) };
    let (first, rest) = path.split_once('/').map_or((path, None), |(first, rest)| (first, Some(rest)));
    Ok(match (first, rest) {
        ("" | "index.html", None) => Route::Landing,
        ("bytes", size) => bytes(size.unwrap_or_default(), query)?,
        ("zero", None) => Route::Body { fill: Fill::Zero, size: size_of(query, "/zero?size=2048")?, chunk: None },
        ("urandom", None) => urandom(query)?,
        ("download", None) => download(query)?,
        ("sleep", None) => sleep(query)?,
        ("status", code) => status(code.unwrap_or_default())?,
        ("cpu", None) => cpu(query)?,
        ("pool", None) => Route::Pool,
        ("upload", None) => upload(query)?,
        ("stats", None) => Route::Stats,
        _ => return Err(RouteError::Unknown),
    })
}

fn bytes(size: &str, query: Query<'_>) -> Read<Route> {
    let parameter = Parameter { name: "SIZE", example: "/bytes/64KiB" };
    let ByteSize(size) = size.parse().map_err(|error| parameter.bad(error))?;
    let size = within(parameter, size, 0, BYTES_MAX)?;
    let chunked = query.flag(Parameter { name: "chunked", example: "/bytes/64KiB?chunked" })?;
    Ok(Route::Body { fill: Fill::Pattern, size, chunk: chunked.then_some(BYTES_CHUNK) })
}

fn size_of(query: Query<'_>, example: &'static str) -> Read<u64> {
    size(query, Parameter { name: "size", example }, 0, BYTES_MAX).map(|size| size.unwrap_or(SIZE_DEFAULT))
}

fn urandom(query: Query<'_>) -> Read<Route> {
    let size = size_of(query, "/urandom?size=2048")?;
    Ok(Route::Body { fill: Fill::Random { seed: seed(query, "/urandom?size=2048&seed=7")? }, size, chunk: None })
}

fn download(query: Query<'_>) -> Read<Route> {
    let parameter = |name| Parameter { name, example: "/download?size=20480&chunk_size=2048" };
    let chunk = size(query, parameter("chunk_size"), 1, CHUNK_MAX)?;
    let size = size(query, parameter("size"), 0, BYTES_MAX)?;
    let size = size.unwrap_or_else(|| CHUNKS_DEFAULT * chunk.unwrap_or(CHUNK_DEFAULT));
    Ok(Route::Body { fill: Fill::Zero, size, chunk: chunk.map(|bytes| bytes as usize) })
}

fn sleep(query: Query<'_>) -> Read<Route> {
    let fixed = Parameter { name: "time", example: "/sleep?time=20ms" };
    let parameter = Parameter { name: "dist", example: "/sleep?dist=exp&mean=5ms" };
    let time = duration(query, fixed)?;
    let Some(kind) = query.text(parameter)? else {
        return Ok(Route::Sleep { delay_ns: time.unwrap_or(SLEEP_DEFAULT_NS) });
    };
    if time.is_some() {
        return Err(fixed.bad("a sleep has a time or a distribution, not both"));
    }
    let needed = |name, example| {
        let parameter = Parameter { name, example };
        duration(query, parameter)?.ok_or_else(|| parameter.bad("it is missing"))
    };
    let dist = match kind.as_ref() {
        "exp" => Dist::Exponential { mean_ns: needed("mean", parameter.example)? },
        "uniform" => {
            let example = "/sleep?dist=uniform&min=1ms&max=9ms";
            let (min_ns, max_ns) = (needed("min", example)?, needed("max", example)?);
            if min_ns > max_ns {
                return Err(Parameter { name: "min", example }.bad("it is above max"));
            }
            Dist::Uniform { min_ns, max_ns }
        }
        "lognormal" => {
            let example = "/sleep?dist=lognormal&mean=5ms&sigma=0.5";
            Dist::Lognormal { mean_ns: needed("mean", example)?, sigma: sigma(query, example)? }
        }
        other => return Err(parameter.bad(format!("{other:?} is none of exp, uniform and lognormal"))),
    };
    Ok(Route::SleepDrawn { dist, seed: seed(query, "/sleep?dist=exp&mean=5ms&seed=7")? })
}

fn sigma(query: Query<'_>, example: &'static str) -> Read<f64> {
    let parameter = Parameter { name: "sigma", example };
    match query.value(parameter)? {
        Some(sigma) if (0.0..=SIGMA_MAX).contains(&sigma) => Ok(sigma),
        Some(sigma) => Err(parameter.bad(format!("{sigma} is not within 0 and {SIGMA_MAX}"))),
        None => Err(parameter.bad("it is missing")),
    }
}

fn status(code: &str) -> Read<Route> {
    let plain = code.bytes().all(|byte| byte.is_ascii_digit());
    match code.parse() {
        Ok(status @ 200..=599) if plain => Ok(Route::Status(status)),
        _ => Err(Parameter { name: "CODE", example: "/status/404" }
            .bad(format!("{code:?} is not a status code from 200 to 599"))),
    }
}

fn cpu(query: Query<'_>) -> Read<Route> {
    let parameter = Parameter { name: "us", example: "/cpu?us=500" };
    let Count(us) = query.value(parameter)?.ok_or_else(|| parameter.bad("how many microseconds is missing"))?;
    Ok(Route::Cpu { burn_ns: within(parameter, us, 0, CPU_MAX_NS / 1_000)? * 1_000 })
}

fn upload(query: Query<'_>) -> Read<Route> {
    let expect = size(query, EXPECT, 0, u64::MAX)?;
    Ok(Route::Upload { expect })
}

/// The size a body has to have.
pub(super) const EXPECT: Parameter = Parameter { name: "expect", example: "/upload?expect=5" };

/// The faults any endpoint takes.
fn faults(query: Query<'_>, route: &Route) -> Read<AnswerFaults> {
    if query.0.is_empty() {
        return Ok(AnswerFaults::default());
    }
    let first_byte = Parameter { name: "first_byte", example: "/bytes/64KiB?first_byte=50ms" };
    let rate = Parameter { name: "body_rate", example: "/bytes/64KiB?body_rate=32KiB" };
    let fault = Parameter { name: "fault", example: "/bytes/64KiB?fault=reset" };
    let bytes_per_s = size(query, rate, 1, u64::MAX)?;
    if let (Some(bytes_per_s), Route::Body { size, .. }) = (bytes_per_s, route)
        && bytes_per_s < body_rate_min(*size)
    {
        let most_s = SLOW_BODY_MAX_NS / NS_PER_S;
        return Err(rate.bad(format!("{size} bytes at {bytes_per_s} a second take longer than the {most_s} s allowed")));
    }
    Ok(AnswerFaults {
        delay_ns: duration(query, first_byte)?.unwrap_or_default(),
        body_bytes_per_s: bytes_per_s,
        broken: query.value::<Break>(fault)?,
    })
}

/// The rate at which a body of this size takes as long as it may; bytes a second.
pub(super) const fn body_rate_min(size: u64) -> u64 {
    let rate = size.div_ceil(SLOW_BODY_MAX_NS / NS_PER_S);
    if rate == 0 { 1 } else { rate }
}

fn seed(query: Query<'_>, example: &'static str) -> Read<u64> {
    Ok(query.value(Parameter { name: "seed", example })?.unwrap_or(1))
}

fn size(query: Query<'_>, parameter: Parameter, min: u64, max: u64) -> Read<Option<u64>> {
    let given = query.value(parameter)?;
    given.map(|ByteSize(bytes)| within(parameter, bytes, min, max)).transpose()
}

fn duration(query: Query<'_>, parameter: Parameter) -> Read<Option<u64>> {
    match query.value::<Duration>(parameter)? {
        Some(time) if time.ns > SLEEP_MAX_NS => {
            Err(parameter.bad(format!("{time} is longer than the {} s allowed", SLEEP_MAX_NS / NS_PER_S)))
        }
        given => Ok(given.map(|time| time.ns)),
    }
}

fn within(parameter: Parameter, n: u64, min: u64, max: u64) -> Read<u64> {
    if (min..=max).contains(&n) { Ok(n) } else { Err(parameter.bad(format!("{n} is not within {min} and {max}"))) }
}

#[cfg(test)]
mod tests;
