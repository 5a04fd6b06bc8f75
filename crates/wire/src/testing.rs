//! Invariants of the machines, checked on arbitrary bytes; used by the fuzz targets and by ordinary tests.
//!
//! [`fuzz_client`] and [`fuzz_server`] take any bytes, the first eight of which choose limits, what is outstanding and
//! where the rest is cut into reads, and panic when a machine breaks a promise: it makes progress on every call, never
//! claims more than it was given, keeps its buffer within the limit, stays failed, and reports the same whatever the
//! cuts and whether or not the sink wants headers. [`client_trace`] and [`server_trace`] are what they compare.

use crate::http1::{
    Client, ClientError, Expect, Limits, MIN_HEAD_BYTES, Progress, Request, RequestSink, Response, ResponseSink,
    Server, ServerError,
};
use crate::{ClientProtocol, Event, fastcgi};

/// Bytes of a fuzz input that configure the test.
pub const CONFIG_BYTES: usize = 8;

/// One thing a machine reported, bodies joined over their pieces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fact {
    /// A header or trailer: name and value.
    Header(Vec<u8>, Vec<u8>),
    /// Body bytes.
    Body(Vec<u8>),
    /// An informational response (client).
    Informational(u16),
    /// The client waits for `100 Continue` (server).
    ExpectContinue,
    /// A response is complete.
    Response(Response),
    /// A request is complete; with its target.
    Request(Request, String),
    /// A request failed, and the connection goes on.
    RequestFailed(ClientError),
    /// What follows is of this stream, of several.
    Stream(u16),
    /// The client machine failed, and where the request on stream 0 was.
    ClientFailed(ClientError, Progress),
    /// The server machine failed.
    ServerFailed(ServerError),
}

/// Reads of these lengths in turn, over and over; a length of 0 counts as 1.
#[derive(Debug, Clone, Copy)]
pub struct Cuts<'a>(pub &'a [usize]);

impl<'a> Cuts<'a> {
    /// Everything in one read.
    pub const WHOLE: Self = Cuts(&[usize::MAX]);
    /// One byte a read.
    pub const BYTES: Self = Cuts(&[1]);

    fn reads(self, mut input: &[u8]) -> impl Iterator<Item = &[u8]> {
        assert!(!self.0.is_empty(), "no lengths to cut by");
        self.0.iter().cycle().map_while(move |&length| {
            let (read, rest) = input.split_at(length.max(1).min(input.len()));
            input = rest;
            (!read.is_empty()).then_some(read)
        })
    }
}

/// What a client reports that has sent `requests`, receives `input` cut by `cuts` and then sees the peer close.
pub fn client_trace(limits: Limits, requests: &[Expect], input: &[u8], cuts: Cuts<'_>) -> Vec<Fact> {
    run_client(limits, requests, input, cuts, Facts::<true>::default())
}

fn run_client<const HEADERS: bool>(
    limits: Limits,
    requests: &[Expect],
    input: &[u8],
    cuts: Cuts<'_>,
    facts: Facts<HEADERS>,
) -> Vec<Fact> {
    run_protocol(ClientProtocol::Http1(Client::new(limits)), limits, requests, input, cuts, facts)
}

/// What a FastCGI client with so many streams reports that has `requests` out, receives `input` cut by `cuts` and then sees
/// the peer close.
pub fn fastcgi_trace(limits: Limits, streams: u32, requests: usize, input: &[u8], cuts: Cuts<'_>) -> Vec<Fact> {
    run_fastcgi(limits, streams, requests, input, cuts, Facts::<true>::default())
}

fn run_fastcgi<const HEADERS: bool>(
    limits: Limits,
    streams: u32,
    requests: usize,
    input: &[u8],
    cuts: Cuts<'_>,
    facts: Facts<HEADERS>,
) -> Vec<Fact> {
    let client = ClientProtocol::FastCgi(fastcgi::Client::new(limits, true, streams));
    run_protocol(client, limits, &vec![Expect::Body; requests], input, cuts, facts)
}

