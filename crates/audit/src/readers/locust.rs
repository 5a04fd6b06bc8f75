//! Locust: the `_stats.csv` of `--csv`; its row `Aggregated`.

use super::{Keeps, Tool, require};
use crate::Unreadable;
use crate::asked::{Flags, Style, Unit, flag};
use crate::claim::{Claims, Figure, Mode};
use crate::scan::number;
use crate::text::Text;

pub(super) const TOOL: Tool =
    Tool { name: "locust", text: None, json: None, csv: Some(read), keeps: Keeps::Always, called: &[], flags: FLAGS };

const FLAGS: Flags = Flags {
    style: Style::Getopt,
    flags: &[
        flag(&["-u", "--users"], Figure::Connections, Unit::Number),
        flag(&["-t", "--run-time"], Figure::DurationAsked, Unit::Time),
    ],
};

/// Below 100 ms Locust rounds to whole ms, above to two digits.
const RESOLUTION_NS: f64 = 1e6;
/// Column, figure, scale.
const COLUMNS: [(&str, Figure, f64); 12] = [
    ("Request Count", Figure::Responses, 1.0),
    ("Failure Count", Figure::BadStatus, 1.0),
    ("Average Response Time", Figure::LatencyMean, 1e6),
    ("Min Response Time", Figure::LatencyMin, 1e6),
    ("Max Response Time", Figure::LatencyMax, 1e6),
    ("Average Content Size", Figure::BodyBytes, 1.0),
    ("Requests/s", Figure::Throughput, 1.0),
    ("50%", Figure::LatencyP50, 1e6),
    ("75%", Figure::LatencyP75, 1e6),
    ("90%", Figure::LatencyP90, 1e6),
    ("99%", Figure::LatencyP99, 1e6),
    ("99.9%", Figure::LatencyP999, 1e6),
];

/// None when it is no such file.
pub(super) fn read(text: &Text, mut claims: Claims) -> Option<Result<Claims, Unreadable>> {
    let (_, head) = text.lines().next()?;
    let csv = |line: &str| -> Option<csv::StringRecord> {
        csv::ReaderBuilder::new().has_headers(false).from_reader(line.as_bytes()).records().next()?.ok()
    };
    let columns = csv(head)?;
    let is_locust = columns.get(0) == Some("Type") && columns.iter().any(|name| name == "Request Count");
    is_locust.then(|| {
        claims.mode = Some(Mode::Closed);
        let total = text
            .lines()
            .find_map(|(n, line)| csv(line).filter(|row| row.get(1) == Some("Aggregated")).map(|row| (n, row)));
        if let Some((n, row)) = total {
            for (name, figure, scale) in COLUMNS {
                let cell = columns.iter().position(|column| column == name).and_then(|at| row.get(at));
                claims.put(figure, cell.and_then(number).map(|value| value * scale), Some(n));
            }
        }
        let length = claims.get(Figure::Responses).zip(claims.get(Figure::Throughput).filter(|rate| *rate > 0.0));
        claims.put(Figure::Duration, length.map(|(n, per_s)| n / per_s * 1e9), None);
        claims.put(Figure::Broken, Some(0.0), None);
        claims.put(Figure::Resolution, Some(RESOLUTION_NS), None);
        let needed = [
            (Figure::Responses, "row `Aggregated`, `Request Count`"),
            (Figure::BadStatus, "`Failure Count`"),
            (Figure::Throughput, "`Requests/s`"),
        ];
        require(claims, &needed)
    })
}
