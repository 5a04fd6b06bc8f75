//! Promises of templates on arbitrary bytes, for the fuzz target and the tests that fuzz a little.

use crate::source::{Scratch, Source, Style, check};
use model::{Numbering, Protocol, Request};

/// Takes `data` as the body of a template, and as its path if it is text: no panic, and what is taken is filled in the same
/// way each time, with the length of what was filled in.
///
/// # Panics
/// When a promise is broken.
pub fn fuzz_template(data: &[u8]) {
    let path = str::from_utf8(data).ok().filter(|text| text.bytes().all(|byte| byte > b' '));
    let request = Request {
        method: "POST".into(),
        path: format!("/{}", path.unwrap_or_default()),
        body: data.to_vec(),
        body_bytes: data.len() as u64,
        template: true,
        ..Request::get("")
    };
    if let Err(error) = check(&request) {
        return assert!(!error.to_string().contains('\n'), "{error}");
    }
    let style = Style { protocol: Protocol::Http1, authority: "host", keepalive: true, streams: 1 };
    let numbering = Numbering { first: u64::MAX, token: "k3xk3xk3".into() };
    let source = Source::of(&[request], style, numbering, 1).expect("it was checked");
    for number in [0, 1] {
        let filled = source.bytes(0, number, &mut Scratch::default()).to_vec();
        assert_eq!(filled, source.bytes(0, number, &mut Scratch::default()), "another request {number}");
        let body = memchr::memmem::find(&filled, b"\r\n\r\n").map_or(0, |at| filled.len() - at - 4);
        let length = format!("\r\nContent-Length: {body}\r\n");
        let is_told = memchr::memmem::find(&filled, length.as_bytes()).is_some();
        assert!(is_told || data.is_empty(), "{}", filled.escape_ascii());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TOKENS: [&str; 12] = [
        "{{",
        "}}",
        "counter",
        "random:16",
        "{{int:3..7}}",
        "{{uuid}}",
        "{{run}}",
        "{{length}}",
        "{{counter:18446744073709551615}}",
        "{{int:0..18446744073709551615}}",
        " : ",
        "\n",
    ];

    proptest! {
        #[test]
        fn templates_keep_their_promises(
            parts in prop::collection::vec((0..TOKENS.len(), prop::collection::vec(any::<u8>(), 0..4)), 0..12),
        ) {
            let data: Vec<u8> =
                parts.into_iter().flat_map(|(token, bytes)| TOKENS[token].bytes().chain(bytes)).collect();
            fuzz_template(&data);
        }
    }
}
