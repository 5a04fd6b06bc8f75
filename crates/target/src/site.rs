//! Site of the page that sends a request, as its browser tells it: any page that a user of this machine opens can have the
//! browser send requests to the server, though it reads no answer.

/// Longest Origin header that is kept: a scheme, a name of 253 bytes and a port; bytes.
const ORIGIN_MAX_BYTES: usize = 280;

/// What the head of a request tells of its page. Programs that are no browsers tell nothing.
#[derive(Debug, Default)]
pub(super) struct Site {
    /// The Origin header; empty without one.
    origin: String,
    /// It is of another origin, whatever the server is called.
    is_foreign: bool,
}

impl Site {
    /// There is an Origin header.
    pub(super) fn origin(&mut self, value: &[u8]) {
        match str::from_utf8(value) {
            Ok(text) if text.len() <= ORIGIN_MAX_BYTES && self.origin.is_empty() => self.origin.push_str(text),
            // One that is no text, that is too long or that has another is nobody's own.
            _ => self.is_foreign = true,
        }
    }

    /// There is a Sec-Fetch-Site header. Other ports of a host are the same site, and have other users' servers.
    pub(super) fn fetched(&mut self, value: &[u8]) {
        self.is_foreign |= !matches!(value, b"same-origin" | b"none");
    }

    /// True if the page is not of the server that the request is for, by its Host header.
    pub(super) fn is_foreign(&self, host: &str) -> bool {
        let is_own = || {
            let authority = ["http://", "https://"].iter().find_map(|scheme| self.origin.strip_prefix(scheme));
            authority.is_some_and(|authority| authority.eq_ignore_ascii_case(host))
        };
        self.is_foreign || !self.origin.is_empty() && !is_own()
    }

    /// Is ready for the next request.
    pub(super) fn forget(&mut self) {
        self.origin.clear();
        self.is_foreign = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_foreign(origin: Option<&str>, fetched: Option<&str>) -> bool {
        let mut site = Site::default();
        origin.into_iter().for_each(|value| site.origin(value.as_bytes()));
        fetched.into_iter().for_each(|value| site.fetched(value.as_bytes()));
        site.is_foreign("Target.test:8080")
    }

    #[test]
    fn a_page_is_known_by_its_origin_and_by_what_its_browser_says() {
        let own = Some("http://target.test:8080");
        for (origin, fetched) in
            [(None, None), (own, None), (None, Some("same-origin")), (None, Some("none")), (own, Some("same-origin"))]
        {
            assert!(!is_foreign(origin, fetched), "{origin:?} {fetched:?}");
        }
        let long = "x".repeat(ORIGIN_MAX_BYTES + 1);
        for origin in
            ["http://evil.test", "http://target.test", "http://target.test:80801", "null", "target.test:8080", &long]
        {
            assert!(is_foreign(Some(origin), None) && is_foreign(Some(origin), Some("none")), "{origin}");
        }
        for fetched in ["cross-site", "same-site", "", "SAME-ORIGIN"] {
            assert!(is_foreign(None, Some(fetched)) && is_foreign(own, Some(fetched)), "{fetched}");
        }
    }

    #[test]
    fn each_request_tells_of_its_own_page_and_two_origins_are_nobody_s() {
        let mut site = Site::default();
        site.origin(b"http://evil.test");
        site.fetched(b"cross-site");
        site.forget();
        assert!(!site.is_foreign("target.test"));
        site.origin(b"http://target.test");
        assert!(!site.is_foreign("target.test"));
        site.origin(b"http://target.test");
        assert!(site.is_foreign("target.test"));
    }
}
