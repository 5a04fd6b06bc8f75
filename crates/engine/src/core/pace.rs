//! When the next request is due: never by schedule in a closed loop, at given instants in an open one.

use crate::schedule::Cursor;

/// How a core paces itself.
pub(crate) enum Pace {
    /// Each slot sends its next request when it has the response to its last.
    Closed,
    /// Requests are due at the instants of a schedule.
    Open(Cursor),
}

impl Pace {
    #[inline]
    pub(super) const fn is_open_loop(&self) -> bool {
        matches!(self, Self::Open(_))
    }

    /// The next scheduled instant; none in a closed loop.
    #[inline]
    pub(super) fn due_ns(&self) -> Option<u64> {
        match self {
            Self::Closed => None,
            Self::Open(cursor) => Some(cursor.instant_ns()),
        }
    }

    /// Mean time between two requests of all threads together; none in a closed loop. ns
    pub(super) const fn mean_gap_ns(&self) -> Option<f64> {
        match self {
            Self::Closed => None,
            Self::Open(cursor) => Some(cursor.mean_gap_ns()),
        }
    }

    #[inline]
    pub(super) fn advance(&mut self) {
        if let Self::Open(cursor) = self {
            cursor.advance();
        }
    }
}
