//! One small reader for each tool: from lines to [`Claims`], or why not.

mod ab;
mod artillery;
mod autocannon;
mod bombardier;
mod cassowary;
mod fortio;
mod gatling;
mod gatling_log;
mod gcannon;
mod ghz;
mod h2load;
mod hey;
mod httperf;
mod jmeter;
mod jmeter_rows;
mod k6;
mod k6_points;
mod loadtest;
mod locust;
mod nighthawk;
mod oha;
mod plow;
mod samples;
mod siege;
mod table;
mod vegeta;
mod wrk;
mod zrk;

use super::asked::Flags;
use super::claim::{Claims, FIGURE_MAX, Figure, QUANTILES, is_redirect};
use super::reason::Reason;
use super::text::Text;
use super::{Unreadable, commands};
use model::Redacted;
use samples::{SampleReader, Samples};
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
    /// How its samples are read, of which there is one in each line.
    samples: Option<SampleReader>,
    /// True if its connections serve more than one request.
    pub(crate) keeps: Keeps,
    /// Other names under which it is called.
    called: &'static [&'static str],
    /// What its command line can ask for.
    flags: Flags,
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
    /// A line that may stand in front of the one by which it begins, and belongs to it.
    leads: fn(&str) -> bool,
    /// Of a tool that prints its totals again and again, of which the last count: the number of requests in such a line.
    so_far: Option<fn(&str) -> Option<f64>>,
    /// A heading behind which the same is told of a part of the load, up to the next output; none of most tools.
    parts: Option<Parts>,
    read: fn(&Text, Claims) -> Result<Claims, Unreadable>,
}

/// Where an output tells of parts of its load.
struct Parts {
    /// A heading of the whole load.
    whole: fn(&str) -> bool,
    /// One of a part of it.
    part: fn(&str) -> bool,
}

/// A tool's output as CSV; none where it does not have the columns.
type CsvReader = fn(&Text, Claims) -> Option<Result<Claims, Unreadable>>;

/// A tool's output as one JSON object.
struct JsonReader {
    fits: fn(&Value) -> bool,
    read: fn(&Value, Claims) -> Result<Claims, Unreadable>,
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
    artillery::TOOL,
    loadtest::TOOL,
    gatling::TOOL,
    jmeter::TOOL,
    ghz::TOOL,
    nighthawk::TOOL,
    zrk::TOOL,
    gcannon::TOOL,
    plow::TOOL,
    cassowary::TOOL,
];

/// The tools and the other forms that are read, for messages and for the manual.
#[must_use]
pub fn tools_in_words() -> String {
    let words = |tool: &Tool| {
        let forms = [
            (tool.text.is_some(), "text"),
            (tool.json.is_some(), "JSON"),
            (tool.csv.is_some(), "CSV"),
            (tool.samples.is_some(), "samples"),
        ];
        match forms.into_iter().filter(|(is_read, _)| *is_read).map(|(_, form)| form).collect::<Vec<_>>().as_slice() {
            ["text"] => tool.name.to_owned(),
            several => format!("{} ({})", tool.name, several.join(", ")),
        }
    };
    let words: Vec<String> = TOOLS.iter().map(words).collect();
    format!("{}, or a table of loads (Markdown, CSV)", words.join(", "))
}

/// The tools whose samples are read, for messages.
pub(crate) fn sampled_in_words() -> String {
    let names: Vec<&str> = TOOLS.iter().filter(|tool| tool.samples.is_some()).map(|tool| tool.name).collect();
    names.join(", ")
}

/// The readers of text, with their tools.
fn of_text() -> impl Iterator<Item = (&'static Tool, &'static TextReader)> {
    TOOLS.iter().filter_map(|tool| Some((tool, tool.text.as_ref()?)))
}

/// The first reader of CSV that finds its columns.
fn read_csv(text: &Text) -> Option<Result<Claims, Unreadable>> {
    TOOLS.iter().find_map(|tool| (tool.csv?)(text, tool.claims(text)))
}

/// Outputs of one text: more are no log of somebody's.
const OUTPUTS_MAX: usize = 1_000;

