//! `plimsoll stack`: servers under test in the background.

mod compose;
mod php_profile;

use crate::cli::stack::{DownArgs, LogsArgs, StackArgs, StackVerb, StatusArgs, UpArgs};
use crate::exit::{CommandError, Exit};
use crate::interrupt;
use crate::output::printer;
use crate::serving;
use model::{Redacted, human};
use serde_json::json;
use stack::{Endpoint, Running, Spec, Stack, StackError, Standing};
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Longest name of a stack.
const NAME_MAX: usize = 60;

pub(crate) fn stack(args: &StackArgs) -> Result<Exit, CommandError> {
    match &args.verb {
        StackVerb::Up(args) => up(args),
        StackVerb::Status(args) => status(args),
        StackVerb::Logs(args) => logs(args),
        StackVerb::Down(args) => down(args),
        StackVerb::PhpProfile(args) => php_profile::php_profile(args),
        StackVerb::Compose(args) => compose::compose(args),
    }
}

fn up(args: &UpArgs) -> Result<Exit, CommandError> {
    let mut spec = spec_of(args)?;
    spec.label = serving::label(&spec).into_inner();
    let name = name_of(args, &spec)?;
    clean()?;
    if let Some(stack) = stacks()?.iter().find(|stack| stack.standing.name == name) {
        return Err(CommandError::usage(is_there(&stack.standing, &stack.check())));
    }
    // Before packages are installed, and services kept from starting meanwhile: what keeps them has to be removed.
    let stop = interrupt::watch()?;
    if args.install && install(&spec, &stop)? == Exit::Interrupted {
        return Ok(Exit::Interrupted);
    }
    let mut options = serving::options(stop, args.timeout.ns)?;
    options.may_be_left = true;
    let started = Running::start(&spec, &options).and_then(|mut running| {
        warn(&running.warnings());
        running.leave(&name)
    });
    let standing = match started {
        Err(StackError::Interrupted) => return Ok(Exit::Interrupted),
        other => other.map_err(serving::command_error)?,
    };
    match args.json {
        true => printer::data(&format!("{}\n", serving::line(&standing))),
        false => printer::result(&shown(&standing)),
    }
    .map(|()| Exit::Fine)
}

/// Why a second stack of one name is not started, and what to do.
fn is_there(standing: &Standing, state: &Result<(), String>) -> String {
    let name = &standing.name;
    let at = standing.url().map(|url| format!(" at {url}")).unwrap_or_default();
    let end = format!("end it with plimsoll stack down {name}");
    match state {
        Ok(()) => format!("{name} is up{at}: {end}, or give this one another --name"),
        Err(why) => format!("{name}{at} is not in order ({}): {end}, then start it again", Redacted::text(why)),
    }
}

/// Installs what is missing, and says so. Of an end by ^C nothing is said, as of that of a start.
fn install(spec: &Spec, stop: &AtomicBool) -> Result<Exit, CommandError> {
    let installed = match stack::install(spec, &serving::own_program()?, stop) {
        Err(StackError::Interrupted) => return Ok(Exit::Interrupted),
        other => other.map_err(serving::command_error)?,
    };
    if !installed.is_empty() {
        printer::note(&format!("installed {}", installed.join(" ")));
    }
    Ok(Exit::Fine)
}

fn spec_of(args: &UpArgs) -> Result<Spec, CommandError> {
    let import = args.import.iter().map(|file| ("import".to_owned(), file.clone()));
    spec(&args.server, &args.settings, import.collect())
}

/// A server with settings that were typed, and `more`.
fn spec(server: &str, settings: &[String], more: Vec<(String, String)>) -> Result<Spec, CommandError> {
    let pair = |text: &String| match text.split_once('=') {
        Some((key, value)) => Ok((key.to_owned(), value.to_owned())),
        None => Err(CommandError::usage(format!("{:?} is not KEY=VALUE", Redacted::text(text)))),
    };
    let typed = settings.iter().map(pair).collect::<Result<Vec<_>, _>>()?;
    let pairs = [typed, more].concat();
    Spec::typed(server, &pairs, Vec::new()).map_err(serving::command_error)
}

/// What the stack is called: a word that can be typed again.
fn name_of(args: &UpArgs, spec: &Spec) -> Result<String, CommandError> {
    let name = args.name.clone().unwrap_or_else(|| spec.server_name().to_owned());
    let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c)) && !name.starts_with('-');
    if is_plain && !name.is_empty() && name.len() <= NAME_MAX {
        return Ok(name);
    }
    Err(CommandError::usage(format!("--name {name:?}: a name has letters, digits and . _ - only, {NAME_MAX} at most")))
}

