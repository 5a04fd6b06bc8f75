//! What a detector says: the evidence for a limit, the change that would raise it, and the waiting that ends with it.

use model::Setting;
use std::collections::BTreeMap;

/// Result of a check.
pub(super) enum Detection {
    /// It is not this.
    Clear,
    /// It is this.
    Found(Box<Signal>),
    /// The figures are missing; why.
    Unchecked(&'static str),
}

/// The evidence for a limit.
#[derive(Debug, Default)]
pub(super) struct Signal {
    pub(super) name: &'static str,
    pub(super) resource: String,
    pub(super) says: String,
    /// Share in use, where it is a matter of shares.
    pub(super) share: Option<f64>,
    /// True if something waits in front of it.
    pub(super) queue: bool,
    pub(super) ceiling_per_s: Option<f64>,
    pub(super) evidence: BTreeMap<String, f64>,
    pub(super) change: Option<Change>,
    /// True if it follows from a shape alone, and nothing was seen at its limit.
    pub(super) is_inferred: bool,
    /// True if it keeps the other resources from showing what they can do, so that no next limit is known.
    pub(super) hides_next: bool,
    /// Other resources that are in use only because of this one, with their ceilings without it; per second.
    pub(super) freed: BTreeMap<String, f64>,
    /// Other names of the resource, under which it is looked at once more, such as the pool of the only worker that a thread is.
    pub(super) also: Vec<String>,
    /// Waiting that ends with this limit, which no ceiling of another resource may count.
    pub(super) relief: Relief,
}

/// Waiting that ends when a limit is out of the way. Workers that wait for the limit are occupied, and threads that wait for a
/// CPU are not free: neither says anything of what they could do without it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum Relief {
    /// Nothing that is observed waits for it.
    Nothing,
    /// Threads that could run, and have no CPU.
    Cpu,
    /// Workers that wait for these.
    Waits(Vec<Wait>),
    /// Workers may wait for it, and what they wait for does not say so.
    #[default]
    Unknown,
}

/// Something that workers wait for, by the name it has among their waits.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Wait {
    pub(super) on: String,
    /// Only workers of this program; none: those of all.
    pub(super) of: Option<String>,
    /// Part of the wait in which it works on the request, which remains; ns, none where that is not known.
    pub(super) service_ns: Option<f64>,
}

impl Relief {
    /// Of what serves one request after the other in this time, by each of its names.
    pub(super) fn of_server(names: &[&str], service_ns: Option<f64>) -> Self {
        let wait = |name: &&str| Wait { on: (*name).to_owned(), of: None, service_ns };
        Self::Waits(names.iter().map(wait).collect())
    }
}

/// Change that would raise it.
#[derive(Debug)]
pub(super) struct Change {
    pub(super) words: String,
    pub(super) setting: Option<String>,
    pub(super) from: Option<f64>,
    pub(super) to: Option<f64>,
    /// Effect on the ceiling.
    pub(super) factor: f64,
}

impl Detection {
    pub(super) fn hit(signal: Signal) -> Self {
        Self::Found(Box::new(signal))
    }
}

impl Change {
    /// Twice of `what`, of which there are `n`, by a setting where one is known.
    pub(super) fn twice(what: &str, n: f64, setting: Option<&Setting>) -> Self {
        let from = setting.map_or(n, |setting| setting.value as f64);
        let to = setting.map_or(2.0 * n, |setting| (2 * setting.value).min(setting.max) as f64);
        let factor = to / from.max(f64::MIN_POSITIVE);
        Self {
            words: format!("{:.0} {what} instead of {n:.0}", n * factor),
            setting: setting.map(|setting| setting.native.clone()),
            from: Some(from),
            to: Some(to),
            factor,
        }
    }
}

/// Figures by their names.
pub(super) fn figures<const N: usize>(all: [(&str, f64); N]) -> BTreeMap<String, f64> {
    all.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}
