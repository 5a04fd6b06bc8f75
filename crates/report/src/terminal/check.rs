//! Preflight checks in a terminal: the worst first.

use super::Style;
use super::layout::{advice, labelled, labelled_painted, wrap};
use crate::visible;
use anstyle::AnsiColor;
use model::human::{count, plural};
use model::{CheckRecord, CheckRow, CheckState, TargetCheck};

/// Columns of the state, the rule and what was looked at, with the space after them.
const STATE: usize = 9;
const RULE: usize = 7;
const WHAT: usize = 16;

/// A check: what it comes to, the target, one row for each thing that was looked at. Ends with a newline.
#[must_use]
pub fn check(record: &CheckRecord, style: &Style) -> String {
    let style = *style;
    let (word, colour) = word(record.state);
    let mut out = labelled_painted(&word.to_uppercase(), &meaning(record), colour, style);
    if let Some(target) = &record.target {
        out.push_str(&labelled("target", &target.url, style));
        if let Some(url) = &target.canonical_url {
            out.push_str(&labelled("measure", url, style));
        }
        out.push_str(&labelled("sent", &sent(target), style));
    }
    let is_told = |row: &&CheckRow| style.verbose || row.state != CheckState::Fine;
    let told: Vec<_> = record.rows.iter().filter(is_told).collect();
    if !told.is_empty() {
        out.push_str(&format!("\n{:<STATE$}{:<RULE$}{:<WHAT$}found\n", "state", "rule", "what"));
    }
    told.iter().for_each(|row| out.push_str(&lines(row, style)));
    out.push_str(&fine(&record.rows, style));
    out
}

/// What was found to be fine, in one line; empty where each has a row.
fn fine(rows: &[CheckRow], style: Style) -> String {
    let mut names: Vec<&str> =
        rows.iter().filter(|row| row.state == CheckState::Fine).map(|row| row.what.as_str()).collect();
    let n = names.len() as u64;
    names.dedup();
    if n == 0 || style.verbose {
        return String::new();
    }
    let text = format!("{}: {} (-v shows what was found)", plural(n, "check"), names.join(", "));
    let (word, colour) = word(CheckState::Fine);
    format!("\n{}", labelled_painted(word, &text, colour, style))
}

/// The requests that the target was sent; what an older record does not tell is not 0.
fn sent(target: &TargetCheck) -> String {
    let burst = target.burst.as_ref().map_or(0, |burst| u64::from(burst.sent));
    let all = target.requests_sent;
    match (all, burst) {
        (0, _) => "the number of requests was not recorded".to_owned(),
        (_, 0) => format!("{}, one at a time", plural(all, "request")),
        _ => {
            let single = count(all.saturating_sub(burst));
            format!("{}: {single} one at a time, and a burst of {}", plural(all, "request"), count(burst))
        }
    }
}

/// A row by itself in one line.
#[must_use]
pub fn check_row(row: &CheckRow) -> String {
    let advice = row.remedy.as_ref().map_or_else(String::new, |remedy| format!(" -> {remedy}"));
    let line = format!("{} {}  {}: {}{advice}", word(row.state).0, row.rule, row.what, row.found);
    visible::line(&line).into_owned()
}

/// What the state means, and the rules behind it.
fn meaning(record: &CheckRecord) -> String {
    let mut rules: Vec<&str> =
        record.rows.iter().filter(|row| row.state == record.state).map(|row| row.rule.as_str()).collect();
    rules.dedup();
    let rules = rules.join(", ");
    match record.state {
        CheckState::Invalid => format!("a measurement started now would be invalid ({rules})"),
        CheckState::Warning => format!("a measurement started now would be valid with warnings ({rules})"),
        CheckState::Note | CheckState::Unavailable | CheckState::Fine => {
            "nothing was found that would spoil a measurement".to_owned()
        }
    }
}

fn lines(row: &CheckRow, style: Style) -> String {
    let (word, colour) = word(row.state);
    let (rule, what) = (visible::line(&row.rule), visible::line(&row.what));
    let head = format!("{word:<STATE$}{rule:<RULE$}{what:<WHAT$}");
    let rest = if style.is_wide() { STATE + RULE + WHAT } else { 2 };
    let painted = style.paint(colour.on_default(), &head[..word.len()]) + &head[word.len()..];
    let mut out = wrap(&painted, &row.found, style.width, rest) + "\n";
    if let Some(remedy) = &row.remedy {
        out.push_str(&advice(remedy, rest, style));
    }
    out
}

/// A state in a word, and its colour.
const fn word(state: CheckState) -> (&'static str, AnsiColor) {
    match state {
        CheckState::Invalid => ("INVALID", AnsiColor::Red),
        CheckState::Warning => ("WARNING", AnsiColor::Yellow),
        CheckState::Note => ("note", AnsiColor::Cyan),
        CheckState::Unavailable => ("unknown", AnsiColor::White),
        CheckState::Fine => ("fine", AnsiColor::Green),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Environment;

    fn row(state: CheckState, remedy: Option<&str>) -> CheckRow {
        CheckRow {
            rule: "EN-02".to_owned(),
            what: "governor".to_owned(),
            state,
            found: "powersave: the clock follows the load, and not at once".to_owned(),
            remedy: remedy.map(str::to_owned),
            figures: Default::default(),
        }
    }

    #[test]
    fn the_state_its_rules_and_each_row_are_told_in_columns() {
        let rows = vec![row(CheckState::Warning, Some("cpupower frequency-set")), row(CheckState::Unavailable, None)];
        let record = CheckRecord {
            format: model::FORMAT_CHECK.to_owned(),
            state: CheckState::Warning,
            rows,
            target: None,
            environment: Environment::default(),
            started: String::new(),
        };
        let text = check(&record, &Style { width: 70, colour: false, verbose: false });
        let expected = "\
WARNING      a measurement started now would be valid with warnings
             (EN-02)

state    rule   what            found
WARNING  EN-02  governor        powersave: the clock follows the load,
                                and not at once
                                -> cpupower frequency-set
unknown  EN-02  governor        powersave: the clock follows the load,
                                and not at once
";
        assert_eq!(text, expected);
        let line = check_row(&record.rows[0]);
        assert!(line.starts_with("WARNING EN-02  governor: powersave") && line.ends_with("-> cpupower frequency-set"));
    }
}
