//! Which endpoint a request names, and its parameters.

use model::{ByteSize, Count, Duration, NS_PER_S};

/// Largest body of `/bytes/SIZE`.
pub const BYTES_MAX: u64 = 1 << 30;
/// Longest delay of `/sleep`; ns.
pub const SLEEP_MAX_NS: u64 = 60 * NS_PER_S;
/// Longest burn of `/cpu`; ns.
pub const CPU_MAX_NS: u64 = 10 * NS_PER_S;

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Route {
    Landing,
    Bytes { size: u64, chunked: bool },
    Sleep { delay_ns: u64 },
    Status(u16),
    Cpu { burn_ns: u64 },
    Pool,
    Upload,
    Stats,
}

/// Why there is no route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RouteError {
    Unknown,
    Parameter(BadParameter),
}

/// A parameter that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BadParameter {
    pub(super) error: String,
    pub(super) parameter: &'static str,
    pub(super) example: &'static str,
}

/// The route of a request target (path and query). Parameters nobody asked for are ignored: load tests append
/// their own to defeat caches.
pub(super) fn route(target: &str) -> Result<Route, RouteError> {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let Some(path) = path.strip_prefix('/') else { return Err(RouteError::Unknown) };
    let (first, rest) = path.split_once('/').map_or((path, None), |(first, rest)| (first, Some(rest)));
    match (first, rest) {
        ("", None) => Ok(Route::Landing),
        ("bytes", size) => bytes(size.unwrap_or_default(), query),
        ("sleep", None) => sleep(query),
        ("status", code) => status(code.unwrap_or_default()),
        ("cpu", None) => cpu(query),
        ("pool", None) => Ok(Route::Pool),
        ("upload", None) => Ok(Route::Upload),
        ("stats", None) => Ok(Route::Stats),
        _ => Err(RouteError::Unknown),
    }
}

fn bytes(size: &str, query: &str) -> Result<Route, RouteError> {
    let bad = |error: String| bad(error, "SIZE", "/bytes/64KiB");
    let ByteSize(size) = size.parse().map_err(|error| bad(format!("{error}")))?;
    if size > BYTES_MAX {
        return Err(bad(format!("{size} bytes are more than the {BYTES_MAX} this server sends")));
    }
    let chunked = match value(query, "chunked") {
        None | Some("0" | "false" | "no") => false,
        Some("" | "1" | "true" | "yes") => true,
        Some(other) => {
            return Err(self::bad(format!("{other:?} is not a yes or no"), "chunked", "/bytes/64KiB?chunked"));
        }
    };
    Ok(Route::Bytes { size, chunked })
}

fn sleep(query: &str) -> Result<Route, RouteError> {
    let bad = |error: String| bad(error, "time", "/sleep?time=20ms");
    let text = value(query, "time").ok_or_else(|| bad("how long is missing".into()))?;
    let Duration { ns } = text.parse().map_err(|error| bad(format!("{error}")))?;
    if ns > SLEEP_MAX_NS {
        return Err(bad(format!("{text} is longer than the {} s allowed", SLEEP_MAX_NS / NS_PER_S)));
    }
    Ok(Route::Sleep { delay_ns: ns })
}

fn status(code: &str) -> Result<Route, RouteError> {
    let plain = code.bytes().all(|byte| byte.is_ascii_digit());
    match code.parse() {
        Ok(status @ 200..=599) if plain => Ok(Route::Status(status)),
        _ => Err(bad(format!("{code:?} is not a status code from 200 to 599"), "CODE", "/status/404")),
    }
}

fn cpu(query: &str) -> Result<Route, RouteError> {
    let bad = |error: String| bad(error, "us", "/cpu?us=500");
    let text = value(query, "us").ok_or_else(|| bad("how many microseconds is missing".into()))?;
    let Count(us) = text.parse().map_err(|error| bad(format!("{error}")))?;
    if us > CPU_MAX_NS / 1_000 {
        return Err(bad(format!("{us} us are more than the {} allowed", CPU_MAX_NS / 1_000)));
    }
    Ok(Route::Cpu { burn_ns: us * 1_000 })
}

/// The value of the first `name` in a query; empty when it has none.
fn value<'a>(query: &'a str, name: &str) -> Option<&'a str> {
    query.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, ""))).find(|(key, _)| *key == name).map(|p| p.1)
}

fn bad(error: String, parameter: &'static str, example: &'static str) -> RouteError {
    RouteError::Parameter(BadParameter { error, parameter, example })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_endpoint_is_found_with_its_parameters() {
        for (target, expected) in [
            ("/", Route::Landing),
            ("/?x=1", Route::Landing),
            ("/bytes/0", Route::Bytes { size: 0, chunked: false }),
            ("/bytes/64KiB?x=1&chunked", Route::Bytes { size: 65_536, chunked: true }),
            ("/bytes/1GiB?chunked=0", Route::Bytes { size: BYTES_MAX, chunked: false }),
            ("/sleep?time=20ms", Route::Sleep { delay_ns: 20_000_000 }),
            ("/sleep?time=60s", Route::Sleep { delay_ns: SLEEP_MAX_NS }),
            ("/status/204", Route::Status(204)),
            ("/cpu?us=500", Route::Cpu { burn_ns: 500_000 }),
            ("/cpu?us=10M", Route::Cpu { burn_ns: CPU_MAX_NS }),
            ("/pool?r=1", Route::Pool),
            ("/upload", Route::Upload),
            ("/stats", Route::Stats),
        ] {
            assert_eq!(route(target), Ok(expected), "{target}");
        }
    }

    #[test]
    fn a_bad_parameter_is_named_with_an_example() {
        for (target, named) in [
            ("/bytes", "SIZE"),
            ("/bytes/", "SIZE"),
            ("/bytes/x", "SIZE"),
            ("/bytes/-1", "SIZE"),
            ("/bytes/1.5", "SIZE"),
            ("/bytes/1025MiB", "SIZE"),
            ("/bytes/99999999999999999999", "SIZE"),
            ("/bytes/1?chunked=maybe", "chunked"),
            ("/sleep", "time"),
            ("/sleep?time=", "time"),
            ("/sleep?time=61s", "time"),
            ("/sleep?time=-1s", "time"),
            ("/status/", "CODE"),
            ("/status/199", "CODE"),
            ("/status/600", "CODE"),
            ("/status/+200", "CODE"),
            ("/cpu", "us"),
            ("/cpu?us=1.5", "us"),
            ("/cpu?us=10000001", "us"),
        ] {
            let Err(RouteError::Parameter(bad)) = route(target) else { panic!("{target}: {:?}", route(target)) };
            assert_eq!(bad.parameter, named, "{target}");
            assert!(route(bad.example).is_ok(), "{}", bad.example);
        }
    }

    #[test]
    fn other_paths_are_unknown() {
        for target in ["/nothing", "//", "/sleep/", "/pool/1", "*", "/stats/x"] {
            assert_eq!(route(target), Err(RouteError::Unknown), "{target}");
        }
    }

    proptest! {
        #[test]
        fn any_text_has_an_answer(target in ".{0,64}", size in "[0-9a-zA-Z.+-]{0,24}") {
            let _ = route(&target);
            if let Ok(Route::Bytes { size, .. }) = route(&format!("/bytes/{size}")) {
                prop_assert!(size <= BYTES_MAX);
            }
        }
    }
}
