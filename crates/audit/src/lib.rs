//! Output of other load generators, read and judged: `Read -> Text -> Claims -> Facts -> Verdict`. Files of samples are folded
//! line by line into claims, and never held in memory.
//!
//! Responsibilities: one reader a tool ([`Claims`] or why not), the facts that follow from what was read, rules with the
//! ids of the catalogue, several outputs held against each other and against what a text says of them ([`compare()`]), and all
//! rules in words ([`catalogue()`]). Nothing is guessed: what cannot be read whole is [`Unreadable`], and a rule without its
//! figures is unchecked. Secrets never leave this crate: the redactor is [`model::Redacted`].

mod asked;
mod catalogue;
mod claim;
mod commands;
mod compare;
mod context;
mod facts;
mod figure;
mod limiter;
mod planned;
mod prose;
mod readers;
mod reason;
mod rules;
mod scan;
pub mod testing;
mod text;

pub use catalogue::{catalogue, nearest};
pub use claim::{Claims, Figure, Mode, Row};
pub use compare::compare;
pub use context::{Context, ContextError, Processes, Sockets};
pub use planned::{PlannedRule, planned_rules};
pub use readers::tools_in_words;
pub use rules::{AuditRule, rules};
pub use text::{BYTES_MAX, Text};

/// Longer lines are no samples.
pub const SAMPLE_LINE_MAX: usize = 1 << 20;
/// Of so much of a file it is seen whether it is one of samples.
const BEGIN_BYTES: u64 = 256 << 10;

use facts::Facts;
use model::{AuditConnections, AuditRecord, Claim, Estimate, FORMAT_AUDIT, Knee, Redacted, count_secrets};
use readers::sampled_in_words;
use std::fmt;
use std::io::Read;
use thiserror::Error;

/// Reason why an output could not be audited. One line, with a remedy.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum Unreadable {
    /// Nothing in it.
    #[error("it is empty: save what the tool prints, stderr too (2>&1)")]
    Empty,
    /// More than any load generator prints.
    #[error(
        "it has more than {BYTES_MAX} bytes, which is no summary of a load generator: give that; samples are read of {}",
        sampled_in_words()
    )]
    TooLarge,
    /// One line of samples is more than any tool writes.
    #[error("it has a line of more than {SAMPLE_LINE_MAX} bytes, which is no sample")]
    LongLine,
    /// The file ended with an error.
    #[error("it cannot be read: {error}")]
    NotRead {
        /// Of the system.
        error: String,
    },
    /// A form of a tool's output that is known and not read.
    #[error("it is of {tool}, in {form}, which is not read: {instead}")]
    OtherForm {
        /// The tool.
        tool: &'static str,
        /// What it is in.
        form: &'static str,
        /// What to give.
        instead: &'static str,
    },
    /// Binary.
    #[error("it is no text")]
    NotText,
    /// Of no tool that is known.
    #[error(
        "it begins {first:?} and has no output of a tool that is known ({}), or only a translated or a cut one",
        tools_in_words()
    )]
    Unknown {
        /// Its beginning.
        first: String,
    },
    /// Of no tool that is known.
    #[error("it is JSON with {keys}, which is of no tool that is known ({})", tools_in_words())]
    UnknownJson {
        /// Its first keys.
        keys: String,
    },
    /// Not JSON after all.
    #[error("it begins as JSON but is none: {error}; is it cut off?")]
    BrokenJson {
        /// Error of the parser.
        error: String,
    },
    /// Several objects.
    #[error("it holds more than one JSON object: give each result in a file of its own")]
    SeveralJson,
    /// Several outputs, where one was to be there.
    #[error("it holds {outputs} outputs")]
    Several {
        /// How many.
        outputs: usize,
    },
    /// The tool gave up before it sent a request.
    #[error("it is of {tool}, which gave no result: {reason}")]
    NotStarted {
        /// The tool.
        tool: &'static str,
        /// Its message.
        reason: String,
    },
    /// An output that has parts missing.
    #[error("it is of {tool}, but {} cannot be read{}; is it cut off, translated, or of an older or newer version?", .missing.join(", "), ReadSoFar(read))]
    Incomplete {
        /// The tool.
        tool: &'static str,
        /// Names of the figures that were read.
        read: Vec<&'static str>,
        /// Figures that were not found.
        missing: Vec<&'static str>,
    },
}

struct ReadSoFar<'a>(&'a [&'static str]);

impl fmt::Display for ReadSoFar<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            [] => Ok(()),
            names => write!(f, " (read: {})", names.join(", ")),
        }
    }
}

/// An output that was read, with what follows from it.
#[derive(Clone, Debug)]
pub struct Audited {
    /// Its claims.
    pub claims: Claims,
    /// Judged, as it is printed.
    pub record: AuditRecord,
    /// The file that it is a part of, where that has several.
    pub(crate) log: Option<String>,
}

