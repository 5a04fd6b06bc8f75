//! Where the redirects of a page end: the URL to measure.

use crate::settings::target_url::TargetUrl;
use engine::probe;
use model::{Address, Fetch, Numbering, Plan, Probe, Protocol, Request, TlsPlan};

/// Redirects that are followed.
const REDIRECTS_MAX: usize = 10;

/// A way that a server has sent its visitors.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Way {
    /// Each place as `Location` told it.
    pub(crate) hops: Vec<String>,
    /// Where a page was found; none when there is no redirect, or no end of them.
    pub(crate) end: Option<String>,
    /// Why the last of these places was not asked, if it was not.
    pub(crate) unasked: Option<String>,
    /// Requests sent on the way.
    pub(crate) requests_sent: u64,
}

/// Follows redirects from `url`, which answered as `probe` says, as far as they stay on its host. Another server there is
/// asked without the headers of the plan, which may hold credentials. A request that may change something is sent nowhere
/// else.
pub(crate) fn follow(plan: &Plan, url: &TargetUrl, probe: &Probe, is_overridden: bool) -> Way {
    let mut way = Way::default();
    let mut here = url.clone();
    let mut next = probe.fetches.first().and_then(Fetch::redirect).map(str::to_owned);
    while let Some(told) = next.take().filter(|_| way.hops.len() < REDIRECTS_MAX) {
        way.hops.push(told.clone());
        let request = &plan.requests[0];
        if !request.is_safe() {
            way.unasked = Some(format!("not followed: {} may change something there", request.method));
            break;
        }
        let Ok(there) = TargetUrl::parse(&join(&here, &told)) else { break };
        let is_home = url.is_same_server(&there);
        let Some(address) = address(plan, url, &there, is_overridden) else {
            let origin = there.origin();
            way.unasked = Some(format!("{origin} was not asked: redirects are followed on the host of the URL only"));
            break;
        };
        way.requests_sent += 1;
        let Some(fetch) = fetch(plan, &there, address, is_home) else { break };
        next = fetch.redirect().map(str::to_owned);
        if fetch.status < 300 {
            way.end = Some(there.url.clone());
        }
        here = there;
    }
    way
}

/// Address of `there`; none of what a server of the host that was named has no say in: other hosts, other protocols, and
/// all but itself where the plan leads round that host.
///
/// No name is looked up: the answer could be another one than before, and lead into a network that the server cannot reach.
fn address(plan: &Plan, url: &TargetUrl, there: &TargetUrl, is_overridden: bool) -> Option<Address> {
    let own = &plan.target.address;
    if url.is_same_server(there) {
        return Some(own.clone());
    }
    let is_same_host = there.protocol() == Protocol::Http1 && url.host.eq_ignore_ascii_case(&there.host);
    let mut address = own.tcp().filter(|_| is_same_host && !is_overridden)?;
    address.set_port(there.port);
    Some(Address::Tcp(address))
}

/// The answer at `there`; none when there is none.
fn fetch(plan: &Plan, there: &TargetUrl, address: Address, is_home: bool) -> Option<Fetch> {
    let request = match is_home {
        true => Request { path: there.path.clone(), template: false, ..plan.requests[0].clone() },
        false => Request::get(&there.path),
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
        addresses: &[address],
        authority: &there.authority,
        protocol: there.protocol(),
        request: &request,
        numbering: &Numbering::default(),
        seed: plan.seed,
        tls: tls.as_ref(),
        streams: 1,
        asks_compressed: false,
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
    let is_scheme = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    match location {
        absolute if absolute.split_once("://").is_some_and(|(scheme, _)| is_scheme(scheme)) => absolute.to_owned(),
        host if host.starts_with("//") => format!("{scheme}:{host}"),
        rooted if rooted.starts_with('/') => base.origin() + rooted,
        query if query.is_empty() || query.starts_with('?') => format!("{}{path}{query}", base.origin()),
        relative => format!("{}{}{relative}", base.origin(), &path[..path.rfind('/').map_or(0, |at| at + 1)]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::expect::tests::probe;
    use model::{Body, Load, NS_PER_S, Stop, Target};

    #[test]
    fn redirects_lead_to_no_other_host_and_no_other_protocol() {
        let target = Target::at("192.0.2.7:80".parse().unwrap());
        let plan = Plan::new(target, Load::Closed { connections: 1 }, Stop::Duration { duration_ns: NS_PER_S });
        let url = TargetUrl::parse("http://shop.example/").unwrap();
        let asked = |location: &str, is_overridden| {
            let there = TargetUrl::parse(location).unwrap();
            address(&plan, &url, &there, is_overridden).map(|address| address.to_string())
        };
        for (location, expected) in [
            ("http://shop.example/home", Some("192.0.2.7:80")),
            ("https://SHOP.example/", Some("192.0.2.7:443")),
            ("http://shop.example:8080/", Some("192.0.2.7:8080")),
            ("http://169.254.169.254/latest/meta-data/", None),
            ("http://localhost:6379/", None),
            ("http://192.0.2.7/", None),
            ("http://www.shop.example/", None),
            ("fastcgi://shop.example/srv/a.php", None),
            ("fastcgi+unix:/run/php.sock:/srv/a.php?://", None),
        ] {
            assert_eq!(asked(location, false).as_deref(), expected, "{location}");
        }
        assert_eq!(asked("http://shop.example/home", true).as_deref(), Some("192.0.2.7:80"));
        assert_eq!(asked("https://shop.example/", true), None, "with --connect-to nobody knows where that is");
    }

    /// `check -m DELETE` sent it on to where the answer led.
    #[test]
    fn what_may_change_something_is_sent_on_to_no_other_place() {
        let target = Target::at("127.0.0.1:1".parse().unwrap());
        let mut plan = Plan::new(target, Load::Closed { connections: 1 }, Stop::Duration { duration_ns: NS_PER_S });
        plan.requests[0].method = "DELETE".into();
        let mut probe = probe(303, Body::Stable);
        probe.fetches[0].location = Some("/posts".into());
        let url = TargetUrl::parse("http://shop.example/posts/5").unwrap();
        let way = follow(&plan, &url, &probe, false);
        assert_eq!((way.hops, way.end), (vec!["/posts".to_owned()], None));
        assert_eq!(way.unasked.as_deref(), Some("not followed: DELETE may change something there"));
    }

    #[test]
    fn locations_are_read_as_browsers_do() {
        let base = TargetUrl::parse("https://shop.example/a/b?c=d").unwrap();
        for (location, expected) in [
            ("http://x.example/y", "http://x.example/y"),
            ("//x.example/y", "https://x.example/y"),
            ("/y?z=//1", "https://shop.example/y?z=//1"),
            ("/y?next=http://x.example/", "https://shop.example/y?next=http://x.example/"),
            ("y#part", "https://shop.example/a/y"),
            ("?c=e", "https://shop.example/a/b?c=e"),
            ("", "https://shop.example/a/b"),
        ] {
            assert_eq!(join(&base, location), expected, "{location}");
        }
    }
}
