//! Where the redirects of a page end: the URL to measure.

use crate::settings::target_url::{TargetUrl, resolve};
use engine::probe;
use model::{Address, Fetch, Numbering, Plan, Probe, Request, TlsPlan};

/// Redirects that are followed.
const REDIRECTS_MAX: usize = 10;

/// A way that a server has sent its visitors.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Way {
    /// Each place as `Location` told it.
    pub(crate) hops: Vec<String>,
    /// Where a page was found; none when there is no redirect, or no end of them.
    pub(crate) end: Option<String>,
}

/// Follows redirects from `url`, which answered as `probe` says. Another server is asked without the headers of the plan,
/// which may hold credentials, and not at all when the plan leads round the host of its URL.
pub(crate) fn follow(plan: &Plan, url: &TargetUrl, probe: &Probe, is_overridden: bool) -> Way {
    let mut way = Way::default();
    let mut here = url.clone();
    let mut next = probe.fetches.first().and_then(location);
    while let Some(told) = next.take().filter(|_| way.hops.len() < REDIRECTS_MAX) {
        way.hops.push(told.clone());
        let Ok(there) = TargetUrl::parse(&join(&here, &told)) else { break };
        let is_home = url.is_same_server(&there);
        if is_overridden && !is_home {
            break;
        }
        let Some(fetch) = fetch(plan, &there, is_home) else { break };
        next = location(&fetch);
        if fetch.status < 300 {
            way.end = Some(there.url.clone());
        }
        here = there;
    }
    way
}

/// Where an answer sends its reader.
fn location(fetch: &Fetch) -> Option<String> {
    fetch.location.clone().filter(|_| (300..400).contains(&fetch.status))
}

/// The answer at `there`; none when there is none.
fn fetch(plan: &Plan, there: &TargetUrl, is_home: bool) -> Option<Fetch> {
    let request = match is_home {
        true => Request { path: there.path.clone(), template: false, ..plan.requests[0].clone() },
        false => Request::get(&there.path),
    };
    let addresses: Vec<Address> = match is_home {
        true => vec![plan.target.address.clone()],
        false => resolve(&there.host, there.port).ok()?,
    };
    let tls = there.is_tls().then(|| TlsPlan {
        verify: plan.tls.as_ref().is_none_or(|tls| tls.verify),
        alpn: vec!["http/1.1".into()],
        resumption: true,
        server_name: there.host.clone(),
        extra_roots: plan.tls.as_ref().map_or_else(Vec::new, |tls| tls.extra_roots.clone()),
    });
    let tls = tls.as_ref().map(engine::tls::config).transpose().ok()?;
    let looked = probe::probe(&probe::Settings {
        addresses: &addresses,
        authority: &there.authority,
        protocol: there.protocol(),
        request: &request,
        numbering: &Numbering::default(),
        seed: plan.seed,
        tls: tls.as_ref(),
        streams: 1,
        fetches: 1,
        timeout_ns: plan.timeout_ns,
    });
    looked.ok()?.1.fetches.into_iter().next()
}

/// The URL that `location` means to a reader of `base` (RFC 3986 section 5.2, without dot segments, which servers take).
fn join(base: &TargetUrl, location: &str) -> String {
    let location = location.split('#').next().unwrap_or_default();
    let path = base.path.split('?').next().unwrap_or_default();
    let scheme = base.scheme.name();
    match location {
        absolute if absolute.contains("://") => absolute.to_owned(),
        host if host.starts_with("//") => format!("{scheme}:{host}"),
        rooted if rooted.starts_with('/') => base.origin() + rooted,
        query if query.is_empty() || query.starts_with('?') => format!("{}{path}{query}", base.origin()),
        relative => format!("{}{}{relative}", base.origin(), &path[..path.rfind('/').map_or(0, |at| at + 1)]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locations_are_read_as_browsers_do() {
        let base = TargetUrl::parse("https://shop.example/a/b?c=d").unwrap();
        for (location, expected) in [
            ("http://x.example/y", "http://x.example/y"),
            ("//x.example/y", "https://x.example/y"),
            ("/y?z=//1", "https://shop.example/y?z=//1"),
            ("y#part", "https://shop.example/a/y"),
            ("?c=e", "https://shop.example/a/b?c=e"),
            ("", "https://shop.example/a/b"),
        ] {
            assert_eq!(join(&base, location), expected, "{location}");
        }
    }
}