/// An output of a text, by the line that it begins in, or why it cannot be read.
pub(crate) type Found = (u64, Result<Claims, Unreadable>);

/// The samples that a file begins with, of which there may be more than fit into memory.
pub(crate) fn samples(begin: &[u8]) -> Option<Result<Samples, Unreadable>> {
    Samples::at(begin, TOOLS)
}

/// No claims yet, but what the command in `above` asks for.
fn commands_above(tool: &Tool, above: Option<&Text>) -> Claims {
    above.map_or_else(|| Claims::new(tool.name, None), |text| tool.claims(text))
}

/// Reads all outputs in `text`, in their order. A part that cannot be read leaves the others as they are.
///
/// # Errors
/// When there is no output at all.
pub(crate) fn read(text: &Text) -> Result<Vec<Found>, Unreadable> {
    let json = text.json().and_then(|(at, json)| Some((at, read_json(text, at, &json).ok()?)));
    let (above, of_json) = match json {
        Some((at, found)) => (text.until(at), found),
        None => (Some(text.clone()), Vec::new()),
    };
    let mut found = above.as_ref().map(of_texts).transpose()?.unwrap_or_default();
    found.extend(of_json);
    if !found.is_empty() {
        return Ok(found);
    }
    let single = read_csv(text).map(|claims| claims.map(|claims| vec![(text.first(), Ok(claims))]));
    single.unwrap_or_else(|| table::read(text)).or_else(|error| no_text(text, error)).map_err(|error| match error {
        Unreadable::Unknown { .. } => wrk::not_started(text).or_else(|| ab::not_finished(text)).unwrap_or(error),
        _ => error,
    })
}

/// The text outputs, each read in its own part of the text.
fn of_texts(text: &Text) -> Result<Vec<Found>, Unreadable> {
    let found = outputs(text);
    if found.len() > OUTPUTS_MAX {
        return Err(Unreadable::Several { outputs: found.len() });
    }
    let first = |(at, (reader, line)): (usize, &(&'static TextReader, u64))| match at.checked_sub(1) {
        None => text.first(),
        Some(before) => first_line(text, reader, found[before].1, *line),
    };
    let begins: Vec<u64> = found.iter().enumerate().map(first).collect();
    let ends = begins.iter().skip(1).copied().chain([u64::MAX]);
    let parts = begins
        .iter()
        .zip(ends)
        .zip(&found)
        .filter_map(|((begin, end), (_, line))| Some((*line, text.part(*begin..end)?)));
    Ok(parts.filter_map(|(line, part)| Some((line, of_text_alone(&part)?))).collect())
}

/// The one output of a part.
fn of_text_alone(text: &Text) -> Option<Result<Claims, Unreadable>> {
    // Which of the tools that begin alike it is shows in the part alone.
    let (tool, reader) = of_text().find(|(_, reader)| (reader.fits)(text) && !places(text, reader).is_empty())?;
    Some((reader.read)(text, tool.claims(text)).map(|claims| tool.finished(claims, text)))
}

/// The first line of an output that is recognised by `line`: its heading, and the command above it.
fn first_line(text: &Text, reader: &TextReader, before: u64, line: u64) -> u64 {
    let Some(above) = text.part(before + 1..line) else { return line };
    let above: Vec<(u64, &str)> = above.lines().collect();
    // Between a command and its output there may be progress in any words.
    if let Some((n, _)) =
        above.iter().rev().find(|(_, line)| commands::is_any(line, TOOLS.iter().map(|tool| tool.name)))
    {
        return *n;
    }
    above.iter().rev().take_while(|(_, line)| (reader.leads)(line)).last().map_or(line, |(n, _)| *n)
}

/// A file without tool output or table may be JSON; prose that has a line like JSON in it is neither.
fn no_text(text: &Text, error: Unreadable) -> Result<Vec<Found>, Unreadable> {
    let Some((at, json)) = text.json().filter(|_| matches!(error, Unreadable::Unknown { .. })) else {
        return Err(error);
    };
    let is_first = text.lines().next().is_some_and(|(first, _)| first == at);
    read_json(text, at, &json).map_err(|json_error| if is_first { json_error } else { error })
}

/// Reader and first line of every text output.
fn outputs(text: &Text) -> Vec<(&'static TextReader, u64)> {
    let readers = of_text().filter(|(_, reader)| (reader.fits)(text));
    let mut found: Vec<_> =
        readers.flat_map(|(_, reader)| places(text, reader).into_iter().map(move |line| (reader, line))).collect();
    found.sort_by_key(|(_, line)| *line);
    // Some begin alike.
    found.dedup_by_key(|(_, line)| *line);
    found
}

/// Where outputs of a tool are. Of its two marks the more frequent counts, as either may be cut off.
fn places(text: &Text, reader: &TextReader) -> Vec<u64> {
    if let Some(so_far) = reader.so_far {
        return counts(text, reader.begins, so_far);
    }
    let whole = of_whole(text, reader);
    let of =
        |mark: fn(&str) -> bool| -> Vec<u64> { whole.iter().filter(|(_, line)| mark(line)).map(|(n, _)| *n).collect() };
    let (begins, ends) = (of(reader.begins), of(reader.ends));
    if begins.len() >= ends.len() { begins } else { ends }
}

/// Where counts of requests begin: at the first of all, behind a line by which an output begins, and where one is lower than
/// the one before.
fn counts(text: &Text, begins: fn(&str) -> bool, so_far: fn(&str) -> Option<f64>) -> Vec<u64> {
    let mut before: Option<f64> = None;
    let mut found = Vec::new();
    for (n, line) in text.lines() {
        if begins(line) {
            before = None;
        }
        let Some(requests) = so_far(line) else { continue };
        if before.is_none_or(|before| requests < before) {
            found.push(n);
        }
        before = Some(requests);
    }
    found
}

/// The lines that are not of parts of a load.
fn of_whole<'a>(text: &'a Text, reader: &TextReader) -> Vec<(u64, &'a str)> {
    let Some(parts) = &reader.parts else { return text.lines().collect() };
    let mut is_of_part = false;
    let is_of_whole = |(_, line): &(u64, &str)| {
        is_of_part = ((parts.part)(line) || is_of_part) && !(parts.whole)(line);
        !is_of_part
    };
    text.lines().filter(is_of_whole).collect()
}

