//! Kinds of noise, whom they meet, and how large they are: the cases of a session.

use std::fmt;

use anyhow::{Result, bail, ensure};

use crate::options::Options;

const SHARES: [f64; 3] = [0.05, 0.2, 0.4];

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A program takes the CPU in bursts.
    Hog,
    /// The process stands still in bursts.
    Pause,
    /// It gets a CPU quota half-way.
    Quota,
}

/// Whom it is done to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Server,
    Client,
    Both,
}

const KINDS: [(&str, Kind); 3] = [("hog", Kind::Hog), ("pause", Kind::Pause), ("quota", Kind::Quota)];
const PLACES: [(&str, Place); 3] = [("server", Place::Server), ("client", Place::Client), ("both", Place::Both)];

/// Noise of one kind, place and size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Case {
    pub(super) kind: Kind,
    pub(super) place: Place,
    /// Of the time, or for a quota of the CPU time that was used without it.
    pub(super) share: f64,
}

impl Case {
    /// Whether there is such noise: only a load generator that stands still can be told from a server that answers late.
    const fn is_possible(self) -> bool {
        matches!(
            (self.kind, self.place),
            (Kind::Hog, _) | (Kind::Pause, Place::Client) | (Kind::Quota, Place::Server | Place::Client)
        )
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = 100.0 * self.share;
        let place = name(&PLACES, self.place);
        match self.kind {
            Kind::Hog => write!(f, "hog, {place}, {percent:.0} %"),
            Kind::Pause => write!(f, "{place} paused, {percent:.0} %"),
            Kind::Quota => write!(f, "quota, {place}, {percent:.0} % less"),
        }
    }
}

/// The cases of `--kind`, `--on` and `--share`, each a list.
pub(super) fn take(options: &mut Options) -> Result<Vec<Case>> {
    let kinds = match options.value::<String>("--kind")? {
        Some(text) => list(&text, |word| named("--kind", &KINDS, word))?,
        None => KINDS.map(|(_, kind)| kind).to_vec(),
    };
    let places = match options.value::<String>("--on")? {
        Some(text) => list(&text, |word| named("--on", &PLACES, word))?,
        None => vec![Place::Server, Place::Client],
    };
    let shares = match options.value::<String>("--share")? {
        Some(text) => list(&text, share)?,
        None => SHARES.to_vec(),
    };
    let places = |kind| places.iter().map(move |place| (kind, *place));
    let sized = |(kind, place)| shares.iter().map(move |share| Case { kind, place, share: *share });
    let cases: Vec<Case> =
        kinds.into_iter().flat_map(places).flat_map(sized).filter(|case| case.is_possible()).collect();
    ensure!(
        !cases.is_empty(),
        "a pause is of the client, and a quota of server or client: nothing of that was asked for"
    );
    Ok(cases)
}

fn list<T>(text: &str, read: impl Fn(&str) -> Result<T>) -> Result<Vec<T>> {
    text.split(',').map(|word| read(word.trim())).collect()
}

/// Percent as a share.
fn share(word: &str) -> Result<f64> {
    match word.parse::<f64>() {
        Ok(percent) if (1.0..=90.0).contains(&percent) => Ok(percent / 100.0),
        _ => bail!("--share: `{word}` is not between 1 and 90 percent"),
    }
}

fn named<T: Copy>(option: &str, all: &[(&str, T)], word: &str) -> Result<T> {
    match all.iter().find(|(name, _)| *name == word) {
        Some((_, value)) => Ok(*value),
        None => {
            bail!("{option}: `{word}` is none of {}", all.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", "))
        }
    }
}

fn name<T: PartialEq>(all: &[(&'static str, T)], value: T) -> &'static str {
    all.iter().find(|(_, other)| *other == value).map_or("", |(name, _)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(line: &str) -> Result<Vec<String>> {
        let mut options = Options::new(line.split_whitespace().map(str::to_owned));
        Ok(take(&mut options)?.iter().map(ToString::to_string).collect())
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
            ("--kind rain", "none of hog, pause, quota"),
            ("--on moon", "none of server, client, both"),
            ("--share 0", "between 1 and 90"),
            ("--kind pause --on server", "a pause is of the client"),
        ] {
            let error = taken(line).unwrap_err().to_string();
            assert!(error.contains(why), "{line}: {error}");
        }
    }
}
