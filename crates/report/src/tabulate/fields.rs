//! Fields of a measurement, as tables have them.

use super::Measured;
use crate::figures::of_run;
use crate::record::AnyRecord;
use crate::words::verdict::state_word;
use model::human::{bytes, count, percent_exact, rate, time};
use model::{Bound, ByteSize, Duration, FindingState, KnownFigure, Load, Observed, Rate, RunRecord, VerdictState};

/// A field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// What it is called on the command line.
    pub name: &'static str,
    /// What its column is called where values are not rounded: with its unit.
    pub column: &'static str,
    unit: Unit,
}

/// What values of a field are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Text,
    Number,
    Cpus,
    Rate,
    Time,
    Share,
    Bytes,
    BytesRate,
}

const fn field(name: &'static str, column: &'static str, unit: Unit) -> Field {
    Field { name, column, unit }
}

/// All fields. `cpu` is that of the monitored server's machine; `cpu-proc`, `rss` and `vms` are those of the server and its
/// companions.
const FIELDS: [Field; 27] = [
    field("result", "result", Unit::Text),
    field("instance", "instance", Unit::Text),
    field("variant", "variant", Unit::Text),
    field("target", "target", Unit::Text),
    field("verdict", "verdict", Unit::Text),
    field("started", "started", Unit::Text),
    field("connections", "connections", Unit::Number),
    field("rate", "rate_per_s", Unit::Rate),
    field("threads", "threads", Unit::Number),
    field("iterations", "iterations", Unit::Number),
    field("duration", "duration_ns", Unit::Time),
    field("goodput", "goodput_per_s", Unit::Rate),
    field("throughput", "throughput_per_s", Unit::Rate),
    field("transferrate", "received_bytes_per_s", Unit::BytesRate),
    field("errors", "errors_share", Unit::Share),
    field("slo", "slo_share", Unit::Share),
    field("mean", "mean_ns", Unit::Time),
    field("p50", "p50_ns", Unit::Time),
    field("p90", "p90_ns", Unit::Time),
    field("p99", "p99_ns", Unit::Time),
    field("p99.9", "p99_9_ns", Unit::Time),
    field("max", "max_ns", Unit::Time),
    field("cpu", "machine_busy_share", Unit::Share),
    field("cpu-proc", "server_cpu_cores", Unit::Cpus),
    field("cpu-per-request", "server_cpu_ns_per_request", Unit::Time),
    field("rss", "server_rss_bytes", Unit::Bytes),
    field("vms", "server_vms_bytes", Unit::Bytes),
];

impl Field {
    /// That of a name.
    ///
    /// # Errors
    /// One line with the names there are.
    pub fn parse(name: &str) -> Result<Self, String> {
        let found = FIELDS.iter().find(|field| field.name == name).copied();
        found.ok_or_else(|| format!("no such field: {name:?}; there are {}", FIELDS.map(|field| field.name).join(", ")))
    }

    /// True if its values are text.
    #[must_use]
    pub const fn is_text(self) -> bool {
        matches!(self.unit, Unit::Text)
    }

    /// A value that was written, in the unit of [`Field::column`]: as a plain number, or as people write it, such as `10ms`, `5%` and
    /// `64MiB`. None of what is neither.
    pub(super) fn number(self, text: &str) -> Option<f64> {
        let plain = text.parse::<f64>().ok();
        plain.or_else(|| match self.unit {
            Unit::Time => Duration::with_unit(text).ok().map(|time| time.ns as f64),
            Unit::Share => text.strip_suffix('%')?.trim().parse::<f64>().ok().map(|percent| percent / 100.0),
            Unit::Rate => text.parse::<Rate>().ok().map(|rate| rate.per_s),
            Unit::Bytes => text.parse::<ByteSize>().ok().map(|size| size.0 as f64),
            Unit::Text | Unit::Number | Unit::Cpus | Unit::BytesRate => None,
        })
    }

    /// A value for people.
    pub(super) fn shown(self, value: f64) -> String {
        match self.unit {
            Unit::Text | Unit::Number if value.fract() == 0.0 && value >= 0.0 => count(value as u64),
            Unit::Cpus if value > 0.0 && value < 0.0005 => "< 0.001".to_owned(),
            Unit::Text | Unit::Number | Unit::Cpus => format!("{value:.3}"),
            Unit::Rate => rate(value),
            Unit::Time => time(value),
            Unit::Share => percent_exact(value),
            Unit::Bytes => bytes(value as u64),
            Unit::BytesRate => format!("{}/s", bytes(value as u64)),
        }
    }
}

