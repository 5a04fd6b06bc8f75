//! The disturbance account of a run: which slices are set aside, and what is left without them.
//!
//! A slice is disturbed when a cause seen from outside took enough of it ([`Cause::threshold_ns`]); how long requests took
//! is never asked. What the disturbance left behind is set aside with it: the slices after it in which requests end that
//! were out during it, at most as many as it was long. Else the answers that had piled up would be counted as the work of
//! undisturbed time.

use crate::builder::per_second;
use model::{
    Basis, Cause, Disturbance, Histograms, SLICE_NS, STRETCHES_MAX, Second, SliceAccount, SliceFlow, Stretch, Tick,
    WholeWindow,
};
use std::collections::BTreeMap;

/// A shorter undisturbed time says nothing: five slices.
pub(crate) const CLEAN_MIN_NS: u64 = 5 * SLICE_NS;

/// One run's account while it grows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Account {
    /// Whether anybody kept it.
    is_kept: bool,
    /// Slices in which anything was taken.
    taken: BTreeMap<u64, SliceAccount>,
    /// The slices of the measured window, each with the place of its second.
    window: Vec<Piece>,
    pub(crate) prolonged_ns: u64,
}

/// The part of a slice that lies in the window.
#[derive(Clone, Copy, Debug)]
struct Piece {
    second: usize,
    from_ns: u64,
    length_ns: u64,
    flow: SliceFlow,
}

/// Complete responses of a short stretch of the window.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Responses {
    pub(crate) from_ns: u64,
    pub(crate) length_ns: u64,
    pub(crate) completed: u64,
}

/// What a window comes to once it is cut.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cut {
    pub(crate) is_kept: bool,
    window_ns: u64,
    pub(crate) clean_ns: u64,
    clean_good: u64,
    clean_completed: u64,
    pub(crate) prolonged_ns: u64,
    pub(crate) iterations_left_out: u32,
    /// Time taken by cause, in all and in the clean time; ns.
    taken_ns: BTreeMap<Cause, u64>,
    left_ns: BTreeMap<Cause, u64>,
    stretches: Vec<Stretch>,
}

impl Account {
    /// The account has come further.
    pub(crate) fn add(&mut self, slices: &[SliceAccount]) {
        self.is_kept = true;
        for slice in slices {
            let known = self
                .taken
                .entry(slice.slice)
                .or_insert_with(|| SliceAccount { slice: slice.slice, ..Default::default() });
            for (cause, ns) in &slice.taken_ns {
                *known.taken_ns.entry(*cause).or_default() += ns;
            }
        }
    }

    pub(crate) const fn prolong(&mut self, by_ns: u64) {
        self.prolonged_ns += by_ns;
    }

    /// Takes in a tick of the window, which is second number `second` of it.
    pub(crate) fn tick(&mut self, tick: &Tick, second: usize) {
        let mut flows: BTreeMap<u64, SliceFlow> = tick.slices.iter().map(|flow| (flow.slice, *flow)).collect();
        let mut at_ns = tick.from_ns;
        while at_ns < tick.to_ns {
            let slice = model::slice_of(at_ns);
            let end_ns = ((slice + 1) * SLICE_NS).min(tick.to_ns);
            let flow = flows.remove(&slice).unwrap_or_else(|| SliceFlow::new(slice));
            self.window.push(Piece { second, from_ns: at_ns, length_ns: end_ns - at_ns, flow });
            at_ns = end_ns;
        }
    }

    /// Responses that came in each slice of the window: its begin and its length in ns, and how many.
    pub(crate) fn responses(&self) -> Vec<Responses> {
        let responses = |piece: &Piece| Responses {
            from_ns: piece.from_ns,
            length_ns: piece.length_ns,
            completed: piece.flow.completed,
        };
        self.window.iter().map(responses).collect()
    }

    /// Share of the time from `from_ns` to `to_ns` that is not disturbed as far as it is known, 0 to 1.
    pub(crate) fn clean_share(&self, from_ns: u64, to_ns: u64) -> f64 {
        let (from, to) = (model::slice_of(from_ns), model::slice_of(to_ns.max(from_ns + 1) - 1));
        let disturbed = self.taken.range(from..=to).filter(|(_, slice)| slice.worst().is_some()).count();
        1.0 - disturbed as f64 / (to - from + 1) as f64
    }

