//! Command line. Only `settings` and the verbs see these types.

mod advice;
pub(crate) mod audit;
pub(crate) mod capacity;
pub(crate) mod check;
pub(crate) mod clients;
pub(crate) mod compare;
mod completions;
mod examples;
pub(crate) mod experiment;
pub(crate) mod given;
pub(crate) mod history;
pub(crate) mod man;
mod measured;
pub(crate) mod observe;
mod other_tools;
pub(crate) mod profile;
mod program;
pub(crate) mod render;
mod report;
pub(crate) mod rules;
mod run;
pub(crate) mod serve;
pub(crate) mod stack;
mod sweep;
pub(crate) mod table;
mod target;
pub(crate) mod threshold;
mod values;
pub(crate) mod variables;
pub(crate) mod version;

use audit::AuditArgs;
use capacity::CapacityArgs;
use check::CheckArgs;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use clients::AgentArgs;
use compare::CompareArgs;
use experiment::ExperimentArgs;
use history::HistoryArgs;
use man::ManArgs;
use observe::ObserveArgs;
use profile::ProfileArgs;
use render::RenderArgs;
use rules::RulesArgs;
use serve::{KeepArgs, ServeArgs};
use stack::StackArgs;

pub(crate) use advice::advised;
pub(crate) use completions::CompletionsArgs;
pub(crate) use measured::{GeneratorArgs, MeasuredArgs, OutputArgs, RequestArgs};
pub(crate) use program::colour;
pub(crate) use report::{FormatArg, ReportArgs};
pub(crate) use run::RunArgs;
pub(crate) use sweep::SweepArgs;
pub(crate) use target::TargetArgs;
pub(crate) use values::{ArrivalsArg, OverArg, WarmupArg};

/// Codes with which the program ends, as in [`crate::exit::Exit`].
pub(crate) const EXIT_CODES: &str = "\
Exit codes:
  0    valid result, or a named bound
  1    a threshold failed (--fail-if), a load was ended early (--abort-if),
       a goal is not met (capacity), a variant is worse (compare, render),
       a figure got worse (history)
  2    usage or configuration error: a wrong flag or file, a limit of this
       machine
  3    target unreachable or failing
  4    result not valid; the findings say why
  5    undecided: the time was used up, or the threshold lies inside the
       confidence interval or beyond a bound
  130  interrupted; what was measured so far is kept (a second ^C ends at
       once: report --recover)";

/// Load-test a web server: how much it can take, what stops it, and whether the number can be trusted.
#[derive(Debug, Parser)]
#[command(
    name = "plimsoll",
    version = version::short(),
    long_version = version::long(),
    max_term_width = 100,
    disable_help_flag = true,
    disable_version_flag = true,
    subcommand_value_name = "VERB",
    subcommand_required = true,
    arg_required_else_help = true
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    Run(RunArgs),
    Sweep(SweepArgs),
    Capacity(CapacityArgs),
    Compare(CompareArgs),
    Experiment(ExperimentArgs),
    Profile(ProfileArgs),
    Render(RenderArgs),
    Observe(ObserveArgs),
    Report(ReportArgs),
    History(HistoryArgs),
    Audit(AuditArgs),
    Check(CheckArgs),
    Rules(RulesArgs),
    Target(TargetArgs),
    Serve(ServeArgs),
    Stack(StackArgs),
    Agent(AgentArgs),
    /// Supervisor of the servers started by another plimsoll process; internal
    #[command(hide = true)]
    Keep(KeepArgs),
    /// Reader of the program files in a profile, without rights; internal
    #[command(hide = true)]
    ReadNames,
    Man(ManArgs),
    Completions(CompletionsArgs),
}

impl Cli {
    /// The command line with the flags of the program, and its help, in which the verbs stand in groups.
    pub(crate) fn definition() -> clap::Command {
        program::arrange(Self::command())
    }

    /// Reads a command line.
    pub(crate) fn read(words: &[std::ffi::OsString]) -> Result<Self, clap::Error> {
        let mut command = Self::definition();
        let matches = command.try_get_matches_from_mut(words)?;
        Self::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
    }
}
