//! Values that several flags take.

use clap::ValueEnum;
use model::Duration;

/// See [`model::Arrivals`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ArrivalsArg {
    /// Exponential gaps, as from many independent users
    Poisson,
    /// Equal gaps
    Constant,
}

/// Load variable of a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OverArg {
    /// Closed loop with rising connections
    Connections,
    /// Open loop with rising rate
    Rate,
}

/// See [`model::Warmup`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WarmupArg {
    Auto,
    Fixed(Duration),
}

impl std::str::FromStr for WarmupArg {
    type Err = model::ParseUnitError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "auto" { Ok(Self::Auto) } else { text.parse().map(Self::Fixed) }
    }
}
