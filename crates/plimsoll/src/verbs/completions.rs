//! `plimsoll completions`: what a shell needs to complete the command line.

use crate::cli::{Cli, CompletionsArgs};
use crate::exit::{CommandError, Exit};
use crate::output::printer;
use clap::builder::PossibleValuesParser;
use clap::{Arg, Command};

/// Prints the completion script of one shell.
pub(crate) fn completions(args: &CompletionsArgs) -> Result<Exit, CommandError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut with_values(Cli::definition()), "plimsoll", &mut script);
    printer::data(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Fine)
}

/// Names of servers and rules, which shells can propose although others are taken too.
fn with_values(command: Command) -> Command {
    let servers: Vec<&'static str> = stack::all().map(|server| server.name).collect();
    // The parser keeps names that live as long as the program.
    let rules: Vec<&'static str> = audit::catalogue().rules.into_iter().map(|rule| &*rule.id.leak()).collect();
    command.mut_subcommands(|verb| {
        let is_serving = verb.get_name() == "serve";
        let is_about_rules = verb.get_name() == "rules";
        verb.mut_args(|argument: Arg| match argument.get_id().as_str() {
            "serve" => argument.value_parser(PossibleValuesParser::new(servers.clone())),
            "name" if is_serving => argument.value_parser(PossibleValuesParser::new(servers.clone())),
            "ids" if is_about_rules => argument.value_parser(PossibleValuesParser::new(rules.clone())),
            _ => argument,
        })
    })
}
