//! `plimsoll man`: the manual pages, made from the definition of the command line.

use crate::cli::Cli;
use crate::cli::man::ManArgs;
use crate::exit::{CommandError, Exit};
use crate::output::printer;
use clap::Command;
use clap_mangen::Man;

/// Prints all pages one after the other, or writes one file each.
pub(crate) fn man(args: &ManArgs) -> Result<Exit, CommandError> {
    let pages = pages();
    let Some(directory) = &args.directory else {
        printer::data(&pages.into_iter().map(|page| page.text).collect::<String>())?;
        return Ok(Exit::Fine);
    };
    let wrong =
        |path: &std::path::Path, error| CommandError::usage(format!("cannot write {}: {error}", path.display()));
    std::fs::create_dir_all(directory).map_err(|error| wrong(directory, error))?;
    for page in pages {
        let path = directory.join(&page.file);
        std::fs::write(&path, page.text).map_err(|error| wrong(&path, error))?;
    }
    Ok(Exit::Fine)
}

/// Headings in the help, and what manual pages call such a section.
const SECTIONS: [(&str, &str); 3] =
    [("Examples:", "EXAMPLES"), ("Exit codes:", "\"EXIT STATUS\""), ("Environment:", "ENVIRONMENT")];

struct Page {
    file: String,
    text: String,
}

/// A page for the program, one for each verb, and one for each verb of a verb.
fn pages() -> Vec<Page> {
    let mut program = Cli::definition().disable_help_subcommand(true);
    program.build();
    let verbs = program.get_subcommands().filter(|verb| !verb.is_hide_set()).cloned().collect::<Vec<_>>();
    let with_own = |verb: Command| {
        let own: Vec<Command> = verb.get_subcommands().filter(|own| own.get_name() != "help").cloned().collect();
        std::iter::once(verb).chain(own)
    };
    std::iter::once(program).chain(verbs.into_iter().flat_map(with_own)).map(page).collect()
}

fn page(command: Command) -> Page {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned();
    // A manual page has every flag: clap_mangen leaves out the help of those that the short help leaves out.
    let man = Man::new(command.mut_args(|flag| flag.hide_short_help(false)))
        .title(name.to_uppercase())
        .source(concat!("plimsoll ", env!("CARGO_PKG_VERSION")))
        .manual("plimsoll manual");
    let mut text = Vec::new();
    man.render(&mut text).expect("writing to memory does not fail");
    Page { file: format!("{name}.1"), text: with_sections(String::from_utf8(text).expect("help is text")) }
}

/// The page with sections of their own for what clap_mangen puts into one that it calls EXTRA.
fn with_sections(text: String) -> String {
    let text = SECTIONS
        .iter()
        .fold(text, |text, (heading, section)| text.replace(&format!("\n{heading}\n"), &format!("\n.SH {section}\n")));
    text.replace(".SH EXTRA\n.SH ", ".SH ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::variables::VARIABLES;

    #[test]
    fn every_verb_and_every_flag_has_its_place() {
        let mut program = Cli::definition().disable_help_subcommand(true);
        program.build();
        let pages = pages();
        let text = |file: &str| {
            let page = pages.iter().find(|page| page.file == file).unwrap_or_else(|| panic!("no page {file}"));
            page.text.replace("\\-", "-")
        };
        let verbs: Vec<_> = program.get_subcommands().filter(|verb| !verb.is_hide_set()).collect();
        for verb in &verbs {
            let name = verb.get_name();
            assert!(text("plimsoll.1").contains(&format!("plimsoll-{name}(1)")), "{name} is not in plimsoll.1");
            let page = text(&format!("plimsoll-{name}.1"));
            for flag in verb.get_arguments().filter(|arg| !arg.is_hide_set()) {
                let Some(long) = flag.get_long() else { continue };
                assert!(page.contains(&format!("--{long}")), "--{long} is not in plimsoll-{name}.1");
                let help = flag.get_help().expect("every flag is explained").to_string();
                let first = help.split_whitespace().next().expect("a word");
                assert!(page.contains(first), "--{long} is not explained in plimsoll-{name}.1");
            }
        }
        assert_eq!(
            pages.len(),
            1 + verbs.len() + 7,
            "and those of profile diff and of stack up, status, logs, down, php-profile and compose"
        );
        assert!(text("plimsoll-profile-diff.1").contains("RUN_A"));
        assert!(!text("plimsoll.1").contains("plimsoll-keep"), "hidden verbs stay hidden");
        assert!(text("plimsoll-run.1").contains("--connections") && text("plimsoll.1").contains("130"));
        let program_page = text("plimsoll.1");
        let (_, environment) = program_page.split_once(".SH ENVIRONMENT\n").expect("a section");
        assert!(VARIABLES.iter().all(|variable| environment.contains(variable.name)), "{environment}");
        assert!(program_page.contains(".SH \"EXIT STATUS\"") && text("plimsoll-run.1").contains(".SH EXAMPLES"));
        assert!(!text("plimsoll-target.1").contains("die-with-parent"), "hidden flags stay hidden");
    }
}
