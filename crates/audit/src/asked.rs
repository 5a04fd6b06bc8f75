//! What a command line asks of a load: the flags of each tool, and the figure that each of them is about.

use super::figure::Figure;
use super::scan::{count, go_time_ns, number, time_ns};

/// The flags of a tool that say what a load is to be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flags {
    /// How they are written.
    pub(crate) style: Style,
    pub(crate) flags: &'static [Flag],
}

/// How a tool takes its flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// `-c5`, `-c 5`, `-kc 5`, `--name 5` and `--name=5`.
    Getopt,
    /// `-name 5` and `-name=5`, with one dash or two.
    Go,
}

/// A flag with a value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flag {
    /// Its names with their dashes, the one in messages first.
    pub(crate) names: &'static [&'static str],
    /// What it sets.
    pub(crate) figure: Figure,
    pub(crate) unit: Unit,
}

/// What the value of a flag is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// A number, also `10k`.
    Number,
    /// A time: `30s`, `1m30s`, siege's `60S`; a number alone is in seconds.
    Time,
    /// A time of siege: `60S`, `2H`; a number alone is in minutes.
    Minutes,
    /// Requests per second: `500`, `500/s`, vegeta's `500/1m`.
    PerSecond,
    /// The same for each connection.
    PerSecondEach,
    /// A number for each connection.
    NumberEach,
}

/// A flag that was typed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Typed {
    /// Its name in messages.
    pub(crate) name: &'static str,
    pub(crate) figure: Figure,
    /// In the unit of the figure.
    pub(crate) value: f64,
}

/// A flag of [`Flags`].
pub(crate) const fn flag(names: &'static [&'static str], figure: Figure, unit: Unit) -> Flag {
    Flag { names, figure, unit }
}

impl Flags {
    /// None of interest.
    pub(crate) const NONE: Self = Self { style: Style::Getopt, flags: &[] };

    /// What these words of a command line ask for. What a shell computes (`$N`) is no figure.
    pub(crate) fn typed(self, words: &[String]) -> Vec<Typed> {
        let read = |flag: &Flag| {
            let value = value(words, flag, self.style)?;
            Some(Typed { name: flag.names[0], figure: flag.figure, value: flag.unit.read(value)? })
        };
        let mut typed: Vec<Typed> = self.flags.iter().filter_map(read).collect();
        let connections = typed.iter().find(|one| one.figure == Figure::Connections).map(|one| one.value);
        for flag in self.flags.iter().filter(|flag| flag.unit.is_each()) {
            // Without the number of connections it is not known what they do together.
            let Some(at) = typed.iter().position(|one| one.name == flag.names[0]) else { continue };
            match connections {
                Some(connections) => typed[at].value *= connections,
                None => drop(typed.remove(at)),
            }
        }
        // A rate of 0 means none to several tools.
        typed.retain(|one| one.figure != Figure::RateOffered || one.value > 0.0);
        typed
    }
}

impl Unit {
    fn read(self, word: &str) -> Option<f64> {
        match self {
            Self::Number | Self::NumberEach => count(word),
            Self::Time => {
                let word = word.to_ascii_lowercase();
                number(&word).map(|seconds| seconds * 1e9).or_else(|| go_time_ns(&word)).or_else(|| time_ns(&word))
            }
            Self::Minutes => number(word).map(|minutes| minutes * 60e9).or_else(|| Self::Time.read(word)),
            Self::PerSecond | Self::PerSecondEach => match word.split_once('/') {
                None => count(word),
                Some((n, per)) => {
                    let per = per.to_ascii_lowercase();
                    let per = if per.starts_with(|c: char| c.is_ascii_digit()) { per } else { format!("1{per}") };
                    Some(count(n)? / go_time_ns(&per).filter(|ns| *ns > 0.0)? * 1e9)
                }
            },
        }
    }

    const fn is_each(self) -> bool {
        matches!(self, Self::PerSecondEach | Self::NumberEach)
    }
}

