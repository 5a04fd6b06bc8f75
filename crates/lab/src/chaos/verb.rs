//! What is ended: a short command of each verb that measures or serves, against the built-in server.

use super::log::{EVENTS, SAMPLES};
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Verb {
    Run,
    /// A run with samples of where its CPU time goes.
    ProfiledRun,
    Sweep,
    /// A sweep whose peak is measured again with samples.
    ProfiledSweep,
    Serve,
    Profile,
}

impl Verb {
    /// For people.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::ProfiledRun => "run --profile",
            Self::Sweep => "sweep",
            Self::ProfiledSweep => "sweep --profile",
            Self::Serve => "serve",
            Self::Profile => "profile",
        }
    }

    /// Its command line, without where the result goes. No load is prolonged, so that its window is known.
    pub(super) const fn words(self) -> &'static [&'static str] {
        match self {
            Self::Run => &["run", "-c", "2", "-d", "3s", "--warmup", "0s", "--budget", "0s"],
            Self::ProfiledRun => &["run", "-c", "2", "-d", "3s", "--warmup", "0s", "--budget", "0s", "--profile"],
            Self::Sweep => &[
                "sweep",
                "--to",
                "4",
                "--points",
                "3",
                "--iterations",
                "1",
                "-d",
                "2s",
                "--warmup",
                "0s",
                "--budget",
                "0s",
            ],
            Self::ProfiledSweep => &[
                "sweep",
                "--to",
                "2",
                "--points",
                "2",
                "--iterations",
                "1",
                "-d",
                "2s",
                "--warmup",
                "0s",
                "--budget",
                "0s",
                "--profile",
            ],
            Self::Serve => &["serve", "target"],
            Self::Profile => &["profile", "--all", "-d", "2s"],
        }
    }

    /// Time from the start in which instants lie: about as long as the command takes.
    pub(super) const fn span(self) -> Duration {
        match self {
            Self::Run => Duration::from_secs(5),
            Self::ProfiledRun => Duration::from_secs(6),
            Self::Sweep | Self::ProfiledSweep => Duration::from_secs(9),
            Self::Serve => Duration::from_secs(3),
            Self::Profile => Duration::from_secs(4),
        }
    }

    /// Length of each of its loads, or of its samples; none of what measures nothing.
    pub(super) const fn window(self) -> Option<Duration> {
        match self {
            Self::Run | Self::ProfiledRun => Some(Duration::from_secs(3)),
            Self::Sweep | Self::ProfiledSweep | Self::Profile => Some(Duration::from_secs(2)),
            Self::Serve => None,
        }
    }

    /// The file in which it writes down what happens.
    pub(super) const fn log(self) -> &'static str {
        match self {
            Self::Profile => SAMPLES,
            Self::Run | Self::ProfiledRun | Self::Sweep | Self::ProfiledSweep | Self::Serve => EVENTS,
        }
    }

    /// The file of its result.
    pub(super) const fn result(self) -> Option<&'static str> {
        match self {
            Self::Run | Self::ProfiledRun | Self::Sweep | Self::ProfiledSweep => Some("run.json"),
            Self::Profile => Some("profile.json"),
            Self::Serve => None,
        }
    }

    /// True if its result has a profile beside its loads.
    pub(super) const fn is_profiled(self) -> bool {
        matches!(self, Self::ProfiledRun | Self::ProfiledSweep)
    }

    /// True if its result is that of one load.
    pub(super) const fn is_one_load(self) -> bool {
        matches!(self, Self::Run | Self::ProfiledRun)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_are_as_long_as_their_command_says() {
        for verb in [Verb::Run, Verb::ProfiledRun, Verb::Sweep, Verb::ProfiledSweep, Verb::Profile] {
            let window = verb.window().expect("it measures");
            let seconds = format!("{}s", window.as_secs());
            assert!(verb.words().windows(2).any(|pair| pair[0] == "-d" && pair[1] == seconds), "{verb:?}");
            assert!(verb.span() > window);
        }
    }
}
