//! The contract: requests, and what has to come back.

use crate::shared::Answer;

/// A request and what it has to bring.
pub(crate) struct Row {
    request: Request,
    pub(crate) expected: Expected,
    /// Why nginx answers otherwise, and how.
    pub(crate) on_nginx: Option<(&'static str, Expected)>,
}

enum Request {
    /// Method, target, and header lines with the body.
    Plain(&'static str, &'static str, String),
    /// As it is.
    Raw(&'static str),
}

/// What has to hold for an answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Expected {
    pub(crate) status: u16,
    content_type: &'static str,
    /// Bytes of the body.
    size: Option<u64>,
    chunked: bool,
    body: Body,
    header: Option<(&'static str, &'static str)>,
}

#[derive(Clone, Debug, PartialEq)]
enum Body {
    Any,
    Zeros,
    Pattern,
    Is(&'static str),
    /// Both.
    Has(&'static str, &'static str),
    /// JSON that names the parameter and has a reason and an example.
    Refuses(&'static str),
}

const OK: Expected =
    Expected { status: 200, content_type: "text/plain", size: None, chunked: false, body: Body::Any, header: None };

/// Most of a body that is looked at as text.
const SHOWN_BYTES: usize = 8 * 1024;
const NGINX_OWN_PAGE: &str = "nginx refuses it before any handler runs, with an HTML page of its own";
const SEED: &str = "nginx takes its random bytes from the kernel and has no seed";
const NO_FAULTS: &str = "the site on nginx is the reference for what is good and has no faults";

impl Row {
    /// What is asked, for people.
    pub(crate) fn name(&self) -> String {
        match &self.request {
            Request::Plain(method, target, _) => format!("{method} {target}"),
            Request::Raw(text) => format!("{:?}", &text[..text.len().min(60)]),
        }
    }

    /// What is sent.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        match &self.request {
            Request::Plain(method, target, rest) => {
                let end = if rest.is_empty() { "\r\n" } else { rest };
                format!("{method} {target} HTTP/1.1\r\nHost: shop.example:81\r\nConnection: close\r\n{end}")
                    .into_bytes()
            }
            Request::Raw(text) => text.as_bytes().to_vec(),
        }
    }

