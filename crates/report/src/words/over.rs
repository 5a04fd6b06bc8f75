//! What a sweep varied, in words.

use model::SweepRecord;
use model::human::{count, plural, rate};

/// What was varied.
#[derive(Clone, Copy)]
pub(crate) enum Over {
    Connections,
    Rate,
}

impl Over {
    pub(crate) fn of(record: &SweepRecord) -> Self {
        if record.over == "rate" { Self::Rate } else { Self::Connections }
    }

    /// A load in a sentence.
    pub(crate) fn place(self, load: f64) -> String {
        match self {
            Self::Rate => format!("{} offered", rate(load)),
            Self::Connections if load.fract() == 0.0 => plural(load as u64, "connection"),
            Self::Connections => format!("{} connections", self.number(load)),
        }
    }

    /// A load in a table.
    pub(crate) fn number(self, load: f64) -> String {
        match self {
            Self::Rate => rate(load),
            Self::Connections if load.fract() == 0.0 => count(load as u64),
            Self::Connections if load < 99.95 => format!("{load:.1}"),
            Self::Connections => count(load.round() as u64),
        }
    }

    pub(crate) fn axis(self) -> &'static str {
        match self {
            Self::Connections => "connections",
            Self::Rate => "offered rate",
        }
    }
}
