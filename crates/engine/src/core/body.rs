//! Assertions on body content, checked in every k-th response, so that the others cost nothing.
//!
//! k is prime, so that it never falls into step with a fault at even intervals.

use crate::fnv::Fnv1a;
use crate::source::Source;
use memchr::memmem::Finder;
use model::{Contract, FailureKind};
use wire::http1::ResponseSink;

/// What the contracts of a source ask of the content of bodies, request by request; empty when none asks.
pub(super) struct BodyChecks(Box<[Option<BodyCheck>]>);

impl BodyChecks {
    pub(super) fn new(source: &Source) -> Self {
        let checks: Box<[_]> = (0..source.len()).map(|item| BodyCheck::new(source.contract(item))).collect();
        Self(if checks.iter().all(Option::is_none) { Box::default() } else { checks })
    }

    /// A response to request `item` of the source is the next to come: decides whether its body is checked.
    #[inline]
    pub(super) fn begin(&mut self, look: &mut Look, item: Option<u32>) {
        if self.0.is_empty() {
            return;
        }
        look.on = false;
        if let Some(Some(check)) = item.and_then(|item| self.0.get_mut(item as usize)) {
            check.begin(look);
        }
    }

    /// The check of that response, if its body is checked.
    #[inline]
    pub(super) fn of(&self, look: &Look, item: Option<u32>) -> Option<&BodyCheck> {
        if !look.on {
            return None;
        }
        self.0.get(item? as usize)?.as_ref()
    }
}

/// What the contract asks of the content of a body.
pub(crate) struct BodyCheck {
    text: Option<Finder<'static>>,
    hash: Option<u64>,
    /// What the body usually is; another one breaks nothing.
    usual: Option<u64>,
    /// One in so many is looked at.
    every: u64,
    /// Requests until the next one that is looked at; 0: the next.
    skip: u64,
}

/// What was seen of the body of one response.
#[derive(Default)]
pub(crate) struct Look {
    on: bool,
    found: bool,
    hash: Fnv1a,
    /// The last bytes so far, one less than the text has: it may begin in one read and end in another. Grows to
    /// at most twice that, once a connection.
    tail: Vec<u8>,
}

impl BodyCheck {
    /// None when nothing is known of any content.
    pub(crate) fn new(contract: &Contract) -> Option<Self> {
        let text = contract.body_text.as_ref().map(|text| Finder::new(text).into_owned());
        let hash = contract.body_hash;
        let (usual, every) = (contract.usual_hash, contract.compared_every());
        (text.is_some() || hash.is_some() || usual.is_some()).then_some(Self { text, hash, usual, every, skip: 0 })
    }

    /// A request begins: decides whether its body is looked at. The first is.
    #[inline]
    pub(crate) fn begin(&mut self, look: &mut Look) {
        look.on = self.skip == 0;
        if look.on {
            self.skip = self.every;
            (look.found, look.hash) = (false, Fnv1a::default());
            look.tail.clear();
        }
        self.skip -= 1;
    }

    /// Takes the body of a response that is looked at.
    pub(crate) fn sink<'a>(&'a self, look: &'a mut Look) -> impl ResponseSink + 'a {
        Looking { check: self, look }
    }

    /// True if the contract asks for content.
    pub(crate) const fn is_asked(&self) -> bool {
        self.text.is_some() || self.hash.is_some()
    }

    /// True if a body that has been looked at in full is another than usual; none where nobody knows what is.
    pub(crate) fn is_other(&self, look: &Look) -> Option<bool> {
        self.usual.map(|usual| usual != look.hash.0)
    }

    /// What is wrong with a body that has been looked at in full.
    pub(crate) fn breach(&self, look: &Look) -> Option<FailureKind> {
        if self.text.is_some() && !look.found {
            return Some(FailureKind::Body);
        }
        self.hash.is_some_and(|hash| hash != look.hash.0).then_some(FailureKind::Hash)
    }
}

impl Look {
    fn search(&mut self, text: &Finder<'_>, bytes: &[u8]) {
        let overlap = text.needle().len().saturating_sub(1);
        self.tail.extend_from_slice(&bytes[..bytes.len().min(overlap)]);
        self.found = text.find(&self.tail).is_some() || text.find(bytes).is_some();
        if bytes.len() > overlap {
            self.tail.clear();
            self.tail.extend_from_slice(&bytes[bytes.len() - overlap..]);
        } else {
            self.tail.drain(..self.tail.len().saturating_sub(overlap));
        }
    }
}

struct Looking<'a> {
    check: &'a BodyCheck,
    look: &'a mut Look,
}

