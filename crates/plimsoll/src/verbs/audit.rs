//! `plimsoll audit`: what other tools have printed, and what may be believed of it.

use crate::cli::audit::AuditArgs;
use crate::exit::{CommandError, Exit};
use crate::output::printer;
use audit::{Audited, BYTES_MAX, Context, Part, Processes, Sockets, Text, Unreadable, audit_all, compare};
use model::{Redacted, VerdictState};
use std::fs::File;
use std::io::Read;
use std::path::Path;

pub(crate) fn audit(args: &AuditArgs) -> Result<Exit, CommandError> {
    if args.files.iter().filter(|file| file.as_os_str() == "-").count() > 1 {
        return Err(CommandError::usage("-: stdin can be read once only"));
    }
    let context = context(args)?;
    let text = args.text.as_deref().map(|path| text_of("--text ", path)).transpose()?;
    let mut audited = Vec::new();
    let mut unreadable = Vec::new();
    for file in &args.files {
        match all_in(file, &context) {
            Ok(parts) => {
                for part in parts {
                    let named = |error| CommandError::usage(format!("{}: {error}", part.source));
                    part.audited.map_err(named).map_or_else(|error| unreadable.push(error), |one| audited.push(one));
                }
            }
            Err(error) => unreadable.push(error),
        }
    }
    // Nothing but the last line of an error stands alone: the others are told as they come.
    let last = unreadable.pop();
    unreadable.iter().for_each(|error| printer::error(&error.message));
    if let (Some(error), true) = (last.as_ref(), audited.is_empty()) {
        return Err(CommandError::usage(&error.message));
    }
    let worst = deliver(&audited, text.as_ref(), args)?;
    match last {
        Some(error) => Err(error),
        None if worst == VerdictState::Invalid => Ok(Exit::Invalid),
        None => Ok(Exit::Fine),
    }
}

/// Prints the result; returns its worst state.
fn deliver(audited: &[Audited], text: Option<&Text>, args: &AuditArgs) -> Result<VerdictState, CommandError> {
    let style = report::terminal::Style { verbose: args.verbose, ..printer::style() };
    if let ([only], None, [_]) = (audited, text, args.files.as_slice()) {
        let record = &only.record;
        match args.json {
            true => printer::data(&report::json::audit(record))?,
            false => printer::result(&report::terminal::audit(record, &style))?,
        }
        return Ok(record.verdict.state);
    }
    let record = compare(audited, text);
    match args.json {
        true => printer::data(&report::json::audits(&record))?,
        false => printer::result(&report::terminal::audits(&record, &style))?,
    }
    let verdicts = record.audits.iter().map(|one| &one.verdict).chain(&record.comparison).chain(&record.text);
    Ok(verdicts.map(|verdict| verdict.state).max().unwrap_or(VerdictState::Valid))
}

/// The outputs in a file.
fn all_in(file: &Path, context: &Context) -> Result<Vec<Part>, CommandError> {
    let name = Redacted::text(&file.display().to_string());
    audit_all(&name, opened("", file)?, context).map_err(|error| match error {
        Unreadable::NotRead { error } => cannot_read("", file, &error),
        error => CommandError::usage(format!("{name}: {error}")),
    })
}

fn context(args: &AuditArgs) -> Result<Context, CommandError> {
    let named = |flag: &str, path: &Path, error: &dyn std::fmt::Display| {
        CommandError::usage(format!("{flag} {}: {error}", path.display()))
    };
    let cores = match args.cores {
        None => None,
        Some(cores) if cores.0 == 0 || cores.0 > u64::from(u16::MAX) => {
            return Err(CommandError::usage(format!("--cores {}: 1 to 65535 CPUs", cores.0)));
        }
        Some(cores) => Some(cores.0 as u32),
    };
    let processes = args
        .pidstat
        .as_deref()
        .map(|path| Processes::read(&text_of("--pidstat ", path)?).map_err(|error| named("--pidstat", path, &error)));
    let sockets = args
        .ss
        .as_deref()
        .map(|path| Sockets::read(&text_of("--ss ", path)?).map_err(|error| named("--ss", path, &error)));
    Ok(Context {
        expect_size_bytes: args.expect_size.map(|size| size.0),
        nofile: args.nofile.map(|count| count.0),
        cores,
        processes: processes.transpose()?,
        processes_rate_per_s: args.pidstat_rate.map(|rate| rate.per_s),
        workers_wanted: match args.workers {
            Some(workers) if !(1..=100_000).contains(&workers.0) => {
                return Err(CommandError::usage(format!("--workers {}: 1 to 100000", workers.0)));
            }
            workers => workers.map(|workers| workers.0 as u32),
        },
        sockets: sockets.transpose()?,
    })
}

fn text_of(flag: &str, path: &Path) -> Result<Text, CommandError> {
    let bytes = bytes_of(flag, path)?;
    Text::decode(&bytes).map_err(|error| CommandError::usage(format!("{flag}{}: {error}", path.display())))
}

/// What a file holds, or stdin; one byte more than may be is enough to tell that it is too much.
fn bytes_of(flag: &str, path: &Path) -> Result<Vec<u8>, CommandError> {
    let mut bytes = Vec::new();
    let read = opened(flag, path)?.take(BYTES_MAX as u64 + 1).read_to_end(&mut bytes);
    read.map_err(|error| cannot_read(flag, path, &error))?;
    Ok(bytes)
}

/// A file, or stdin.
fn opened(flag: &str, path: &Path) -> Result<Box<dyn Read>, CommandError> {
    if path.as_os_str() == "-" {
        return Ok(Box::new(std::io::stdin().lock()));
    }
    let file = File::open(path).map_err(|error| cannot_read(flag, path, &error))?;
    Ok(Box::new(file))
}

fn cannot_read(flag: &str, path: &Path, error: &dyn std::fmt::Display) -> CommandError {
    CommandError::usage(format!("cannot read {flag}{}: {error}", path.display()))
}
