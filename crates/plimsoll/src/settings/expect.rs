//! Response assertions: `--expect`, and the contract that follows from it and from the probe.

use crate::exit::CommandError;
use crate::typed::shown;
use model::{Body, Contract, Fetch, Probe, Redacted, Request, SizeBand};

/// Longest text that is looked for in a body.
const TEXT_MAX_BYTES: usize = 4096;

/// What `--expect` declares.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Expect {
    pub(crate) status: Option<u16>,
    pub(crate) size_bytes: Option<SizeBand>,
    /// Text that the body must hold.
    pub(crate) text: Option<String>,
    /// True if the body must be the one that the probe got.
    pub(crate) same_body: bool,
    /// True if an undeclared redirect is looked at and not refused, for a check that says where it leads. It is never good.
    pub(crate) takes_redirects: bool,
}

impl Expect {
    /// Reads `status=200,size=10..20,body~"TEXT",hash`, in any order.
    pub(crate) fn parse(text: &str) -> Result<Self, CommandError> {
        let example = "write for example status=200,size=1k..2k,body~\"</html>\",hash";
        let wrong = |why: &str| CommandError::usage(format!("--expect {:?}: {why}; {example}", shown(text)));
        let mut expect = Self::default();
        for part in split(text).map_err(wrong)? {
            expect.add(part.trim()).map_err(wrong)?;
        }
        Ok(expect)
    }

    fn add(&mut self, part: &str) -> Result<(), &'static str> {
        const TWICE: &str = "a part is given twice";
        let first = |is_new: bool| if is_new { Ok(()) } else { Err(TWICE) };
        if let Some(code) = part.strip_prefix("status=") {
            let code = code.parse().ok().filter(|code| (200..=599).contains(code));
            return first(self.status.replace(code.ok_or("a status is a number from 200 to 599")?).is_none());
        }
        if let Some(size) = part.strip_prefix("size=") {
            return first(self.size_bytes.replace(band(size).ok_or("a size is BYTES or MIN..MAX")?).is_none());
        }
        if let Some(text) = part.strip_prefix("body~") {
            return first(self.text.replace(unquote(text)?).is_none());
        }
        if part == "hash" {
            return first(!std::mem::replace(&mut self.same_body, true));
        }
        Err("known parts are status=, size=, body~ and hash")
    }

    /// What the response to `request` for `url` must be: as declared, else as the probe found it.
    pub(crate) fn contract(&self, probe: &Probe, request: &Request, url: &str) -> Result<Contract, CommandError> {
        let expected = self.unprobed(request);
        let declared = expected.declared;
        let found = probe.found().ok_or_else(|| CommandError::target("the target was not fetched"))?;
        let is_refused = match found.status {
            ..300 => false,
            300..400 => !self.takes_redirects,
            400.. => true,
        };
        if !declared && is_refused {
            return Err(CommandError::target(undeclared(probe, found, url)));
        }
        let status = expected.status.or_else(|| (found.status < 300).then_some(found.status));
        let seen = status == Some(found.status);
        let body_hash = match (self.same_body, seen) {
            (false, _) => None,
            (true, true) if probe.body == Body::Stable => Some(found.body_hash),
            (true, true) => {
                return Err(CommandError::usage(
                    "--expect hash: the body is another one at each fetch of the probe; \
                declare what stays the same, such as body~\"</html>\" or size=MIN..MAX",
                ));
            }
            (true, false) => {
                return Err(CommandError::usage(format!(
                    "--expect hash: the target answers {} to the probe, so there is no expected body to compare with",
                    found.status
                )));
            }
        };
        // What is filled in may be of another length each time, and so may the answer.
        let as_seen = seen && !request.template;
        let size_bytes = self.size_bytes.or_else(|| probe.size_band(found.status).filter(|_| as_seen));
        // One fetch says nothing of what the next has, and of what has no body there is nothing to compare.
        let is_usual = as_seen && body_hash.is_none() && probe.body == Body::Stable && probe.fetches.len() > 1;
        let usual_hash = (is_usual && found.size_bytes > 0).then_some(found.body_hash);
        Ok(Contract { status, size_bytes, body_hash, usual_hash, ..expected })
    }

    /// What the response to `request` must be, as far as it is declared.
    pub(crate) fn unprobed(&self, request: &Request) -> Contract {
        let status = self.status.or(request.contract.status);
        let declared = status.is_some();
        Contract {
            status,
            size_bytes: self.size_bytes,
            body_text: self.text.clone(),
            body_hash: None,
            usual_hash: None,
            declared,
        }
    }
}

