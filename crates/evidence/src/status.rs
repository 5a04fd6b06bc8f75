//! Status pages over a window: what of each sample is kept.

use crate::disturbed::Responses;
use model::{Around, CountedRequests, Figure, Phase, StatusLook, StatusRecord};
use std::collections::{BTreeMap, VecDeque};

/// The figure that counts requests, on every page that has such a one.
const REQUESTS: &str = "requests";
/// Samples that are kept at each end of a window.
const AT_AN_END: usize = 2;

/// All pages, in the order first seen.
#[derive(Clone, Debug, Default)]
pub(crate) struct StatusSum {
    pages: Vec<Page>,
}

#[derive(Clone, Debug, Default)]
struct Page {
    record: StatusRecord,
    /// Looks in undisturbed time.
    clean_looks: u64,
    /// Samples at both ends of the window that is being followed, the outermost first: one may have been answered when it was
    /// over, or not begun.
    first: Vec<Counted>,
    last: VecDeque<Counted>,
    /// What the page said last before the load of that window began, and first after it had ended.
    before: Option<BTreeMap<String, f64>>,
    after: Option<BTreeMap<String, f64>>,
}

/// The server's counter of requests at a sample.
#[derive(Clone, Copy, Debug)]
struct Counted {
    at_ns: u64,
    took_ns: u64,
    requests: f64,
    /// Looks until then, this one included: each is a request too.
    looks: u64,
}

impl StatusSum {
    /// Takes a sample of the measured window, in their order. One at a disturbed time counts in a mean only until there is
    /// another.
    pub(crate) fn add(&mut self, look: &StatusLook, is_disturbed: bool) {
        let page = self.page(&look.url);
        if let (Some(at_ns), Some(status)) = (look.at_ns, &look.status) {
            page.count(at_ns, look.took_ns, status.figures.get(REQUESTS).copied());
        }
        if let Some(status) = &look.status {
            page.record.looks += 1;
            page.clean_looks += u64::from(!is_disturbed);
            let counts = !is_disturbed || page.clean_looks == 0;
            let looks = if is_disturbed { page.record.looks } else { page.clean_looks };
            page.record.server = Some(status.server.clone());
            for (name, value) in &status.figures {
                let fresh = Figure { first: *value, last: *value, min: *value, max: *value, mean: *value };
                let figure = page.record.figures.entry(name.clone()).or_insert(fresh);
                figure.last = *value;
                figure.min = figure.min.min(*value);
                figure.max = figure.max.max(*value);
                if counts {
                    figure.mean += (*value - figure.mean) / looks as f64;
                }
            }
        }
        if look.reason.is_some() {
            page.record.reason.clone_from(&look.reason);
        }
    }

    /// Takes samples from outside the measured window.
    pub(crate) fn add_around(&mut self, phase: Phase, looks: &[StatusLook]) {
        for look in looks {
            let page = self.page(&look.url);
            let Some(status) = &look.status else { continue };
            page.record.server.get_or_insert_with(|| status.server.clone());
            match phase {
                Phase::Warmup => page.before = Some(status.figures.clone()),
                Phase::Measure => {}
                Phase::Drain => {
                    page.after.get_or_insert_with(|| status.figures.clone());
                }
            }
        }
    }

    /// The window that is being followed, with these seconds, is over.
    pub(crate) fn settle(&mut self, responses: &[Responses]) {
        for page in &mut self.pages {
            page.record = page.told(responses);
            (page.first, page.last) = Default::default();
            (page.before, page.after) = (None, None);
        }
    }

    /// Takes what another measurement of the same load has seen later, with its seconds; the own one is settled.
    pub(crate) fn merge(&mut self, later: &Self, responses: &[Responses]) {
        for (other, their_clean_looks) in later.pages.iter().map(|page| (page.told(responses), page.clean_looks)) {
            let page = self.page(&other.url);
            let own_clean_looks = page.clean_looks;
            page.clean_looks += their_clean_looks;
            let page = &mut page.record;
            page.requests = sum(page.requests, other.requests);
            for (name, theirs) in &other.around {
                page.around.entry(name.clone()).and_modify(|own| own.after = theirs.after).or_insert(*theirs);
            }
            let (before, after) = match (own_clean_looks, their_clean_looks) {
                (0, 0) => (page.looks as f64, other.looks as f64),
                (before, after) => (before as f64, after as f64),
            };
            for (name, figure) in &other.figures {
                let own = page.figures.entry(name.clone()).or_insert(*figure);
                own.last = figure.last;
                own.min = own.min.min(figure.min);
                own.max = own.max.max(figure.max);
                own.mean = (own.mean * before + figure.mean * after) / (before + after).max(1.0);
            }
            page.looks += other.looks;
            page.server = page.server.take().or_else(|| other.server.clone());
            page.reason = other.reason.clone().or_else(|| page.reason.take());
        }
    }

