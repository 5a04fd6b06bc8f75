//! Samples of threads that leave one CPU, with their call chains, and the times of all that leave it or return.
//!
//! Every n-th switch is sampled, n so that it comes to some thousands a second. The kernel could adapt n by itself, but does
//! so at each switch, by the time since the last one: of 1,000 switches a second that come in bursts it leaves out many.

use super::stacks::Stacks;
use super::waits::{Switch, Waits, What};
use clock::monotonic_ns;
use perf_event::data::Record;
use perf_event::events::Software;
use perf_event::{Builder, Clock, SampleFlag, Sampler};
use std::io;
use std::time::Duration;

/// Samples a second that are aimed at.
const SAMPLES_HZ: f64 = 5_000.0;
/// How many times as many or as few there are before n is chosen again.
const TOLERANCE: f64 = 2.0;
/// The shortest time by which it is judged.
const COUNT_MIN: Duration = Duration::from_millis(10);
/// Together with the ring of what runs it is below what the kernel lets any user lock for each CPU (`perf_event_mlock_kb`).
const RING_BYTES: usize = 128 * 1024;
/// So many switches never go by: nothing is sampled.
const NONE: u64 = i64::MAX.cast_unsigned();
/// The kernel's records of a switch on an event of a CPU, and its marks: the thread leaves, and it would rather have run on
/// (`PERF_RECORD_SWITCH_CPU_WIDE`, `PERF_RECORD_MISC_SWITCH_OUT`, `PERF_RECORD_MISC_SWITCH_OUT_PREEMPT`).
const SWITCH_CPU_WIDE: u32 = 15;
const SWITCH_OUT: u16 = 1 << 13;
const SWITCH_OUT_PREEMPT: u16 = 1 << 14;

/// The switches of one CPU.
pub(super) struct Switches {
    cpu: usize,
    ring: Sampler,
    /// One of so many is sampled. [`NONE`] until it is known how many there are.
    period: u64,
    /// While it is switched on, the begin of the time whose switches are counted (ns), and those so far.
    counted: Option<(u64, u64)>,
}

impl Switches {
    /// Gets everything ready, switched off.
    pub(super) fn new(cpu: usize) -> io::Result<Self> {
        Ok(Self { cpu, ring: ring(cpu, NONE)?, period: NONE, counted: None })
    }

    pub(super) fn switch_on(&mut self) {
        // An event of a CPU that has gone offline since cannot be switched; the others can.
        self.counted = self.ring.enable().ok().map(|()| (monotonic_ns(), 0));
    }

    pub(super) fn switch_off(&mut self) {
        self.counted = None;
        let _ = self.ring.disable();
    }

    /// Takes all records out of the ring; chooses how many switches go by for each sample.
    pub(super) fn empty(&mut self, waits: &mut Waits, stacks: &mut Stacks) {
        let mut left = 0_u64;
        while let Some(record) = self.ring.next_record() {
            let switch = match record.ty() {
                SWITCH_CPU_WIDE => {
                    left += u64::from(record.misc() & SWITCH_OUT != 0);
                    marked(record.misc(), &record.to_contiguous())
                }
                _ => record.parse_record().map_err(|_| 1).and_then(sampled),
            };
            match switch {
                // An idle CPU is left for every thread that has something to do.
                Ok(switch) => switch.filter(|switch| switch.tid != 0).into_iter().for_each(|switch| waits.push(switch)),
                Err(lost) => stacks.lost_waits += lost,
            }
        }
        if let Some((since_ns, before)) = self.counted {
            self.adapt(since_ns, before + left);
        }
    }

    fn adapt(&mut self, since_ns: u64, switches: u64) {
        let elapsed = Duration::from_nanos(monotonic_ns() - since_ns);
        if elapsed < COUNT_MIN {
            self.counted = Some((since_ns, switches));
            return;
        }
        if let Some(period) = adapted(self.period, switches, elapsed) {
            self.sample_every(period);
        }
        self.counted = Some((monotonic_ns(), 0));
    }

    /// The period of an event cannot be changed, so that it is replaced; if that fails the old one stays.
    fn sample_every(&mut self, period: u64) {
        if let Ok(mut ring) = ring(self.cpu, period)
            && ring.enable().is_ok()
        {
            (self.ring, self.period) = (ring, period);
        }
    }
}

