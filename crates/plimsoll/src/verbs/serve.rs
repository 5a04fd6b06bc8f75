//! `plimsoll serve`: a server under test in the foreground.

use crate::cli::serve::{KeepArgs, ServeArgs};
use crate::exit::{CommandError, Exit};
use crate::interrupt;
use crate::output::printer;
use crate::serving;
use model::Redacted;
use stack::{Running, Spec, StackError};
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How often it looks for ^C and whether the server still runs.
const LOOK_UP: Duration = Duration::from_millis(20);

pub(crate) fn serve(args: &ServeArgs) -> Result<Exit, CommandError> {
    if args.list {
        return list();
    }
    if args.clean {
        return clean();
    }
    let spec = spec(args)?;
    if args.print_config {
        let text = stack::print_config(&spec, &serving::own_program()?).map_err(serving::command_error)?;
        return printer::data(&text).map(|()| Exit::Fine);
    }
    let stop = interrupt::watch()?;
    let mut options = serving::options(stop.clone(), args.timeout.ns)?;
    options.keep_state = args.keep_state;
    let mut running = match Running::start(&spec, &options) {
        Err(StackError::Interrupted) => return Ok(Exit::Interrupted),
        started => started.map_err(serving::command_error)?,
    };
    printer::data(&format!("{}\n", serving::line(&running.standing(""))))?;
    while !stop.load(Ordering::Relaxed) {
        std::thread::sleep(LOOK_UP);
        running.check().map_err(serving::command_error)?;
        warn(&running.warnings());
    }
    let dir = running.dir().to_owned();
    warn(&running.stop());
    if args.keep_state {
        printer::note(&format!("configuration and logs: {}", dir.display()));
    }
    Ok(Exit::Fine)
}

fn warn(warnings: &[String]) {
    warnings.iter().for_each(|warning| printer::note(&format!("warning: {warning}")));
}

/// The supervisor's `main`; its stdin and stdout belong to the process that started it.
pub(crate) fn keep(args: &KeepArgs) -> ExitCode {
    stack::keep(&args.dir, clock::monotonic_ns)
}

fn spec(args: &ServeArgs) -> Result<Spec, CommandError> {
    // The text that --serve of other verbs takes.
    if let Some(text) = args.name.as_deref().filter(|name| name.contains(char::is_whitespace)) {
        if !args.settings.pairs().is_empty() || !args.set.is_empty() || !args.command.is_empty() {
            let why = "has settings already; name the others in it too, or the server alone and all of them as flags";
            return Err(CommandError::usage(format!("{:?} {why}", Redacted::text(text))));
        }
        return Spec::parse(text).map_err(serving::command_error);
    }
    let name = match (&args.name, args.command.is_empty()) {
        (Some(name), _) => name.as_str(),
        (None, false) => "command",
        (None, true) => {
            return Err(CommandError::usage(
                "which server? plimsoll serve --list names them; a command stands after --",
            ));
        }
    };
    let mut pairs = args.settings.pairs();
    for set in &args.set {
        let wrong = || CommandError::usage(format!("--set {:?} is not KEY=VALUE", Redacted::text(set)));
        let pair = set.split_once('=').ok_or_else(wrong)?;
        pairs.push((pair.0.to_owned(), pair.1.to_owned()));
    }
    Spec::typed(name, &pairs, args.command.clone()).map_err(serving::command_error)
}

fn list() -> Result<Exit, CommandError> {
    let mut text = String::new();
    for server in stack::all() {
        text.push_str(&format!("{:<12} {}\n", server.name, server.about));
        for (name, default, meaning) in server.own_settings() {
            text.push_str(&format!("  --set {:<32} {meaning}\n", format!("{name}={default}")));
        }
    }
    text.push_str(&format!(
        "\nenvironment of a command: {} of the caller; {} are set; others with --env NAME=VALUE\n",
        stack::PASSED_VARIABLES.join(", "),
        stack::SET_VARIABLES.join(", ")
    ));
    printer::result(&text).map(|()| Exit::Fine)
}

fn clean() -> Result<Exit, CommandError> {
    let found = stack::clean(clock::monotonic_ns).map_err(serving::command_error)?;
    if found.is_empty() {
        printer::note("nothing is left of any server");
    }
    let (mut exit, mut removed) = (Exit::Fine, String::new());
    for leftover in &found {
        match leftover.told() {
            Ok(line) => removed.push_str(&format!("{line}\n")),
            Err(why) => {
                printer::error(&why);
                exit = Exit::Usage;
            }
        }
    }
    printer::result(&removed).map(|()| exit)
}

#[cfg(test)]
mod tests {
    use super::spec;
    use crate::cli::{Cli, Verb};
    use clap::{CommandFactory, Parser};
    use stack::Spec;

    /// `serve 'nginx workers=2'` said "there is no server", though --serve takes exactly that.
    #[test]
    fn the_text_of_serve_flags_is_a_server_with_its_settings() {
        let read = |words: &[&str]| {
            let Verb::Serve(args) = Cli::try_parse_from(["plimsoll", "serve"].iter().chain(words)).unwrap().verb else {
                panic!("another verb")
            };
            spec(&args).map(|spec| format!("{spec:?}")).map_err(|error| error.message)
        };
        for text in ["nginx workers=2 gzip=on", "command -- ./srv --port {port}"] {
            assert_eq!(read(&[text]), Ok(format!("{:?}", Spec::parse(text).unwrap())), "{text}");
        }
        for flags in [&["--port", "8080"][..], &["--set", "port=8080"], &["--", "./srv"]] {
            let why = read(&[&["nginx workers=2"], flags].concat()).unwrap_err();
            assert!(why.starts_with("\"nginx workers=2\" has settings already"), "{why}");
        }
    }

    #[test]
    fn a_command_beside_a_file_is_refused() {
        let refused = |words: &[&str]| {
            let Verb::Serve(args) = Cli::try_parse_from(["plimsoll", "serve"].iter().chain(words)).unwrap().verb else {
                panic!("another verb")
            };
            spec(&args).unwrap_err().message
        };
        assert_eq!(
            refused(&["@nginx.toml", "--", "./my-server", "--port", "{port}"]),
            "@nginx.toml says which server it is; leave out what stands after --"
        );
        for flags in [&["--port", "8080"][..], &["--set", "port=8080"]] {
            assert_eq!(
                refused(&[&["@nginx.toml"], flags].concat()),
                "@nginx.toml has the settings of its server; write port into it, or name the server in place of the file"
            );
        }
    }

    #[test]
    fn the_help_names_every_variable_that_a_command_gets() {
        let mut cli = Cli::command();
        let serve = cli.find_subcommand_mut("serve").expect("the verb");
        let help = serve.render_long_help().to_string();
        for name in stack::PASSED_VARIABLES.iter().chain(&stack::SET_VARIABLES) {
            assert!(help.contains(name), "{name} is not in {help}");
        }
    }
}
