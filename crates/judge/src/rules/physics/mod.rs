//! PH: can the numbers be true?

pub(super) mod accounts;
pub(super) mod clock;
pub(super) mod light;
pub(super) mod link;
pub(super) mod same_work;
pub(super) mod sequential;
pub(super) mod utilisation;
