//! plimsoll: how much load a web server holds, what stops it, and whether the number may be believed.
//!
//! `flags -> Settings -> Plan -> engine -> events -> record -> evidence -> judge -> report`; this crate is the
//! first three arrows, the record, and the glue. One file a verb in [`verbs`].

mod auth;
mod cli;
mod confirm;
mod connect_override;
mod deliver;
mod environment;
mod exit;
mod expect;
mod interrupt;
mod observers;
mod page_file;
mod printer;
mod profiling;
mod progress;
mod redirects;
mod requests;
mod result;
mod selectors;
mod serving;
mod session;
mod settings;
mod sinks;
mod status;
mod store;
mod stored;
mod sut;
mod sys;
mod target_url;
mod verbs;
mod watch;

use clap::Parser;
use cli::{Cli, Verb};
use exit::{CommandError, Exit};
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return printer::usage(&error),
    };
    let outcome = match cli.verb {
        Verb::Run(args) => verbs::run::run(&args),
        Verb::Sweep(args) => verbs::sweep::sweep(&args),
        Verb::Profile(args) => verbs::profile::profile(&args),
        Verb::Observe(args) => verbs::observe::observe(&args),
        Verb::Report(args) => verbs::report::report(&args),
        Verb::Audit(args) => verbs::audit::audit(&args),
        Verb::Check(args) => verbs::check::check(&args),
        Verb::Rules(args) => verbs::rules::rules(&args),
        Verb::Target(args) => verbs::target::target(&args),
        Verb::Serve(args) => verbs::serve::serve(&args),
        Verb::Keep(args) => return verbs::serve::keep(&args),
        Verb::Man(args) => verbs::man::man(&args),
        Verb::Completions(args) => verbs::completions::completions(&args),
    };
    match outcome {
        Ok(exit) => exit.into(),
        Err(trouble) => report_trouble(&trouble),
    }
}

fn report_trouble(trouble: &CommandError) -> ExitCode {
    // A reader that closed the pipe has all it wanted.
    if trouble.exit != Exit::Fine {
        printer::error(&trouble.message);
    }
    trouble.exit.into()
}
