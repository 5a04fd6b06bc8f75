//! `plimsoll stack php-profile`: what a stack has sampled of its PHP functions.

use super::named;
use crate::cli::stack::PhpProfileArgs;
use crate::exit::{CommandError, Exit};
use crate::output::printer;
use crate::profiling::php::{PHP_FOLDED, PHP_GRAPH, PhpSampled, sampled, write};
use crate::session::serving;
use crate::store::private;
use model::Redacted;
use serde_json::json;
use stack::{PhpSamples, PhpWritten, Standing};
use std::path::Path;

pub(super) fn php_profile(args: &PhpProfileArgs) -> Result<Exit, CommandError> {
    for stack in named(args.name.as_deref(), true)? {
        let samples = samples(&stack.standing)?;
        if args.clear {
            samples.clear().map_err(serving::command_error)?;
            printer::note(&format!("{}: its samples of PHP functions are forgotten", stack.standing.name));
        } else {
            show(args, &stack.standing, &samples)?;
        }
    }
    Ok(Exit::Fine)
}

fn samples(standing: &Standing) -> Result<PhpSamples, CommandError> {
    standing.php_samples().ok_or_else(|| {
        CommandError::usage(format!(
            "{} samples no PHP functions; start it with php_profile=cpu, as in: plimsoll stack up {} php_profile=cpu",
            standing.name, standing.served.server
        ))
    })
}

fn show(args: &PhpProfileArgs, standing: &Standing, samples: &PhpSamples) -> Result<(), CommandError> {
    let until = samples.written().map_err(serving::command_error)?;
    let sampled = sampled(samples, &PhpWritten::default(), &until).map_err(serving::command_error)?;
    let is_kept = args.output.as_deref().map(|folder| kept(folder, standing, &sampled)).transpose()?.unwrap_or(false);
    if sampled.profile.samples == 0 {
        printer::note(&format!(
            "{}: no PHP function was sampled: no request has ended, or its PHP does not load the extension excimer",
            standing.name
        ));
    }
    let files =
        args.output.as_deref().filter(|_| is_kept).map(|folder| [PHP_FOLDED, PHP_GRAPH].map(|name| folder.join(name)));
    if args.json {
        let mut line = json!({ "name": standing.name, "php": sampled.profile });
        line["files"] = files.iter().flatten().map(|path| path.display().to_string()).collect();
        return printer::result(&format!("{line}\n"));
    }
    let mut text = format!("{}: {}", standing.name, report::terminal::php(&sampled.profile));
    if let Some([stacks, graph]) = files {
        text.push_str(&format!("\nstacks: {}\ngraph: {}\n", stacks.display(), graph.display()));
    }
    printer::result(&text)
}

/// Writes stacks and graph into a folder.
fn kept(folder: &Path, standing: &Standing, sampled: &PhpSampled) -> Result<bool, CommandError> {
    private::create_directory(folder)
        .map_err(|error| CommandError::usage(format!("--output {}: cannot write there: {error}", folder.display())))?;
    write(folder, sampled, &Redacted::text(&format!("of {}", standing.name)), None)
}