    fn differs(self, why: &'static str, expected: Expected) -> Self {
        Self { on_nginx: Some((why, expected)), ..self }
    }
}

impl Expected {
    #[track_caller]
    pub(crate) fn check(&self, answer: &Answer, name: &str) {
        let text = String::from_utf8_lossy(&answer.body[..answer.body.len().min(SHOWN_BYTES)]).into_owned();
        assert_eq!(answer.status, self.status, "{name}: {}\n{text}", answer.head);
        let head = &answer.head;
        let content_type = answer.header("content-type").unwrap_or_default();
        assert_eq!(content_type.split(';').next(), Some(self.content_type), "{name}: {head}");
        assert_eq!(answer.is_chunked(), self.chunked, "{name}: {head}");
        if let Some(size) = self.size {
            assert_eq!(answer.body.len() as u64, size, "{name}: {head}");
        }
        let declared = answer.header("content-length").map(|length| length.parse::<u64>().expect("a number"));
        if !self.chunked && !name.starts_with("HEAD ") && !matches!(self.status, 204 | 304) {
            assert_eq!(declared, Some(answer.body.len() as u64), "{name}: {head}");
        }
        if let Some((header, value)) = self.header {
            assert_eq!(answer.header(header), Some(value), "{name}: {head}");
        }
        let holds = match self.body {
            Body::Any => true,
            Body::Zeros => answer.body.iter().all(|byte| *byte == 0),
            Body::Pattern => answer.body.iter().eq(b"0123456789abcdef".iter().cycle().take(answer.body.len())),
            Body::Is(expected) => text == expected,
            Body::Has(one, other) => text.contains(one) && text.contains(other),
            Body::Refuses(parameter) => refuses(&answer.body, parameter),
        };
        assert!(holds, "{name}: {:?} is not in {head}\n{text}", self.body);
    }
}

fn refuses(body: &[u8], parameter: &str) -> bool {
    let Ok(said) = serde_json::from_slice::<serde_json::Value>(body) else { return false };
    let text = |key: &str| said[key].as_str().unwrap_or_default();
    !text("error").is_empty() && text("parameter") == parameter && text("example").starts_with('/')
}

/// All of the contract.
pub(crate) fn rows() -> Vec<Row> {
    [bodies(), times(), uploads(), pages(), bad_parameters(), bad_requests(), beyond_nginx()]
        .into_iter()
        .flatten()
        .collect()
}

fn row(method: &'static str, target: &'static str, rest: &str, expected: Expected) -> Row {
    Row { request: Request::Plain(method, target, rest.into()), expected, on_nginx: None }
}

fn get(target: &'static str, expected: Expected) -> Row {
    row("GET", target, "", expected)
}

fn post(target: &'static str, body: &str, expected: Expected) -> Row {
    row("POST", target, &format!("Content-Length: {}\r\n\r\n{body}", body.len()), expected)
}

fn binary(size: u64, body: Body) -> Expected {
    Expected { content_type: "application/octet-stream", size: Some(size), body, ..OK }
}

fn chunks(size: u64, body: Body) -> Expected {
    Expected { chunked: true, ..binary(size, body) }
}

fn text(body: &'static str) -> Expected {
    Expected { body: Body::Is(body), ..OK }
}

fn json(status: u16, body: Body) -> Expected {
    Expected { status, content_type: "application/json", body, ..OK }
}

fn html(status: u16) -> Expected {
    Expected { status, content_type: "text/html", ..OK }
}

/// Exact sizes; the seed sent a 22-byte report instead of random bytes, and rounded downloads up to whole chunks.
fn bodies() -> Vec<Row> {
    use Body::{Any, Pattern, Zeros};
    vec![
        get("/zero", binary(2048, Zeros)),
        get("/zero?size=0", binary(0, Any)),
        get("/zero?size=1", binary(1, Zeros)),
        get("/zero?size=8193", binary(8193, Zeros)),
        get("/zero?size=1000000", binary(1_000_000, Zeros)),
        get("/zero?size=64KiB", binary(65_536, Zeros)),
        get("/zero?size=%36%34", binary(64, Zeros)),
        get("/zero?cache=1&size=5", binary(5, Zeros)),
        get("/urandom", binary(2048, Any)),
        get("/urandom?size=2048", binary(2048, Any)),
        get("/urandom?size=65537", binary(65_537, Any)),
        get("/download", binary(20_480, Zeros)),
        get("/download?size=1", binary(1, Zeros)),
        get("/download?size=5000", binary(5000, Zeros)),
        get("/download?size=300001", binary(300_001, Zeros)),
        get("/download?size=10&chunk_size=3", chunks(10, Zeros)),
        get("/download?chunk_size=100", chunks(1000, Zeros)),
        get("/download?size=300001&chunk_size=64KiB", chunks(300_001, Zeros)),
        get("/bytes/0", binary(0, Any)),
        get("/bytes/100000", binary(100_000, Pattern)),
        get("/bytes/1.5KiB", binary(1536, Pattern)),
        get("/bytes/100000?chunked", chunks(100_000, Pattern)),
        get("/bytes/10?chunked=no", binary(10, Pattern)),
        row(
            "HEAD",
            "/zero?size=1GiB",
            "",
            Expected { header: Some(("content-length", "1073741824")), ..binary(0, Any) },
        ),
        row("HEAD", "/urandom?size=5", "", Expected { header: Some(("content-length", "5")), ..binary(0, Any) }),
        post("/zero?size=3", "a body nobody asked for", binary(3, Zeros)),
    ]
}

fn times() -> Vec<Row> {
    vec![
        get("/sleep?time=0", text("slept\n")),
        get("/sleep?time=5ms", text("slept\n")),
        get("/sleep?time=0.01", text("slept\n")),
        get("/sleep?dist=exp&mean=1ms", text("slept\n")),
        get("/sleep?dist=uniform&min=1ms&max=2ms", text("slept\n")),
        get("/sleep?dist=lognormal&mean=1ms&sigma=0.5", text("slept\n")),
        get("/cpu?us=1000", text("burned\n")),
    ]
}

/// The seed never read a body.
fn uploads() -> Vec<Row> {
    let nine = Body::Is("{\"received_bytes\":9,\"crc32\":\"cbf43926\"}\n");
    let chunked = "Transfer-Encoding: chunked\r\n\r\n4\r\n1234\r\n5\r\n56789\r\n0\r\n\r\n";
    let three_million = "0123456789".repeat(300_000);
    vec![
        post("/upload", "123456789", json(200, nine.clone())),
        post("/upload?expect=9", "123456789", json(200, nine.clone())),
        post("/upload?expect=8", "123456789", json(400, Body::Refuses("expect"))),
        post("/upload?expect=1MiB", "", json(400, Body::Refuses("expect"))),
        row("PUT", "/upload?expect=9", chunked, json(200, nine)),
        row("PUT", "/upload?expect=10", chunked, json(400, Body::Refuses("expect"))),
        get("/upload", json(200, Body::Is("{\"received_bytes\":0,\"crc32\":\"00000000\"}\n"))),
        post("/upload?expect=3MB", &three_million, json(200, Body::Has("\"received_bytes\":3000000,", "\"crc32\":\""))),
    ]
}

fn pages() -> Vec<Row> {
    let page = || {
        let body = Body::Has("<!DOCTYPE html>", "");
        Expected { body, ..html(200) }
    };
    vec![
        get("/", page()),
        get("/index.html", page()),
        get("/?x=1", page()),
        get("/status/200", text("status 200\n")),
        get("/status/404", Expected { status: 404, ..text("status 404\n") }),
        get("/status/503", Expected { status: 503, ..text("status 503\n") }),
        get("/status/204", Expected { status: 204, content_type: "", size: Some(0), ..OK }),
        get("/nothing", json(404, Body::Any)),
        get("/urandomxyz", json(404, Body::Any)),
        get("//", json(404, Body::Any)),
        row(
            "DELETE",
            "/zero",
            "",
            Expected { header: Some(("allow", "GET, HEAD, POST, PUT")), ..json(405, Body::Any) },
        ),
        post("/", "x", Expected { header: Some(("allow", "GET, HEAD")), ..json(405, Body::Any) }),
    ]
}

/// What the seed answered with a 500, a dead worker or an endless loop.
fn bad_parameters() -> Vec<Row> {
    [
        ("/zero?size=abc", "size"),
        ("/zero?size", "size"),
        ("/zero?size=", "size"),
        ("/zero?size=1&size=2", "size"),
        ("/zero?size=-1", "size"),
        ("/zero?size=3000000000", "size"),
        ("/zero?size=99999999999999999999", "size"),
        ("/zero?size=inf", "size"),
        ("/zero?size=nan", "size"),
        ("/zero?size=0x10", "size"),
        ("/zero?size=1e6", "size"),
        ("/zero?size=2.7", "size"),
        ("/zero?size=1.2.3", "size"),
        ("/zero?size=%00", "size"),
        ("/urandom?size=abc", "size"),
        ("/urandom?size=-1", "size"),
        ("/urandom?size=3000000000", "size"),
        ("/download?size=-5", "size"),
        ("/download?size=2GiB", "size"),
        ("/download?chunk_size=0", "chunk_size"),
        ("/download?chunk_size=-1", "chunk_size"),
        ("/download?chunk_size=abc", "chunk_size"),
        ("/download?chunk_size=65537", "chunk_size"),
        ("/sleep?time=abc", "time"),
        ("/sleep?time=-1", "time"),
        ("/sleep?time=", "time"),
        ("/sleep?time=61s", "time"),
        ("/sleep?time=1ms&time=2ms", "time"),
        ("/sleep?time=1ms&dist=exp&mean=1ms", "time"),
        ("/sleep?dist=normal", "dist"),
        ("/sleep?dist=exp", "mean"),
        ("/sleep?dist=exp&mean=2m", "mean"),
        ("/sleep?dist=uniform&min=1ms", "max"),
        ("/sleep?dist=uniform&min=2ms&max=1ms", "min"),
        ("/sleep?dist=lognormal&mean=1ms", "sigma"),
        ("/sleep?dist=lognormal&mean=1ms&sigma=4", "sigma"),
        ("/cpu", "us"),
        ("/cpu?us=1.5", "us"),
        ("/cpu?us=11M", "us"),
        ("/bytes/", "SIZE"),
        ("/bytes/x", "SIZE"),
        ("/bytes/2GiB", "SIZE"),
        ("/bytes/1?chunked=perhaps", "chunked"),
        ("/status/99", "CODE"),
        ("/status/600", "CODE"),
        ("/upload?expect=few", "expect"),
    ]
    .into_iter()
    .map(|(target, parameter)| get(target, json(400, Body::Refuses(parameter))))
    .collect()
}

/// What is no request.
fn bad_requests() -> Vec<Row> {
    let raw = |text, status| {
        let row = Row { request: Request::Raw(text), expected: json(status, Body::Any), on_nginx: None };
        row.differs(NGINX_OWN_PAGE, html(status))
    };
    vec![
        raw("GET /zero HTTP/1.1\r\n\r\n", 400),
        raw("POST /upload HTTP/1.1\r\nHost: t\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        raw("POST /upload HTTP/1.1\r\nHost: t\r\nContent-Length: x\r\n\r\n", 400),
        raw("POST /upload HTTP/1.1\r\nHost: t\r\nContent-Length: 99999999999\r\n\r\n", 413),
        raw("POST /upload HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: gzip\r\n\r\n", 501),
        raw("GET /zero HTTP/3.0\r\nHost: t\r\n\r\n", 505),
        raw("\0\0\0\0\r\n\r\n", 400),
    ]
}

/// What only one of the two can do.
fn beyond_nginx() -> Vec<Row> {
    let page = Body::Has("curl -i 'http://shop.example:81/", "<form action=");
    let no_form = Expected { body: Body::Has("curl -i 'http://shop.example:81/", ""), ..html(200) };
    vec![
        get("/", Expected { body: page, ..html(200) }).differs("the page on nginx has commands and no forms", no_form),
        get("/urandom?seed=-1", json(400, Body::Refuses("seed"))).differs(SEED, binary(2048, Body::Any)),
        get("/urandom?size=4&seed=1", binary(4, Body::Any)),
        get("/zero?size=100&fault=wrong-size", binary(50, Body::Zeros)).differs(NO_FAULTS, binary(100, Body::Zeros)),
        get("/zero?size=1&fault=explode", json(400, Body::Refuses("fault"))).differs(NO_FAULTS, binary(1, Body::Zeros)),
        get("/zero?size=1&first_byte=2m", json(400, Body::Refuses("first_byte")))
            .differs(NO_FAULTS, binary(1, Body::Zeros)),
        get("/zero?size=9&body_rate=0", json(400, Body::Refuses("body_rate")))
            .differs(NO_FAULTS, binary(9, Body::Zeros)),
        get("/stats", json(200, Body::Has("{\"workers\":[", "\"body_bytes\":")))
            .differs("the site on nginx has no counters", json(404, Body::Any)),
        get("/a/../zero?size=7", json(404, Body::Any))
            .differs("nginx resolves the dots before it looks for a handler", binary(7, Body::Zeros)),
        get("/z%65ro?size=7", json(404, Body::Any))
            .differs("nginx decodes a path before it looks for a handler", binary(7, Body::Zeros)),
    ]
}
