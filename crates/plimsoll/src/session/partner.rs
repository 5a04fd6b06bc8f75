//! Partner of a load: another one at the same time, on another server and other CPUs. Their clocks start together, and one
//! does not go on without the other.

use clock::Clock;
use engine::run::Control;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, OnceLock};

/// One of two loads, as the other one is seen from it.
pub(crate) struct Partner {
    /// 1 or 2.
    pub(crate) part: u32,
    /// Processes of the other server.
    pub(crate) neighbours: Vec<i32>,
    to: Sender<()>,
    from: Receiver<()>,
    clock: Arc<OnceLock<Clock>>,
    enough: Arc<AtomicBool>,
    has_ended: bool,
}

/// Two of them; each is told the processes of the other's server.
pub(crate) fn partners(neighbours: [Vec<i32>; 2]) -> [Partner; 2] {
    let ((to_second, from_first), (to_first, from_second)) = (channel(), channel());
    let (clock, enough) = (Arc::default(), Arc::default());
    let [of_first, of_second] = neighbours;
    let partner = |part, neighbours, to, from| Partner {
        part,
        neighbours,
        to,
        from,
        clock: Arc::clone(&clock),
        enough: Arc::clone(&enough),
        has_ended: false,
    };
    [partner(1, of_first, to_second, from_second), partner(2, of_second, to_first, from_first)]
}

impl Partner {
    /// What acts on the load: `control`, the clock of both, and the other one's end.
    pub(crate) fn control(&self, control: Control) -> Control {
        let (clock, enough) = (Arc::clone(&self.clock), Arc::clone(&self.enough));
        // Both windows are the same time: neither is prolonged.
        Control { clock, enough, part: self.part, prolong_max_ns: 0, ..control }
    }

    /// Waits until the other one is as far, or is gone.
    pub(crate) fn meet(&self) {
        // If it is gone, nobody hears this, and nobody has to be waited for.
        let _ = self.to.send(());
        let _ = self.from.recv();
    }

    /// The load has ended as it should.
    pub(crate) fn end(mut self) {
        self.has_ended = true;
    }
}

impl Drop for Partner {
    /// The other one says nothing without this one.
    fn drop(&mut self) {
        if !self.has_ended {
            self.enough.store(true, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU32;

    #[test]
    fn neither_goes_on_before_the_other_is_there() {
        let arrived = AtomicU32::new(0);
        std::thread::scope(|scope| {
            for partner in partners([Vec::new(), Vec::new()]) {
                let arrived = &arrived;
                scope.spawn(move || {
                    for round in 1..=100 {
                        arrived.fetch_add(1, Ordering::SeqCst);
                        partner.meet();
                        assert!(arrived.load(Ordering::SeqCst) >= 2 * round);
                        partner.meet();
                    }
                    partner.end();
                });
            }
        });
        assert_eq!(arrived.into_inner(), 200);
    }

    #[test]
    fn one_that_fails_ends_the_other_and_one_that_ends_does_not() {
        let [first, second] = partners([vec![7], vec![8]]);
        let control = second.control(Control { prolong_max_ns: 5, ..Control::default() });
        assert_eq!((second.part, &second.neighbours[..], control.part, control.prolong_max_ns), (2, &[8][..], 2, 0));
        drop(first);
        second.meet();
        assert!(control.enough.load(Ordering::Relaxed));
        let [first, second] = partners([Vec::new(), Vec::new()]);
        let (one, other) = (first.control(Control::default()), second.control(Control::default()));
        assert!(Arc::ptr_eq(&one.clock, &other.clock));
        first.end();
        second.meet();
        assert!(!other.enough.load(Ordering::Relaxed));
    }
}
