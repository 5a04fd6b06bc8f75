//! Command lines as they stand above an output, whatever stands in front of the tool in them.

use super::text::Text;

/// Programs that start another one, whose name stands further to the right.
const LAUNCHERS: [&str; 32] = [
    "bunx", "chrt", "command", "doas", "docker", "env", "exec", "go", "ionice", "ip", "jbang", "kubectl", "nerdctl",
    "nice", "nohup", "npx", "nsenter", "numactl", "oc", "perf", "pnpm", "podman", "python", "python3", "ssh", "stdbuf",
    "strace", "sudo", "taskset", "time", "timeout", "uvx",
];
/// What shells print in front of a command.
const PROMPTS: [&str; 7] = ["$ ", "# ", "> ", "% ", "❯ ", "➜ ", "+ "];
/// What ends a command in a line of several.
const SEPARATORS: [&str; 5] = ["|", "||", "&&", ";", "&"];
/// Files that tools take their load from: such a word is no prose.
const SCRIPTS: [&str; 8] = [".js", ".ts", ".mjs", ".yml", ".yaml", ".jmx", ".py", ".lua"];

/// The first command line of `tool` in a text: at a prompt or at the begin of a line, also behind `sudo`, `time`,
/// `docker run` and their like, and behind a pipe. A backslash at the end of a line continues it.
pub(crate) fn typed(text: &Text, tool: &str) -> Option<String> {
    joined(text).into_iter().find_map(|line| command(&line, tool))
}

/// As [`typed`], without lines that begin with `echo`, which the tool prints itself.
pub(crate) fn typed_before(text: &Text, tool: &str, echo: &str) -> Option<String> {
    joined(text).into_iter().filter(|line| !line.starts_with(echo)).find_map(|line| command(&line, tool))
}

/// The lines, each with those that a backslash joins to it.
fn joined(text: &Text) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut goes_on = false;
    for (_, line) in text.lines() {
        let (part, next) = line.strip_suffix('\\').map_or((line, false), |part| (part.trim_end(), true));
        match lines.last_mut().filter(|_| goes_on) {
            Some(last) => *last = format!("{last} {part}"),
            None => lines.push(part.to_owned()),
        }
        goes_on = next;
    }
    lines
}

fn command(line: &str, tool: &str) -> Option<String> {
    if !line.contains(tool) {
        return None;
    }
    let after_prompt = PROMPTS.iter().filter_map(|prompt| Some(line.split_once(prompt)?.1.trim()));
    let is_command = |text: &&str| {
        let words = words_of(text, tool);
        // Prose about a tool has neither flags nor files.
        words.iter().skip(1).any(|word| {
            (word.len() > 1 && word.starts_with('-'))
                || word.contains("://")
                || SCRIPTS.iter().any(|script| word.ends_with(script))
        })
    };
    [line].into_iter().chain(after_prompt).find(is_command).map(str::to_owned)
}

/// True of a line that is a command of any of these tools.
pub(crate) fn is_any<'a>(line: &str, mut tools: impl Iterator<Item = &'a str>) -> bool {
    tools.any(|tool| command(line, tool).is_some())
}

/// The words of `tool`'s own part of a command line, its name first; empty where it is not called.
pub(crate) fn words_of(command: &str, tool: &str) -> Vec<String> {
    let words = shlex::split(command).unwrap_or_else(|| command.split_whitespace().map(str::to_owned).collect());
    let apart = |word: String| match word.strip_suffix(';').filter(|rest| !rest.is_empty()) {
        Some(rest) => vec![rest.to_owned(), ";".to_owned()],
        None => vec![word],
    };
    let words: Vec<String> = words.into_iter().flat_map(apart).collect();
    let commands = words.split(|word| SEPARATORS.contains(&word.as_str()));
    let own: Vec<&[String]> = commands.filter_map(|words| Some(&words[place(words, tool)?..])).collect();
    // `vegeta attack -rate=5 | vegeta report`: the one with flags makes the load.
    let has_flags = |words: &&&[String]| words.iter().skip(1).any(|word| word.starts_with('-'));
    own.iter().find(has_flags).or_else(|| own.first()).map(|words| words.to_vec()).unwrap_or_default()
}

/// Where `tool` stands in a command: at its begin, or behind a program that starts it.
fn place(words: &[String], tool: &str) -> Option<usize> {
    let first = words.iter().position(|word| !is_assignment(word))?;
    if program(&words[first]) == tool {
        return Some(first);
    }
    let starts_others = first > 0 || LAUNCHERS.contains(&program(&words[first]));
    let behind = || words.iter().skip(first + 1).position(|word| program(word) == tool);
    starts_others.then(behind).flatten().map(|at| first + 1 + at)
}

/// `NAME=value` in front of a command.
fn is_assignment(word: &str) -> bool {
    let is_name = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    word.split_once('=').is_some_and(|(name, _)| is_name(name))
}

/// `wrk` of `/usr/bin/wrk`, of the image `williamyeh/wrk:4`, of `wrk@hyperfoil`, and of `(wrk`.
fn program(word: &str) -> &str {
    let name = word.trim_start_matches('(').rsplit('/').next().unwrap_or(word);
    let name = name.split(['@', ':']).next().unwrap_or(name);
    name.strip_suffix(".exe").unwrap_or(name)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn found(line: &str, tool: &str) -> Option<Vec<String>> {
        let text = Text::decode(line.as_bytes()).unwrap();
        typed(&text, tool).map(|command| words_of(&command, tool))
    }

    #[test]
    fn a_command_is_found_behind_what_starts_it() {
        for line in [
            "wrk -c 5 http://h/",
            "$ wrk -c 5 http://h/",
            "root@web1:~# ./wrk -c 5 http://h/",
            "user@host ~ % sudo -u www wrk -c 5 http://h/",
            "time /usr/local/bin/wrk -c 5 http://h/",
            "docker run --rm -c 512 williamyeh/wrk:latest -c 5 http://h/",
            "$ jbang wrk@hyperfoil -c 5 http://h/",
            "ulimit -n 65535; taskset -c 1 wrk -c 5 http://h/ | tee log",
            "FOO=1 BAR= wrk \\\n  -c 5 \\\n  http://h/",
        ] {
            let words = found(line, "wrk").unwrap_or_else(|| panic!("{line}"));
            assert_eq!(words[1..], ["-c", "5", "http://h/"], "{line}");
        }
        let vegeta = found("echo \"GET http://h/\" | vegeta attack -rate=5/1s | vegeta report", "vegeta").unwrap();
        assert_eq!(vegeta, ["vegeta", "attack", "-rate=5/1s"]);
        assert_eq!(found("k6 run script.js", "k6").unwrap(), ["k6", "run", "script.js"]);
    }

    #[test]
    fn prose_about_a_tool_is_no_command() {
        for line in ["wrk is fast", "I ran wrk -c 5 http://h/", "# wrk results", "wrk2 -c 5 http://h/", "wrk - a tool"]
        {
            assert_eq!(found(line, "wrk"), None, "{line}");
        }
    }
}
