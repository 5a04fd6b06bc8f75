//! Claims of an output, in the same words for every tool.

use super::asked::Typed;
pub use super::figure::Figure;
pub(crate) use super::figure::{FIGURE_MAX, QUANTILES};
use super::reason::Reason;
use std::collections::{BTreeMap, BTreeSet};

/// Everything one output says, in the same words for all tools.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Claims {
    /// The tool, such as `wrk`.
    pub tool: &'static str,
    /// The command line as typed above the output.
    pub command: Option<String>,
    /// The command line as the tool itself printed it.
    pub echo: Option<String>,
    /// Requested URL or path.
    pub url: Option<String>,
    /// True if the output has it, and not the command alone.
    pub(crate) is_url_printed: bool,
    /// True if failures of two kinds may be the same requests or twice as many, so that it is not known what was good.
    pub(crate) may_overlap: bool,
    /// Load model: whether clients waited for responses; none when unknown.
    pub mode: Option<Mode>,
    /// Complete responses by exact status, where the output tells.
    pub status: BTreeMap<u16, u64>,
    /// The load and what was reached at it, of a table.
    pub table: Vec<Row>,
    /// True if the loads of the table are rates rather than connections.
    pub over_rate: bool,
    /// Results that the tool keeps at most, whatever it counts; none of one that keeps all.
    pub(crate) kept_max: Option<f64>,
    /// Why requests failed, as far as the tool says.
    pub(crate) reasons: BTreeSet<Reason>,
    /// Lines that were not understood.
    pub unread_lines: u64,
    /// Flags of the command above the output that say what the load is to be.
    pub(crate) typed: Vec<Typed>,
    figures: BTreeMap<Figure, (f64, Option<u64>)>,
    /// What the tool takes where nothing was asked for.
    usual: BTreeMap<Figure, f64>,
}

/// Load model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Clients wait for their answer first.
    Closed,
    /// A schedule.
    Open,
}

impl Mode {
    /// As in the record.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Open => "open",
        }
    }
}

/// One line of a table of loads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// Connections, or requests per second.
    pub load: f64,
    /// Responses per second.
    pub throughput_per_s: f64,
    /// A time per request, whatever that is; ns.
    pub time_ns: Option<f64>,
    /// A quantile from p90 on, or the maximum; ns.
    pub high_ns: Option<f64>,
}

/// True of a status that leads elsewhere; 304 is the page that the client has.
pub(crate) fn is_redirect(status: u16) -> bool {
    (300..400).contains(&status) && status != 304
}

impl Claims {
    pub(crate) fn new(tool: &'static str, mode: Option<Mode>) -> Self {
        Self { tool, mode, ..Self::default() }
    }

    /// A figure, if the output has it, or the command above the output, or the tool by itself.
    #[must_use]
    pub fn get(&self, figure: Figure) -> Option<f64> {
        self.printed(figure).or_else(|| self.typed(figure)).or_else(|| self.usual.get(&figure).copied())
    }

    /// A figure, if the output has it.
    pub(crate) fn printed(&self, figure: Figure) -> Option<f64> {
        self.figures.get(&figure).map(|(value, _)| *value)
    }

    /// A figure that the command above the output asks for.
    fn typed(&self, figure: Figure) -> Option<f64> {
        self.typed.iter().find(|one| one.figure == figure).map(|one| one.value)
    }

    /// All figures: value, and line where there is one.
    pub fn figures(&self) -> impl Iterator<Item = (Figure, f64, Option<u64>)> {
        let printed = self.figures.iter().map(|(figure, (value, line))| (*figure, *value, *line));
        let typed = self.typed.iter().map(|one| (one.figure, one.value, None));
        let usual = self.usual.iter().map(|(figure, value)| (*figure, *value, None));
        let all: BTreeMap<Figure, (f64, Option<u64>)> =
            usual.chain(typed).chain(printed).map(|(figure, value, line)| (figure, (value, line))).collect();
        all.into_iter().map(|(figure, (value, line))| (figure, value, line))
    }

    /// Takes a figure down. What is no number from 0 to [`FIGURE_MAX`] is left out; the first of several stays.
    pub(crate) fn put(&mut self, figure: Figure, value: Option<f64>, line: Option<u64>) {
        if let Some(value) = value.filter(|value| (0.0..=FIGURE_MAX).contains(value)) {
            // A sum of nothing is a negative zero.
            self.figures.entry(figure).or_insert((value + 0.0, line));
        }
    }

    /// Takes down what the tool does unless it is told otherwise.
    pub(crate) fn put_usual(&mut self, figure: Figure, value: f64) {
        self.usual.insert(figure, value);
    }

    /// Adds to a figure that may not be there yet.
    pub(crate) fn add(&mut self, figure: Figure, value: f64, line: Option<u64>) {
        let before = self.printed(figure).unwrap_or(0.0);
        self.figures.remove(&figure);
        self.put(figure, Some(before + value), line);
    }

    /// Takes down a figure that is known better than it is printed.
    pub(crate) fn replace(&mut self, figure: Figure, value: f64) {
        self.figures.remove(&figure);
        self.put(figure, Some(value), None);
    }

    /// Takes down what follows from exact statuses: responses, bad ones, redirects.
    pub(crate) fn count_statuses(&mut self) {
        let sum = |keep: &dyn Fn(u16) -> bool| -> f64 {
            self.status.iter().filter(|(status, _)| keep(**status)).map(|(_, n)| *n as f64).sum()
        };
        let all = sum(&|_| true);
        let redirects = sum(&is_redirect);
        let bad = sum(&|status| !(200..300).contains(&status) && status != 304 && !is_redirect(status));
        self.put(Figure::Responses, Some(all), None);
        self.put(Figure::Redirects, Some(redirects), None);
        self.put(Figure::BadStatus, Some(bad), None);
    }
}
