//! Properties: what is written is what is read, and how the bytes are cut changes nothing, be they valid or broken.

use proptest::collection::vec;
use proptest::prelude::*;
use wire::http1::{
    Expect, Length, Limits, Method, Request, Response, ResponseHead, Version, write_chunk, write_last_chunk,
    write_request, write_response_head,
};
use wire::testing::{Cuts, Fact, client_trace, server_trace};

/// A response as it is meant, from which both its bytes and the facts it has to yield are made.
#[derive(Debug, Clone)]
struct Reply {
    status: u16,
    headers: Vec<(String, String)>,
    pieces: Vec<Vec<u8>>,
    chunked: bool,
    keepalive: bool,
    informational: usize,
    to_head: bool,
}

impl Reply {
    fn bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let headers: Vec<_> = self.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let interim =
            ResponseHead { status: 103, content_type: "", length: Length::None, keepalive: true, headers: &headers };
        (0..self.informational).for_each(|_| write_response_head(&mut out, &interim));
        let bytes = self.pieces.iter().map(|piece| piece.len() as u64).sum();
        let length = if self.chunked { Length::Chunked } else { Length::Exact(bytes) };
        let head = ResponseHead { status: self.status, length, keepalive: self.keepalive, ..interim };
        write_response_head(&mut out, &head);
        if !self.to_head && self.chunked {
            self.pieces.iter().for_each(|piece| write_chunk(&mut out, piece));
            write_last_chunk(&mut out);
        } else if !self.to_head {
            self.pieces.iter().for_each(|piece| out.extend(piece));
        }
        out
    }

    fn expect(&self) -> Expect {
        if self.to_head { Expect::NoBody } else { Expect::Body }
    }

    /// The facts without the headers that the writer adds.
    fn facts(&self) -> Vec<Fact> {
        let mut facts = vec![Fact::Informational(103); self.informational];
        facts.extend(self.headers.iter().map(|(name, value)| Fact::Header(name.clone().into(), value.clone().into())));
        let body = if self.to_head { vec![] } else { self.pieces.concat() };
        if !body.is_empty() {
            facts.push(Fact::Body(body.clone()));
        }
        facts.push(Fact::Response(Response {
            status: self.status,
            version: Version::Http11,
            body_bytes: body.len() as u64,
            keepalive: self.keepalive,
        }));
        facts
    }
}

/// Names begin with `x-`, so that none means anything; values have no white space at their ends.
fn headers() -> impl Strategy<Value = Vec<(String, String)>> {
    vec(("[xX]-[a-zA-Z0-9_]{1,20}", "([!-~]([ -~]{0,60}[!-~])?)?"), 0..6)
}

fn body() -> impl Strategy<Value = Vec<Vec<u8>>> {
    vec(vec(any::<u8>(), 1..100), 0..4)
}

fn reply() -> impl Strategy<Value = Reply> {
    let status = prop_oneof![200u16..204, 205u16..304, 305u16..600];
    (status, headers(), body(), any::<bool>(), any::<bool>(), 0..3usize, any::<bool>()).prop_map(
        |(status, headers, pieces, chunked, keepalive, informational, to_head)| Reply {
            status,
            headers,
            pieces,
            chunked,
            keepalive,
            informational,
            to_head,
        },
    )
}

/// A request as it is meant.
#[derive(Debug, Clone)]
struct Ask {
    method: Method,
    path: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    keepalive: bool,
}

impl Ask {
    fn bytes(&self) -> Vec<u8> {
        let method = match self.method {
            Method::Get => "GET",
            Method::Head => "HEAD",
            Method::Post => "POST",
            Method::Put => "PUT",
            Method::Delete => "DELETE",
            Method::Options => "OPTIONS",
            Method::Patch => "PATCH",
            Method::Other => "PROPFIND",
        };
        let mut out = Vec::new();
        write_request(&mut out, method, &self.path, "host", &self.headers, self.keepalive, &self.body);
        out
    }

    fn facts(&self) -> Vec<Fact> {
        let headers = self.headers.iter();
        let mut facts: Vec<_> =
            headers.map(|(name, value)| Fact::Header(name.clone().into(), value.clone().into())).collect();
        if !self.body.is_empty() {
            facts.push(Fact::Body(self.body.clone()));
        }
        let request = Request {
            method: self.method,
            version: Version::Http11,
            keepalive: self.keepalive,
            body_bytes: self.body.len() as u64,
            expect_continue: false,
        };
        facts.push(Fact::Request(request, self.path.clone()));
        facts
    }
}

fn ask() -> impl Strategy<Value = Ask> {
    let methods = [
        Method::Get,
        Method::Head,
        Method::Post,
        Method::Put,
        Method::Delete,
        Method::Options,
        Method::Patch,
        Method::Other,
    ];
    let method = prop::sample::select(methods.to_vec());
    (method, "/[!-~]{0,40}", headers(), vec(any::<u8>(), 0..200), any::<bool>())
        .prop_map(|(method, path, headers, body, keepalive)| Ask { method, path, headers, body, keepalive })
}

