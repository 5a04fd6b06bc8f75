//! Flags of `plimsoll rules`.

use super::examples::Examples;
use clap::Args;

const EXAMPLES: Examples = Examples(&[
    ("all rules, one per line", "plimsoll rules"),
    ("two rules with thresholds and examples", "plimsoll rules ER-02 NE-01"),
    ("planned rules", "plimsoll rules --json | jq -r '.rules[] | select(.later) | .id'"),
]);

/// List and explain the validity rules
///
/// Every result is judged by them; a rule whose data are missing is not checked. Includes the rules that `audit`
/// applies to other tools' output, and planned rules with the reason why they cannot be checked yet.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES.short("rules"), after_long_help = EXAMPLES.full())]
pub(crate) struct RulesArgs {
    /// Rules to explain, such as ER-02
    #[arg(value_name = "ID")]
    pub(crate) ids: Vec<String>,
    /// One JSON object on stdout instead of text
    #[arg(long)]
    pub(crate) json: bool,
    /// The page docs/reference/rules.md on stdout instead of text
    #[arg(long, conflicts_with_all = ["json", "ids"])]
    pub(crate) markdown: bool,
}
