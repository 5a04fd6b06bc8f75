//! One small reader for each tool: from lines to [`Claims`], or why not.

mod ab;
mod autocannon;
mod bombardier;
mod fortio;
mod h2load;
mod hey;
mod httperf;
mod k6;
mod locust;
mod oha;
mod siege;
mod table;
mod vegeta;
mod wrk;

use super::claim::{Claims, FIGURE_MAX, Figure};
use super::text::Text;
use super::{Unreadable, commands};
use model::Redacted;
use serde_json::Value;

/// A tool's output as text.
struct TextReader {
    tool: &'static str,
    /// True if the text as a whole can be this tool's; separates tools that begin alike.
    fits: fn(&Text) -> bool,
    /// A line that stands in each output once.
    begins: fn(&str) -> bool,
    /// Another one, further down.
    ends: fn(&str) -> bool,
    read: fn(&Text) -> Result<Claims, Unreadable>,
}

/// A tool's output as one JSON object.
struct JsonReader {
    fits: fn(&Value) -> bool,
    read: fn(&Value) -> Result<Claims, Unreadable>,
}

static TEXT: [TextReader; 12] = [
    wrk::WRK,
    wrk::WRK2,
    ab::READER,
    httperf::READER,
    h2load::READER,
    hey::READER,
    oha::TEXT,
    vegeta::TEXT,
    k6::TEXT,
    bombardier::TEXT,
    autocannon::TEXT,
    siege::TEXT,
];

static JSON: [JsonReader; 7] =
    [oha::JSON, vegeta::JSON, k6::JSON, bombardier::JSON, autocannon::JSON, siege::JSON, fortio::READER];

/// The tools that are known, for messages and for the manual.
pub(crate) const TOOLS: &str = "wrk, wrk2, ab, httperf, h2load, hey, oha, vegeta, k6, bombardier, autocannon, siege, fortio \
                         (JSON), Locust (CSV), or a table of loads (Markdown, CSV)";

/// Reads the one output in `text`.
pub(crate) fn read(text: &Text) -> Result<Claims, Unreadable> {
    let found = outputs(text);
    let mut claims = match found.as_slice() {
        [] => locust::read(text).unwrap_or_else(|| table::read(text)).or_else(|error| no_text(text, error)).map_err(
            |error| match error {
                Unreadable::Unknown { .. } => wrk::not_started(text).unwrap_or(error),
                _ => error,
            },
        )?,
        [(tool, line)] => {
            // A result as JSON below or above is another output.
            if let Some((tool_of_json, at)) = text.json().and_then(|(at, json)| Some((read_json(&json).ok()?.tool, at)))
            {
                let mut found = vec![(*tool, *line), (tool_of_json, at)];
                found.sort_by_key(|(_, line)| *line);
                return Err(Unreadable::Several { found });
            }
            let reader = TEXT.iter().find(|reader| reader.tool == *tool && (reader.fits)(text));
            (reader.expect("it was found by its reader").read)(text)?
        }
        _ => return Err(Unreadable::Several { found }),
    };
    if claims.command.is_none() && claims.echo.is_none() {
        claims.command = commands::typed(text, claims.tool);
    }
    let begins_alike = claims.command.as_ref().is_some_and(|command| text.lines().any(|(_, line)| line == command));
    // A reader knows no prompts, and httperf's lines by how they begin.
    if claims.command.is_some() && !(claims.tool == "httperf" && begins_alike) {
        claims.unread_lines = claims.unread_lines.saturating_sub(1);
    }
    claims.url = claims.url.or_else(|| claims.command.as_deref().and_then(commands::url));
    Ok(claims)
}

/// A file without tool output or table may be JSON; prose that has a line like JSON in it is neither.
fn no_text(text: &Text, error: Unreadable) -> Result<Claims, Unreadable> {
    let Some((at, json)) = text.json().filter(|_| matches!(error, Unreadable::Unknown { .. })) else {
        return Err(error);
    };
    let is_first = text.lines().next().is_some_and(|(first, _)| first == at);
    read_json(&json).map_err(|json_error| if is_first { json_error } else { error })
}

