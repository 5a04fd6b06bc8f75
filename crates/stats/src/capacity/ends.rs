//! Ends of the bracket: each confirmed by fresh votes, or moved outwards.

use super::belief::Known;
use super::bracket::Range;
use super::vote::{LoadClass, Vote, VoteGoal, classify};
use crate::blocks::shuffled_blocks;

/// Share of the belief beyond each end where it is placed.
pub(super) const TAIL: f64 = 0.015;
/// An end with more than this share beyond it needs more votes, ...
const UNSURE: f64 = 0.02;
/// ... and with more than this another place.
const MISPLACED: f64 = 0.045;
/// Votes at an end after which it moves if it is still unsure.
const VOTES_MAX: usize = 7;
/// Full-length trials that an end's first vote is made of, and those that are added while it is unsure.
const VOTES: f64 = 3.0;
const VOTES_MORE: f64 = 2.0;
/// Least step outwards, in widths of the bracket; it doubles with each move.
const STEP: f64 = 1.0 / 8.0;
/// Moves of one end; the server has changed under the search if they are not enough.
const MOVES_MAX: u32 = 8;
/// An end so many standard deviations away from the capacity cannot have failed to be one by noise.
const SURPRISE: f64 = 2.0;
/// Rounds of votes that are shuffled at once.
const ROUNDS: usize = 32;

/// End of the bracket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Low,
    High,
}

/// Where ends may be, and how they are voted on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    pub(super) range: Range,
    /// Wanted width, in logarithms.
    pub(super) width: f64,
    /// A full-length trial; s.
    pub(super) full_s: f64,
}

impl Rules {
    /// The class of `votes` where so many full-length trials are wanted.
    fn class(&self, votes: &[Vote], wanted: f64) -> LoadClass {
        classify(votes, &VoteGoal { duration_sum_s: wanted * self.full_s, exceed_ratio: 0.5 })
    }

    /// A load with no more digits than the width asks for, within the range.
    pub(super) fn rounded(&self, log: f64) -> f64 {
        let load = log.exp();
        let unit = 10.0_f64.powf((load * self.width / 20.0).log10().floor());
        self.range.clamp((load / unit).round() * unit)
    }
}

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Review {
    /// A vote at this end.
    Vote(Side),
    /// Both ends are confirmed.
    Confirmed,
    /// This end is that of the range, and its votes say that the capacity lies beyond it.
    AtLimit(Side),
    /// This end has moved as often as it may.
    Lost,
}

#[derive(Clone, Debug)]
struct End {
    side: Side,
    load_per_s: f64,
    /// Fresh ones.
    votes: Vec<Vote>,
    /// Full-length trials wanted.
    wanted: f64,
    moves: u32,
    /// True if noise cannot explain votes that go the wrong way.
    is_far: bool,
}

/// Both ends.
#[derive(Clone, Debug)]
pub(super) struct Ends {
    ends: [End; 2],
    /// In which the ends are voted on.
    order: Vec<Side>,
    turn: usize,
    /// True if votes at an end went the wrong way where noise does not explain it.
    pub(super) is_inverted: bool,
}

impl Ends {
    pub(super) fn new(known: &Known, rules: &Rules, seed: u64) -> Self {
        let ends = [Side::Low, Side::High].map(|side| {
            let mut end = End { side, load_per_s: 0.0, votes: Vec::new(), wanted: VOTES, moves: 0, is_far: false };
            end.place(side.wanted(known, rules), known, rules);
            end
        });
        let order = shuffled_blocks(&[Side::Low, Side::High], ROUNDS, seed).concat();
        Self { ends, order, turn: 0, is_inverted: false }
    }

    pub(super) fn load_per_s(&self, side: Side) -> f64 {
        self.ends[side as usize].load_per_s
    }

    /// True if its votes say that it is an end.
    pub(super) fn is_confirmed(&self, side: Side, rules: &Rules) -> bool {
        let end = &self.ends[side as usize];
        rules.class(&end.votes, VOTES) == side.class()
    }

    pub(super) fn vote(&mut self, side: Side, vote: Vote) {
        self.ends[side as usize].votes.push(vote);
    }

    /// Moves ends that are none, and says what comes next.
    pub(super) fn review(&mut self, known: &Known, rules: &Rules) -> Review {
        let mut is_open = [false; 2];
        for (end, is_open) in self.ends.iter_mut().zip(&mut is_open) {
            match end.review(known, rules) {
                Standing::Confirmed => {}
                Standing::Open => *is_open = true,
                Standing::Moved { is_surprise } => {
                    *is_open = true;
                    self.is_inverted |= is_surprise;
                }
                Standing::AtLimit => return Review::AtLimit(end.side),
                Standing::Lost => return Review::Lost,
            }
        }
        if is_open == [false; 2] {
            return Review::Confirmed;
        }
        loop {
            let side = self.order[self.turn % self.order.len()];
            self.turn += 1;
            if is_open[side as usize] {
                return Review::Vote(side);
            }
        }
    }
}

enum Standing {
    Confirmed,
    Open,
    Moved { is_surprise: bool },
    AtLimit,
    Lost,
}

