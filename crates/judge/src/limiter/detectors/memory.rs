//! Memory that is short: everything stalls, or pages go to a disk and come back.

use super::{Detection, Signal, figures};
use crate::limiter::input::LimiterInput;
use model::human::{percent, rate};

/// All processes waited for memory for this share of the time (PSI full).
const PRESSURE: f64 = 0.01;
/// Pages swapped, and faults that read from a disk, a second: less is housekeeping, not shortage (plimsoll defaults).
const SWAPPED_PER_S: f64 = 10.0;
const FAULTS_PER_S: f64 = 100.0;
/// Less time than this in which all processes wait for memory is none.
const STALLS: f64 = 0.001;

pub(super) fn look(input: &LimiterInput<'_>) -> Detection {
    let per_s = |name: &str| input.counter("paging", name).map(|n| n / input.seconds());
    let pressure = input.share_of_time("pressure/memory", "full_ns");
    let (Some(swapped), Some(faults)) = (per_s("swapped_in_pages"), per_s("major_faults")) else {
        return Detection::Unchecked("paging not monitored");
    };
    let swapped = swapped + per_s("swapped_out_pages").unwrap_or(0.0);
    let pressed = pressure.unwrap_or(0.0);
    // Faults are those of the whole machine: where nothing stalls for memory they are of programs that begin.
    let is_slowed = faults > FAULTS_PER_S && pressure.is_none_or(|share| share > STALLS);
    if pressed <= PRESSURE && swapped <= SWAPPED_PER_S && !is_slowed {
        return Detection::Clear;
    }
    Detection::hit(Signal {
        name: "memory-limited",
        resource: "memory".to_owned(),
        says: format!(
            "all processes waited for memory {} of the time; {} pages swapped, {} major page faults",
            percent(pressed.min(1.0)),
            rate(swapped),
            rate(faults)
        ),
        queue: pressed > PRESSURE,
        evidence: figures([
            ("pressure_full_share", pressed),
            ("swapped_pages_per_s", swapped),
            ("major_faults_per_s", faults),
        ]),
        ..Signal::default()
    })
}
