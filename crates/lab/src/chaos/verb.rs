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
    /// A comparison of two servers; with load of agents only, as is the next.
    Compare,
    /// A search for a capacity.
    Capacity,
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
            Self::Compare => "compare",
            Self::Capacity => "capacity",
        }
    }

    /// Its command line, without where the result goes. No load is prolonged, so that its window is known. Empty of what is
    /// measured with agents only.
    pub(super) fn words(self) -> Vec<&'static str> {
        let line = match self {
            Self::Run => "run -c 2 -d 3s --warmup 0s --budget 0s",
            Self::ProfiledRun => "run -c 2 -d 3s --warmup 0s --budget 0s --profile",
            Self::Sweep => "sweep --to 4 --points 3 --iterations 1 -d 2s --warmup 0s --budget 0s",
            Self::ProfiledSweep => "sweep --to 2 --points 2 --iterations 1 -d 2s --warmup 0s --budget 0s --profile",
            Self::Serve => "serve target",
            Self::Profile => "profile --all -d 2s",
            Self::Compare | Self::Capacity => "",
        };
        line.split_whitespace().collect()
    }

    /// Its options with load of agents, which is never prolonged; empty of what is not measured with them.
    pub(super) fn words_of_agents(self) -> Vec<&'static str> {
        let line = match self {
            Self::Run => "-c 4 -d 3s --warmup 0s",
            Self::Sweep => "--to 8 --points 3 --iterations 1 -d 2s --warmup 0s",
            Self::Compare => "-c 4 -d 2s --warmup 0s --only saturated --blocks 2",
            Self::Capacity => "--goal p99<500ms,errors<1% --to 200 --timeout 1s -d 4s --warmup 0s",
            Self::ProfiledRun | Self::ProfiledSweep | Self::Serve | Self::Profile => "",
        };
        line.split_whitespace().collect()
    }

    /// Time from the start in which instants lie: about as long as the command takes.
    pub(super) const fn span(self) -> Duration {
        match self {
            Self::Run => Duration::from_secs(5),
            Self::ProfiledRun => Duration::from_secs(6),
            Self::Sweep | Self::ProfiledSweep => Duration::from_secs(9),
            Self::Serve => Duration::from_secs(3),
            Self::Profile => Duration::from_secs(4),
            Self::Compare => Duration::from_secs(22),
            Self::Capacity => Duration::from_secs(16),
        }
    }

    /// The same with load of agents, which have to be started and to compare clocks.
    pub(super) const fn span_of_agents(self) -> Duration {
        match self {
            Self::Run => Duration::from_secs(5),
            Self::Sweep => Duration::from_secs(10),
            _ => self.span(),
        }
    }

    /// Length of each of its loads, or of its samples; none of what measures nothing.
    pub(super) const fn window(self) -> Option<Duration> {
        match self {
            Self::Run | Self::ProfiledRun => Some(Duration::from_secs(3)),
            Self::Capacity => Some(Duration::from_secs(4)),
            Self::Sweep | Self::ProfiledSweep | Self::Profile | Self::Compare => Some(Duration::from_secs(2)),
            Self::Serve => None,
        }
    }

    /// The file in which it writes down what happens.
    pub(super) const fn log(self) -> &'static str {
        match self {
            Self::Profile => SAMPLES,
            _ => EVENTS,
        }
    }

    /// The file of its result.
    pub(super) const fn result(self) -> Option<&'static str> {
        match self {
            Self::Profile => Some("profile.json"),
            Self::Serve => None,
            _ => Some("run.json"),
        }
    }

    /// True if its result has a profile beside its loads.
    pub(super) const fn is_profiled(self) -> bool {
        matches!(self, Self::ProfiledRun | Self::ProfiledSweep)
    }

    /// True of the exit codes of a whole result: valid or bound, invalid; of what makes up its mind, also no and do not know.
    pub(super) const fn is_fine(self, code: i32) -> bool {
        match self {
            Self::Compare | Self::Capacity => matches!(code, 0 | 1 | 4 | 5),
            _ => matches!(code, 0 | 4),
        }
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
        for verb in [Verb::Run, Verb::Sweep, Verb::Compare, Verb::Capacity] {
            let seconds = format!("{}s", verb.window().expect("it measures").as_secs());
            let words = verb.words_of_agents();
            assert!(words.windows(2).any(|pair| pair[0] == "-d" && pair[1] == seconds), "{verb:?}");
        }
    }
}
