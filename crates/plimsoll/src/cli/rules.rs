//! Flags of `plimsoll rules`.

use clap::Args;

const EXAMPLES: &str = "\
Examples:
  plimsoll rules                       all rules, a line each
  plimsoll rules ER-02 NE-01           two of them explained, with examples
  plimsoll rules --json | jq -r '.rules[] | select(.later) | .id'";

/// Lists the validity rules, or explains those that are named: what they need, their thresholds, an example.
///
/// Every result is judged by them; one whose data is missing is told as not checked. Those that `audit` asks of the
/// output of other tools are among them, and those of the catalogue that cannot be checked yet, with the reason.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct RulesArgs {
    /// Rules to explain, such as ER-02
    #[arg(value_name = "ID")]
    pub(crate) ids: Vec<String>,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
    /// Print the page docs/rules.md instead of text
    #[arg(long, conflicts_with_all = ["json", "ids"])]
    pub(crate) markdown: bool,
}
