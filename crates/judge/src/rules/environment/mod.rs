//! The machine that is measured on: whether it was the server's alone, and the same from begin to end.

mod background;
mod burst;
mod drift;
mod frequency;
mod stolen;

use crate::Rule;

pub(crate) static ALL: [Rule; 6] =
    [stolen::RULE, frequency::RULE, background::RULE, burst::RULE, drift::SETTINGS, drift::PROGRAMS];