/// The results in `json`, which begins in line `at`.
fn read_json(text: &Text, at: u64, json: &str) -> Result<Vec<Found>, Unreadable> {
    let values = values(json)?;
    let read = |value: &Value, command: Option<&Text>, own: &Text| {
        let tools = TOOLS.iter().filter_map(|tool| Some((tool, tool.json.as_ref()?)));
        let (tool, reader) = tools
            .into_iter()
            .find(|(_, reader)| (reader.fits)(value))
            .ok_or_else(|| Unreadable::UnknownJson { keys: keys(value) })?;
        (reader.read)(value, commands_above(tool, command)).map(|claims| tool.finished(claims, own))
    };
    match values.as_slice() {
        [] => Err(Unreadable::Empty),
        [(_, only)] => Ok(vec![(at, Ok(read(only, text.until(at).as_ref(), text)?))]),
        several => {
            let begins: Vec<u64> = several.iter().map(|(lines, _)| at + lines).collect();
            let befores = [text.first()].into_iter().chain(begins.iter().copied());
            let places = befores.zip(&begins).map(|(before, begin)| text.part(before..*begin));
            // What the errors of one say is of no other.
            let ends = begins.iter().skip(1).copied().chain([u64::MAX]);
            let owns = begins.iter().zip(ends).map(|(begin, end)| text.part(*begin..end.max(begin + 1)));
            let known: Vec<Found> = several
                .iter()
                .zip(&begins)
                .zip(places.zip(owns))
                .map(|(((_, value), begin), (above, own))| {
                    (*begin, read(value, above.as_ref(), own.as_ref().unwrap_or(text)))
                })
                .collect();
            if known.iter().any(|(_, claims)| claims.is_ok()) { Ok(known) } else { Err(Unreadable::SeveralJson) }
        }
    }
}