impl ResponseSink for Looking<'_> {
    fn body(&mut self, bytes: &[u8]) {
        if let Some(text) = self.check.text.as_ref().filter(|_| !self.look.found) {
            self.look.search(text, bytes);
        }
        if self.check.hash.is_some() || self.check.usual.is_some() {
            self.look.hash.add(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{BODY_SAMPLE_EVERY, SizeBand};
    use proptest::prelude::*;

    fn check(text: Option<&str>, hash: Option<u64>) -> BodyCheck {
        let contract = Contract { body_text: text.map(Into::into), body_hash: hash, ..Contract::default() };
        BodyCheck::new(&contract).expect("it asks for something")
    }

    /// What is wrong with a body that comes in these pieces.
    fn breach(check: &mut BodyCheck, pieces: &[&[u8]]) -> Option<FailureKind> {
        check.skip = 0;
        let mut look = Look::default();
        check.begin(&mut look);
        for piece in pieces {
            check.sink(&mut look).body(piece);
        }
        check.breach(&look)
    }

    #[test]
    fn text_is_found_across_reads() {
        let mut check = check(Some("</html>"), None);
        assert_eq!(breach(&mut check, &[b"<html></html>"]), None);
        assert_eq!(breach(&mut check, &[b"<html></h", b"tml>\n"]), None);
        assert_eq!(breach(&mut check, &[b"<", b"/", b"h", b"t", b"m", b"l", b">"]), None);
        for wrong in [&[&b"<html>"[..]][..], &[b"</ht", b"ml"], &[b"</h", b"x", b"tml>"], &[]] {
            assert_eq!(breach(&mut check, wrong), Some(FailureKind::Body), "{wrong:?}");
        }
    }

    #[test]
    fn hash_is_that_of_the_whole_body() {
        let mut check = check(None, Some(0x8594_4171_f739_67e8));
        assert_eq!(breach(&mut check, &[b"foo", b"bar"]), None);
        assert_eq!(breach(&mut check, &[b"foobaz"]), Some(FailureKind::Hash));
    }

    #[test]
    fn another_body_than_usual_breaks_nothing() {
        let contract = Contract { usual_hash: Some(0x8594_4171_f739_67e8), ..Contract::default() };
        let mut check = BodyCheck::new(&contract).expect("it is compared");
        for (body, is_other) in [(&b"foobar"[..], false), (b"foobaz", true)] {
            let mut look = Look::default();
            check.skip = 0;
            check.begin(&mut look);
            check.sink(&mut look).body(body);
            assert_eq!((check.breach(&look), check.is_other(&look)), (None, Some(is_other)));
        }
        assert!(!check.is_asked());
    }

    /// A page of 100 kB in every 17th response would be a tenth of the client's CPU time.
    #[test]
    fn large_bodies_are_compared_more_seldom_unless_their_content_is_asked_for() {
        let every = |size: u64| {
            let size_bytes = Some(SizeBand { min: size, max: size });
            let contract = Contract { usual_hash: Some(1), size_bytes, ..Contract::default() };
            let asked = Contract { body_hash: Some(1), ..contract.clone() };
            assert_eq!(asked.compared_every(), BODY_SAMPLE_EVERY);
            contract.compared_every()
        };
        for (size, client_ns) in [(100, 3_000.0), (1_024, 3_000.0), (10_000, 4_000.0), (100_000, 20_000.0)] {
            assert!(size as f64 / every(size) as f64 <= 0.01 * client_ns, "{size}");
        }
    }

    #[test]
    fn first_and_then_every_so_many_are_looked_at() {
        let mut check = check(Some("x"), None);
        let mut look = Look::default();
        let looked: Vec<u64> = (0..3 * BODY_SAMPLE_EVERY)
            .filter(|_| {
                check.begin(&mut look);
                look.on
            })
            .collect();
        assert_eq!(looked, [0, BODY_SAMPLE_EVERY, 2 * BODY_SAMPLE_EVERY]);
        assert!(BodyCheck::new(&Contract::default()).is_none());
    }

    proptest! {
        #[test]
        fn any_split_finds_what_the_whole_holds(
            body in "[ab]{0,40}", text in "[ab]{1,6}", mut cuts in prop::collection::vec(0..=40_usize, 0..6)
        ) {
            cuts.sort_unstable();
            let mut pieces = Vec::new();
            let mut from = 0;
            for to in cuts.into_iter().filter(|&to| to < body.len()).chain([body.len()]) {
                if to > from {
                    pieces.push(&body.as_bytes()[from..to]);
                    from = to;
                }
            }
            let found = breach(&mut check(Some(&text), None), &pieces).is_none();
            prop_assert_eq!(found, body.contains(&text));
        }
    }
}
