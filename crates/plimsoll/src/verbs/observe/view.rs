//! How looks are shown while they come: a table that is redrawn, lines that are appended, or JSON.

use crate::cli::observe::ObserveArgs;
use crate::exit::CommandError;
use crate::output::printer;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use model::Observation;
use report::{json, terminal, visible};
use std::io::IsTerminal;

pub(super) enum View {
    Table(ProgressBar),
    Lines,
    Json { quiet: bool },
    Nothing,
}

impl View {
    pub(super) fn new(args: &ObserveArgs) -> Self {
        let is_terminal = std::io::stdout().is_terminal() && std::io::stderr().is_terminal();
        match (args.json, args.quiet, is_terminal) {
            (true, quiet, _) => Self::Json { quiet },
            (false, true, _) => Self::Nothing,
            (false, false, true) => Self::Table(table()),
            (false, false, false) => Self::Lines,
        }
    }

    /// Shows a look; false when nobody reads any more.
    pub(super) fn show(&mut self, seen: &Observation) -> Result<bool, CommandError> {
        let style = printer::style();
        let missing = terminal::missing(&seen.unavailable, &style);
        let text = match self {
            Self::Table(table) => {
                if !missing.is_empty() {
                    table.suspend(|| printer::note(&missing));
                }
                let text = terminal::observation(seen, &style);
                table.set_message(printer::in_locale(&visible::rendered(text.trim_end())).into_owned());
                table.tick();
                return Ok(true);
            }
            Self::Nothing => String::new(),
            Self::Lines => terminal::observation_lines(seen),
            Self::Json { .. } => json::observation(seen),
        };
        // Each line of JSON has it as well.
        if !missing.is_empty() && !matches!(self, Self::Json { quiet: true }) {
            printer::note(&missing);
        }
        match self {
            Self::Json { .. } => printer::stream_data(&text),
            _ => printer::stream(&text),
        }
    }

    /// Takes away what would be drawn again.
    pub(super) fn end(&self) {
        if let Self::Table(table) = self {
            table.finish_and_clear();
        }
    }
}

fn table() -> ProgressBar {
    let table = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    table.set_style(ProgressStyle::with_template("{msg}").unwrap_or_else(|_| ProgressStyle::default_spinner()));
    table
}