impl End {
    fn review(&mut self, known: &Known, rules: &Rules) -> Standing {
        if self.load_per_s > rules.range.to_per_s {
            // the client has turned out to offer less than this
            self.place(rules.range.to_per_s.ln(), known, rules);
        }
        let class = rules.class(&self.votes, self.wanted);
        let is_right = class == self.side.class();
        let is_wrong = !is_right && class != LoadClass::Undecided;
        let beyond = self.side.beyond(known, self.load_per_s.ln());
        if is_right && beyond <= UNSURE {
            return Standing::Confirmed;
        }
        let is_used_up = is_right && self.votes.len() >= VOTES_MAX;
        if self.is_at_limit(rules) {
            if is_wrong {
                return Standing::AtLimit;
            }
            // there is no place further out
            return if is_right { Standing::Confirmed } else { Standing::Open };
        }
        // One vote against it may be chance; where noise hardly explains it, more of them say whether the server has changed.
        let is_in_question = self.is_far && class == LoadClass::Undecided && self.has_wrong_vote();
        if is_wrong || is_used_up || beyond > MISPLACED && !is_in_question {
            if self.moves == MOVES_MAX {
                return Standing::Lost;
            }
            let is_surprise = is_wrong && self.is_far;
            self.move_outwards(known, rules);
            return Standing::Moved { is_surprise };
        }
        if is_right {
            self.wanted += VOTES_MORE;
        }
        Standing::Open
    }

    fn has_wrong_vote(&self) -> bool {
        self.votes.iter().any(|vote| vote.held == (self.side == Side::High))
    }

    fn move_outwards(&mut self, known: &Known, rules: &Rules) {
        let step = (rules.width * STEP).max(known.noise / 4.0) * f64::from(1_u32 << self.moves);
        let (at, wanted) = (self.load_per_s.ln(), self.side.wanted(known, rules));
        let further = match self.side {
            Side::Low => wanted.min(at - step),
            Side::High => wanted.max(at + step),
        };
        self.moves += 1;
        self.place(further, known, rules);
    }

    fn place(&mut self, log: f64, known: &Known, rules: &Rules) {
        self.load_per_s = rules.rounded(log);
        self.votes.clear();
        self.wanted = VOTES;
        self.is_far = (self.load_per_s.ln() - known.quantile(0.5)).abs() > SURPRISE * known.noise;
    }

    fn is_at_limit(&self, rules: &Rules) -> bool {
        match self.side {
            Side::Low => rules.range.is_at_bottom(self.load_per_s),
            Side::High => rules.range.is_at_top(self.load_per_s),
        }
    }
}

impl Side {
    const fn class(self) -> LoadClass {
        match self {
            Self::Low => LoadClass::Lower,
            Self::High => LoadClass::Upper,
        }
    }

    /// Share of the belief beyond a load.
    fn beyond(self, known: &Known, load: f64) -> f64 {
        match self {
            Self::Low => known.below(load),
            Self::High => 1.0 - known.below(load),
        }
    }

    /// Log of the load that this end should be at.
    fn wanted(self, known: &Known, rules: &Rules) -> f64 {
        let (middle, half) = (known.quantile(0.5), rules.width / 2.0);
        match self {
            Self::Low => known.quantile(TAIL).min(middle - half),
            Self::High => known.quantile(1.0 - TAIL).max(middle + half),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capacity::belief::Belief;

    const RULES: Rules = Rules { range: Range { from_per_s: 100.0, to_per_s: 10_000.0 }, width: 0.03, full_s: 6.0 };
    const CAPACITY: f64 = 1000.0;

    /// Known after a bisection of a quiet server.
    fn known() -> Known {
        let mut belief = Belief::new(CAPACITY.ln() - 0.4, CAPACITY.ln() + 0.4, 0.003, None);
        for _ in 0..16 {
            let load = belief.known(&[]).quantile(0.5);
            belief.vote(load, load <= CAPACITY.ln(), 1.0);
        }
        belief.known(&[])
    }

    const fn vote(held: bool) -> Vote {
        Vote { held, is_full: true, effective_s: 6.0 }
    }

    #[test]
    fn two_votes_confirm_an_end_and_a_third_is_not_asked_for() {
        let known = known();
        let mut ends = Ends::new(&known, &RULES, 7);
        let (low, high) = (ends.load_per_s(Side::Low), ends.load_per_s(Side::High));
        assert!(low < CAPACITY && CAPACITY < high && high / low < 1.07, "{low} {high}");
        let mut asked = Vec::new();
        while let Review::Vote(side) = ends.review(&known, &RULES) {
            ends.vote(side, vote(side == Side::Low));
            asked.push(side);
        }
        assert_eq!(ends.review(&known, &RULES), Review::Confirmed);
        assert_eq!(asked.iter().filter(|side| **side == Side::Low).count(), 2, "{asked:?}");
        assert_eq!(asked.len(), 4);
        assert!(ends.is_confirmed(Side::Low, &RULES) && ends.is_confirmed(Side::High, &RULES) && !ends.is_inverted);
    }

    #[test]
    fn an_end_whose_votes_go_the_wrong_way_moves_outwards_and_is_a_surprise() {
        let known = known();
        let mut ends = Ends::new(&known, &RULES, 7);
        let high = ends.load_per_s(Side::High);
        ends.vote(Side::High, vote(true));
        ends.vote(Side::High, vote(true));
        assert!(matches!(ends.review(&known, &RULES), Review::Vote(_)));
        assert!(ends.load_per_s(Side::High) > high && ends.is_inverted);
        let mut moves = 1;
        while ends.review(&known, &RULES) != Review::Lost {
            ends.vote(Side::High, vote(true));
            moves += 1;
            assert!(moves < 100 && ends.load_per_s(Side::High) <= RULES.range.to_per_s);
        }
    }

    #[test]
    fn the_ends_of_the_range_are_limits() {
        let narrow = Range { from_per_s: 995.0, to_per_s: 1005.0 };
        let rules = Rules { range: narrow, ..RULES };
        let known = known();
        let mut ends = Ends::new(&known, &rules, 7);
        assert_eq!((ends.load_per_s(Side::Low), ends.load_per_s(Side::High)), (995.0, 1005.0));
        ends.vote(Side::High, vote(true));
        ends.vote(Side::High, vote(true));
        assert_eq!(ends.review(&known, &rules), Review::AtLimit(Side::High));
    }
}