fn status(args: &StatusArgs) -> Result<Exit, CommandError> {
    let all = match &args.name {
        Some(_) => named(args.name.as_deref(), false)?,
        None => stacks()?,
    };
    if args.name.is_none() {
        tell_abandoned(&all)?;
    }
    let states: Vec<(&Stack, Result<(), String>)> = all.iter().map(|stack| (stack, stack.check())).collect();
    let text = if args.json {
        let of = |(stack, state): &(&Stack, Result<(), String>)| {
            let mut line = serving::line(&stack.standing);
            line["up"] = state.is_ok().into();
            line["error"] = state.as_ref().err().map(|error| Redacted::text(error).into_inner()).into();
            line
        };
        format!("{}\n", json!({ "stacks": states.iter().map(of).collect::<Vec<_>>() }))
    } else {
        states.iter().map(|(stack, state)| state_line(&stack.standing, state)).collect()
    };
    if all.is_empty() && !args.json {
        printer::note("no stack is up");
    }
    let print = if args.json { printer::data } else { printer::result };
    print(&text)?;
    Ok(if states.iter().all(|(_, state)| state.is_ok()) { Exit::Fine } else { Exit::Target })
}

/// Names what starts have left that were killed with their supervisors before they were stacks.
fn tell_abandoned(stacks: &[Stack]) -> Result<(), CommandError> {
    let is_stack = |dir: &Path| stacks.iter().any(|stack| stack.standing.state == dir);
    for dir in stack::abandoned().map_err(serving::command_error)?.iter().filter(|dir| !is_stack(dir)) {
        printer::note(&format!("left of a start that was killed: {}; plimsoll stack down removes it", dir.display()));
    }
    Ok(())
}

fn logs(args: &LogsArgs) -> Result<Exit, CommandError> {
    let mut text = String::new();
    for log in named(args.name.as_deref(), true)?.iter().flat_map(Stack::logs) {
        // Servers print their commands and what they were sent.
        let tail = Redacted::text(&String::from_utf8_lossy(&log.tail)).into_inner();
        let lines: Vec<&str> = tail.lines().collect();
        let last = &lines[lines.len().saturating_sub(args.lines)..];
        text.push_str(&format!("==> {} <==\n{}\n\n", log.name, last.join("\n")));
    }
    printer::result(&text).map(|()| Exit::Fine)
}

fn down(args: &DownArgs) -> Result<Exit, CommandError> {
    let removed = clean()?;
    let all = match (&args.name, args.all) {
        (None, true) => stacks()?,
        // What was asked for may be among what is gone by now.
        (_, false) if removed > 0 && stacks()?.is_empty() => Vec::new(),
        (name, _) => named(name.as_deref(), true)?,
    };
    for stack in &all {
        let begin_ns = clock::monotonic_ns();
        let killed = stack.down(clock::monotonic_ns).map_err(serving::command_error)?;
        if killed {
            printer::note(&format!("warning: the supervisor of {} did not end, and was killed", stack.standing.name));
        }
        let took = human::time((clock::monotonic_ns() - begin_ns) as f64);
        printer::result(&format!("{} is down after {took}\n", stack.standing.name))?;
    }
    if all.is_empty() && removed == 0 {
        printer::note("no stack is up");
    }
    Ok(Exit::Fine)
}

fn stacks() -> Result<Vec<Stack>, CommandError> {
    stack::stacks().map_err(serving::command_error)
}

/// The stacks of that name; without a name the only one, or all if there may be several.
fn named(name: Option<&str>, only: bool) -> Result<Vec<Stack>, CommandError> {
    let all = stacks()?;
    let names: Vec<&str> = all.iter().map(|stack| stack.standing.name.as_str()).collect();
    let has = match names[..] {
        [] => "no stack is up".to_owned(),
        _ => format!("there are {}", names.join(", ")),
    };
    match name {
        Some(name) if !names.contains(&name) => Err(CommandError::usage(format!("there is no stack {name:?}: {has}"))),
        Some(name) => Ok(all.into_iter().filter(|stack| stack.standing.name == name).collect()),
        None if only && names.is_empty() => Err(CommandError::usage(has)),
        None if only && names.len() > 1 => Err(CommandError::usage(format!("which stack? {has}"))),
        None => Ok(all),
    }
}

