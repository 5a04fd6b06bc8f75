//! Layer cake: where the mean response time of each rung goes.

use model::human::time;
use model::{Estimate, ExperimentRecord, ExperimentRow, Layer};

use crate::markdown::Table;

pub(super) const LEGEND: &str = "\
- *mean response*: measured, not one second over the throughput; of rungs without failed requests.
- *web server*, *PHP*, *database*, *object cache*: CPU time of their processes for each response.
- *waiting*: what is left: waiting for a worker, a CPU, a disk or a slow answer, the network, the client. At 16 connections most
  of it is waiting for each other; at one connection nothing else is asked for. `-`: the CPU time is more than the response
  time by a tenth or more, as for work after the response.
";

/// A layer, and the programs that can be it.
const LAYERS: [(&str, &[&str]); 4] = [
    ("web server", &["nginx", "apache2"]),
    ("PHP", &["php-fpm"]),
    ("database", &["mariadbd", "mysqld"]),
    ("object cache", &["redis-server"]),
];

/// A row for each rung whose layers are known; none without any.
pub(super) fn table(record: &ExperimentRecord) -> Option<Table> {
    let mut rows = record.rows.iter().filter(|row| !row.layers.is_empty()).peekable();
    rows.peek()?;
    let names = LAYERS.map(|(name, _)| name).join(" | ");
    let mut table = Table::with_figures(&format!("rung | load | mean response | {names} | waiting"), 2);
    rows.for_each(|row| table.texts(cells(row)));
    Some(table)
}

fn cells(row: &ExperimentRow) -> Vec<String> {
    let layer = |is_it: &dyn Fn(Option<&str>) -> bool| {
        let mut layers = row.layers.iter().filter(|layer| is_it(layer.program.as_deref()));
        between(layers.next().map(|Layer { ns_per_response, .. }| *ns_per_response))
    };
    let programs = LAYERS.iter().map(|(_, names)| layer(&|program| program.is_some_and(|name| names.contains(&name))));
    let begin = [row.variant.clone(), row.load.clone(), between(row.response_mean_ns)];
    begin.into_iter().chain(programs).chain([layer(&|program| program.is_none())]).collect()
}

fn between(estimate: Option<Estimate>) -> String {
    let Some(Estimate { value, low, high, .. }) = estimate else { return "-".to_owned() };
    let ends = low.zip(high);
    let ends = ends.map_or_else(String::new, |(low, high)| format!(" ({} to {})", time(low.max(0.0)), time(high)));
    format!("{}{ends}", time(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layer(program: Option<&str>, ns: f64) -> Layer {
        let ns_per_response = Estimate { value: ns, low: Some(0.9 * ns), high: Some(1.1 * ns), n: 6 };
        Layer { program: program.map(str::to_owned), ns_per_response }
    }

    #[test]
    fn each_program_stands_in_its_layer() {
        let layers = vec![
            layer(Some("php-fpm"), 20e6),
            layer(Some("mariadbd"), 4e6),
            layer(Some("apache2"), 1e6),
            layer(None, 5e6),
        ];
        let row = r#"{"variant":"a","load":"b","verb":"run","steps":[],"missing":0,"response_p99_ns":[]}"#;
        let row = ExperimentRow { layers, ..serde_json::from_str(row).expect("a row") };
        let shown = cells(&row);
        assert_eq!(shown[2], "-", "no mean is known");
        let expected = ["1.00 ms (900 µs to 1.10 ms)", "20.0 ms (18.0 ms to 22.0 ms)", "4.00 ms (3.60 ms to 4.40 ms)"];
        assert_eq!(shown[3..6], expected);
        assert_eq!(shown[6..], ["-", "5.00 ms (4.50 ms to 5.50 ms)"]);
    }
}