    /// What is known of each page; `seconds` are those of the window that is being followed.
    pub(crate) fn records(&self, responses: &[Responses]) -> Vec<StatusRecord> {
        self.pages.iter().map(|page| page.told(responses)).collect()
    }

    fn page(&mut self, url: &str) -> &mut Page {
        let at = self.pages.iter().position(|page| page.record.url == url).unwrap_or_else(|| {
            let record = StatusRecord { url: url.to_owned(), ..StatusRecord::default() };
            self.pages.push(Page { record, ..Page::default() });
            self.pages.len() - 1
        });
        &mut self.pages[at]
    }
}

impl Page {
    /// What is known of it.
    fn told(&self, responses: &[Responses]) -> StatusRecord {
        let mut record = StatusRecord { requests: self.counted_requests(responses), ..self.record.clone() };
        if let (Some(before), Some(after)) = (&self.before, &self.after) {
            let both = before.iter().filter_map(|(name, before)| Some((name, *before, *after.get(name)?)));
            for (name, before, after) in both {
                record.around.entry(name.clone()).or_insert(Around { before, after }).after = after;
            }
        }
        record
    }

    /// The counter stands at `requests`, if there is one.
    fn count(&mut self, at_ns: u64, took_ns: u64, requests: Option<f64>) {
        let Some(requests) = requests else { return };
        let looks = self.last.front().map_or(0, |last| last.looks) + 1;
        let now = Counted { at_ns, took_ns, requests, looks };
        if self.first.len() < AT_AN_END {
            self.first.push(now);
        }
        self.last.push_front(now);
        self.last.truncate(AT_AN_END);
    }

    /// What both ends counted in settled windows and in the one that is being followed.
    fn counted_requests(&self, responses: &[Responses]) -> Option<CountedRequests> {
        let inside = |one: &&Counted| completed(responses, one.at_ns).is_some();
        let ends = self.first.iter().find(inside).zip(self.last.iter().find(inside));
        let now = ends.and_then(|(first, last)| {
            // A server that has started again counts from the beginning.
            let grown = last.requests - first.requests;
            let server = grown - (last.looks - first.looks) as f64;
            let client = completed(responses, last.at_ns)? - completed(responses, first.at_ns)?;
            let unclear = first.unclear(responses)? + last.unclear(responses)?;
            let span_ns = last.at_ns.checked_sub(first.at_ns).filter(|ns| *ns > 0)?;
            (grown >= 0.0).then_some(CountedRequests { server, client, span_ns, unclear })
        });
        sum(self.record.requests, now)
    }
}

impl Counted {
    /// Responses of which nobody knows on which side of the server's count they are: those that were complete while the
    /// page was on its way, and those by which the count within a second may be wrong.
    fn unclear(self, responses: &[Responses]) -> Option<f64> {
        let before = completed(responses, self.at_ns.saturating_sub(self.took_ns)).unwrap_or(0.0);
        Some(completed(responses, self.at_ns)? - before + unevenness(responses, self.at_ns))
    }
}

fn sum(a: Option<CountedRequests>, b: Option<CountedRequests>) -> Option<CountedRequests> {
    let both = a.zip(b).map(|(a, b)| CountedRequests {
        server: a.server + b.server,
        client: a.client + b.client,
        span_ns: a.span_ns + b.span_ns,
        unclear: a.unclear + b.unclear,
    });
    both.or(a).or(b)
}

/// Responses that were complete at an instant of the window, within a second by its share; none outside the window.
fn completed(responses: &[Responses], at_ns: u64) -> Option<f64> {
    let mut before = 0;
    for piece in responses {
        let into_ns = at_ns.checked_sub(piece.from_ns)?;
        if into_ns <= piece.length_ns {
            return Some(before as f64 + piece.completed as f64 * into_ns as f64 / piece.length_ns.max(1) as f64);
        }
        before += piece.completed;
    }
    None
}