/// The values in a text, each of which begins with a line, and in which one, from 0; what stands between them is none.
fn values(json: &str) -> Result<Vec<(u64, Value)>, Unreadable> {
    let mut values = Vec::new();
    let mut rest = json;
    // Every byte is looked at once, however many values there are.
    let (mut lines, mut counted) = (0, 0);
    while values.len() <= OUTPUTS_MAX {
        let mut stream = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        let error = loop {
            let behind = json.len() - rest.len() + stream.byte_offset();
            let begin = json[behind..].find(|c: char| !c.is_whitespace()).map_or(behind, |blank| behind + blank);
            lines += json[counted..begin].bytes().filter(|byte| *byte == b'\n').count() as u64;
            counted = begin;
            match stream.next() {
                Some(Ok(_)) if values.len() > OUTPUTS_MAX => return Err(Unreadable::Several { outputs: values.len() }),
                Some(Ok(value)) => values.push((lines, value)),
                Some(Err(error)) => break Some(error),
                None => break None,
            }
        };
        let Some(error) = error else { break };
        if values.is_empty() {
            return Err(Unreadable::BrokenJson { error: error.to_string() });
        }
        let behind = &rest[stream.byte_offset()..];
        let Some(next) = ["\n{", "\n["].iter().filter_map(|begin| behind.find(begin)).min() else { break };
        rest = &behind[next + 1..];
    }
    Ok(values)
}

impl Tool {
    /// No claims yet, but what its command line above the output asks for.
    fn claims(&self, text: &Text) -> Claims {
        let names = || [self.name].into_iter().chain(self.called.iter().copied());
        let typed = names().find_map(|name| Some((name, commands::typed(text, name)?)));
        let mut claims = Claims::new(self.name, None);
        if let Some((name, command)) = typed {
            claims.typed = self.flags.typed(&commands::words_of(&command, name));
            claims.command = Some(command);
        }
        claims
    }

    /// The claims with what every output has in common.
    fn finished(&self, mut claims: Claims, text: &Text) -> Claims {
        let begins_alike = claims.command.as_ref().is_some_and(|command| text.lines().any(|(_, line)| line == command));
        // A reader knows no prompts, and httperf's lines by how they begin.
        if claims.command.is_some() && !(self.name == "httperf" && begins_alike) {
            claims.unread_lines = claims.unread_lines.saturating_sub(1);
        }
        claims.reasons = Reason::named(text);
        with_url(claims)
    }
}

/// The claims with the URL of the command, where the output names none.
fn with_url(mut claims: Claims) -> Claims {
    claims.is_url_printed = claims.url.as_deref().is_some_and(|url| url.contains("://"));
    claims.url = claims.url.or_else(|| claims.command.as_deref().and_then(commands::url));
    claims
}

/// Characters of a key that are shown.
const KEY_MAX: usize = 60;

/// The first keys of an object, for a message.
fn keys(value: &Value) -> String {
    // A key can be any text, and a message is one line.
    let shown = |key: &String| -> String {
        let begin = Redacted::text(key).chars().take(KEY_MAX).collect::<String>();
        begin.replace(char::is_control, " ")
    };
    let keys = value.as_object().map(|object| object.keys().take(5).map(shown).collect::<Vec<_>>());
    keys.unwrap_or_default().join(", ")
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

/// Takes down responses of one status, of a tool that tells only those that are no success.
fn add_failed(claims: &mut Claims, status: u16, responses: f64, line: Option<u64>) {
    let responses = responses.clamp(0.0, FIGURE_MAX);
    let before = claims.status.entry(status).or_default();
    *before = before.saturating_add(responses as u64);
    claims.add(if is_redirect(status) { Figure::Redirects } else { Figure::BadStatus }, responses, line);
}

/// The first status in a text: three digits from 100 to 599.
fn status_in(text: &str) -> Option<u16> {
    let digits = text.trim_start_matches(|c: char| !c.is_ascii_digit());
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    digits[..end].parse().ok().filter(|status| (100..=599).contains(status))
}

/// The figure of a percentile, such as 99.9.
fn quantile(percent: f64) -> Option<Figure> {
    QUANTILES.iter().find(|(_, q, ..)| (q * 100.0 - percent).abs() < 1e-6).map(|(figure, ..)| *figure)
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
