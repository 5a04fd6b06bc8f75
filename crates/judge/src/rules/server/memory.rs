//! SV-08: memory shortage.

use crate::facts::kernel::{counter, share_of_time};
use crate::{Applies, Check, Fires, Kernel, Need, Outcome, Rule, Whose};
use model::human::{count, percent};
use model::{Evidence, FindingState, NS_PER_S};

/// Part of the time in which every process stalled for memory.
const STALLED_SHARE: f64 = 0.01;
/// Pages of 4 KiB each second that make a machine swap, and not only tidy up.
const PAGES_PER_S: f64 = 256.0;
/// Fewer in the whole window are left from before.
const PAGES_MIN: u64 = 256;

pub(crate) const RULE: Rule = Rule {
    id: "SV-08",
    title: "memory shortage",
    detects: "The machine swapped, or all of its processes stalled for memory.",
    fires: &[
        Fires::invalid(
            "More than 1 MiB per second was swapped, or all processes stalled for more than 1 % of the time.",
        ),
        Fires::warning("At least 1 MiB was swapped in the window."),
    ],
    remarks: "",
    applies: Applies::Always,
    needs: &[
        Need::Window,
        Need::Kernel(Kernel {
            whose: Whose::Servers,
            figures: &[("paging", "swapped_in_pages"), ("paging", "swapped_out_pages")],
            any: false,
            unknown: "kernel does not count swapped pages",
        }),
    ],
    conditions: "",
    check: Check::Run(check),
};

fn check(evidence: &Evidence) -> Outcome {
    let [Some(swapped_in), Some(swapped_out)] =
        ["swapped_in_pages", "swapped_out_pages"].map(|name| counter(evidence, "paging", name))
    else {
        return Outcome::UNMET;
    };
    // Without PSI swapping alone has to tell.
    let stalled = counter(evidence, "pressure/memory", "full_ns").map_or(0.0, |ns| share_of_time(evidence, ns));
    let pages = swapped_in + swapped_out;
    let pages_per_s = pages as f64 * NS_PER_S as f64 / evidence.measured_ns.max(1) as f64;
    let state = match pages {
        _ if stalled > STALLED_SHARE || pages_per_s > PAGES_PER_S => FindingState::Invalid,
        n if n >= PAGES_MIN => FindingState::Warning,
        _ => return Outcome::Pass,
    };
    let message = format!(
        "memory shortage: {} pages swapped, all processes stalled for {} of the time",
        count(pages),
        percent(stalled)
    );
    let remedy = "use fewer or smaller workers, add memory, or stop other programs".to_owned();
    let figures = [("swapped_pages", pages as f64), ("swapped_pages_per_s", pages_per_s), ("stalled_share", stalled)];
    Outcome::fired(RULE.id, state, message, remedy, figures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_run, judged, set_counter, state};

    #[test]
    fn swapping_and_stalls_are_told() {
        for (pages, stalled_ns, expected) in [
            (255, 300_000_000, None),
            (256, 0, Some(FindingState::Warning)),
            (30 * 257, 0, Some(FindingState::Invalid)),
            (0, 301_000_000, Some(FindingState::Invalid)),
        ] {
            let mut evidence = clean_run();
            set_counter(&mut evidence, "paging", "swapped_in_pages", pages);
            set_counter(&mut evidence, "pressure/memory", "full_ns", stalled_ns);
            assert_eq!(state(&judged(&RULE, &evidence)), expected, "{pages}, {stalled_ns}");
        }
    }
}
