//! Responses of FastCGI applications: what is reported of them, in whatever pieces they come.

use proptest::prelude::*;
use wire::Event;
use wire::fastcgi::Client;
use wire::http1::{ClientError, Ignore, Limits, Part, Progress, Response, Version};
use wire::testing::{Cuts, Fact, fastcgi_trace, fuzz_fastcgi};

const STDOUT: u8 = 6;
const STDERR: u8 = 7;
const END_REQUEST: u8 = 3;

fn record(kind: u8, id: u8, content: &[u8], padding: u8) -> Vec<u8> {
    let [high, low] = (content.len() as u16).to_be_bytes();
    [&[1, kind, 0, id, high, low, padding, 0], content, &vec![0; padding.into()]].concat()
}

fn end(protocol_status: u8) -> Vec<u8> {
    end_of(1, protocol_status)
}

fn end_of(id: u8, protocol_status: u8) -> Vec<u8> {
    record(END_REQUEST, id, &[0, 0, 0, 0, protocol_status, 0, 0, 0], 0)
}

fn trace(input: &[u8]) -> Vec<Fact> {
    trace_of(1, input)
}

/// What is reported with one request out on each of so many streams.
fn trace_of(streams: u32, input: &[u8]) -> Vec<Fact> {
    let of = |cuts| fastcgi_trace(Limits::default(), streams, streams as usize, input, cuts);
    assert_eq!(of(Cuts::WHOLE), of(Cuts::BYTES));
    of(Cuts::WHOLE)
}

fn response(status: u16, body_bytes: u64) -> Fact {
    Fact::Response(Response { status, version: Version::Http11, body_bytes, keepalive: true })
}

fn header(name: &[u8], value: &[u8]) -> Fact {
    Fact::Header(name.to_vec(), value.to_vec())
}

fn body(bytes: &[u8]) -> Fact {
    Fact::Body(bytes.to_vec())
}

fn failed(input: &[u8]) -> (ClientError, Progress) {
    match trace(input).pop() {
        Some(Fact::ClientFailed(error, progress)) => (error, progress),
        other => panic!("{other:?}"),
    }
}

/// As php-fpm writes it: padded to eight bytes, with a message on stderr between.
#[test]
fn a_document_in_several_records_is_one_response() {
    let input = [
        record(STDOUT, 1, b"Status: 404 Not Found\r\nContent-type: text/html\r\n", 5),
        record(STDERR, 1, b"PHP message: no such file\n", 6),
        record(STDOUT, 1, b"\r\nNo in", 0),
        record(STDOUT, 1, b"put file", 8),
        record(STDOUT, 1, b"", 0),
        end(0),
    ];
    let expected = [
        header(b"Status", b"404 Not Found"),
        header(b"Content-type", b"text/html"),
        body(b"No input file"),
        response(404, 13),
    ];
    assert_eq!(trace(&input.concat()), expected);
}

#[test]
fn without_a_status_it_is_200_or_a_redirect() {
    let of = |head: &[u8]| trace(&[record(STDOUT, 1, head, 0), end(0)].concat()).pop();
    assert_eq!(of(b"Content-Type: a/b\n\nx"), Some(response(200, 1)));
    assert_eq!(of(b"Location: /there\n\n"), Some(response(302, 0)));
}

#[test]
fn a_connection_that_is_left_open_serves_another_request() {
    let whole = [record(STDOUT, 1, b"A: b\n\nxy", 0), end(0)].concat();
    let mut client = Client::new(Limits::default(), true, 1);
    for _ in 0..2 {
        let stream = client.open();
        client.submit(stream);
        let received = client.receive(&whole, &mut Ignore).unwrap();
        let Some(Event::Response(response)) = received.event else { panic!("{received:?}") };
        assert_eq!((received.consumed, response.body_bytes), (whole.len(), 2));
    }
    assert_eq!(client.receive_eof(), Ok(()));
    assert_eq!(client.receive(&whole, &mut Ignore), Err(ClientError::UnexpectedBytes));
}

#[test]
fn a_request_that_is_refused_fails_alone() {
    let whole = [end(2), record(STDOUT, 2, b"A: b\n\nxy", 1), end_of(2, 0)].concat();
    let expected =
        [Fact::Stream(0), Fact::RequestFailed(ClientError::Refused), Fact::Stream(1), header(b"A", b"b"), body(b"xy")];
    assert_eq!(trace_of(2, &whole), [&expected[..], &[response(200, 2)]].concat());
    for head in [&b"A: b\n"[..], b"A: b\nC"] {
        let cut = [record(STDOUT, 1, head, 0), end(0)].concat();
        assert_eq!(trace(&cut).pop(), Some(Fact::RequestFailed(ClientError::ClosedInHead)), "it ended within its head");
    }
}