/// Another period, if `switches` in `elapsed` are far too many or too few for the one there is. A prime, so that it does not
/// keep step with what is repeated.
fn adapted(period: u64, switches: u64, elapsed: Duration) -> Option<u64> {
    let exact = switches as f64 / elapsed.as_secs_f64() / SAMPLES_HZ;
    let fits = (period as f64 / TOLERANCE..=period as f64 * TOLERANCE).contains(&exact);
    let is_prime = |n: &u64| (2..).take_while(|d| d * d <= *n).all(|d| !n.is_multiple_of(d));
    let next = (exact.ceil().max(1.0) as u64..).find(is_prime)?;
    (!fits && next != period).then_some(next)
}

/// The same is told by the tracepoint `sched:sched_switch`, which needs a file system that is seldom mounted.
fn ring(cpu: usize, period: u64) -> io::Result<Sampler> {
    let sample = SampleFlag::TID | SampleFlag::TIME | SampleFlag::PERIOD | SampleFlag::CALLCHAIN;
    Builder::new(Software::CONTEXT_SWITCHES)
        .any_pid()
        .one_cpu(cpu)
        .include_kernel()
        .sample_period(period)
        .sample(sample)
        .context_switch(true)
        // Records of switches end with thread and time.
        .sample_id_all(true)
        .clockid(Clock::MONOTONIC)
        .enabled(false)
        .build()?
        .sampled(RING_BYTES)
}

/// A thread that comes back or is made to leave, by the kernel's record of a switch; else how many are lost.
fn marked(misc: u16, record: &[u8]) -> Result<Option<Switch>, u64> {
    let what = match (misc & SWITCH_OUT != 0, misc & SWITCH_OUT_PREEMPT != 0) {
        (false, _) => What::Returns,
        (true, true) => What::Preempted,
        // The sample, if there was one, has said so.
        (true, false) => return Ok(None),
    };
    let (tid, time_ns) = thread_and_time(record).ok_or(1_u64)?;
    Ok(Some(Switch { time_ns, tid, what }))
}

/// A thread that leaves of its own, with its call chain; else how many are lost.
fn sampled(record: Record<'_>) -> Result<Option<Switch>, u64> {
    let sample = match record {
        Record::Sample(sample) => sample,
        Record::Lost(lost) => return Err(lost.lost),
        Record::LostSamples(lost) => return Err(lost.lost),
        _ => return Ok(None),
    };
    let (Some(pid), Some(tid), Some(time_ns)) = (sample.pid(), sample.tid(), sample.time()) else {
        return Ok(None);
    };
    let (chain, weight) = (sample.callchain().unwrap_or(&[]).into(), sample.period().unwrap_or(1));
    Ok(Some(Switch { time_ns, tid, what: What::Leaves { pid, chain, weight } }))
}

/// What stands at the end of every record but samples: process, thread and time.
pub(super) fn thread_and_time(record: &[u8]) -> Option<(u32, u64)> {
    let end: &[u8; 16] = record.last_chunk()?;
    let (ids, time) = end.split_at(8);
    Some((u32::from_ne_bytes(ids[4..].try_into().ok()?), u64::from_ne_bytes(time.try_into().ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROUND: Duration = Duration::from_millis(20);

    #[test]
    fn some_thousand_switches_a_second_are_sampled() {
        assert_eq!(adapted(NONE, 0, ROUND), Some(1));
        assert_eq!(adapted(NONE, 90, ROUND), Some(1), "4,500 a second: each");
        assert_eq!(adapted(NONE, 2_000, ROUND), Some(23), "100,000 a second");
        assert_eq!(adapted(23, 2_000, ROUND), None);
        assert_eq!(adapted(23, 1_200, ROUND), None, "not at every change");
        assert_eq!(adapted(23, 200, ROUND), Some(2));
        assert_eq!(adapted(1, 10, ROUND), None, "more than each is not possible");
    }

    #[test]
    fn records_of_switches_end_with_thread_and_time() {
        let record = [&[9; 8][..], &7_u32.to_ne_bytes(), &8_u32.to_ne_bytes(), &99_u64.to_ne_bytes()].concat();
        assert_eq!(thread_and_time(&record), Some((8, 99)));
        assert_eq!(thread_and_time(&record[..15]), None);
    }
}