/// Removes what starts have left that were killed with their supervisors; says so. Returns how many there were.
fn clean() -> Result<usize, CommandError> {
    let found = stack::clean(clock::monotonic_ns).map_err(serving::command_error)?;
    let told: Vec<_> = found.iter().map(stack::Leftover::told).collect();
    for line in &told {
        match line {
            Ok(removed) => printer::note(&format!("left of an earlier start: {removed}")),
            Err(stays) => printer::note(&format!("warning: left of an earlier start: {stays}")),
        }
    }
    Ok(told.iter().filter(|line| line.is_ok()).count())
}

fn warn(warnings: &[String]) {
    warnings.iter().for_each(|warning| printer::note(&format!("warning: {warning}")));
}

/// A start for people.
fn shown(standing: &Standing) -> String {
    let steps = &standing.served.steps;
    let all_ns: u64 = steps.iter().map(|step| step.ns).sum();
    let steps: Vec<String> =
        steps.iter().map(|step| format!("{} {}", step.name, human::time(step.ns as f64))).collect();
    let rows = [
        ("state", Some(standing.state.display().to_string())),
        ("steps", Some(steps.join(", "))),
        ("auth", serving::auth(standing).map(|auth| format!("--auth {auth}"))),
        ("php", standing.php_samples().map(|_| format!("plimsoll stack php-profile {}", standing.name))),
        ("status", Some(standing.status.join(" ")).filter(|pages| !pages.is_empty())),
    ];
    let row = |(name, value): (&str, Option<String>)| value.map(|value| format!("{name:<8}{value}\n"));
    let rows: String = rows.into_iter().filter_map(row).collect();
    format!("{} is up at {} after {}\n{rows}", standing.name, at(standing), human::time(all_ns as f64))
}

fn state_line(standing: &Standing, state: &Result<(), String>) -> String {
    let state = match state {
        Ok(()) => "up".to_owned(),
        Err(why) => format!("not in order: {}", Redacted::text(why)),
    };
    let label = Redacted::text(&standing.served.label);
    format!("{:<16} {} ({label}): {state}\n", standing.name, at(standing))
}

/// Where it answers.
fn at(standing: &Standing) -> String {
    match &standing.endpoint {
        Some(Endpoint::Http { url } | Endpoint::FastCgi { url, .. }) => url.clone(),
        Some(Endpoint::Socket { path }) => path.display().to_string(),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(server: &str, name: Option<&str>, settings: &[&str]) -> UpArgs {
        UpArgs {
            server: server.into(),
            settings: settings.iter().map(|text| (*text).to_owned()).collect(),
            import: None,
            name: name.map(str::to_owned),
            timeout: model::Duration { ns: 1 },
            install: false,
            json: false,
        }
    }

    #[test]
    fn a_stack_is_called_as_its_server_or_by_a_plain_word() {
        let named = |name| {
            let args = args("nginx", name, &["workers=2"]);
            name_of(&args, &spec_of(&args).unwrap()).map_err(|error| error.message)
        };
        assert_eq!(named(None).unwrap(), "nginx");
        assert_eq!(named(Some("shop-2")).unwrap(), "shop-2");
        for name in ["", "--all", "a b", "../x", &"x".repeat(61)] {
            let message = named(Some(name)).unwrap_err();
            assert!(message.contains("a name has letters"), "{message}");
        }
    }

    #[test]
    fn a_stack_of_the_same_name_is_told_with_its_state() {
        let standing = Standing { name: "shop".into(), ..Standing::default() };
        let up = is_there(&standing, &Ok(()));
        assert_eq!(up, "shop is up: end it with plimsoll stack down shop, or give this one another --name");
        let broken = is_there(&standing, &Err("mariadb was ended by SIGKILL".into()));
        assert!(broken.starts_with("shop is not in order (mariadb was ended by SIGKILL): end it with"), "{broken}");
    }

    #[test]
    fn settings_are_checked_as_those_of_serve() {
        let message = |settings: &[&str]| spec_of(&args("wordpress", None, settings)).unwrap_err().message;
        assert!(message(&["children"]).contains("\"children\" is not KEY=VALUE"));
        assert!(message(&["children=0"]).contains("from 1 to 1000"));
        assert!(message(&["childs=1"]).contains("wordpress has no setting childs; it has front"));
        assert!(!message(&["DB_PASSWORD:s3cret"]).contains("s3cret"));
    }
}