    /// Cuts the window, and tells each of `seconds` what of it is clean.
    pub(crate) fn cut(&self, seconds: &mut [Second]) -> Cut {
        let is_set_aside = self.set_aside();
        let mut cut = Cut { is_kept: self.is_kept, prolonged_ns: self.prolonged_ns, ..Cut::default() };
        for (piece, is_set_aside) in self.window.iter().zip(&is_set_aside) {
            cut.window_ns += piece.length_ns;
            let taken = self.taken.get(&piece.flow.slice);
            for (cause, ns) in taken.into_iter().flat_map(|slice| &slice.taken_ns) {
                // Of a slice that lies in the window in part, nobody knows when in it.
                let ns = (*ns).min(piece.length_ns);
                *cut.taken_ns.entry(*cause).or_default() += ns;
                if !is_set_aside {
                    *cut.left_ns.entry(*cause).or_default() += ns;
                }
            }
            if *is_set_aside {
                continue;
            }
            cut.clean_ns += piece.length_ns;
            cut.clean_good += piece.flow.good;
            cut.clean_completed += piece.flow.completed;
            if let Some(second) = seconds.get_mut(piece.second) {
                second.clean_ns += piece.length_ns;
                second.clean_good += piece.flow.good;
            }
        }
        cut.stretches = self.stretches(&is_set_aside);
        cut
    }

    /// For each piece of the window whether it is set aside.
    fn set_aside(&self) -> Vec<bool> {
        let is_disturbed =
            |piece: &Piece| self.taken.get(&piece.flow.slice).is_some_and(|slice| slice.worst().is_some());
        let mut all: Vec<bool> = self.window.iter().map(is_disturbed).collect();
        let (mut length, mut recovery, mut end_ns) = (0, 0, 0);
        for (i, piece) in self.window.iter().enumerate() {
            if all[i] {
                length += 1;
                (recovery, end_ns) = (length, (piece.flow.slice + 1) * SLICE_NS);
            } else if recovery > 0 && piece.flow.oldest_ns < end_ns {
                all[i] = true;
                (length, recovery) = (0, recovery - 1);
            } else {
                (length, recovery) = (0, 0);
            }
        }
        all
    }

    fn stretches(&self, is_set_aside: &[bool]) -> Vec<Stretch> {
        let mut all: Vec<Stretch> = Vec::new();
        let aside = self.window.iter().zip(is_set_aside).filter(|(_, is_set_aside)| **is_set_aside);
        for (piece, _) in aside {
            let from_ns = piece.flow.slice * SLICE_NS;
            let worst = self.taken.get(&piece.flow.slice).and_then(SliceAccount::worst);
            match (all.last_mut().filter(|last| last.to_ns == from_ns), worst) {
                (Some(last), worst) => {
                    last.to_ns += SLICE_NS;
                    if let Some((cause, ns)) = worst.filter(|(_, ns)| *ns > last.taken_ns) {
                        (last.cause, last.taken_ns) = (cause, ns);
                    }
                }
                (None, Some((cause, taken_ns))) => {
                    all.push(Stretch { from_ns, to_ns: from_ns + SLICE_NS, cause, taken_ns })
                }
                // The window begins in what a disturbance before it has left behind.
                (None, None) => {}
            }
        }
        all.truncate(STRETCHES_MAX);
        all
    }
}

impl Cut {
    /// Adds another iteration.
    pub(crate) fn add(&mut self, other: &Self) {
        self.is_kept |= other.is_kept;
        self.window_ns += other.window_ns;
        self.clean_ns += other.clean_ns;
        self.clean_good += other.clean_good;
        self.clean_completed += other.clean_completed;
        self.prolonged_ns += other.prolonged_ns;
        self.iterations_left_out += other.iterations_left_out;
        for (sum, more) in [(&mut self.taken_ns, &other.taken_ns), (&mut self.left_ns, &other.left_ns)] {
            more.iter().for_each(|(cause, ns)| *sum.entry(*cause).or_default() += ns);
        }
        self.stretches.extend_from_slice(&other.stretches);
        self.stretches.truncate(STRETCHES_MAX);
    }