/// One measurement: a run, a load of a sweep, or a trial.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample<'a> {
    name: &'a str,
    variant: Option<&'a str>,
    arm: Option<&'a str>,
    run: &'a RunRecord,
    goodput_per_s: f64,
}

/// A value of a field.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Cell {
    Text(String),
    Number(f64),
    /// A number of which only the side is known on which the true one is.
    Bound(Bound, f64),
    /// Ends of a 95 % interval of a ratio.
    Interval(f64, f64),
    Unknown,
}

/// All measurements of results.
pub(super) fn samples<'a>(results: &[Measured<'a>]) -> Vec<Sample<'a>> {
    results.iter().flat_map(|measured| of_result(*measured)).collect()
}

fn of_result(Measured { named, variant }: Measured<'_>) -> Vec<Sample<'_>> {
    let plain = |run| Sample { name: named.name, variant, arm: None, run, goodput_per_s: run.goodput_per_s.value };
    match named.record {
        AnyRecord::Run(record) => vec![plain(record)],
        AnyRecord::Capacity(record) => record.trials.iter().map(plain).collect(),
        AnyRecord::Compare(record) => {
            let runs = record.runs.iter();
            runs.map(|of| Sample { arm: Some(of.arm.as_str()), ..plain(&of.run) }).collect()
        }
        // What its steps measured is in results of their own.
        AnyRecord::Experiment(_) | AnyRecord::Render(_) => Vec::new(),
        AnyRecord::Sweep(_) | AnyRecord::Sweeps(_) => {
            let sweeps = named.record.sweeps().iter();
            let each = sweeps.flat_map(|sweep| {
                let (arm, points) = (sweep.arm.as_deref(), sweep.curve.iter().zip(&sweep.points));
                points.map(move |(point, run)| Sample { arm, goodput_per_s: point.goodput_per_s, ..plain(run) })
            });
            each.collect()
        }
    }
}

impl Sample<'_> {
    /// True if its numbers may not be used.
    pub(super) fn is_invalid(&self) -> bool {
        self.run.verdict.state == VerdictState::Invalid
    }

    /// The rules that say so.
    pub(super) fn invalid_rules(&self) -> impl Iterator<Item = &str> {
        let invalid = self.run.verdict.findings.iter().filter(|finding| finding.state == FindingState::Invalid);
        invalid.map(|finding| finding.rule.as_str())
    }

    /// Its value of a field.
    pub(super) fn cell(&self, field: Field) -> Cell {
        let text = match field.name {
            "result" => self.name.to_owned(),
            "instance" => self.instance(),
            "variant" => self.arm.or(self.variant).unwrap_or_default().to_owned(),
            "target" => self.run.plan.target.url.clone(),
            "verdict" => state_word(self.run.verdict.state).to_owned(),
            "started" => self.run.started.clone(),
            _ => return self.figure(field.name).map_or(Cell::Unknown, Cell::of),
        };
        Cell::Text(text)
    }

    /// The server that was measured: the arm, the server that was started, or the target.
    fn instance(&self) -> String {
        let served = self.run.environment.served.as_ref().map(|served| served.label.as_str());
        self.arm.or(served).unwrap_or(&self.run.plan.target.url).to_owned()
    }

    fn figure(&self, name: &str) -> Option<KnownFigure> {
        let run = self.run;
        let seconds = run.measured_ns as f64 / 1e9;
        let observed = run.observed.as_ref();
        let exact = match name {
            "connections" => Some(f64::from(run.plan.load.connections())),
            "rate" => match run.plan.load {
                Load::Open { rate_per_s, .. } => Some(rate_per_s),
                Load::Closed { .. } => None,
            },
            "threads" => Some(f64::from(run.generator.threads)),
            "iterations" => Some(f64::from(run.iterations)),
            "duration" => Some(run.measured_ns as f64),
            "goodput" => {
                let of_run = of_run(run).get(name).copied()?;
                return Some(KnownFigure { value: self.goodput_per_s, ..of_run });
            }
            "transferrate" => (seconds > 0.0).then(|| run.bytes.received as f64 / seconds),
            "cpu" => Some(observed?.machine.as_ref()?.busy_mean),
            "cpu-proc" => observed?.server_cpu_cores(),
            "rss" => Some(observed?.server_rss_bytes_max()? as f64),
            "vms" => vms_bytes(observed?),
            other => return of_run(run).get(other).copied(),
        };
        exact.map(KnownFigure::exactly)
    }
}

/// Virtual memory of the server and its companions, each process at its largest.
fn vms_bytes(observed: &Observed) -> Option<f64> {
    observed.server.as_ref()?;
    let processes = observed.groups().flat_map(|group| &group.processes);
    Some(processes.map(|process| process.vms_bytes_max as f64).sum())
}