fn cuts() -> impl Strategy<Value = Vec<usize>> {
    vec(1..90usize, 1..6)
}

/// Edits that turn a valid message into a nearly valid one.
#[derive(Debug, Clone)]
enum Edit {
    Set(u8),
    Remove(usize),
    Insert(&'static [u8]),
    Truncate,
}

fn edits() -> impl Strategy<Value = Vec<(prop::sample::Index, Edit)>> {
    let pieces: Vec<&'static [u8]> = vec![
        b"\r\n",
        b"\n",
        b"\r",
        b"\0",
        b" ",
        b":",
        b"\r\nContent-Length: 5\r\n",
        b"\r\nTransfer-Encoding: chunked\r\n",
        b"\r\nConnection: close\r\n",
        b"\r\n\r\n",
        b"\r\n folded",
        b" : ",
        b"\r\nTransfer-Encoding: identity\r\n",
        b"0\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n",
    ];
    let edit = prop_oneof![
        any::<u8>().prop_map(Edit::Set),
        (1..20usize).prop_map(Edit::Remove),
        prop::sample::select(pieces).prop_map(Edit::Insert),
        Just(Edit::Truncate),
    ];
    vec((any::<prop::sample::Index>(), edit), 1..5)
}

fn apply(mut bytes: Vec<u8>, edits: &[(prop::sample::Index, Edit)]) -> Vec<u8> {
    for (place, edit) in edits {
        if bytes.is_empty() {
            break;
        }
        let at = place.index(bytes.len());
        match edit {
            Edit::Set(byte) => bytes[at] = *byte,
            Edit::Remove(count) => drop(bytes.drain(at..bytes.len().min(at + count))),
            Edit::Insert(piece) => drop(bytes.splice(at..at, piece.iter().copied())),
            Edit::Truncate => bytes.truncate(at),
        }
    }
    bytes
}

/// Headers a writer adds on its own.
fn is_meant(fact: &Fact) -> bool {
    !matches!(fact, Fact::Header(name, _) if !name.to_ascii_lowercase().starts_with(b"x-"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn responses_read_as_written(replies in vec(reply(), 0..5), cuts in cuts()) {
        let bytes: Vec<u8> = replies.iter().flat_map(Reply::bytes).collect();
        let requests: Vec<_> = replies.iter().map(Reply::expect).collect();
        let mut facts = client_trace(Limits::default(), &requests, &bytes, Cuts(&cuts));
        facts.retain(is_meant);
        prop_assert_eq!(facts, replies.iter().flat_map(Reply::facts).collect::<Vec<_>>());
    }

    #[test]
    fn requests_read_as_written(asks in vec(ask(), 0..5), cuts in cuts()) {
        let bytes: Vec<u8> = asks.iter().flat_map(Ask::bytes).collect();
        let mut facts = server_trace(Limits::default(), &bytes, Cuts(&cuts));
        facts.retain(is_meant);
        prop_assert_eq!(facts, asks.iter().flat_map(Ask::facts).collect::<Vec<_>>());
    }

    #[test]
    fn cuts_change_nothing_in_broken_responses(
        replies in vec(reply(), 1..4), edits in edits(), cuts in cuts(), head_bytes in 64..400usize, headers in 2..12usize,
    ) {
        let bytes = apply(replies.iter().flat_map(Reply::bytes).collect(), &edits);
        let requests: Vec<_> = replies.iter().map(Reply::expect).collect();
        let limits = Limits { head_bytes, headers, body_bytes: 150, informational: 1 };
        for limits in [limits, Limits::default()] {
            let whole = client_trace(limits, &requests, &bytes, Cuts::WHOLE);
            prop_assert_eq!(&whole, &client_trace(limits, &requests, &bytes, Cuts(&cuts)));
            prop_assert_eq!(&whole, &client_trace(limits, &requests, &bytes, Cuts::BYTES));
        }
    }

    #[test]
    fn cuts_change_nothing_in_broken_requests(
        asks in vec(ask(), 1..4), edits in edits(), cuts in cuts(), head_bytes in 64..400usize, headers in 2..12usize,
    ) {
        let bytes = apply(asks.iter().flat_map(Ask::bytes).collect(), &edits);
        let limits = Limits { head_bytes, headers, body_bytes: 150, informational: 0 };
        for limits in [limits, Limits::default()] {
            let whole = server_trace(limits, &bytes, Cuts::WHOLE);
            prop_assert_eq!(&whole, &server_trace(limits, &bytes, Cuts(&cuts)));
            prop_assert_eq!(&whole, &server_trace(limits, &bytes, Cuts::BYTES));
        }
    }
}