fn run_protocol<const HEADERS: bool>(
    mut client: ClientProtocol,
    limits: Limits,
    requests: &[Expect],
    input: &[u8],
    cuts: Cuts<'_>,
    mut facts: Facts<HEADERS>,
) -> Vec<Fact> {
    for &expect in requests {
        let stream = client.open();
        client.submit(stream, expect);
    }
    for mut read in cuts.reads(input) {
        while !read.is_empty() {
            let outstanding = client.outstanding();
            facts.stream(client.receiving());
            match client.receive(read, &mut facts) {
                Ok(received) => {
                    assert!(received.consumed > 0 && received.consumed <= read.len(), "progress within the input");
                    let goes_on = received.event.is_some() || client.receiving().is_some();
                    assert!(goes_on || received.consumed == read.len(), "stopped early");
                    assert_eq!(client.outstanding(), outstanding - u32::from(received.event.is_some()));
                    facts.list.extend(received.event.map(|event| match event {
                        Event::Response(response) => Fact::Response(response),
                        Event::Failed { error, .. } => Fact::RequestFailed(error),
                    }));
                    read = &read[received.consumed..];
                }
                Err(error) => {
                    assert_eq!(client.receive(read, &mut facts), Err(error), "an error is final");
                    assert_eq!(client.receive_eof(), Err(error), "an error is final");
                    facts.list.push(Fact::ClientFailed(error, client.progress(0)));
                    return facts.list;
                }
            }
            let bound = limits.head_bytes.max(MIN_HEAD_BYTES);
            assert!(client.stashed() <= bound, "the stash exceeds its limit");
        }
    }
    match client.receive_eof() {
        Ok(response) => facts.list.extend(response.map(Fact::Response)),
        Err(error) => facts.list.push(Fact::ClientFailed(error, client.progress(0))),
    }
    facts.list
}

/// What a server reports that receives `input` cut by `cuts`.
pub fn server_trace(limits: Limits, input: &[u8], cuts: Cuts<'_>) -> Vec<Fact> {
    run_server(limits, input, cuts, Facts::<true>::default())
}

fn run_server<const HEADERS: bool>(
    limits: Limits,
    input: &[u8],
    cuts: Cuts<'_>,
    mut facts: Facts<HEADERS>,
) -> Vec<Fact> {
    let mut server = Server::new(limits);
    for mut read in cuts.reads(input) {
        while !read.is_empty() {
            match server.receive(read, &mut facts) {
                Ok(received) => {
                    assert!(received.consumed > 0 && received.consumed <= read.len(), "progress within the input");
                    assert!(received.request.is_some() || received.consumed == read.len(), "stopped early");
                    let target = server.target();
                    facts.list.extend(received.request.map(|request| Fact::Request(request, target.to_owned())));
                    read = &read[received.consumed..];
                }
                Err(error) => {
                    assert_eq!(server.receive(read, &mut facts), Err(error), "an error is final");
                    assert!((400..=599).contains(&error.status()), "an error has a status");
                    facts.list.push(Fact::ServerFailed(error));
                    return facts.list;
                }
            }
            assert!(server.stashed() <= limits.head_bytes.max(MIN_HEAD_BYTES), "the stash exceeds its limit");
        }
    }
    facts.list
}

/// Checks the promises of [`Client`] on arbitrary bytes.
///
/// # Panics
///
/// When one is broken.
pub fn fuzz_client(data: &[u8]) {
    let Some((config, input)) = Config::read(data) else { return };
    let trace = |cuts| client_trace(config.limits, &config.requests, input, cuts);
    let whole = trace(Cuts::WHOLE);
    assert_eq!(whole, trace(Cuts::BYTES), "whole against single bytes");
    assert_eq!(whole, trace(Cuts(&config.cuts)), "whole against cuts {:?}", config.cuts);
    let bare = run_client(config.limits, &config.requests, input, Cuts::WHOLE, Facts::<false>::default());
    assert_eq!(without_headers(whole), bare, "with headers against without");
}

/// Checks the promises of the FastCGI client on arbitrary bytes.
///
/// # Panics
///
/// When one is broken.
pub fn fuzz_fastcgi(data: &[u8]) {
    let Some((config, input)) = Config::read(data) else { return };
    let (streams, requests) = config.streams();
    let trace = |cuts| fastcgi_trace(config.limits, streams, requests, input, cuts);
    let whole = trace(Cuts::WHOLE);
    assert_eq!(whole, trace(Cuts::BYTES), "whole against single bytes");
    assert_eq!(whole, trace(Cuts(&config.cuts)), "whole against cuts {:?}", config.cuts);
    let bare = run_fastcgi(config.limits, streams, requests, input, Cuts::WHOLE, Facts::<false>::default());
    assert_eq!(without_headers(whole), bare, "with headers against without");
}

