//! Pressure stall information: time in which something waited for CPU, memory or I/O.

use super::Figured;
use crate::files::{Files, Missing};

/// Stalls for a resource since the machine has started: of some processes, and of all at the same time.
pub(super) fn pressure(files: &Files, resource: &str) -> Result<Figured, Missing> {
    let file = format!("/proc/pressure/{resource}");
    match files.text(&file) {
        Ok(text) => pressure_of(&text).ok_or(Missing::Malformed(file)),
        Err(Missing::Unreadable { .. }) => {
            Err(Missing::Because("switched off in this kernel; psi=1 at boot switches it on"))
        }
        Err(why) => Err(why),
    }
}

/// Lines of `some avg10=0.00 avg60=0.00 avg300=0.00 total=USECONDS`.
fn pressure_of(text: &str) -> Option<Figured> {
    let total_ns = |line: &str| -> Option<u64> {
        Some(line.rsplit_once("total=")?.1.trim().parse::<u64>().ok()?.saturating_mul(1000))
    };
    let stalls = text.lines().map(|line| Some((format!("{}_ns", line.split_once(' ')?.0), total_ns(line)?)));
    let stalls: Vec<_> = stalls.collect::<Option<_>>()?;
    (!stalls.is_empty()).then(|| Figured::counters(stalls))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_are_in_ns() {
        let text = "some avg10=50.70 avg60=55.59 avg300=39.32 total=6592573475\nfull avg10=0.00 total=8\n";
        let counters = pressure_of(text).unwrap().counters;
        assert_eq!((counters["some_ns"], counters["full_ns"]), (6_592_573_475_000, 8_000));
        assert_eq!((pressure_of(""), pressure_of("some avg10=1\n")), (None, None));
    }
}