/// Why an answer to the probe that is no page is not measured, with what to do.
fn undeclared(probe: &Probe, found: &Fetch, url: &str) -> String {
    let status = found.status;
    if let Some(first) = found.redirect() {
        let hops = [first].into_iter().chain(probe.redirects.iter().skip(1).map(String::as_str));
        let end = judge::redirected_to(url, hops).unwrap_or_else(|| first.to_owned());
        return format!(
            "the target answers {status}, a redirect to {}: measure that URL, or add --expect status={status} to measure the \
             redirect",
            Redacted::url(&end)
        );
    }
    let login = if status == 401 { "to log in, add --auth basic:file:PATH; " } else { "" };
    format!(
        "the target answers {status} to the probe; {login}if that is what you want to measure, add --expect status={status}"
    )
}

/// Splits at the commas that stand outside quotes.
fn split(text: &str) -> Result<Vec<&str>, &'static str> {
    let (mut parts, mut from, mut quoted, mut escaped) = (Vec::new(), 0, false, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            ',' if !quoted => {
                parts.push(&text[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[from..]);
    if quoted { Err("a quote is not closed") } else { Ok(parts) }
}

/// The text of `body~`: as it stands, or in quotes with `\"` and `\\` for the two that end or escape.
fn unquote(text: &str) -> Result<String, &'static str> {
    let plain = match text.strip_prefix('"') {
        None if text.contains('"') => return Err("a text with quotes in it is written in quotes, with \\\" for each"),
        None => text.to_owned(),
        Some(rest) => {
            let mut plain = String::new();
            let mut chars = rest.chars();
            loop {
                match chars.next() {
                    Some('"') => break,
                    Some('\\') => match chars.next() {
                        Some(c @ ('"' | '\\')) => plain.push(c),
                        _ => return Err("in quotes a backslash stands before \" or another backslash"),
                    },
                    Some(c) => plain.push(c),
                    None => return Err("a quote is not closed"),
                }
            }
            if chars.next().is_some() {
                return Err("something follows the closing quote");
            }
            plain
        }
    };
    match plain.len() {
        0 => Err("the text after body~ is empty"),
        1..=TEXT_MAX_BYTES => Ok(plain),
        _ => Err("the text after body~ has more than 4096 bytes"),
    }
}

fn band(text: &str) -> Option<SizeBand> {
    let size = |text: &str| text.parse::<model::ByteSize>().ok().map(|size| size.0);
    let (min, max) = match text.split_once("..") {
        Some((min, max)) => (size(min)?, size(max)?),
        None => (size(text)?, size(text)?),
    };
    (min <= max).then_some(SizeBand { min, max })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::exit::Exit;
    use model::Fetch;

    #[test]
    fn expectations_are_read() {
        let read = |text: &str| Expect::parse(text).unwrap();
        assert_eq!(read("status=404"), Expect { status: Some(404), ..Expect::default() });
        let size_bytes = Some(SizeBand { min: 10, max: 20 });
        assert_eq!(read("status=200, size=10..20"), Expect { status: Some(200), size_bytes, ..Expect::default() });
        let all = read(r#"hash,body~"a, \"b\" \\ size=1",size=10..20"#);
        assert_eq!(
            all,
            Expect {
                status: None,
                size_bytes,
                text: Some(r#"a, "b" \ size=1"#.into()),
                same_body: true,
                takes_redirects: false
            }
        );
        assert_eq!(read("body~</html>,status=200").text.as_deref(), Some("</html>"));
        assert_eq!(read("body~a=b~c").text.as_deref(), Some("a=b~c"));
    }

    #[test]
    fn expectations_that_are_none_are_refused() {
        for text in [
            "",
            "status",
            "status=99",
            "status=x",
            "size=20..10",
            "colour=red",
            "body~",
            "body~\"\"",
            "body~\"a",
            "body~\"a\"b",
            "body~a\"b",
            "body~\"\\n\"",
            "hash=1",
            "hash,hash",
            "status=200,status=200",
            "body~a,body~b",
            "status=200,",
        ] {
            assert!(Expect::parse(text).unwrap_err().message.starts_with("--expect"), "{text}");
        }
        assert!(Expect::parse(&format!("body~{}", "x".repeat(4097))).is_err());
    }

    pub(crate) fn probe(status: u16, body: Body) -> Probe {
        let fetch = Fetch {
            status,
            size_bytes: 64,
            content_type: None,
            server: None,
            location: None,
            received_bytes: 0,
            surplus_bytes: 0,
            cached: None,
            body_hash: 7,
            keepalive: true,
            connect_ns: 0,
            response_ns: 0,
        };
        Probe { fetches: vec![fetch], body, redirects: Vec::new(), compressed: None, sent: None, again: 0 }
    }

    #[test]
    fn a_2xx_becomes_the_contract() {
        let c = Expect::default().contract(&probe(200, Body::Stable), &Request::get("/"), "http://h/").unwrap();
        let size_bytes = Some(SizeBand { min: 64, max: 64 });
        assert_eq!(c, Contract { status: Some(200), size_bytes, ..Contract::default() });
        let c = Expect::default().contract(&probe(200, Body::ChangingSize), &Request::get("/"), "http://h/").unwrap();
        assert_eq!(c.size_bytes, Some(SizeBand { min: 57, max: 71 }));
    }

    #[test]
    fn bodies_that_were_alike_in_several_fetches_are_what_is_usual() {
        let several = |body| {
            let mut seen = probe(200, body);
            seen.fetches.push(seen.fetches[0].clone());
            seen
        };
        let usual = |probe: &Probe, request: &Request| {
            Expect::default().contract(probe, request, "http://h/").unwrap().usual_hash
        };
        let page = Request::get("/");
        assert_eq!(usual(&several(Body::Stable), &page), Some(7));
        assert_eq!(usual(&several(Body::ChangingBytes), &page), None, "tokens and times differ from the start");
        assert_eq!(usual(&probe(200, Body::Stable), &page), None, "one fetch says nothing");
        assert_eq!(usual(&several(Body::Stable), &Request { template: true, ..Request::get("/") }), None);
        let hash = Expect { same_body: true, ..Expect::default() };
        assert_eq!(
            hash.contract(&several(Body::Stable), &page, "http://h/").unwrap().usual_hash,
            None,
            "it is asked for"
        );
    }

    #[test]
    fn an_undeclared_redirect_was_loaded_for_the_whole_window_and_invalid_then() {
        let mut seen = probe(301, Body::Stable);
        seen.fetches[0].location = Some("/home".into());
        seen.redirects = vec!["/home".into(), "/home/?token=s3cret".into()];
        let error = Expect::default().contract(&seen, &Request::get("/"), "http://h:8080/").unwrap_err();
        assert_eq!(error.exit, Exit::Target);
        assert_eq!(
            error.message,
            "the target answers 301, a redirect to http://h:8080/home/?token=<redacted>: measure that URL, or add --expect \
             status=301 to measure the redirect"
        );
        let expect = Expect { status: Some(301), ..Expect::default() };
        assert_eq!(expect.contract(&seen, &Request::get("/"), "http://h:8080/").unwrap().status, Some(301));
        let check = Expect { takes_redirects: true, ..Expect::default() };
        assert_eq!(
            check.contract(&seen, &Request::get("/"), "http://h:8080/").unwrap().status,
            None,
            "it is never good"
        );
        let bare = Expect::default().contract(&probe(304, Body::Stable), &Request::get("/"), "http://h/").unwrap_err();
        assert!(bare.message.contains("answers 304 to the probe"), "{}", bare.message);
    }

    #[test]
    fn an_error_at_the_probe_must_be_declared() {
        let error = Expect::default().contract(&probe(404, Body::Stable), &Request::get("/"), "http://h/").unwrap_err();
        assert_eq!(error.exit, Exit::Target);
        assert!(error.message.contains("--expect status=404") && !error.message.contains("--auth"));
        let error = Expect::default().contract(&probe(401, Body::Stable), &Request::get("/"), "http://h/").unwrap_err();
        assert!(error.message.contains("--auth basic:file:PATH"), "{}", error.message);
        let expect = Expect { status: Some(404), ..Expect::default() };
        assert_eq!(
            expect.contract(&probe(404, Body::Stable), &Request::get("/"), "http://h/").unwrap().status,
            Some(404)
        );
    }

    #[test]
    fn a_hash_needs_a_body_that_stays() {
        let expect = Expect { same_body: true, ..Expect::default() };
        assert_eq!(
            expect.contract(&probe(200, Body::Stable), &Request::get("/"), "http://h/").unwrap().body_hash,
            Some(7)
        );
        for body in [Body::ChangingBytes, Body::ChangingSize] {
            let error = expect.contract(&probe(200, body), &Request::get("/"), "http://h/").unwrap_err();
            assert_eq!(error.exit, Exit::Usage);
            assert!(error.message.contains("--expect hash") && error.message.contains("body~"));
        }
        let other = Expect { status: Some(404), ..expect };
        assert!(
            other
                .contract(&probe(200, Body::Stable), &Request::get("/"), "http://h/")
                .unwrap_err()
                .message
                .contains("answers 200")
        );
    }
}
