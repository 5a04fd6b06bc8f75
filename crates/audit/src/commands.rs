//! Command lines as they stand above an output.

use super::text::Text;

/// The last command line of `tool` typed at a prompt before anything else: `$ wrk ...`, `# ab ...`, or `wrk ...` at the
/// begin of a line.
pub(crate) fn typed(text: &Text, tool: &str) -> Option<String> {
    text.lines().find_map(|(_, line)| command(line, tool))
}

/// As [`typed`], without lines that begin with `echo`, which the tool prints itself.
pub(crate) fn typed_before(text: &Text, tool: &str, echo: &str) -> Option<String> {
    text.lines().filter(|(_, line)| !line.starts_with(echo)).find_map(|(_, line)| command(line, tool))
}

fn command(line: &str, tool: &str) -> Option<String> {
    let after_prompt = ["$ ", "# ", "> ", "% "].iter().filter_map(|prompt| Some(line.split_once(prompt)?.1.trim()));
    let found = [line].into_iter().chain(after_prompt).find(|text| {
        let mut words = text.split_whitespace();
        let program = words.next().unwrap_or_default();
        // Prose about a tool has no flags.
        program.rsplit('/').next() == Some(tool) && words.any(|word| word.starts_with('-') || word.contains("://"))
    });
    found.map(str::to_owned)
}

/// The URL in a command line.
pub(crate) fn url(command: &str) -> Option<String> {
    let word = command.split_whitespace().map(|word| word.trim_matches(['"', '\''])).find(|word| word.contains("://"));
    word.map(str::to_owned)
}

/// Flags of a command line with their values: `--name=value`, `--name value`; `_` is the same as `-`.
pub(crate) fn long_flags(command: &str) -> Vec<(String, String)> {
    let words: Vec<&str> = command.split_whitespace().collect();
    let mut flags = Vec::new();
    for (i, word) in words.iter().enumerate() {
        let Some(name) = word.strip_prefix("--").filter(|name| !name.is_empty()) else { continue };
        let next = words.get(i + 1).filter(|next| !next.starts_with('-'));
        let (name, value) = match name.split_once('=') {
            Some((name, value)) => (name, value),
            None => (name, next.map_or("", |next| *next)),
        };
        flags.push((name.replace('_', "-"), value.trim_matches(['"', '\'']).to_owned()));
    }
    flags
}
