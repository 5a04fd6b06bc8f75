//! The cases of a session: kinds of noise, whom they meet, and their sizes.

use std::fmt;

use anyhow::{Result, ensure};
use clap::ValueEnum;

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Kind {
    /// A program takes the CPU in bursts.
    Hog,
    /// The process stands still in bursts.
    Pause,
    /// It gets a CPU quota half-way.
    Quota,
}

/// Whom it is done to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Place {
    Server,
    Client,
    Both,
}

/// Noise of one kind, place and size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Case {
    pub(super) kind: Kind,
    pub(super) place: Place,
    /// Of the time, or for a quota of the CPU time that was used without it.
    pub(super) share: f64,
}

impl Case {
    pub(super) fn percent(self) -> u32 {
        (100.0 * self.share).round() as u32
    }

    /// True if there is such noise: only a load generator that stands still can be told from a server that answers late.
    const fn is_possible(self) -> bool {
        matches!(
            (self.kind, self.place),
            (Kind::Hog, _) | (Kind::Pause, Place::Client) | (Kind::Quota, Place::Server | Place::Client)
        )
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = self.percent();
        let place = format!("{:?}", self.place).to_lowercase();
        match self.kind {
            Kind::Hog => write!(f, "hog, {place}, {percent} %"),
            Kind::Pause => write!(f, "{place} paused, {percent} %"),
            Kind::Quota => write!(f, "quota, {place}, {percent} % less"),
        }
    }
}

/// Cases that are chosen, each option a list.
#[derive(Debug, clap::Args)]
pub(super) struct CaseOptions {
    /// Kinds of noise
    #[arg(long, value_name = "KIND,...", value_delimiter = ',', default_value = "hog,pause,quota")]
    kind: Vec<Kind>,
    /// Who meets it
    #[arg(long, value_name = "PLACE,...", value_delimiter = ',', default_value = "server,client")]
    on: Vec<Place>,
    /// Percent of the time, or for a quota of the CPU time that was used without it
    #[arg(long, value_name = "P,...", value_delimiter = ',', default_value = "5,20,40")]
    #[arg(value_parser = clap::value_parser!(u8).range(1..=90))]
    share: Vec<u8>,
}

impl CaseOptions {
    /// Those that there are.
    pub(super) fn cases(&self) -> Result<Vec<Case>> {
        let places = |kind: &Kind| self.on.iter().map(|place| (*kind, *place)).collect::<Vec<_>>();
        let sized = |(kind, place)| {
            self.share.iter().map(move |percent| Case { kind, place, share: f64::from(*percent) / 100.0 })
        };
        let cases: Vec<Case> =
            self.kind.iter().flat_map(places).flat_map(sized).filter(|case| case.is_possible()).collect();
        ensure!(
            !cases.is_empty(),
            "a pause is of the client, and a quota of server or client: nothing of that was asked for"
        );
        Ok(cases)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::parsed;

    fn taken(line: &str) -> Result<Vec<String>> {
        Ok(parsed::<CaseOptions>(line)?.cases()?.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn all_possible_cases_are_made_unless_some_are_chosen() {
        assert_eq!(taken("").unwrap().len(), 3 * (2 + 1 + 2));
        assert_eq!(
            taken("--kind hog --on both,client --share 5,20").unwrap(),
            ["hog, both, 5 %", "hog, both, 20 %", "hog, client, 5 %", "hog, client, 20 %"]
        );
        assert_eq!(
            taken("--kind pause,quota --share 40").unwrap(),
            ["client paused, 40 %", "quota, server, 40 % less", "quota, client, 40 % less"]
        );
    }

    #[test]
    fn what_does_not_exist_is_named() {
        for (line, why) in [
            ("--kind rain", "[possible values: hog, pause, quota]"),
            ("--on moon", "[possible values: server, client, both]"),
            ("--share 0", "0 is not in 1..=90"),
            ("--kind pause --on server", "a pause is of the client"),
        ] {
            let error = taken(line).unwrap_err().to_string();
            assert!(error.contains(why), "{line}: {error}");
        }
    }
}
