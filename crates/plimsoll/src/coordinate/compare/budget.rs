//! The time that enough blocks take, and how a budget is written that holds them.

use super::PILOT;
use model::NS_PER_S;
use model::human::{plural, time};

/// Room for blocks that take longer than they are thought to.
const ROOM_PERCENT: u64 = 5;
/// Budgets are advised in steps of this ...
const STEP_S: u64 = 10;
/// ... and from here on in whole minutes.
const IN_MINUTES_FROM_S: u64 = 180;

/// Blocks without which no interval can be given; where fewer are asked for, those.
pub(crate) fn least_blocks(blocks_max: u64) -> u64 {
    PILOT.min(blocks_max)
}

/// The shortest budget of round numbers that holds this time, as it is written behind `--budget`.
pub(crate) fn budget_text(ns: u64) -> String {
    let seconds = ns.saturating_add(ns / 100 * ROOM_PERCENT).div_ceil(NS_PER_S);
    match seconds.next_multiple_of(STEP_S) {
        rounded if rounded < IN_MINUTES_FROM_S => format!("{rounded}s"),
        _ => format!("{}m", seconds.div_ceil(60)),
    }
}

/// Why a budget is refused in which fewer blocks fit than an interval needs, with what mends it; none where they fit.
pub(crate) fn refusal(budget_ns: u64, block_ns: u64, blocks_max: u64) -> Option<String> {
    let needed = least_blocks(blocks_max);
    let fit = budget_ns / block_ns.max(1);
    (fit < needed).then(|| {
        format!(
            "--budget: {} hold {} of about {}, and {needed} are needed before an interval can be given: use --budget {} or \
             more, or --blocks {fit} for the values without an interval",
            time(budget_ns as f64),
            plural(fit, "block"),
            time(block_ns as f64),
            budget_text(needed.saturating_mul(block_ns))
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 97 s of load were spent on a comparison that no budget of 100 s could decide.
    #[test]
    fn a_budget_that_holds_too_few_blocks_for_an_interval_is_refused_with_one_that_holds_them() {
        let block_ns = 21_800_000_000;
        let refused = refusal(100 * NS_PER_S, block_ns, 200).expect("4 blocks are too few");
        assert_eq!(
            refused,
            "--budget: 100 s hold 4 blocks of about 21.8 s, and 6 are needed before an interval can be given: use \
             --budget 140s or more, or --blocks 4 for the values without an interval"
        );
        assert_eq!(refusal(140 * NS_PER_S, block_ns, 200), None, "what is advised is accepted");
        assert_eq!(refusal(100 * NS_PER_S, block_ns, 4), None, "so few were asked for");
    }

    #[test]
    fn advised_budgets_are_round_and_hold_what_is_needed() {
        let of = |seconds: u64| budget_text(seconds * NS_PER_S);
        assert_eq!([of(90), of(131), of(200), of(600)], ["100s", "140s", "4m", "11m"]);
    }
}
