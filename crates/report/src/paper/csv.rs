//! The overhead table as data: unrounded, names with units.

use super::comparisons;
use crate::Named;
use crate::bounds::sign;
use crate::cells::csv_text;
use crate::words::overhead::overheads;
use crate::words::verdict::state_word;
use model::{Call, CompareRecord, KnownFigure};

const HEADER: [&str; 14] = [
    "result",
    "verdict",
    "started",
    "load",
    "quantity",
    "baseline",
    "variant",
    "baseline_value",
    "variant_value",
    "ratio",
    "ratio_low",
    "ratio_high",
    "blocks",
    "call",
];

/// One line for each quantity of each variant at each load.
pub(crate) fn csv(results: &[Named<'_>]) -> String {
    let mut out = csv::Writer::from_writer(Vec::new());
    let mut put = |row: &[String]| out.write_record(row).expect("writing to memory cannot fail");
    put(&HEADER.map(str::to_owned));
    for (name, record) in comparisons(results) {
        rows(name, record).iter().for_each(|row| put(row));
    }
    let bytes = out.into_inner().expect("writing to memory cannot fail");
    String::from_utf8(bytes).expect("text makes text")
}

fn rows(name: &str, record: &CompareRecord) -> Vec<Vec<String>> {
    let optional = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
    let rows = overheads(record).into_iter().map(|it| {
        vec![
            csv_text(name),
            state_word(record.verdict.state).to_owned(),
            csv_text(&record.started),
            word(&it.load),
            word(&it.metric),
            csv_text(crate::words::compare::baseline(record)),
            csv_text(it.arm),
            figure(&it.baseline),
            figure(&it.value),
            optional(it.ratio.map(|ratio| ratio.value)),
            optional(it.ratio.and_then(|ratio| ratio.low)),
            optional(it.ratio.and_then(|ratio| ratio.high)),
            it.blocks().map_or_else(String::new, |blocks| blocks.to_string()),
            it.call.map_or("", Call::words).to_owned(),
        ]
    });
    rows.collect()
}

/// A value as it is; a bound with its sign, which makes it text: nobody is to compute with it.
fn figure(figure: &KnownFigure) -> String {
    format!("{}{}", sign(figure.bound).trim_end(), figure.value)
}

/// Name as in JSON.
fn word(value: &impl serde::Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::AnyRecord;
    use crate::words::testing::comparison;

    #[test]
    fn figures_are_unrounded_and_names_are_those_of_json() {
        let record = comparison();
        let text = csv(&[Named { name: "=run", record: AnyRecord::Compare(&record) }]);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("result,verdict,started,load,quantity,baseline,variant,"));
        let goodput =
            "'=run,valid,2026-01-02T03:04:05Z,saturated,goodput_per_s,plain,gzip,2000,1780,0.89,0.87,0.91,18,worse";
        assert_eq!(lines[1], goodput);
    }
}