/// The value of a flag among the words of a command; of several the last, as tools take it.
fn value<'a>(words: &'a [String], flag: &Flag, style: Style) -> Option<&'a str> {
    let mut found = None;
    for (at, word) in words.iter().enumerate().skip(1) {
        let next = words.get(at + 1).map(String::as_str);
        let of_name = |name: &&str| -> Option<&'a str> {
            let is_long = name.starts_with("--");
            let word = match style {
                Style::Go if word.starts_with("--") && !is_long => &word[1..],
                _ => word.as_str(),
            };
            match word.strip_prefix(*name) {
                Some("") => next,
                Some(rest) if rest.starts_with('=') => Some(&rest[1..]),
                Some(rest) if style == Style::Getopt && !is_long => Some(rest),
                _ => (style == Style::Getopt && is_cluster(word, name)).then_some(next).flatten(),
            }
        };
        found = flag.names.iter().find_map(of_name).or(found);
    }
    found
}

/// True of `-kc` for `-c`: several letters, of which the last takes the value.
fn is_cluster(word: &str, name: &str) -> bool {
    let (Some(letters), Some(letter)) = (word.strip_prefix('-'), name.strip_prefix('-')) else { return false };
    letter.len() == 1
        && letters.len() == 2
        && letters.chars().all(|c| c.is_ascii_alphabetic())
        && letters.ends_with(letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLAGS: &[Flag] = &[
        flag(&["-c", "--connections"], Figure::Connections, Unit::Number),
        flag(&["-n"], Figure::Planned, Unit::Number),
        flag(&["-d", "-duration"], Figure::DurationAsked, Unit::Time),
        flag(&["-q", "-rate"], Figure::RateOffered, Unit::PerSecond),
    ];

    fn typed(style: Style, command: &str) -> Vec<f64> {
        let words: Vec<String> = command.split(' ').map(str::to_owned).collect();
        Flags { style, flags: FLAGS }.typed(&words).iter().map(|one| one.value).collect()
    }

    #[test]
    fn values_are_read_as_each_tool_takes_them() {
        assert_eq!(typed(Style::Getopt, "ab -kc 100 -n10k http://h/"), [100.0, 10_000.0]);
        assert_eq!(typed(Style::Getopt, "siege --connections=25 -d60S"), [25.0, 60e9]);
        assert_eq!(typed(Style::Go, "vegeta attack -rate=2000/1s -duration=4m"), [240e9, 2_000.0]);
        assert_eq!(typed(Style::Go, "vegeta attack --rate 600/m -duration 1m30s"), [90e9, 10.0]);
        assert_eq!(typed(Style::Getopt, "wrk -c 5 -c 7 -d 30"), [7.0, 30e9], "the last counts");
        assert_eq!(typed(Style::Getopt, "wrk -c $N -d ${D}s"), [0.0; 0], "a shell's variable is no figure");
        assert_eq!(typed(Style::Go, "hey -q 0 -c 5"), [5.0], "no rate");
        assert_eq!(["1", "60S", "2m"].map(|word| Unit::Minutes.read(word)), [Some(60e9), Some(60e9), Some(120e9)]);
    }

    #[test]
    fn what_is_for_each_connection_is_known_beside_their_number_alone() {
        const EACH: Flags = Flags {
            style: Style::Go,
            flags: &[
                flag(&["-c"], Figure::Connections, Unit::Number),
                flag(&["-q"], Figure::RateOffered, Unit::PerSecondEach),
            ],
        };
        let of = |command: &str| {
            let words: Vec<String> = command.split(' ').map(str::to_owned).collect();
            EACH.typed(&words).iter().find(|one| one.figure == Figure::RateOffered).map(|one| one.value)
        };
        assert_eq!(of("hey -q 10 -c 20 u"), Some(200.0));
        assert_eq!(of("hey -q 10 u"), None);
    }
}
