//! Responses of FastCGI applications: what is reported of them, in whatever pieces they come.

use proptest::prelude::*;
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
    record(END_REQUEST, 1, &[0, 0, 0, 0, protocol_status, 0, 0, 0], 0)
}

fn trace(input: &[u8]) -> Vec<Fact> {
    let whole = fastcgi_trace(Limits::default(), true, input, Cuts::WHOLE);
    assert_eq!(whole, fastcgi_trace(Limits::default(), true, input, Cuts::BYTES));
    whole
}

fn response(status: u16, body_bytes: u64) -> Fact {
    Fact::Response(Response { status, version: Version::Http11, body_bytes, keepalive: true })
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
    let header = |name: &[u8], value: &[u8]| Fact::Header(name.to_vec(), value.to_vec());
    let expected = [
        header(b"Status", b"404 Not Found"),
        header(b"Content-type", b"text/html"),
        Fact::Body(b"No input file".to_vec()),
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
    let mut client = Client::new(Limits::default(), true);
    for _ in 0..2 {
        client.request_sent();
        let received = client.receive(&whole, &mut Ignore).unwrap();
        assert_eq!((received.consumed, received.response.map(|response| response.body_bytes)), (whole.len(), Some(2)));
    }
    assert_eq!(client.receive_eof(), Ok(None));
    assert_eq!(client.receive(&whole, &mut Ignore), Err(ClientError::UnexpectedBytes));
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
    assert_eq!(failed(&end(2)).0, ClientError::Refused);
    assert_eq!(failed(&[record(STDOUT, 1, b"A: b\n", 0), end(0)].concat()).0, ClientError::ClosedInHead);
    assert_eq!(failed(b""), (ClientError::ClosedBeforeResponse, Progress::FirstByte));
    assert_eq!(failed(&head), (ClientError::ClosedInBody { missing: None }, Progress::Body));
    assert_eq!(
        trace(&[record(10, 0, b"who knows", 3), head, end(0)].concat()).pop(),
        Some(response(200, 1)),
        "of the connection"
    );
    let small = Limits { head_bytes: 64, body_bytes: 3, ..Limits::default() };
    let of = |content: &[u8]| fastcgi_trace(small, true, &record(STDOUT, 1, content, 0), Cuts::WHOLE).pop();
    let is = |error| move |fact: Option<Fact>| matches!(fact, Some(Fact::ClientFailed(found, _)) if found == error);
    assert!(is(ClientError::HeadTooLarge)(of(&[b'a'; 100])));
    assert!(is(ClientError::BodyTooLarge)(of(b"A: b\n\nlong")));
}

proptest! {
    #[test]
    fn any_split_reports_the_same(
        pieces in prop::collection::vec((prop::collection::vec(any::<u8>(), 0..40), any::<u8>()), 0..6),
        config in any::<[u8; 8]>(),
    ) {
        let mut input = [&config[..], &record(STDOUT, 1, b"Status: 200\r\n\r\n", 0)].concat();
        for (content, padding) in &pieces {
            input.extend(record(STDOUT, 1, content, *padding));
        }
        input.extend(end(0));
        fuzz_fastcgi(&input);
    }

    #[test]
    fn no_bytes_break_it(input in prop::collection::vec(any::<u8>(), 0..200)) {
        fuzz_fastcgi(&input);
    }
}