/// By how many responses [`completed`] may be wrong at an instant, as it takes the slice around it to be even: that slice may
/// hold a standstill as long as its count lacks of the fastest of itself and its neighbours, and no more than this rate gives
/// between the instant and the nearer end of the slice.
fn unevenness(responses: &[Responses], at_ns: u64) -> f64 {
    let ends = |piece: &Responses| (piece.from_ns, piece.from_ns + piece.length_ns);
    let Some(at) = responses.iter().position(|piece| at_ns <= ends(piece).1) else { return 0.0 };
    let around = &responses[at.saturating_sub(1)..responses.len().min(at + 2)];
    // The first and last slice of a window may be short, and their rate chance.
    let longest_ns = around.iter().map(|piece| piece.length_ns).max().unwrap_or(0);
    let whole = around.iter().filter(|piece| piece.length_ns > longest_ns / 2);
    let per_ns = whole.map(|piece| piece.completed as f64 / piece.length_ns as f64);
    let (least, most) = per_ns.fold((f64::INFINITY, 0.0_f64), |(least, most), n| (least.min(n), most.max(n)));
    let (from_ns, to_ns) = ends(&responses[at]);
    let nearer_ns = at_ns.saturating_sub(from_ns).min(to_ns - at_ns);
    ((most - least) * responses[at].length_ns as f64).min(most * nearer_ns as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::ServerStatus;

    impl StatusSum {
        /// Takes samples of undisturbed time.
        fn add_all(&mut self, looks: &[StatusLook]) {
            looks.iter().for_each(|look| self.add(look, false));
        }
    }

    fn look(busy: f64) -> StatusLook {
        let figures = [("busy".to_owned(), busy)].into();
        let status = Some(ServerStatus { server: "s".into(), figures });
        StatusLook { url: "u".into(), status, reason: None, at_ns: None, took_ns: 0 }
    }

    /// The counter at an instant in ms.
    fn counter(at_ms: u64, requests: f64) -> StatusLook {
        let figures = [(REQUESTS.to_owned(), requests)].into();
        let status = Some(ServerStatus { server: "s".into(), figures });
        StatusLook { url: "u".into(), status, reason: None, at_ns: Some(at_ms * 1_000_000), took_ns: 1_000_000 }
    }

    /// Seconds with 1,000 responses each, the first at 2 s.
    fn seconds(n: u64) -> Vec<Responses> {
        let second = |i: u64| Responses { from_ns: (2 + i) * 1_000_000_000, length_ns: 1_000_000_000, completed: 1000 };
        (0..n).map(second).collect()
    }

    #[test]
    fn requests_are_counted_at_both_ends_between_the_looks() {
        let mut sum = StatusSum::default();
        sum.add_all(&[counter(2_500, 700.0), counter(3_500, 1_701.0), counter(4_700, 2_902.0)]);
        let found = sum.records(&seconds(4))[0].requests.expect("a counter");
        assert_eq!((found.server, found.span_ns), (2_200.0, 2_200_000_000), "two looks after the first");
        assert!((found.client - 2_200.0).abs() < 1e-9 && (found.unclear - 2.0).abs() < 1e-9, "{found:?}");
        assert_eq!(sum.records(&seconds(1))[0].requests, None, "one look is inside the window");
    }

    /// At one look a second and a window of some seconds the last is often answered when the window is over.
    #[test]
    fn a_look_beyond_an_end_of_the_window_does_not_take_the_count_away() {
        let mut sum = StatusSum::default();
        sum.add_all(&[counter(1_999, 199.0), counter(2_500, 700.0), counter(4_500, 2_701.0), counter(5_001, 3_202.0)]);
        let found = sum.records(&seconds(3))[0].requests.expect("two looks are inside");
        assert_eq!((found.server, found.client, found.span_ns), (2_000.0, 2_000.0, 2_000_000_000));
    }

    #[test]
    fn a_count_within_a_second_is_as_unclear_as_its_neighbours_differ() {
        let mut seconds = seconds(5);
        let at = |responses: &[Responses], ms: u64| unevenness(responses, ms * 1_000_000);
        assert_eq!(at(&seconds, 4_500), 0.0, "they are even");
        seconds[1].completed = 400;
        assert_eq!(at(&seconds, 5_500), 0.0, "it is none of its neighbours");
        assert!((at(&seconds, 2_500) - 500.0).abs() < 1e-9, "half a second of the full rate");
        assert!((at(&seconds, 3_600) - 400.0).abs() < 1e-9, "the nearer end");
        seconds[1].completed = 900;
        assert!((at(&seconds, 3_500) - 100.0).abs() < 1e-9, "no more than what lacks");
        assert!((at(&seconds, 4_010) - 10.0).abs() < 1e-9, "close to the end of a second little can be wrong");
        (seconds[4].completed, seconds[4].length_ns) = (0, 10_000_000);
        assert_eq!(at(&seconds, 5_500), 0.0, "a short rest tells nothing");
    }

    /// A program that took the client's CPU held up the second of the first sample and the one after it alike: nothing of it
    /// shows in counts of whole seconds.
    #[test]
    fn a_standstill_over_two_seconds_does_not_put_a_look_on_the_wrong_side_of_them() {
        let slice = |i: u64| Responses {
            from_ns: 2_000_000_000 + i * 100_000_000,
            length_ns: 100_000_000,
            completed: if (5..15).contains(&i) { 0 } else { 100 },
        };
        let slices: Vec<_> = (0..40).map(slice).collect();
        let mut sum = StatusSum::default();
        sum.add_all(&[counter(2_500, 500.0), counter(5_500, 2_501.0)]);
        let found = sum.records(&slices)[0].requests.expect("a counter");
        assert_eq!((found.server, found.client), (2_000.0, 2_000.0));
    }

    #[test]
    fn iterations_are_counted_each_by_its_own_seconds() {
        let (mut first, mut second) = (StatusSum::default(), StatusSum::default());
        first.add_all(&[counter(2_000, 0.0), counter(3_000, 1_001.0)]);
        second.add_all(&[counter(2_000, 5_000.0), counter(4_000, 7_001.0)]);
        first.settle(&seconds(4));
        first.merge(&second, &seconds(4));
        let found = first.records(&[])[0].requests.expect("a counter");
        assert_eq!((found.server, found.client, found.span_ns), (3_000.0, 3_000.0, 3_000_000_000));
        let mut anew = StatusSum::default();
        anew.add_all(&[counter(2_000, 500.0), counter(3_000, 10.0)]);
        assert_eq!(anew.records(&seconds(4))[0].requests, None, "the server has started anew");
    }

    #[test]
    fn looks_of_one_page_become_one_record() {
        let mut sum = StatusSum::default();
        sum.add_all(&[look(2.0), look(8.0)]);
        sum.add_all(&[
            look(5.0),
            StatusLook { url: "u".into(), status: None, reason: Some("it hangs".into()), at_ns: None, took_ns: 0 },
        ]);
        let [page] = &sum.records(&[])[..] else { panic!("one page") };
        assert_eq!((page.looks, page.server.as_deref(), page.reason.as_deref()), (3, Some("s"), Some("it hangs")));
        assert_eq!(page.figures["busy"], Figure { first: 2.0, last: 5.0, min: 2.0, max: 8.0, mean: 5.0 });
    }

    #[test]
    fn a_page_that_had_no_time_in_the_window_is_known_from_before_and_after() {
        let mut sum = StatusSum::default();
        sum.add_around(Phase::Warmup, &[look(1.0), look(3.0)]);
        sum.add_around(Phase::Drain, &[look(9.0), look(10.0)]);
        let [page] = &sum.records(&[])[..] else { panic!("one page") };
        assert_eq!((page.looks, page.figures.len(), page.server.as_deref()), (0, 0, Some("s")));
        assert_eq!(page.around["busy"], Around { before: 3.0, after: 9.0 });
        let mut later = StatusSum::default();
        later.add_around(Phase::Warmup, &[look(20.0)]);
        later.add_around(Phase::Drain, &[look(30.0)]);
        sum.settle(&[]);
        sum.merge(&later, &[]);
        assert_eq!(sum.records(&[])[0].around["busy"], Around { before: 3.0, after: 30.0 });
    }

    #[test]
    fn iterations_are_weighted_by_their_looks() {
        let (mut first, mut second) = (StatusSum::default(), StatusSum::default());
        first.add_all(&[look(1.0)]);
        second.add_all(&[look(4.0), look(4.0)]);
        first.merge(&second, &[]);
        let figure = first.records(&[])[0].figures["busy"];
        assert_eq!(figure, Figure { first: 1.0, last: 4.0, min: 1.0, max: 4.0, mean: 3.0 });
    }

    #[test]
    fn a_look_at_a_disturbed_time_counts_in_the_mean_only_without_another() {
        let mut sum = StatusSum::default();
        sum.add(&look(1.0), true);
        assert_eq!(sum.records(&[])[0].figures["busy"].mean, 1.0);
        sum.add(&look(4.0), false);
        sum.add(&look(0.0), true);
        let figure = sum.records(&[])[0].figures["busy"];
        assert_eq!((figure.mean, figure.min, figure.max), (4.0, 0.0, 4.0));
        let mut disturbed = StatusSum::default();
        disturbed.add(&look(2.0), true);
        disturbed.merge(&sum, &[]);
        assert_eq!(disturbed.records(&[])[0].figures["busy"].mean, 4.0);
    }
}