/// Input of the rules.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Subject<'a> {
    pub(crate) claims: &'a Claims,
    pub(crate) facts: &'a Facts,
    pub(crate) context: &'a Context,
    /// Secrets in the whole text.
    pub(crate) secrets: u64,
}

/// Reads and judges the one output in `bytes`; `source` is what it is called.
///
/// # Errors
/// When it cannot be read as a whole, or there are several.
pub fn audit(source: &str, bytes: &[u8], context: &Context) -> Result<Audited, Unreadable> {
    let mut all = audit_all(source, bytes, context)?;
    match all.pop() {
        Some(only) if all.is_empty() => only.audited,
        _ => Err(Unreadable::Several { outputs: all.len() + 1 }),
    }
}

/// One of the outputs in a file.
#[derive(Debug)]
pub struct Part {
    /// What it is called: the file, and its line where there are several.
    pub source: String,
    /// The output, judged, or why it cannot be read.
    pub audited: Result<Audited, Unreadable>,
}

/// Reads and judges all outputs in `input`, such as those of a script's log; `file` is what the file is called. Samples
/// are folded as they come, however many there are; anything else has [`BYTES_MAX`] at most.
///
/// # Errors
/// When there is none.
pub fn audit_all(file: &str, mut input: impl Read, context: &Context) -> Result<Vec<Part>, Unreadable> {
    let mut bytes = Vec::new();
    take(&mut input, BEGIN_BYTES, &mut bytes)?;
    if let Some(samples) = readers::samples(&bytes) {
        let samples = samples?;
        let secrets = samples.secrets();
        let audited = Ok(judged(file, None, samples.read(&bytes, input)?, secrets, context));
        return Ok(vec![Part { source: file.to_owned(), audited }]);
    }
    // One byte more than may be is enough to tell that it is too much.
    take(&mut input, (BYTES_MAX as u64 + 1).saturating_sub(BEGIN_BYTES), &mut bytes)?;
    let text = Text::decode(&bytes)?;
    let found = readers::read(&text)?;
    let is_alone = found.len() == 1;
    let secrets = text.lines().map(|(_, line)| count_secrets(line)).sum();
    let part = |(line, claims): (u64, Result<Claims, Unreadable>)| {
        let source = if is_alone { file.to_owned() } else { format!("{file}:{line}") };
        let log = (!is_alone).then(|| file.to_owned());
        let audited = claims.map(|claims| judged(&source, log, claims, secrets, context));
        Part { source, audited }
    };
    Ok(found.into_iter().map(part).collect())
}

/// Reads on, so many bytes at most.
fn take(input: &mut impl Read, limit: u64, bytes: &mut Vec<u8>) -> Result<(), Unreadable> {
    let read = input.take(limit).read_to_end(bytes);
    read.map(drop).map_err(|error| Unreadable::NotRead { error: error.to_string() })
}

/// Judges what an output claims.
fn judged(source: &str, log: Option<String>, claims: Claims, secrets: u64, context: &Context) -> Audited {
    let facts = Facts::of(&claims, context);
    let verdict = rules::judge(Subject { claims: &claims, facts: &facts, context, secrets });
    let hidden = |text: &Option<String>| text.as_ref().map(|text| Redacted::text(text).into_inner());
    let figure =
        |(figure, value, line): (Figure, f64, Option<u64>)| Claim { name: figure.name().to_owned(), value, line };
    let record = AuditRecord {
        format: FORMAT_AUDIT.to_owned(),
        source: source.to_owned(),
        tool: claims.tool.to_owned(),
        command: hidden(&claims.echo).or_else(|| hidden(&claims.command)),
        url: hidden(&claims.url),
        load_model: claims.mode.map(|mode| mode.word().to_owned()),
        claims: claims.figures().map(figure).collect(),
        status: claims.status.clone(),
        goodput_per_s: facts.goodput_per_s.map(|value| Estimate { value, low: None, high: None, n: 1 }),
        throughput_per_s: claims.get(Figure::Throughput),
        failed_share: facts.failed_share(),
        connections: facts.connections.map(|(requested, established)| AuditConnections { requested, established }),
        knee: knee(&facts),
        fit: facts.fit.map(|fit| fit.fit),
        limiter: limiter::limiter(context),
        unread_lines: claims.unread_lines,
        verdict,
    };
    Audited { claims, record, log }
}

/// Of a table: where more load stops buying throughput; over rates the highest that was held.
fn knee(facts: &Facts) -> Option<Knee> {
    let knee = |load, goodput_per_s| Knee { load, goodput_per_s, ..Knee::default() };
    let by_pool = facts.fit.map(|fit| knee(fit.knee, fit.fit.plateau_per_s));
    by_pool.or_else(|| facts.rate_fit.and_then(|fit| Some(knee(fit.knee?, fit.plateau_per_s))))
}