/// Checks the promises of [`Server`] on arbitrary bytes.
///
/// # Panics
///
/// When one is broken.
pub fn fuzz_server(data: &[u8]) {
    let Some((config, input)) = Config::read(data) else { return };
    let trace = |cuts| server_trace(config.limits, input, cuts);
    let whole = trace(Cuts::WHOLE);
    assert_eq!(whole, trace(Cuts::BYTES), "whole against single bytes");
    assert_eq!(whole, trace(Cuts(&config.cuts)), "whole against cuts {:?}", config.cuts);
    let bare = run_server(config.limits, input, Cuts::WHOLE, Facts::<false>::default());
    assert_eq!(without_headers(whole), bare, "with headers against without");
}

/// Header facts removed, and the bodies they stood between joined.
fn without_headers(facts: Vec<Fact>) -> Vec<Fact> {
    let mut kept = Facts::<false>::default();
    for fact in facts {
        match fact {
            Fact::Header(..) => {}
            Fact::Body(bytes) => kept.append_body(&bytes),
            other => kept.list.push(other),
        }
    }
    kept.list
}

/// What the first bytes of a fuzz input choose.
struct Config {
    limits: Limits,
    requests: Vec<Expect>,
    cuts: [usize; 4],
}

impl Config {
    fn read(data: &[u8]) -> Option<(Self, &[u8])> {
        let (&[size, count, heads, bodies, cuts @ ..], input) = data.split_first_chunk::<CONFIG_BYTES>()?;
        let limits = if size & 1 == 0 {
            Limits::default()
        } else {
            Limits {
                head_bytes: usize::from(size) * 2,
                headers: usize::from(size >> 1 & 7),
                body_bytes: u64::from(bodies),
                informational: u32::from(size >> 4 & 3),
            }
        };
        let expect = |bit: u32| if u32::from(heads) >> (bit % 8) & 1 == 1 { Expect::NoBody } else { Expect::Body };
        let requests = (0..u32::from(count % 65)).map(expect).collect();
        Some((Self { limits, requests, cuts: cuts.map(usize::from) }, input))
    }

    /// Streams, and those of them with a request out: mostly one, and none or one.
    fn streams(&self) -> (u32, usize) {
        match self.requests.len() {
            few @ ..4 => (1, few.min(1)),
            many => (many as u32, many - 1),
        }
    }
}

#[derive(Default)]
struct Facts<const HEADERS: bool> {
    list: Vec<Fact>,
}

impl<const HEADERS: bool> Facts<HEADERS> {
    /// Another stream is told once, and when something was told before that is not of it.
    fn stream(&mut self, stream: Option<u16>) {
        let Some(stream) = stream else { return };
        let last = self.list.iter().rev().find_map(|fact| match fact {
            Fact::Stream(last) => Some(*last),
            _ => None,
        });
        if last != Some(stream) {
            self.list.push(Fact::Stream(stream));
        }
    }

    fn append_body(&mut self, bytes: &[u8]) {
        assert!(!bytes.is_empty(), "an empty piece of a body");
        match self.list.last_mut() {
            Some(Fact::Body(body)) => body.extend_from_slice(bytes),
            _ => self.list.push(Fact::Body(bytes.to_vec())),
        }
    }
}

impl<const HEADERS: bool> ResponseSink for Facts<HEADERS> {
    const HEADERS: bool = HEADERS;
    fn header(&mut self, name: &[u8], value: &[u8]) {
        self.list.push(Fact::Header(name.to_vec(), value.to_vec()));
    }
    fn folded(&mut self, value: &[u8]) {
        let Some(Fact::Header(_, whole)) = self.list.last_mut() else { panic!("nothing to go on with") };
        whole.push(b' ');
        whole.extend_from_slice(value);
    }
    fn body(&mut self, bytes: &[u8]) {
        self.append_body(bytes);
    }
    fn informational(&mut self, status: u16) {
        self.list.push(Fact::Informational(status));
    }
}

impl<const HEADERS: bool> RequestSink for Facts<HEADERS> {
    const HEADERS: bool = HEADERS;
    fn header(&mut self, name: &[u8], value: &[u8]) {
        self.list.push(Fact::Header(name.to_vec(), value.to_vec()));
    }
    fn body(&mut self, bytes: &[u8]) {
        self.append_body(bytes);
    }
    fn expect_continue(&mut self) {
        self.list.push(Fact::ExpectContinue);
    }
}
