//! The texts a target answers with. None depends on the clock or on chance.

use std::fmt::Write as _;
use std::net::SocketAddr;

use super::route::BadParameter;

/// What bodies of `/bytes/SIZE` repeat.
const PATTERN: &[u8; 16] = b"0123456789abcdef";
/// Bytes of body that are handed to the kernel at once.
pub(super) const PIECE_BYTES: usize = 64 * 1024;

const ENDPOINTS: [(&str, &str); 9] = [
    ("/bytes/64KiB", "a body of exactly that many bytes, up to 1 GiB; HEAD answers with its head"),
    ("/bytes/64KiB?chunked", "the same in chunked transfer coding"),
    ("/sleep?time=20ms", "an answer after exactly that time, up to 60 s, without keeping a worker busy"),
    ("/cpu?us=500", "an answer after burning that much CPU time of a worker, up to 10 s"),
    ("/status/404", "that status, 200 to 599"),
    ("/pool", "an answer from a pool of workers behind a bounded queue, when one is configured"),
    ("/upload", "reads and counts a request body (POST or PUT)"),
    ("/stats", "connections and requests by worker"),
    ("/", "this page"),
];

/// The page of `/`: what there is, each with a command that works as it stands.
pub(super) fn landing(address: SocketAddr) -> String {
    let base = base(address);
    let mut page = String::from(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>plimsoll target</title>\n\
         <style>body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}\
         code{background:#8882;padding:.1rem .3rem}dd{margin:0 0 1rem 1rem}</style></head>\n\
         <body><h1>plimsoll target</h1>\n<p>A small, exact test server. Everything answers GET and HEAD.</p>\n<dl>\n",
    );
    for (path, does) in ENDPOINTS {
        let body = if path == "/upload" { "--data-binary hello " } else { "" };
        writeln!(
            page,
            "<dt><a href=\"{path}\">{path}</a></dt><dd>{does}<br><code>curl -i {body}'{base}{path}'</code></dd>"
        )
        .expect("writing to a string does not fail");
    }
    page.push_str("</dl></body></html>\n");
    page
}

/// A wildcard address cannot be connected to by name; loopback stands for it.
fn base(address: SocketAddr) -> String {
    match address {
        SocketAddr::V4(v4) if v4.ip().is_unspecified() => format!("http://127.0.0.1:{}", v4.port()),
        SocketAddr::V6(v6) if v6.ip().is_unspecified() => format!("http://[::1]:{}", v6.port()),
        other => format!("http://{other}"),
    }
}

/// One piece of body; byte i is the i-th of the repeated pattern, so any piece may begin at any offset.
pub(super) fn filler() -> Box<[u8]> {
    PATTERN.repeat(PIECE_BYTES / PATTERN.len()).into_boxed_slice()
}

/// The JSON that answers a parameter that cannot be used.
pub(super) fn bad_parameter(bad: &BadParameter) -> String {
    format!(
        "{{\"error\":{},\"parameter\":{},\"example\":{}}}\n",
        json_string(&bad.error),
        json_string(bad.parameter),
        json_string(bad.example)
    )
}

/// The JSON of any other error.
pub(super) fn error(message: &str) -> String {
    format!("{{\"error\":{}}}\n", json_string(message))
}

/// RFC 8259 section 7.
fn json_string(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => write!(out, "\\u{:04x}", u32::from(c)).expect("writing to a string does not fail"),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::route::route;

    #[test]
    fn the_landing_page_lists_commands_that_work() {
        let page = landing("0.0.0.0:8080".parse().unwrap());
        for (path, _) in ENDPOINTS {
            assert!(page.contains(&format!("'http://127.0.0.1:8080{path}'")), "{path}");
            assert!(route(path).is_ok(), "{path}");
        }
        assert!(landing("[::1]:80".parse().unwrap()).contains("'http://[::1]:80/stats'"));
    }

    #[test]
    fn json_strings_are_escaped() {
        let bad =
            BadParameter { error: "\"a\\\u{1}µ\" is wrong".into(), parameter: "time", example: "/sleep?time=20ms" };
        assert_eq!(
            bad_parameter(&bad),
            "{\"error\":\"\\\"a\\\\\\u0001µ\\\" is wrong\",\"parameter\":\"time\",\"example\":\"/sleep?time=20ms\"}\n"
        );
    }

    #[test]
    fn the_filler_repeats_its_pattern() {
        let filler = filler();
        assert!(filler.len() == PIECE_BYTES && filler.chunks(16).all(|chunk| chunk == PATTERN));
    }
}
