//! `plimsoll rules`: what results are judged by.

use crate::cli::rules::RulesArgs;
use crate::exit::{CommandError, Exit};
use crate::output::printer;
use audit::{catalogue, nearest};
use model::{CatalogueRecord, RuleCard};

/// Lists all rules, or those that are named.
pub(crate) fn rules(args: &RulesArgs) -> Result<Exit, CommandError> {
    let all = catalogue();
    let style = printer::style();
    let text = if args.markdown {
        report::rules::markdown(&all)
    } else if args.ids.is_empty() {
        if args.json { report::json::rules(&all) } else { report::terminal::rules(&all, &style) }
    } else {
        let named: Vec<RuleCard> = args.ids.iter().map(|id| find(&all, id)).collect::<Result<_, _>>()?;
        if args.json {
            report::json::rules(&CatalogueRecord { rules: named, ..all })
        } else {
            named.iter().map(|card| report::terminal::rule(card, &style)).collect::<Vec<_>>().join("\n")
        }
    };
    let print = if args.json || args.markdown { printer::data } else { printer::result };
    print(&text)?;
    Ok(Exit::Fine)
}

/// The rule with that id, in capitals or not.
fn find(all: &CatalogueRecord, id: &str) -> Result<RuleCard, CommandError> {
    let found = all.rules.iter().find(|card| card.id.eq_ignore_ascii_case(id));
    found.cloned().ok_or_else(|| {
        let hint = match nearest(id).as_slice() {
            [] => "plimsoll rules lists them".to_owned(),
            alike => format!("did you mean {}?", alike.join(" or ")),
        };
        CommandError::usage(format!("no rule is called {id:?}: {hint}"))
    })
}