    /// What numbers rest on: the clean time, where there is enough of it and anything was set aside.
    pub(crate) fn basis(&self) -> Basis {
        let is_cut = self.is_kept && self.clean_ns < self.window_ns && self.clean_ns >= CLEAN_MIN_NS;
        if is_cut { Basis::Clean } else { Basis::Whole }
    }

    /// Whether so little of it is clean that other iterations speak for it.
    pub(crate) fn says_little(&self) -> bool {
        self.is_kept && self.clean_ns < CLEAN_MIN_NS.min(self.window_ns)
    }

    /// Good responses per second of the clean time.
    pub(crate) fn goodput_per_s(&self) -> f64 {
        per_second(self.clean_good, self.clean_ns)
    }

    /// The `disturbance` object; `all` are the histograms of the whole window, `aside` those of what is set aside.
    pub(crate) fn disturbance(&self, good: u64, all: &Histograms, aside: &Histograms) -> Option<Disturbance> {
        if !self.is_kept {
            return None;
        }
        let shares = |ns: &BTreeMap<Cause, u64>, of_ns: u64| -> BTreeMap<Cause, f64> {
            ns.iter().map(|(cause, ns)| (*cause, *ns as f64 / of_ns.max(1) as f64)).collect()
        };
        let taken = shares(&self.taken_ns, self.window_ns);
        let left = match self.basis() {
            Basis::Whole => taken.clone(),
            Basis::Clean => shares(&self.left_ns, self.clean_ns),
        };
        let most = taken.iter().max_by(|a, b| a.1.total_cmp(b.1)).map(|(cause, share)| (*cause, *share));
        Some(Disturbance {
            basis: self.basis(),
            clean_ns: self.clean_ns,
            clean_good: self.clean_good,
            clean_completed: self.clean_completed,
            set_aside_ns: self.window_ns - self.clean_ns,
            set_aside_requests: aside.response.count(),
            prolonged_ns: self.prolonged_ns,
            iterations_left_out: self.iterations_left_out,
            taken_share: most.map_or(0.0, |(_, share)| share),
            cause: most.map(|(cause, _)| cause),
            taken,
            left,
            stretches: self.stretches.clone(),
            whole: WholeWindow {
                goodput_per_s: per_second(good, self.window_ns),
                response_ns: all.response.summary().into(),
                service_ns: all.service.summary().into(),
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Cohort, Flow, Phase};

    const MS: u64 = 1_000_000;

    /// Seconds of 100 good responses a slice, each of 5 ms; `oldest` says when the oldest of a slice was scheduled.
    fn account(seconds: u64, oldest_ns: impl Fn(u64) -> u64) -> Account {
        let mut account = Account::default();
        for second in 0..seconds {
            let slices = (10 * second..10 * second + 10)
                .map(|slice| SliceFlow { slice, good: 100, completed: 110, oldest_ns: oldest_ns(slice) })
                .collect();
            account.tick(&tick(second * 1000 * MS, (second + 1) * 1000 * MS, slices), second as usize);
        }
        account
    }

    fn tick(from_ns: u64, to_ns: u64, slices: Vec<SliceFlow>) -> Tick {
        Tick {
            phase: Phase::Measure,
            from_ns,
            to_ns,
            flow: Flow::default(),
            cohort: Cohort::default(),
            threads: Vec::new(),
            response_p50_ns: 0,
            response_p99_ns: 0,
            late_ns: 0,
            sends_ns: Vec::new(),
            slices,
            histograms: Histograms::default(),
            set_aside: Histograms::default(),
        }
    }

    fn taken(slice: u64, cause: Cause, ms: u64) -> SliceAccount {
        SliceAccount { slice, taken_ns: [(cause, ms * MS)].into() }
    }

    /// Requests take 5 ms: those of a slice that were out when it began were scheduled shortly before.
    fn short(slice: u64) -> u64 {
        (slice * 100 * MS).saturating_sub(5 * MS)
    }

    #[test]
    fn what_is_disturbed_is_set_aside_with_what_it_left_behind_and_the_rest_keeps_its_rate() {
        let mut account = account(3, short);
        account.add(&[taken(12, Cause::ClientSteal, 60), taken(20, Cause::ClientSteal, 10)]);
        let mut seconds = [Second::default(); 3];
        let cut = account.cut(&mut seconds);
        // Slice 12 and, as requests end in it that were out then, slice 13.
        assert_eq!((cut.clean_ns, cut.window_ns), (2800 * MS, 3000 * MS));
        assert_eq!((cut.goodput_per_s(), cut.basis()), (1000.0, Basis::Clean));
        assert_eq!(
            seconds.map(|second| (second.clean_ns / MS, second.clean_good)),
            [(1000, 1000), (800, 800), (1000, 1000)]
        );
        let stretch = Stretch { from_ns: 1200 * MS, to_ns: 1400 * MS, cause: Cause::ClientSteal, taken_ns: 60 * MS };
        assert_eq!(cut.stretches, [stretch]);
        let disturbance = cut.disturbance(2000, &Histograms::default(), &Histograms::default()).unwrap();
        assert!((disturbance.taken[&Cause::ClientSteal] - 0.07 / 3.0).abs() < 1e-9);
        assert!((disturbance.left[&Cause::ClientSteal] - 0.01 / 2.8).abs() < 1e-9, "what is below the threshold stays");
        assert!((disturbance.whole.goodput_per_s - 2000.0 / 3.0).abs() < 1e-9);
    }

    #[test]
    fn what_is_left_behind_is_no_longer_than_the_disturbance_and_ends_with_the_last_request_of_it() {
        // Each request takes a second: all of slices 13 to 22 end requests that were out during slice 12.
        let mut long = account(3, |slice| (slice * 100 * MS).saturating_sub(1000 * MS));
        long.add(&[taken(12, Cause::OtherPrograms, 40), taken(13, Cause::OtherPrograms, 40)]);
        assert_eq!(long.cut(&mut []).clean_ns, 2600 * MS);
        let mut none = account(3, |slice| slice * 100 * MS);
        none.add(&[taken(12, Cause::OtherPrograms, 40)]);
        assert_eq!(none.cut(&mut []).clean_ns, 2900 * MS);
    }

    #[test]
    fn a_stall_of_the_server_is_no_disturbance() {
        // Nothing ends for two slices, and then what had waited: the account is what decides, and it is empty.
        let mut account = account(3, |slice| if slice == 15 { 1250 * MS } else { short(slice) });
        account.add(&[]);
        let cut = account.cut(&mut []);
        assert_eq!((cut.clean_ns, cut.basis()), (3000 * MS, Basis::Whole));
    }

    #[test]
    fn without_an_account_nothing_is_told_and_with_too_little_left_nothing_is_cut() {
        let unkept = account(1, short).cut(&mut []);
        assert!(unkept.disturbance(0, &Histograms::default(), &Histograms::default()).is_none());
        assert!(!unkept.says_little() && unkept.basis() == Basis::Whole);
        let mut little = account(1, short);
        little.add(&(0..7).map(|slice| taken(slice, Cause::ClientStopped, 90)).collect::<Vec<_>>());
        let cut = little.cut(&mut []);
        assert!(cut.says_little() && cut.basis() == Basis::Whole);
        let told = cut.disturbance(0, &Histograms::default(), &Histograms::default()).unwrap();
        assert_eq!(told.left, told.taken, "the numbers rest on all of it");
    }

    #[test]
    fn iterations_add_up() {
        let mut one = account(1, short);
        one.add(&[taken(2, Cause::ClientWait, 50)]);
        let mut sum = one.cut(&mut []);
        sum.add(&account(1, short).cut(&mut []));
        assert_eq!((sum.window_ns, sum.clean_ns, sum.clean_good), (2000 * MS, 1800 * MS, 1800));
    }
}
