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

/// A load generator whose output is read. What it is stands in this value, and everything else reads it from there.
pub(crate) struct Tool {
    /// Its name, as it is typed.
    pub(crate) name: &'static str,
    /// How its text is read.
    text: Option<TextReader>,
    /// How its JSON is read.
    json: Option<JsonReader>,
    /// How its CSV is read, of which no line tells that it is the tool's.
    csv: Option<CsvReader>,
    /// True if its connections serve more than one request.
    pub(crate) keeps: Keeps,
}

/// Whether the connections of a load served more than one request.
pub(crate) enum Keeps {
    /// As the tool does unless told otherwise.
    Always,
    /// By what the output tells; none where it does not.
    Told(fn(&Claims) -> Option<bool>),
}

/// A tool's output as text.
struct TextReader {
    /// True if the text as a whole can be this tool's; separates tools that begin alike.
    fits: fn(&Text) -> bool,
    /// A line that stands in each output once.
    begins: fn(&str) -> bool,
    /// Another one, further down.
    ends: fn(&str) -> bool,
    read: fn(&Text) -> Result<Claims, Unreadable>,
}

/// A tool's output as CSV; none where it does not have the columns.
type CsvReader = fn(&Text) -> Option<Result<Claims, Unreadable>>;

/// A tool's output as one JSON object.
struct JsonReader {
    fits: fn(&Value) -> bool,
    read: fn(&Value) -> Result<Claims, Unreadable>,
}

/// Every tool that is known.
pub(crate) static TOOLS: &[Tool] = &[
    wrk::WRK,
    wrk::WRK2,
    ab::TOOL,
    httperf::TOOL,
    h2load::TOOL,
    hey::TOOL,
    oha::TOOL,
    vegeta::TOOL,
    k6::TOOL,
    bombardier::TOOL,
    autocannon::TOOL,
    siege::TOOL,
    fortio::TOOL,
    locust::TOOL,
];

/// The tools and the other forms that are read, for messages and for the manual.
#[must_use]
pub fn tools_in_words() -> String {
    let words = |tool: &Tool| match (&tool.text, &tool.json) {
        (Some(_), Some(_)) => format!("{} (text, JSON)", tool.name),
        (Some(_), None) => tool.name.to_owned(),
        (None, Some(_)) => format!("{} (JSON)", tool.name),
        (None, None) => format!("{} (CSV)", tool.name),
    };
    let words: Vec<String> = TOOLS.iter().map(words).collect();
    format!("{}, or a table of loads (Markdown, CSV)", words.join(", "))
}

/// The readers of text, with their tools.
fn of_text() -> impl Iterator<Item = (&'static str, &'static TextReader)> {
    TOOLS.iter().filter_map(|tool| Some((tool.name, tool.text.as_ref()?)))
}

/// The first reader of CSV that finds its columns.
fn read_csv(text: &Text) -> Option<Result<Claims, Unreadable>> {
    TOOLS.iter().filter_map(|tool| tool.csv).find_map(|read| read(text))
}

/// Reads the one output in `text`.
pub(crate) fn read(text: &Text) -> Result<Claims, Unreadable> {
    let found = outputs(text);
    let mut claims = match found.as_slice() {
        [] => read_csv(text).unwrap_or_else(|| table::read(text)).or_else(|error| no_text(text, error)).map_err(
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
            let (_, reader) = of_text()
                .find(|(name, reader)| name == tool && (reader.fits)(text))
                .expect("it was found by its reader");
            (reader.read)(text)?
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
    for (tool, reader) in of_text().filter(|(_, reader)| (reader.fits)(text)) {
        let places = |mark: fn(&str) -> bool| -> Vec<u64> {
            text.lines().filter(|(_, line)| mark(line)).map(|(n, _)| n).collect()
        };
        let (begins, ends) = (places(reader.begins), places(reader.ends));
        let most = if begins.len() >= ends.len() { begins } else { ends };
        found.extend(most.into_iter().map(|line| (tool, line)));
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
    let reader = TOOLS.iter().filter_map(|tool| tool.json.as_ref()).find(|reader| (reader.fits)(&value));
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

    const GUIDE: &str = include_str!("../../../../docs/reference/audit.md");

    #[test]
    fn every_tool_is_in_the_guide() {
        let cells: Vec<&str> = GUIDE.lines().filter_map(|line| line.strip_prefix("| ")?.split(" |").next()).collect();
        let guide: Vec<&str> = cells.iter().flat_map(|cell| cell.split(", ")).collect();
        for tool in TOOLS {
            let is_there = guide.iter().any(|named| named.eq_ignore_ascii_case(tool.name));
            assert!(is_there, "{} is not in docs/reference/audit.md", tool.name);
        }
    }
}
