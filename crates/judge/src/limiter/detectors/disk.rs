//! A disk that is always busy, or that workers wait for.

use super::{Detection, Signal, figures};
use crate::limiter::input::{DISK, LimiterInput};
use crate::limiter::laws;
use crate::limiter::pools::{Pool, pools};
use crate::limiter::utilisation::utilisations;
use model::human::percent;

const BUSY: f64 = 0.9;
/// Some process waited for a disk for this share of the time (PSI).
const PRESSURE: f64 = 0.2;
/// Workers that wait for a disk for this share of their occupied time.
const WAITS: f64 = 0.2;

pub(super) fn look(input: &LimiterInput<'_>) -> Detection {
    let disks: Vec<_> = utilisations(input).into_iter().filter(|used| used.resource.starts_with(DISK)).collect();
    let pressure = input.share_of_time("pressure/io", "some_ns");
    if disks.is_empty() && pressure.is_none() {
        return Detection::Unchecked("disks not monitored");
    }
    let pools = pools(input);
    let waiting = pools.iter().map(Pool::waits_for_disk).fold(0.0, f64::max);
    // Where it is known that no worker waits for it, others keep it busy.
    let is_ours = waiting >= WAITS || pools.iter().all(|pool| pool.blocked.is_empty());
    let busiest = disks.iter().max_by(|a, b| a.share.total_cmp(&b.share)).filter(|disk| disk.share >= BUSY && is_ours);
    let waits = pressure.is_some_and(|share| share >= PRESSURE) && waiting >= WAITS;
    if busiest.is_none() && !waits {
        return Detection::Clear;
    }
    let resource = busiest.map_or_else(|| "disk".to_owned(), |disk| disk.resource.clone());
    let how = match busiest {
        Some(disk) => format!("{} is {} busy", disk.resource, percent(disk.share.min(1.0))),
        None => format!("workers wait for a disk {} of their time", percent(waiting.min(1.0))),
    };
    Detection::hit(Signal {
        name: "disk-limited",
        says: format!("{how}; some process waited for it {} of the time", percent(pressure.unwrap_or(0.0).min(1.0))),
        resource,
        share: busiest.map(|disk| disk.share),
        queue: waits || pressure.is_some_and(|share| share >= PRESSURE),
        ceiling_per_s: busiest.and_then(|disk| laws::ceiling_per_s(input.per_s, disk.share.min(1.0))),
        evidence: figures([
            ("disk_busy_share", busiest.map_or(0.0, |disk| disk.share)),
            ("pressure_share", pressure.unwrap_or(0.0)),
            ("waiting_share", waiting),
        ]),
        ..Signal::default()
    })
}
