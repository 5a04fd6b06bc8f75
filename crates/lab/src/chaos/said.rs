//! What a program says of its ending: in one line, and it is no panic.

use super::ending::Ending;
use super::judge::Kept;
use super::scene::Ended;
use super::verb::Verb;
use std::os::unix::process::ExitStatusExt;

/// What it begins with when it says why it ends.
const ERROR: &str = "plimsoll: ";
/// Stopped from outside.
const INTERRUPTED: i32 = 130;

/// The line that says what has happened, where there is one; fails when it is missing.
pub(super) fn said(
    ending: &Ending,
    verb: Verb,
    struck: bool,
    kept: Kept,
    ended: &Ended,
) -> Result<Option<String>, String> {
    let Some(stderr) = &ended.stderr else { return Ok(None) };
    let lines: Vec<&str> = stderr.lines().collect();
    if let Some(line) = lines.iter().find(|line| line.contains("panicked at")) {
        return Err(format!("it panics: {line}"));
    }
    let errors: Vec<&str> = lines.iter().copied().filter(|line| line.starts_with(ERROR)).collect();
    if must_explain(verb, ended.status.code(), kept) {
        return match errors[..] {
            [line] => Ok(Some(line.to_owned())),
            _ => Err(format!("it ends with {}, and says in {} lines why: {stderr}", ended.status, errors.len())),
        };
    }
    let line = lines.iter().find(|line| ending.says.iter().any(|words| line.contains(words)));
    let must_say = struck && (ending.must_say || kept == Kept::Printed);
    if must_say && line.is_none() {
        return Err(format!("no line says {:?}: {stderr}", ending.says));
    }
    Ok(line.map(|line| (*line).to_owned()))
}

/// True if the exit code says that something is wrong which no result tells.
fn must_explain(verb: Verb, code: Option<i32>, kept: Kept) -> bool {
    match code {
        Some(INTERRUPTED) => kept == Kept::Nothing,
        Some(code) => !verb.is_fine(code) || kept == Kept::Nothing,
        None => false,
    }
}

/// Why it must not have ended as it has.
pub(super) fn wrong_end(ending: &Ending, verb: Verb, struck: bool, ended: &Ended) -> Option<String> {
    let is_right = match (ended.status.code(), ended.status.signal()) {
        (Some(code), _) => verb.is_fine(code) || (struck && ending.codes.contains(&code)),
        (None, Some(signal)) => struck && ending.signals.contains(&signal),
        (None, None) => false,
    };
    let stderr = ended.stderr.as_deref().unwrap_or_default().trim();
    (!is_right).then(|| format!("plimsoll ended with {}: {stderr}", ended.status))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chaos::ending::NONE;
    use std::process::ExitStatus;

    const FULL: Ending = Ending { says: &["No space"], codes: &[2], signals: &[9], ..NONE };

    /// With an exit code and what stands on stderr.
    fn ended(code: i32, stderr: &str) -> Ended {
        Ended { status: ExitStatus::from_raw(code << 8), stdout: String::new(), stderr: Some(stderr.into()) }
    }

    #[test]
    fn what_keeps_a_result_from_the_disk_is_said() {
        let told = ended(0, "note: x\nwarning: cannot write: No space left\n");
        let line = said(&FULL, Verb::Run, true, Kept::Printed, &told).expect("it is said");
        assert_eq!(line.as_deref(), Some("warning: cannot write: No space left"));
        assert!(said(&FULL, Verb::Run, true, Kept::Printed, &ended(0, "note: x\n")).is_err());
        assert_eq!(said(&FULL, Verb::Run, true, Kept::Whole, &ended(0, "note: x\n")), Ok(None));
        assert_eq!(said(&FULL, Verb::Run, false, Kept::Printed, &ended(0, "")), Ok(None), "it ended before");
        let always = Ending { must_say: true, ..FULL };
        assert!(said(&always, Verb::Run, true, Kept::Whole, &ended(0, "note: x\n")).is_err());
    }

    #[test]
    fn an_error_is_one_line_and_no_panic() {
        let line = said(&FULL, Verb::Run, true, Kept::Nothing, &ended(2, "plimsoll: cannot create x: No space left\n"));
        assert_eq!(line, Ok(Some("plimsoll: cannot create x: No space left".into())));
        assert!(said(&FULL, Verb::Run, true, Kept::Nothing, &ended(2, "")).is_err());
        assert!(said(&FULL, Verb::Run, true, Kept::Nothing, &ended(2, "plimsoll: a\nplimsoll: b\n")).is_err());
        assert!(said(&FULL, Verb::Run, true, Kept::Nothing, &ended(130, "")).is_err(), "nothing was measured");
        assert_eq!(
            said(&FULL, Verb::Run, true, Kept::Whole, &ended(130, "")),
            Ok(None),
            "the result says that it was interrupted"
        );
        assert!(said(&FULL, Verb::Run, true, Kept::Whole, &ended(0, "thread 'main' panicked at a.rs:1:2\n")).is_err());
        let unread = Ended { stderr: None, ..ended(2, "") };
        assert_eq!(said(&FULL, Verb::Run, true, Kept::Whole, &unread), Ok(None));
    }

    #[test]
    fn an_end_is_right_by_itself_or_because_of_what_was_done() {
        for (code, struck, is_right) in
            [(0, false, true), (4, true, true), (2, true, true), (2, false, false), (3, true, false)]
        {
            assert_eq!(wrong_end(&FULL, Verb::Run, struck, &ended(code, "")).is_none(), is_right, "{code}");
        }
        let killed = |signal| Ended { status: ExitStatus::from_raw(signal), ..ended(0, "") };
        assert_eq!(wrong_end(&FULL, Verb::Run, true, &killed(9)), None);
        assert!(
            wrong_end(&FULL, Verb::Run, true, &killed(11)).is_some()
                && wrong_end(&FULL, Verb::Run, false, &killed(9)).is_some()
        );
    }
}
