//! The disturbance account of a run: which slices are set aside, and what is left without them.
//!
//! A slice is disturbed when a cause seen from outside took enough of it ([`Cause::threshold_ns`]); how long requests took
//! is never asked. What the disturbance left behind is set aside with it: the slices after it in which requests end that
//! were out during it, at most as many as it was long. Else the answers that had piled up would be counted as the work of
//! undisturbed time.

use crate::rate::per_second;
use model::{
    Basis, Cause, Disturbance, Histograms, NS_PER_S, SLICE_NS, STRETCHES_MAX, Second, SliceAccount, SliceFlow, Stretch,
    Tick, WholeWindow,
};
use std::collections::{BTreeMap, VecDeque};

/// A shorter undisturbed time says nothing: five slices.
pub(crate) const CLEAN_MIN_NS: u64 = 5 * SLICE_NS;

/// Slices at the begin and at the end of a window that are kept one by one: a minute at each. Those between are decided, and
/// are kept as what they come to, so that the account of a day takes no more memory than that of some minutes.
const APART: usize = 600;
/// Length of what is kept of responses between; ns.
const TOGETHER_NS: u64 = 60 * NS_PER_S;

/// One run's account while it grows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Account {
    /// True if anybody kept it.
    is_kept: bool,
    /// Slices in which anything was taken.
    taken: BTreeMap<u64, SliceAccount>,
    /// The last slices of the measured window, each with the place of its second.
    window: VecDeque<Piece>,
    /// What those before come to.
    decided: Cutting,
    /// Their responses.
    early: Vec<Responses>,
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
    /// True if each response was in flight in disturbed time: clean time, however long, says nothing of them.
    pub(crate) is_all_aside: bool,
    window_ns: u64,
    pub(crate) clean_ns: u64,
    clean_good: u64,
    clean_completed: u64,
    /// CPU time that other programs used in what is set aside; ns.
    others_aside_ns: u64,
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
            known.others_ns = slice.others_ns.or(known.others_ns);
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
            self.window.push_back(Piece { second, from_ns: at_ns, length_ns: end_ns - at_ns, flow });
            at_ns = end_ns;
        }
        self.decide_early();
    }

    /// Decides the slices that are too old to be kept one by one.
    fn decide_early(&mut self) {
        while self.window.len() > APART
            && let Some(piece) = self.window.pop_front()
        {
            self.decided.add(&piece, self.taken.get(&piece.flow.slice));
            let has_begin = self.early.len() >= APART;
            match self.early.last_mut().filter(|last| has_begin && last.length_ns < TOGETHER_NS) {
                Some(last) => {
                    last.length_ns += piece.length_ns;
                    last.completed += piece.flow.completed;
                }
                None => self.early.push(piece.responses()),
            }
        }
        if let Some(first) = self.window.front() {
            self.taken = self.taken.split_off(&first.flow.slice);
        }
    }

    /// Responses that came in each part of the window, in order: of its begin and its end slice by slice.
    pub(crate) fn responses(&self) -> Vec<Responses> {
        self.early.iter().copied().chain(self.window.iter().map(Piece::responses)).collect()
    }

    /// Share of the time from `from_ns` to `to_ns` that is not disturbed as far as it is known, 0 to 1.
    pub(crate) fn clean_share(&self, from_ns: u64, to_ns: u64) -> f64 {
        let (from, to) = (model::slice_of(from_ns), model::slice_of(to_ns.max(from_ns + 1) - 1));
        let disturbed = self.taken.range(from..=to).filter(|(_, slice)| slice.worst().is_some()).count();
        1.0 - disturbed as f64 / (to - from + 1) as f64
    }

    /// Cuts the window, and tells each of `seconds` what of it is clean.
    pub(crate) fn cut(&self, seconds: &mut [Second]) -> Cut {
        let mut cutting = self.decided.clone();
        self.window.iter().for_each(|piece| cutting.add(piece, self.taken.get(&piece.flow.slice)));
        for (second, clean) in seconds.iter_mut().zip(&cutting.seconds) {
            second.clean_ns += clean.ns;
            second.clean_good += clean.good;
        }
        Cut { is_kept: self.is_kept, prolonged_ns: self.prolonged_ns, ..cutting.cut }
    }
}

impl Piece {
    const fn responses(&self) -> Responses {
        Responses { from_ns: self.from_ns, length_ns: self.length_ns, completed: self.flow.completed }
    }
}

/// A window that is being cut, slice by slice.
#[derive(Clone, Debug, Default)]
struct Cutting {
    cut: Cut,
    /// What of each second is clean.
    seconds: Vec<Clean>,
    /// Slices in the stretch of disturbed ones that has just passed.
    disturbed: u64,
    /// Slices that may still be set aside as what it has left behind.
    recovery: u64,
    /// When it ended; ns.
    disturbed_until_ns: u64,
}

