//! What stands in front of each line: time stamps and names of containers' logs, comments, quoting.

/// Takes the rest of a line behind such a prefix; none where it has none.
type Prefix = fn(&str) -> Option<&str>;

/// Prefixes, each with the share of the lines that must have it: some outputs have lines of their own that begin alike.
const PREFIXES: [(Prefix, f64); 8] = [
    (pod, 0.8),
    (service, 0.8),
    (time_stamp, 0.8),
    (syslog, 0.8),
    (stream, 0.95),
    (comment, 0.95),
    (quote, 0.95),
    (change, 0.95),
];
/// A log can have several, one behind the other.
const DEPTH_MAX: usize = 4;
/// Fewer lines show nothing about all.
const LINES_MIN: usize = 4;

/// The lines without the prefixes that most of them have.
pub(super) fn stripped(mut lines: Vec<String>) -> Vec<String> {
    for _ in 0..DEPTH_MAX {
        let Some((prefix, _)) = PREFIXES.iter().find(|(prefix, share)| is_common(&lines, *prefix, *share)) else {
            break;
        };
        for line in &mut lines {
            if let Some(rest) = prefix(line).map(|rest| rest.trim().to_owned()) {
                *line = rest;
            }
        }
    }
    lines
}

fn is_common(lines: &[String], prefix: Prefix, share: f64) -> bool {
    let filled = lines.iter().filter(|line| !line.is_empty());
    let (all, with) = filled.fold((0, 0), |(all, with), line| (all + 1, with + usize::from(prefix(line).is_some())));
    all >= LINES_MIN && with as f64 >= share * all as f64
}

/// `2026-03-30T15:01:24.334Z `, with or without brackets, `T`, fraction and zone.
fn time_stamp(line: &str) -> Option<&str> {
    let line = line.strip_prefix('[').unwrap_or(line);
    let is_like = |(byte, like): (u8, u8)| match like {
        b'0' => byte.is_ascii_digit(),
        b'T' => byte == b'T' || byte == b' ',
        other => byte == other,
    };
    const LIKE: &[u8] = b"0000-00-00T00:00:00";
    let begin = line.as_bytes().get(..LIKE.len())?;
    if !begin.iter().copied().zip(LIKE.iter().copied()).all(is_like) {
        return None;
    }
    let rest = line[LIKE.len()..].trim_start_matches(|c: char| c.is_ascii_digit() || ".,+-:Z]".contains(c));
    (rest.is_empty() || rest.starts_with([' ', '\t'])).then_some(rest)
}

/// `[pod/load-x7k2p/k6] `, of kubectl.
fn pod(line: &str) -> Option<&str> {
    line.strip_prefix("[pod/")?.split_once(']').map(|(_, rest)| rest)
}

/// `k6-1  | `, of Compose.
fn service(line: &str) -> Option<&str> {
    let (name, rest) = line.split_once('|')?;
    let name = name.trim_end();
    let is_name = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let is_service = name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.chars().all(is_name);
    is_service.then_some(rest)
}

/// `Nov 30 07:31:00 web1 bench.sh[4711]: `, of syslog and the journal.
fn syslog(line: &str) -> Option<&str> {
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    if !MONTHS.contains(&line.get(..3)?) {
        return None;
    }
    let mut words = line.split_whitespace().skip(1);
    let (day, time, _host, program) = (words.next()?, words.next()?, words.next()?, words.next()?);
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let is_stamp = is_digits(day) && time.len() == 8 && time.split(':').all(is_digits);
    let at = line.find(program).filter(|_| is_stamp && program.ends_with(':'))?;
    Some(&line[at + program.len()..])
}

/// `01O ` and `00E `, of GitLab, and `stdout F `, of containerd: the stream that a line is of.
fn stream(line: &str) -> Option<&str> {
    let (mark, rest) = line.split_once(' ').unwrap_or((line, ""));
    let is_gitlab = |mark: &str| {
        let mark = mark.strip_suffix('+').unwrap_or(mark);
        mark.len() == 3 && mark.ends_with(['O', 'E']) && mark.bytes().take(2).all(|byte| byte.is_ascii_hexdigit())
    };
    match mark {
        "stdout" | "stderr" => ["F", "P"].iter().find_map(|tag| rest.strip_prefix(tag)),
        mark => is_gitlab(mark).then_some(rest),
    }
}

/// `+` and `-` of a difference.
fn change(line: &str) -> Option<&str> {
    line.strip_prefix(['+', '-'])
}

/// `# `, `// `, `-- ` and ` * `.
fn comment(line: &str) -> Option<&str> {
    ["#", "//", "-- ", "/**", "*/", "*"].iter().find_map(|mark| line.strip_prefix(mark))
}

/// `> ` of mails and Markdown.
fn quote(line: &str) -> Option<&str> {
    line.strip_prefix('>')
}

#[cfg(test)]
mod tests {
    use super::stripped;

    const LINES: [&str; 5] =
        ["Running 5s test @ http://h/", "2 threads and 4 connections", "", "a | b", "Requests/sec: 5"];

    fn behind(prefix: &str) -> Vec<String> {
        stripped(LINES.iter().map(|line| format!("{prefix}{line}").trim().to_owned()).collect())
    }

    #[test]
    fn what_every_line_has_in_front_is_taken_away() {
        for prefix in [
            "",
            "# ",
            "> ",
            "// ",
            "2026-03-30T15:01:24.334Z ",
            "[2026-03-30 15:01:24,334] ",
            "2026-03-30T15:01:24+02:00 ",
            "k6-1  | ",
            "[pod/load-x7k2p/k6] 2026-03-30T15:01:24Z ",
            "> # ",
            " * ",
            "+",
            "-  ",
            "Nov 30 07:31:00 web1 bench.sh[4711]: ",
            "2025-03-04T10:11:12.000000Z 01O ",
            "2025-03-04T10:11:12.000000Z stdout F ",
        ] {
            assert_eq!(behind(prefix), LINES, "{prefix}");
        }
    }

    #[test]
    fn what_some_lines_have_in_front_is_their_own() {
        let lines: Vec<String> =
            ["# range", "# target", "Code 200 : 5", "Sockets used: 1", "All done"].map(str::to_owned).into();
        assert_eq!(stripped(lines.clone()), lines);
        let table: Vec<String> = ["| a | b |", "|---|---|", "| 1 | 2 |", "| 3 | 4 |"].map(str::to_owned).into();
        assert_eq!(stripped(table.clone()), table);
    }
}
