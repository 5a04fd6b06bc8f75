//! `plimsoll stack php-profile`: what a stack has sampled of its PHP functions.

use super::named;
use crate::cli::stack::PhpProfileArgs;
use crate::exit::{CommandError, Exit};
use crate::output::printer;
use crate::profiling::php::{PHP_FOLDED, PHP_GRAPH, PhpSampled, sampled, write};
use crate::serving;
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
    standing.php_samples().ok_or_else(|| CommandError::usage(no_samples(standing)))
}

/// Why a stack has none, and what to do.
fn no_samples(standing: &Standing) -> String {
    let (name, server) = (&standing.name, &standing.served.server);
    let mut settings = stack::all().filter(|known| known.name == server).flat_map(stack::Server::own_settings);
    if !settings.any(|(setting, ..)| setting == "php_profile") {
        return format!(
            "{name} runs no PHP that plimsoll can sample; name a stack of php-fpm or wordpress that was started with \
             php_profile=cpu"
        );
    }
    let named = if name == server { String::new() } else { format!(" --name {name}") };
    format!(
        "{name} samples no PHP functions: end it with plimsoll stack down {name}, then start it with php_profile=cpu, as in: \
         plimsoll stack up {server}{named} php_profile=cpu"
    )
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
        return printer::data(&format!("{line}\n"));
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

#[cfg(test)]
mod tests {
    use super::*;
    use model::Served;

    #[test]
    fn what_to_do_for_samples_is_told_where_there_can_be_some() {
        let of = |server: &str| {
            let served = Served { server: server.into(), ..Served::default() };
            no_samples(&Standing { name: "shop".into(), served, ..Standing::default() })
        };
        for server in ["php-fpm", "wordpress"] {
            let said = of(server);
            let advice = format!(
                "stack down shop, then start it with php_profile=cpu, as in: plimsoll stack up {server} --name shop php_profile=cpu"
            );
            assert!(said.starts_with("shop samples no PHP functions") && said.contains(&advice), "{said}");
        }
        for server in ["nginx", "command", ""] {
            let said = of(server);
            assert!(said.starts_with("shop runs no PHP that") && !said.contains("stack up"), "{said}");
        }
    }
}