/// Clean time and the good responses in it.
#[derive(Clone, Copy, Debug, Default)]
struct Clean {
    ns: u64,
    good: u64,
}

impl Cutting {
    /// The next slice, and what was taken of it.
    fn add(&mut self, piece: &Piece, taken: Option<&SliceAccount>) {
        let worst = taken.and_then(SliceAccount::worst);
        let is_set_aside = self.is_set_aside(piece, worst.is_some());
        let cut = &mut self.cut;
        cut.window_ns += piece.length_ns;
        for (cause, ns) in taken.into_iter().flat_map(|slice| &slice.taken_ns) {
            // Of a slice that lies in the window in part, nobody knows when in it.
            let ns = (*ns).min(piece.length_ns);
            *cut.taken_ns.entry(*cause).or_default() += ns;
            if !is_set_aside {
                *cut.left_ns.entry(*cause).or_default() += ns;
            }
        }
        if self.seconds.len() <= piece.second {
            self.seconds.resize(piece.second + 1, Clean::default());
        }
        if is_set_aside {
            let others_ns =
                taken.and_then(|slice| slice.others_ns).unwrap_or(0).saturating_mul(piece.length_ns) / SLICE_NS;
            cut.others_aside_ns = cut.others_aside_ns.saturating_add(others_ns);
            return cut.extend_stretches(piece.flow.slice * SLICE_NS, worst);
        }
        cut.clean_ns += piece.length_ns;
        cut.clean_good += piece.flow.good;
        cut.clean_completed += piece.flow.completed;
        let second = &mut self.seconds[piece.second];
        second.ns += piece.length_ns;
        second.good += piece.flow.good;
    }

    /// True if it is disturbed, or a slice in which requests end that were out in the disturbed ones before it.
    fn is_set_aside(&mut self, piece: &Piece, is_disturbed: bool) -> bool {
        if is_disturbed {
            self.disturbed += 1;
            (self.recovery, self.disturbed_until_ns) = (self.disturbed, (piece.flow.slice + 1) * SLICE_NS);
            return true;
        }
        let is_left_behind = self.recovery > 0 && piece.flow.oldest_ns < self.disturbed_until_ns;
        self.disturbed = 0;
        self.recovery = if is_left_behind { self.recovery - 1 } else { 0 };
        is_left_behind
    }
}

impl Cut {
    /// The slice that begins at `from_ns` is set aside, for its `worst` cause or for what was before it.
    fn extend_stretches(&mut self, from_ns: u64, worst: Option<(Cause, u64)>) {
        let is_full = self.stretches.len() >= STRETCHES_MAX;
        match (self.stretches.last_mut().filter(|last| last.to_ns == from_ns), worst) {
            (Some(last), worst) => {
                last.to_ns += SLICE_NS;
                if let Some((cause, ns)) = worst.filter(|(_, ns)| *ns > last.taken_ns) {
                    (last.cause, last.taken_ns) = (cause, ns);
                }
            }
            (None, Some((cause, taken_ns))) if !is_full => {
                self.stretches.push(Stretch { from_ns, to_ns: from_ns + SLICE_NS, cause, taken_ns });
            }
            // There are more than are told, or the window begins in what a disturbance before it has left behind.
            (None, _) => {}
        }
    }

    /// Adds another iteration.
    pub(crate) fn add(&mut self, other: &Self) {
        let Self {
            is_kept,
            // The histograms of all windows decide this.
            is_all_aside: _,
            window_ns,
            clean_ns,
            clean_good,
            clean_completed,
            others_aside_ns,
            prolonged_ns,
            iterations_left_out,
            taken_ns,
            left_ns,
            stretches,
        } = other;
        self.is_kept |= is_kept;
        self.window_ns += window_ns;
        self.clean_ns += clean_ns;
        self.clean_good += clean_good;
        self.clean_completed += clean_completed;
        self.others_aside_ns = self.others_aside_ns.saturating_add(*others_aside_ns);
        self.prolonged_ns += prolonged_ns;
        self.iterations_left_out += iterations_left_out;
        for (sum, more) in [(&mut self.taken_ns, taken_ns), (&mut self.left_ns, left_ns)] {
            more.iter().for_each(|(cause, ns)| *sum.entry(*cause).or_default() += ns);
        }
        self.stretches.extend_from_slice(stretches);
        self.stretches.truncate(STRETCHES_MAX);
    }

    /// What numbers rest on: the clean time, where there is enough of it, with responses, and anything was set aside.
    pub(crate) fn basis(&self) -> Basis {
        let is_enough = self.clean_ns >= CLEAN_MIN_NS && self.clean_completed > 0 && !self.is_all_aside;
        let is_cut = self.is_kept && self.clean_ns < self.window_ns && is_enough;
        if is_cut { Basis::Clean } else { Basis::Whole }
    }