#[test]
fn responses_of_several_streams_come_in_pieces_and_in_any_order() {
    let whole = [
        record(STDOUT, 3, b"A: c\n\nthr", 0),
        record(STDOUT, 1, b"A: a\n\no", 2),
        record(STDOUT, 3, b"ee", 1),
        end_of(3, 0),
        record(STDERR, 2, b"late", 0),
        record(STDOUT, 1, b"ne", 0),
        record(STDOUT, 2, b"A: b\n\ntwo", 0),
        end_of(2, 0),
        end_of(1, 0),
    ];
    let expected = [
        Fact::Stream(2),
        header(b"A", b"c"),
        body(b"thr"),
        Fact::Stream(0),
        header(b"A", b"a"),
        body(b"o"),
        Fact::Stream(2),
        body(b"ee"),
        response(200, 5),
        Fact::Stream(1),
        Fact::Stream(0),
        body(b"ne"),
        Fact::Stream(1),
        header(b"A", b"b"),
        body(b"two"),
        response(200, 3),
        Fact::Stream(0),
        response(200, 3),
    ];
    assert_eq!(trace_of(3, &whole.concat()), expected);
}

#[test]
fn a_request_that_was_given_up_says_nothing_and_keeps_its_stream_until_its_end() {
    const ABORT_REQUEST: u8 = 2;
    let mut client = Client::new(Limits::default(), true, 2);
    for expected in 0..2 {
        let stream = client.open();
        assert_eq!(stream, expected);
        client.submit(stream);
    }
    let begun = record(STDOUT, 1, b"A: b\n\nx", 0);
    let mut rest = &begun[..];
    while !rest.is_empty() {
        rest = &rest[client.receive(rest, &mut Ignore).unwrap().consumed..];
    }
    assert!(client.cancel(0));
    assert_eq!(client.poll_transmit(), record(ABORT_REQUEST, 1, b"", 0));
    client.transmitted(8);
    assert!(client.poll_transmit().is_empty());
    assert_eq!((client.capacity(), client.outstanding()), (1, 2));
    assert!(!client.cancel(1), "the connection would have no stream left");
    let late = [record(STDOUT, 1, b"late", 3), end(0)].concat();
    let mut rest = &late[..];
    while !rest.is_empty() {
        let received = client.receive(rest, &mut Ignore).unwrap();
        assert_eq!(received.event, None);
        rest = &rest[received.consumed..];
    }
    assert_eq!((client.capacity(), client.outstanding()), (2, 1));
    assert_eq!(client.open(), 0, "it is free again");
}

#[test]
fn what_is_wrong_is_named() {
    let head = record(STDOUT, 1, b"A: b\n\nx", 0);
    assert_eq!(failed(b"HTTP/1.1 400 Bad Request\r\n\r\n"), (ClientError::NotFastCgi, Progress::FirstByte));
    assert_eq!(failed(&record(STDOUT, 2, b"x", 0)).0, ClientError::Malformed(Part::Record));
    assert_eq!(failed(&record(9, 1, b"x", 0)).0, ClientError::Malformed(Part::Record));
    assert_eq!(failed(&record(END_REQUEST, 1, b"short", 0)).0, ClientError::Malformed(Part::Record));
    assert_eq!(failed(&record(STDOUT, 1, b"no header\n", 0)).0, ClientError::Malformed(Part::Header));
    assert_eq!(failed(&record(STDOUT, 1, b"Status: many\n", 0)).0, ClientError::Malformed(Part::StatusLine));
    assert_eq!(failed(b""), (ClientError::ClosedBeforeResponse, Progress::FirstByte));
    assert_eq!(failed(&head), (ClientError::ClosedInBody { missing: None }, Progress::Body));
    assert_eq!(
        trace(&[record(10, 0, b"who knows", 3), head, end(0)].concat()).pop(),
        Some(response(200, 1)),
        "of the connection"
    );
    let small = Limits { head_bytes: 64, body_bytes: 3, ..Limits::default() };
    let of = |content: &[u8]| fastcgi_trace(small, 1, 1, &record(STDOUT, 1, content, 0), Cuts::WHOLE).pop();
    let is = |error| move |fact: Option<Fact>| matches!(fact, Some(Fact::ClientFailed(found, _)) if found == error);
    assert!(is(ClientError::HeadTooLarge)(of(&[b'a'; 100])));
    assert!(is(ClientError::BodyTooLarge)(of(b"A: b\n\nlong")));
}

proptest! {
    #[test]
    fn any_split_reports_the_same(
        pieces in prop::collection::vec((1_u8..4, prop::collection::vec(any::<u8>(), 0..40), any::<u8>()), 0..6),
        config in any::<[u8; 8]>(),
    ) {
        let mut input = config.to_vec();
        for id in 1..4 {
            input.extend(record(STDOUT, id, b"Status: 200\r\n\r\n", 0));
        }
        for (id, content, padding) in &pieces {
            input.extend(record(STDOUT, *id, content, *padding));
        }
        input.extend([end_of(2, 0), end_of(1, 0), end_of(3, 1)].concat());
        fuzz_fastcgi(&input);
    }

    #[test]
    fn no_bytes_break_it(input in prop::collection::vec(any::<u8>(), 0..200)) {
        fuzz_fastcgi(&input);
    }
}