/// Tool and first line of every text output. Of its two marks the more frequent counts, as either may be cut off.
fn outputs(text: &Text) -> Vec<(&'static str, u64)> {
    let mut found = Vec::new();
    for reader in TEXT.iter().filter(|reader| (reader.fits)(text)) {
        let places = |mark: fn(&str) -> bool| -> Vec<u64> {
            text.lines().filter(|(_, line)| mark(line)).map(|(n, _)| n).collect()
        };
        let (begins, ends) = (places(reader.begins), places(reader.ends));
        let most = if begins.len() >= ends.len() { begins } else { ends };
        found.extend(most.into_iter().map(|line| (reader.tool, line)));
    }
    found.sort_by_key(|(_, line)| *line);
    found
}

fn read_json(json: &str) -> Result<Claims, Unreadable> {
    let mut values = serde_json::Deserializer::from_str(json).into_iter::<Value>();
    let value = match values.next() {
        Some(Ok(value)) => value,
        Some(Err(error)) => return Err(Unreadable::BrokenJson { error: error.to_string() }),
        None => return Err(Unreadable::Empty),
    };
    match values.next() {
        None => {}
        Some(Ok(_)) => return Err(Unreadable::SeveralJson),
        Some(Err(error)) => return Err(Unreadable::BrokenJson { error: error.to_string() }),
    }
    let reader = JSON.iter().find(|reader| (reader.fits)(&value));
    let reader = reader.ok_or_else(|| Unreadable::UnknownJson { keys: keys(&value) })?;
    (reader.read)(&value)
}

/// The first keys of an object, for a message.
fn keys(value: &Value) -> String {
    let keys = value.as_object().map(|object| object.keys().take(5).map(String::as_str).collect::<Vec<_>>());
    Redacted::text(&keys.unwrap_or_default().join(", ")).into_inner()
}

/// The figure at a JSON pointer, times `scale`.
fn at(value: &Value, pointer: &str, scale: f64) -> Option<f64> {
    value.pointer(pointer)?.as_f64().map(|number| number * scale)
}

/// The text at a JSON pointer.
fn text_at(value: &Value, pointer: &str) -> Option<String> {
    value.pointer(pointer)?.as_str().map(str::to_owned)
}

/// Takes down statuses of an object `{"200": n}`; what is no status counts as broken. `number` finds n in a value.
fn put_statuses(claims: &mut Claims, object: Option<&Value>, number: fn(&Value) -> Option<f64>) {
    for (name, value) in object.and_then(Value::as_object).into_iter().flatten() {
        let Some(n) = number(value).filter(|n| (0.0..=FIGURE_MAX).contains(n)) else { continue };
        match name.parse::<u16>() {
            Ok(status @ 100..=599) => *claims.status.entry(status).or_default() += n as u64,
            _ => claims.add(Figure::Broken, n, None),
        }
    }
    claims.count_statuses();
}

/// Fails unless all of these were read.
fn require(claims: Claims, needed: &[(Figure, &'static str)]) -> Result<Claims, Unreadable> {
    let missing: Vec<_> = needed.iter().filter(|(figure, _)| claims.get(*figure).is_none()).map(|(_, l)| *l).collect();
    if missing.is_empty() {
        return Ok(claims);
    }
    let read = claims.figures().map(|(figure, ..)| figure.name()).collect();
    Err(Unreadable::Incomplete { tool: claims.tool, read, missing })
}

#[cfg(test)]
mod tests {
    use super::*;

    const GUIDE: &str = include_str!("../../../../docs/audit.md");

    #[test]
    fn every_tool_is_in_the_messages_and_in_the_guide() {
        let cells: Vec<&str> = GUIDE.lines().filter_map(|line| line.strip_prefix("| ")?.split(" |").next()).collect();
        let guide: Vec<&str> = cells.iter().flat_map(|cell| cell.split(", ")).collect();
        // Those of JSON and CSV alone have no reader of text.
        for tool in TEXT.iter().map(|reader| reader.tool).chain(["fortio", "Locust"]) {
            assert!(TOOLS.split([',', ' ']).any(|known| known == tool), "{tool} is not in TOOLS");
            assert!(guide.contains(&tool), "{tool} is not in docs/audit.md");
        }
    }
}