    /// True if so little of it is clean that other iterations speak for it.
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
            set_aside_others_ns: self.others_aside_ns,
            clean_in_flight: None,
            clean_in_flight_error: None,
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
    use model::Phase;

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
        Tick { slices, ..Tick::empty(Phase::Measure, from_ns, to_ns) }
    }

    fn taken(slice: u64, cause: Cause, ms: u64) -> SliceAccount {
        SliceAccount { slice, taken_ns: [(cause, ms * MS)].into(), ..SliceAccount::default() }
    }

    /// Requests take 5 ms: those of a slice that were out when it began were scheduled shortly before.
    fn short(slice: u64) -> u64 {
        (slice * 100 * MS).saturating_sub(5 * MS)
    }

    /// A run of 16,596/s was reported as 0/s: all that was clean was a stall of its server.
    #[test]
    fn clean_time_without_a_response_is_not_what_numbers_rest_on() {
        let mut account = account(1, short);
        account.tick(&tick(1000 * MS, 2000 * MS, Vec::new()), 1);
        let disturbed: Vec<_> = (0..10).map(|slice| taken(slice, Cause::OtherPrograms, 60)).collect();
        account.add(&disturbed);
        let cut = account.cut(&mut [Second::default(); 2]);
        assert_eq!((cut.clean_ns, cut.clean_completed, cut.basis()), (1000 * MS, 0, Basis::Whole));
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
    fn what_others_used_in_disturbed_slices_is_all_that_they_used_of_all_cpus() {
        let of = |slice, others_ms| SliceAccount {
            others_ns: Some(others_ms * MS),
            ..taken(slice, Cause::OtherPrograms, 100)
        };
        let mut account = account(3, short);
        account.add(&[of(12, 800), of(13, 300)]);
        account.tick(&tick(3000 * MS, 3050 * MS, Vec::new()), 3);
        account.add(&[of(30, 400)]);
        let mut cut = account.cut(&mut []);
        cut.add(&cut.clone());
        let told = cut.disturbance(0, &Histograms::default(), &Histograms::default()).unwrap();
        assert_eq!(told.set_aside_others_ns, 2 * 1300 * MS, "of the last slice one half is in the window");
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

    /// Cut, responses and clean seconds of five minutes as they are, and of the same in one go.
    #[test]
    fn what_is_decided_early_comes_to_the_same() {
        let disturbed = |slice: u64| slice % 97 < 3 || (590..640).contains(&slice) || (2_000..2_010).contains(&slice);
        let oldest =
            |slice: u64| (slice * 100 * MS).saturating_sub(if slice.is_multiple_of(5) { 250 * MS } else { 5 * MS });
        let all: Vec<SliceAccount> = (0..3_000)
            .filter(|slice| disturbed(*slice))
            .map(|slice| taken(slice, Cause::ClientSteal, 30 + slice % 70))
            .collect();
        let mut early = Account::default();
        early.add(&all);
        let mut seconds = vec![Second::default(); 300];
        let mut whole = Cutting::default();
        for second in 0..300 {
            let slices: Vec<SliceFlow> = (10 * second..10 * second + 10)
                .map(|slice| SliceFlow { slice, good: slice % 13, completed: slice % 17, oldest_ns: oldest(slice) })
                .collect();
            early.tick(&tick(second * 1000 * MS, (second + 1) * 1000 * MS, slices.clone()), second as usize);
            for flow in slices {
                let piece =
                    Piece { second: second as usize, from_ns: flow.slice * 100 * MS, length_ns: 100 * MS, flow };
                whole.add(&piece, all.iter().find(|taken| taken.slice == flow.slice));
            }
        }
        let cut = early.cut(&mut seconds);
        assert_eq!((cut.window_ns, cut.clean_ns), (whole.cut.window_ns, whole.cut.clean_ns));
        assert_eq!((cut.clean_good, cut.clean_completed), (whole.cut.clean_good, whole.cut.clean_completed));
        assert_eq!((&cut.taken_ns, &cut.left_ns), (&whole.cut.taken_ns, &whole.cut.left_ns));
        assert_eq!(cut.stretches, whole.cut.stretches);
        assert!(cut.clean_ns < cut.window_ns && cut.stretches.len() > 2);
        let clean: Vec<_> = seconds.iter().map(|second| (second.clean_ns, second.clean_good)).collect();
        assert_eq!(clean, whole.seconds.iter().map(|clean| (clean.ns, clean.good)).collect::<Vec<_>>());

        let responses = early.responses();
        assert!(responses.windows(2).all(|pair| pair[0].from_ns + pair[0].length_ns == pair[1].from_ns));
        assert_eq!(
            responses.iter().map(|part| part.completed).sum::<u64>(),
            (0..3_000).map(|slice| slice % 17).sum::<u64>()
        );
        let (first, last) = (&responses[..APART - 1], &responses[responses.len() - APART..]);
        assert!(first.iter().chain(last).all(|part| part.length_ns == 100 * MS) && responses.len() < 3 * APART);
        assert!(early.window.len() == APART && early.taken.len() < APART, "the rest is forgotten");
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
