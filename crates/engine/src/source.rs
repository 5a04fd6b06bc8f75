//! Request source: which request goes out as number n, and its bytes. Pure functions of number, seed and plan, so
//! that a request that was sent in part can be written once more.

mod template;

use model::{Contract, Numbering, Plan, Protocol, Request};
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
pub use template::TemplateError;
use template::{Filling, LENGTH_FIELD, Text};
use wire::http1::{Expect, Limits, write_request};
use wire::{ClientProtocol, fastcgi, http1};

/// 2^64 divided by the golden ratio: multiples of it, modulo 2^64, are spread evenly whatever their number.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// To whom requests are written, and how.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style<'a> {
    pub(crate) protocol: Protocol,
    /// Host, and port if it is not the default one.
    pub(crate) authority: &'a str,
    /// True if a connection serves more than one request.
    pub(crate) keepalive: bool,
    /// Requests that a connection carries at a time.
    pub(crate) streams: u32,
}

impl<'a> Style<'a> {
    pub(crate) fn of(plan: &'a Plan) -> Self {
        let Plan { target, keepalive, pipeline, .. } = plan;
        Self { protocol: target.protocol, authority: &target.authority, keepalive: *keepalive, streams: *pipeline }
    }

    /// The machine of a new connection.
    pub(crate) fn machine(self, limits: Limits) -> ClientProtocol {
        match self.protocol {
            Protocol::Http1 => ClientProtocol::Http1(http1::Client::new(limits)),
            Protocol::FastCgi => ClientProtocol::FastCgi(fastcgi::Client::new(limits, self.keepalive, self.streams)),
        }
    }

    /// The bytes of a request.
    pub(crate) fn write(self, out: &mut Vec<u8>, request: &Request, headers: &[(String, String)], body: &[u8]) {
        let Self { authority, keepalive, .. } = self;
        let Request { method, path, .. } = request;
        match self.protocol {
            Protocol::Http1 => write_request(out, method, path, authority, headers, keepalive, body),
            Protocol::FastCgi => {
                let script = path.split('?').next().unwrap_or_default();
                let request = fastcgi::Request { method, path, authority, headers, keepalive, body, script };
                fastcgi::write_request(out, &request);
            }
        }
    }
}

/// The requests of a load.
pub(crate) struct Source {
    items: Box<[Item]>,
    /// Sums of the weights up to each item.
    weights: Box<[u64]>,
    numbering: Numbering,
    seed: u64,
    protocol: Protocol,
    keepalive: bool,
    streams: u32,
}

/// One of them.
struct Item {
    form: Form,
    expect: Expect,
    contract: Contract,
}

enum Form {
    /// The same bytes each time.
    Fixed(Box<[u8]>),
    /// Head and body with fields to fill in.
    Template { head: Text, body: Text },
}

/// Memory for requests that are put together again each time.
#[derive(Default)]
pub(crate) struct Scratch {
    request: Vec<u8>,
    body: Vec<u8>,
}

/// True if the fields in `request` can be filled in.
///
/// # Errors
/// The first field that cannot.
pub fn check(request: &Request) -> Result<(), TemplateError> {
    Item::new(request, Style { protocol: Protocol::Http1, authority: "host", keepalive: true, streams: 1 }).map(drop)
}

impl Source {
    /// The requests of `plan`.
    ///
    /// # Errors
    /// If a field of a template is unknown; see [`check`].
    pub(crate) fn new(plan: &Plan) -> Result<Self, TemplateError> {
        Self::of(&plan.requests, Style::of(plan), plan.numbering.clone(), plan.seed)
    }

    /// `requests`, written in a style.
    ///
    /// # Errors
    /// If a field of a template is unknown; see [`check`].
    pub(crate) fn of(
        requests: &[Request],
        style: Style<'_>,
        numbering: Numbering,
        seed: u64,
    ) -> Result<Self, TemplateError> {
        let items = requests.iter().map(|request| Item::new(request, style));
        let weights = requests.iter().scan(0, |sum, request| {
            *sum += u64::from(request.weight);
            Some(*sum)
        });
        let Style { protocol, keepalive, streams, .. } = style;
        let (items, weights) = (items.collect::<Result<_, _>>()?, weights.collect());
        Ok(Self { items, weights, numbering, seed, protocol, keepalive, streams })
    }

    /// The protocol machine of a new connection.
    pub(crate) fn machine(&self) -> ClientProtocol {
        let Self { protocol, keepalive, streams, .. } = *self;
        Style { protocol, authority: "", keepalive, streams }.machine(Limits::default())
    }

    /// How many requests there are to choose from.
    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    /// Which request goes out as number `number`: evenly spread, each as often as its weight says.
    #[inline]
    pub(crate) fn pick(&self, number: u64) -> usize {
        if self.items.len() == 1 {
            return 0;
        }
        let total = self.weights.last().copied().unwrap_or_default();
        let spread = self.seed.wrapping_add(number.wrapping_mul(GOLDEN));
        let place = (u128::from(spread) * u128::from(total)) >> 64;
        self.weights.partition_point(|&sum| u128::from(sum) <= place)
    }

