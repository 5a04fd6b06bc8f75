//! plimsoll: how much load a web server holds, what stops it, and whether the number may be believed.
//!
//! `flags -> Settings -> Plan -> engine -> events -> record -> evidence -> judge -> report`; this crate is the
//! first three arrows, the record, and the glue. One file a verb in [`verbs`].

mod agent_side;
mod agents;
mod cli;
mod coordinate;
mod environment;
mod exit;
mod interrupt;
mod journal;
mod lock;
mod outlet;
mod output;
mod profiling;
mod random;
mod recovery;
#[cfg(test)]
mod refused;
mod result;
mod serving;
mod session;
mod settings;
mod store;
mod sys;
mod typed;
mod verbs;

use cli::{Cli, Verb};
use exit::{CommandError, Exit};
use output::printer;
use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().collect();
    printer::choose_colour(cli::colour(&words));
    let (words, file) = match verbs::flag_file::expand(words) {
        Ok(expanded) => expanded,
        Err(error) => return report_error(&error),
    };
    match Cli::read(&words) {
        Ok(cli) => {
            execute(cli.verb).unwrap_or_else(|error| report_error(&verbs::flag_file::placed(error, file.as_ref())))
        }
        Err(error) => match file.as_ref().and_then(|file| verbs::flag_file::refusal(&error, file)) {
            Some(refusal) => report_error(&refusal),
            None => printer::usage(&cli::advised(error, &words)),
        },
    }
}

/// Does what a verb says, and tells how the program ends.
fn execute(verb: Verb) -> Result<ExitCode, CommandError> {
    // These two are started by this program, with descriptors for what they do.
    if !matches!(verb, Verb::Keep(_) | Verb::ReadNames) {
        sys::keep_inherited_descriptors();
    }
    interrupt::outlive_file_limit()?;
    let exit = match verb {
        Verb::Run(args) => verbs::run::run(&args),
        Verb::Sweep(args) => verbs::sweep::sweep(&args),
        Verb::Capacity(args) => verbs::capacity::capacity(&args),
        Verb::Compare(args) => verbs::compare::compare(&args),
        Verb::Experiment(args) => verbs::experiment::experiment(&args),
        Verb::Profile(args) => verbs::profile::profile(&args),
        Verb::Render(args) => verbs::render::render(&args),
        Verb::Observe(args) => verbs::observe::observe(&args),
        Verb::Report(args) => verbs::report::report(&args),
        Verb::History(args) => verbs::history::run(&args),
        Verb::Audit(args) => verbs::audit::audit(&args),
        Verb::Check(args) => verbs::check::check(&args),
        Verb::Rules(args) => verbs::rules::rules(&args),
        Verb::Target(args) => verbs::target::target(&args),
        Verb::Serve(args) => verbs::serve::serve(&args),
        Verb::Stack(args) => verbs::stack::stack(&args),
        Verb::Agent(args) => verbs::agent::agent(&args),
        Verb::Keep(args) => return Ok(verbs::serve::keep(&args)),
        Verb::ReadNames => return Ok(observe::profile::read_names()),
        Verb::Man(args) => verbs::man::man(&args),
        Verb::Completions(args) => verbs::completions::completions(&args),
    };
    exit.map(ExitCode::from)
}

fn report_error(error: &CommandError) -> ExitCode {
    // A reader that closed the pipe has all it wanted.
    if error.exit != Exit::Fine {
        printer::error(&error.message);
    }
    error.exit.into()
}
