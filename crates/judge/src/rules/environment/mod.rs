//! EN: changes and other load on the machine that is measured on.

pub(crate) mod background;
pub(crate) mod burst;
pub(crate) mod drift;
pub(crate) mod frequency;
pub(crate) mod stolen;