    /// The bytes of request `item` as number `number`.
    #[inline]
    pub(crate) fn bytes<'a>(&'a self, item: usize, number: u64, scratch: &'a mut Scratch) -> &'a [u8] {
        match &self.items[item].form {
            Form::Fixed(bytes) => bytes,
            Form::Template { head, body } => {
                self.fill(head, body, number, scratch);
                &scratch.request
            }
        }
    }

    fn fill(&self, head: &Text, body: &Text, number: u64, scratch: &mut Scratch) {
        let number = self.numbering.first.wrapping_add(number);
        let rng = Xoshiro256PlusPlus::seed_from_u64(self.seed ^ number.wrapping_mul(GOLDEN));
        let mut filling = Filling { number, token: &self.numbering.token, rng, body_bytes: 0 };
        scratch.body.clear();
        body.fill(&mut scratch.body, &mut filling);
        filling.body_bytes = scratch.body.len();
        scratch.request.clear();
        head.fill(&mut scratch.request, &mut filling);
        scratch.request.extend_from_slice(&scratch.body);
    }

    #[inline]
    pub(crate) fn expect(&self, item: usize) -> Expect {
        self.items[item].expect
    }

    #[inline]
    pub(crate) fn contract(&self, item: usize) -> &Contract {
        &self.items[item].contract
    }
}

impl Item {
    fn new(request: &Request, style: Style<'_>) -> Result<Self, TemplateError> {
        let expect = if request.method == "HEAD" { Expect::NoBody } else { Expect::Body };
        let render = |headers: &[(String, String)], body: &[u8]| {
            let mut bytes = Vec::new();
            style.write(&mut bytes, request, headers, body);
            bytes
        };
        let form = if request.template {
            let mut headers = request.headers.clone();
            if !request.body.is_empty() {
                headers.push(("Content-Length".into(), format!("{{{{{LENGTH_FIELD}}}}}")));
            }
            Form::Template { head: Text::parse(&render(&headers, &[]))?, body: Text::parse(&request.body)? }
        } else {
            Form::Fixed(render(&request.headers, &request.body).into())
        };
        Ok(Self { form, expect, contract: request.contract.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(method: &str, path: &str, body: &str, weight: u32) -> Request {
        Request {
            method: method.into(),
            path: path.into(),
            headers: vec![("X-Id".into(), "{{uuid}}".into())],
            body_bytes: body.len() as u64,
            body: body.into(),
            weight,
            template: true,
            contract: Contract::default(),
        }
    }

    fn source(requests: &[Request], seed: u64) -> Source {
        let numbering = Numbering { first: 40, token: "tok".into() };
        let style = Style { protocol: Protocol::Http1, authority: "h", keepalive: true, streams: 1 };
        Source::of(requests, style, numbering, seed).unwrap()
    }

    fn text(source: &Source, number: u64) -> String {
        let bytes = source.bytes(source.pick(number), number, &mut Scratch::default()).to_vec();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn fields_are_filled_in_and_the_length_is_that_of_the_filled_body() {
        let source = source(&[request("POST", "/p/{{counter}}", "id={{counter:1000}}&r={{random:12}}", 1)], 1);
        let (one, other) = (text(&source, 2), text(&source, 999_999));
        assert!(one.starts_with("POST /p/42 HTTP/1.1\r\n"), "{one}");
        for text in [&one, &other] {
            let (head, body) = text.split_once("\r\n\r\n").unwrap();
            assert!(head.contains(&format!("Content-Length: {}", body.len())), "{text}");
            assert!(!text.contains('{'), "{text}");
        }
        assert!(one.contains("id=1042&r="), "{one}");
        assert_eq!(one, text(&source, 2), "the same number gives the same bytes");
        assert_ne!(one, text(&self::source(&[request("POST", "/p/{{counter}}", "{{random:12}}", 1)], 2), 2));
    }

    #[test]
    fn a_request_that_is_no_template_keeps_its_braces() {
        let mut plain = request("GET", "/{{counter}}", "", 1);
        plain.template = false;
        assert!(text(&source(&[plain], 1), 7).starts_with("GET /{{counter}} HTTP/1.1"));
    }

    #[test]
    fn a_mix_has_the_shares_of_its_weights_in_every_thread() {
        let source =
            source(&[request("GET", "/a", "", 7), request("GET", "/b", "", 2), request("GET", "/c", "", 1)], 9);
        for (first, step) in [(0, 1), (1, 3), (5, 7)] {
            let mut seen = [0_u32; 3];
            for k in 0..10_000 {
                seen[source.pick(first + k * step)] += 1;
            }
            for (n, expected) in seen.into_iter().zip([7_000_u32, 2_000, 1_000]) {
                assert!(n.abs_diff(expected) <= 20, "{seen:?} of every {step}");
            }
        }
    }

    #[test]
    fn an_unknown_field_is_named() {
        let error = check(&request("GET", "/x?{{nope}}", "", 1)).unwrap_err().to_string();
        assert!(error.contains("{{nope}}") && error.contains("counter"), "{error}");
    }
}
