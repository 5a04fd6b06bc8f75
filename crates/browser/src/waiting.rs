//! Events that came while an answer was waited for. They are kept as they came: read, a message takes many times its bytes.

use std::collections::VecDeque;

/// Events that wait at most.
const EVENTS_MAX: usize = 100_000;
/// Bytes of those that wait, together.
const BYTES_MAX: usize = 64 << 20;

/// The texts of these events, in their order.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    events: VecDeque<Vec<u8>>,
    bytes: usize,
}

impl Waiting {
    /// Keeps one more. Fails if there is no room for it.
    pub(crate) fn push(&mut self, event: Vec<u8>) -> Result<(), String> {
        let bytes = self.bytes + event.len();
        if self.events.len() == EVENTS_MAX {
            return Err(format!("sends more than {EVENTS_MAX} events before it answers"));
        }
        if bytes > BYTES_MAX {
            return Err(format!("sends more than {} MiB of events before it answers", BYTES_MAX >> 20));
        }
        self.bytes = bytes;
        self.events.push_back(event);
        Ok(())
    }

    /// The first of them.
    pub(crate) fn pop(&mut self) -> Option<Vec<u8>> {
        let event = self.events.pop_front()?;
        self.bytes -= event.len();
        Some(event)
    }

    /// Forgets all of them.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_that_wait_are_bounded_by_their_number_and_by_their_bytes() {
        let mut many = Waiting::default();
        assert!((0..EVENTS_MAX).all(|_| many.push(b"{}".into()).is_ok()));
        assert_eq!(many.push(b"{}".into()), Err("sends more than 100000 events before it answers".to_owned()));
        let mut large = Waiting::default();
        let event = || vec![b' '; 8 << 20];
        assert!((0..8).all(|_| large.push(event()).is_ok()));
        assert_eq!(large.push(b"{}".into()), Err("sends more than 64 MiB of events before it answers".to_owned()));
        // What was taken makes room.
        assert_eq!(large.pop(), Some(event()));
        assert_eq!(large.push(event()), Ok(()));
        large.clear();
        assert_eq!((large.pop(), large.push(event())), (None, Ok(())));
    }
}
