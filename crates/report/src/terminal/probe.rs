//! Probe in a few lines.

use crate::visible;
use model::human;
use model::{Body, Probe, SizeBand};

/// One to three lines: the answer, whether its body changes, where a redirect leads. Ends with a newline.
#[must_use]
pub fn probe(probe: &Probe, url: &str) -> String {
    let url = visible::line(url);
    let Some(first) = probe.fetches.first() else {
        return format!("{url}: not fetched\n");
    };
    let kind = first.content_type.as_deref().map_or_else(String::new, |kind| format!(" of {}", visible::line(kind)));
    let server = first.server.as_deref();
    let server = server.map_or_else(String::new, |server| format!(" from {}", visible::line(server)));
    let keepalive = if first.keepalive { "keep-alive" } else { "closes the connection after each response" };
    let mut out = format!(
        "{url}: status {}, {}{kind}{server}, {keepalive}, {}\n",
        first.status,
        human::bytes(first.size_bytes),
        human::time(first.response_ns as f64)
    );
    if probe.again > 0 {
        let again = human::plural(probe.again, "request");
        out.push_str(&format!("  {again} sent again: the server had refused, reset or closed the connection\n"));
    }
    let sizes = probe.fetches.iter().map(|fetch| fetch.size_bytes);
    match probe.body {
        Body::Stable => {}
        Body::ChangingBytes => out.push_str("  body: the same size each time, but other bytes\n"),
        Body::ChangingSize => {
            let (min, max) = (sizes.clone().min().unwrap_or(0), sizes.max().unwrap_or(0));
            let (min, max) = (human::count(min), human::count(max));
            out.push_str(&format!("  body: another size each time ({min} to {max} bytes)"));
            match probe.found().filter(|found| found.status < 300).and_then(|found| probe.size_band(found.status)) {
                Some(SizeBand { min, max }) => {
                    let (min, max) = (human::count(min), human::count(max));
                    out.push_str(&format!("; {min} to {max} bytes are good unless --expect size= says otherwise\n"));
                }
                None => out.push_str(", so the size is not checked\n"),
            }
        }
    }
    let way: Vec<_> = match (probe.redirects.as_slice(), first.redirect()) {
        ([], Some(location)) => vec![location],
        (redirects, _) => redirects.iter().map(String::as_str).collect(),
    };
    if !way.is_empty() {
        out.push_str(&format!("  redirects to {}\n", visible::line(&way.join(" -> "))));
    }
    out
}
