//! What servers do that HTTP/1 lets them do, and what they do otherwise: as literal bytes.

/// One thing that a server does with each of its responses.
#[derive(Debug)]
pub struct Manner {
    /// What `--only` calls it.
    pub name: &'static str,
    /// What the server does, as a cell of a table.
    pub does: &'static str,
    /// Where it is permitted or forbidden.
    pub rfc: &'static str,
    /// What it is asked for.
    pub request: Request,
    /// Options of `plimsoll run` beside those of all.
    pub options: &'static [&'static str],
    /// True if it is done as soon as the head of a request has come, however long its body is.
    pub is_early: bool,
    /// What it does on each request, in order.
    pub steps: &'static [Step],
    /// What the HTTP/1.1 machine makes of these bytes: see `tests::machine`.
    pub machine: &'static str,
    /// What plimsoll makes of this server.
    pub outcome: Outcome,
}

/// Kind of request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// `GET /`
    Get,
    /// `HEAD /`
    Head,
    /// `POST /` with a body of [`super::UPLOAD_BYTES`].
    Upload,
}

/// A step of the server.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// Sends bytes.
    Say(&'static str),
    /// Sends them one by one.
    Drip(&'static str),
    /// Sends them so many times over.
    Repeat(&'static str, usize),
    /// Sends them a moment later, so that they come with a read of their own.
    Later(&'static str),
    /// Closes its side, and reads on.
    EndWriting,
    /// Closes the connection.
    Close,
}

/// What plimsoll makes of a server.
#[derive(Clone, Copy, Debug)]
pub enum Outcome {
    /// All responses are good and connections are kept.
    Kept,
    /// All responses are good, and each has a connection of its own.
    Good,
    /// All responses are good; whether connections are kept is a matter of timing.
    GoodEither,
    /// The load does not begin: exit code 3, and these words.
    Refused(&'static str),
    /// This rule fires with these words in its message or its remedy.
    Finding(&'static str, &'static str),
}

use Outcome::{Finding, Good, GoodEither, Kept, Refused};
use Step::{Close, Drip, EndWriting, Later, Repeat, Say};

const OK: &str = "HTTP/1.1 200 OK\r\n";
const HELLO: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

const fn manner(name: &'static str, does: &'static str, rfc: &'static str, steps: &'static [Step]) -> Manner {
    Manner {
        name,
        does,
        rfc,
        request: Request::Get,
        options: &[],
        is_early: false,
        steps,
        machine: "200, 5 bytes, kept",
        outcome: Kept,
    }
}

impl Manner {
    const fn asked(self, request: Request) -> Self {
        Self { request, ..self }
    }

    const fn with(self, options: &'static [&'static str]) -> Self {
        Self { options, ..self }
    }

    const fn early(self) -> Self {
        Self { request: Request::Upload, is_early: true, ..self }
    }

    const fn is(self, machine: &'static str, outcome: Outcome) -> Self {
        Self { machine, outcome, ..self }
    }
}

/// All of them, in the order of a response.
#[rustfmt::skip]
pub static MANNERS: [Manner; 50] = [
    // Lines.
    manner("bare-lf", "ends lines with LF alone", "9112 2.2", &[Say("HTTP/1.1 200 OK\nContent-Length: 5\n\nhello")]),
    manner("no-reason", "leaves out the reason phrase", "9112 4", &[Say("HTTP/1.1 200\r\nContent-Length: 5\r\n\r\nhello")]),
    manner("drip", "sends byte by byte", "-", &[Drip(HELLO)]),
    manner("blank", "sends an empty line behind a body", "9112 2.2", &[Say(HELLO), Say("\r\n")])
        .is("200, 5 bytes, kept", Kept),
    manner("blank-later", "sends it a moment later", "9112 2.2", &[Say(HELLO), Later("\r\n")]),
    manner("http-2", "answers with `HTTP/2 200`", "9112 2.3", &[Say("HTTP/2 200 OK\r\nContent-Length: 5\r\n\r\nhello")])
        .is("unsupported HTTP version", Refused("unsupported HTTP version")),
    manner("http-0.9", "answers with a body alone", "9112 2.3", &[Say("<html>hello</html>"), Close])
        .is("the peer does not speak HTTP/1", Refused("does not answer in HTTP/1")),
    manner("two-spaces", "has two spaces before the status", "9112 4", &[Say("HTTP/1.1  200 OK\r\nContent-Length: 5\r\n\r\nhello")])
        .is("malformed status line", Refused("malformed status line; no client can be sure")),
    // Headers.
    manner("lower-case", "writes names in lower case", "9110 5.1", &[Say("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello")]),
    manner("fold", "folds a header line", "9112 5.2", &[Say(OK), Say("X-Long: one,\r\n two\r\nContent-Length: 5\r\n\r\nhello")]),
    manner("fold-length", "folds `Content-Length`", "9112 5.2", &[Say(OK), Say("Content-Length: 5\r\n 0\r\n\r\nhello")])
        .is("malformed header line", Refused("malformed header line; no client can be sure")),
    manner("space-colon", "has a space before the colon", "9112 5.1", &[Say(OK), Say("Content-Length : 5\r\n\r\nhello")]),
    manner("bare-cr", "has a bare CR in a value", "9112 2.2", &[Say(OK), Say("X: a\rb\r\nContent-Length: 5\r\n\r\nhello")]),
    manner("no-colon", "sends a line without a colon", "9112 5", &[Say(OK), Say("garbage\r\nContent-Length: 5\r\n\r\nhello")])
        .is("malformed header line", Refused("malformed header line; no client can be sure")),
    manner("many-headers", "sends 300 header lines", "-", &[Say(OK), Repeat("X: y\r\n", 300), Say("Content-Length: 5\r\n\r\nhello")])
        .is("too many headers", Refused("too many headers; more than 64 KiB or 256 lines")),
    // Lengths.
    manner("same-length", "sends `Content-Length: 5` twice", "9110 8.6", &[Say(OK), Say("Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello")]),
    manner("two-lengths", "sends two different lengths", "9112 6.3", &[Say(OK), Say("Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello")])
        .is("malformed content length", Refused("there are two that differ")),
    manner("no-number", "sends `Content-Length: 5 bytes`", "9110 8.6", &[Say(OK), Say("Content-Length: 5 bytes\r\n\r\nhello")])
        .is("malformed content length", Refused("it is no number")),
    manner("both", "sends a length and chunks", "9112 6.3", &[Say(OK), Say("Content-Length: 99\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n")]),
    manner("identity", "sends a length and `Transfer-Encoding: identity`", "2616 3.6", &[Say(OK), Say("Transfer-Encoding: identity\r\nContent-Length: 5\r\n\r\nhello")]),
    manner("short", "sends less than the length, and waits", "9112 8", &[Say(OK), Say("Content-Length: 9\r\n\r\nhello")])
        .is("waits in the body", Refused("4 of the announced bytes are missing")),
    manner("short-close", "sends less than the length, and closes", "9112 8", &[Say(OK), Say("Content-Length: 9\r\n\r\nhello"), Close])
        .is("closed inside the response body", Refused("4 announced bytes never came")),
    manner("long", "sends more than the length", "9112 6.3", &[Say(OK), Say("Content-Length: 3\r\n\r\nhello")])
        .is("200, 3 bytes, kept, 2 behind it", Finding("ER-03", "more than `Content-Length` announces")),
    manner("no-length", "announces no length, and closes", "9112 6.3", &[Say(OK), Say("\r\nhello"), Close])
        .is("200, 5 bytes, closed", Good),
    manner("no-length-open", "announces no length, and stays open", "9112 6.3", &[Say(OK), Say("\r\nhello")])
        .is("waits in the body", Refused("announces no length and leaves the connection open")),
    // Chunks.
    manner("chunked", "sends chunks", "9112 7.1", &[Say(OK), Say("Transfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n")]),
    manner("extension", "sends chunks with extensions and zeros", "9112 7.1.1", &[Say(OK), Say("Transfer-Encoding: Chunked\r\n\r\n005;a=\"b\"\r\nhello\r\n000;c\r\n\r\n")]),
    manner("trailer", "sends trailers", "9112 7.1.2", &[Say(OK), Say("Trailer: Sum\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nSum: 1\r\n\r\n")]),
    manner("chunk-lf", "ends chunk lines with LF alone", "9112 2.2", &[Say(OK), Say("Transfer-Encoding: chunked\r\n\r\n5\nhello\n0\n\n")]),
    manner("chunk-coded", "sends `gzip, chunked`", "9112 7", &[Say(OK), Say("Transfer-Encoding: gzip, chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n")]),
    manner("chunk-long", "sends more than a chunk announces", "9112 7.1", &[Say(OK), Say("Transfer-Encoding: chunked\r\n\r\n3\r\nhello\r\n0\r\n\r\n")])
        .is("malformed chunk", Refused("malformed chunk; it has another size than its first line says")),
    manner("no-last-chunk", "sends no last chunk, and waits", "9112 8", &[Say(OK), Say("Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")])
        .is("waits in the body", Refused("its last chunk is missing")),
    manner("no-last-close", "sends no last chunk, and closes", "9112 8", &[Say(OK), Say("Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"), Close])
        .is("closed inside the response body", Refused("closed inside the response body; the server or a proxy")),
    manner("chunked-1.0", "sends chunks in HTTP/1.0", "9112 6.1", &[Say("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"), Close])
        .is("200, 5 bytes, closed", Good),
    // Bodies where none may be.
    manner("head", "answers HEAD with a length and no body", "9110 9.3.2", &[Say(OK), Say("Content-Length: 5\r\n\r\n")])
        .asked(Request::Head).is("200, 0 bytes, kept", Kept),
    manner("head-body", "sends a body with HEAD", "9110 9.3.2", &[Say(HELLO)])
        .asked(Request::Head).is("200, 0 bytes, kept, 5 behind it", Finding("ER-03", "measure GET (-m GET)")),
    manner("204-length", "sends a length with 204, and no body", "9110 8.6", &[Say("HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n")])
        .is("204, 0 bytes, kept", Kept),
    manner("204-body", "sends a body with 204", "9112 6.3", &[Say("HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello")])
        .is("204, 0 bytes, kept, 5 behind it", Finding("ER-03", "a body with status 204")),
    manner("304-length", "sends a length with 304, and no body", "9110 8.6", &[Say("HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n")])
        .with(&["--expect", "status=304"]).is("304, 0 bytes, kept", Kept),
    manner("304-body", "sends a body with 304", "9112 6.3", &[Say("HTTP/1.1 304 Not Modified\r\n\r\n"), Later("hello")])
        .with(&["--expect", "status=304"]).is("304, 0 bytes, kept, 5 behind it", Finding("ER-03", "a body with status 304")),
    // Before the response.
    manner("100", "sends 100 first, unasked", "9110 15.2", &[Say("HTTP/1.1 100 Continue\r\n\r\n"), Say(HELLO)]),
    manner("103", "sends 103 first", "8297 2", &[Say("HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n"), Say(HELLO)]),
    manner("101", "switches protocols, unasked", "9110 15.2.2", &[Say("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n")])
        .is("the peer switched protocols unasked", Refused("measure a URL that answers without 101")),
    // Connections.
    manner("close", "says `Connection: close`, and closes", "9112 9.6", &[Say(OK), Say("Connection: close\r\nContent-Length: 5\r\n\r\nhello"), Close])
        .is("200, 5 bytes, closed", Good),
    manner("close-open", "says it, and stays open", "9112 9.6", &[Say(OK), Say("Connection: close\r\nContent-Length: 5\r\n\r\nhello")])
        .is("200, 5 bytes, closed", Good),
    manner("keep-1.0", "keeps the connection in HTTP/1.0", "9112 9.3", &[Say("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 5\r\n\r\nhello")]),
    manner("unannounced", "closes without saying so", "9112 9.6", &[Say(HELLO), Close])
        .is("200, 5 bytes, kept", Finding("ER-01", "measure with --no-keepalive")),
    manner("half-closed", "closes its side without saying so", "9112 9.6", &[Say(HELLO), EndWriting])
        .is("200, 5 bytes, kept", Finding("ER-01", "measure with --no-keepalive")),
    // Uploads.
    manner("early-close", "answers an upload with 413 and closes, unread", "9112 9.6", &[Say("HTTP/1.1 413 Content Too Large\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello"), Close])
        .early().with(&["--expect", "status=413"]).is("413, 5 bytes, closed", Good),
    manner("early", "answers an upload before it is whole, and reads on", "9112 9.3", &[Say(HELLO)])
        .early().is("200, 5 bytes, kept", GoodEither),
];

#[cfg(test)]
mod tests {
    use super::{MANNERS, Manner, Request, Step};
    use wire::http1::{Client, Expect, Limits, Progress, Received, Response};

    /// What the machine says of the bytes to one request, in reads of at most `read` bytes.
    fn machine(manner: &Manner, read: usize) -> String {
        let mut client = Client::new(Limits::default());
        client.request_sent(if manner.request == Request::Head { Expect::NoBody } else { Expect::Body });
        let bytes: Vec<u8> = manner.steps.iter().flat_map(|step| said(*step)).collect();
        let mut at = 0;
        while at < bytes.len() {
            let end = bytes.len().min(at + read);
            match client.receive(&bytes[at..end], &mut wire::http1::Ignore) {
                Ok(Received { consumed, response: None }) => at += consumed,
                Ok(Received { consumed, response: Some(response) }) => {
                    return complete(response, &bytes[at + consumed..]);
                }
                Err(error) => return error.to_string(),
            }
        }
        if !manner.steps.iter().any(|step| matches!(step, Step::Close | Step::EndWriting)) {
            let place = if client.progress() == Progress::Body { "body" } else { "head" };
            return format!("waits in the {place}");
        }
        match client.receive_eof() {
            Ok(response) => complete(response.expect("one is outstanding"), &[]),
            Err(error) => error.to_string(),
        }
    }

    fn said(step: Step) -> Vec<u8> {
        match step {
            Step::Say(text) | Step::Drip(text) | Step::Later(text) => text.into(),
            Step::Repeat(text, times) => text.repeat(times).into(),
            Step::EndWriting | Step::Close => Vec::new(),
        }
    }

    fn complete(response: Response, behind: &[u8]) -> String {
        let Response { status, body_bytes, keepalive, .. } = response;
        let behind = match behind.len() {
            _ if wire::http1::is_blank(behind) => String::new(),
            bytes => format!(", {bytes} behind it"),
        };
        format!("{status}, {body_bytes} bytes, {}{behind}", if keepalive { "kept" } else { "closed" })
    }

    #[test]
    fn the_machine_makes_of_each_what_the_table_says_in_any_reads() {
        for manner in &MANNERS {
            for read in [usize::MAX / 2, 1, 7] {
                assert_eq!(machine(manner, read), manner.machine, "{} in reads of {read}", manner.name);
            }
        }
    }

    #[test]
    fn names_are_unique() {
        let names: std::collections::BTreeSet<_> = MANNERS.iter().map(|manner| manner.name).collect();
        assert_eq!(names.len(), MANNERS.len());
    }
}
