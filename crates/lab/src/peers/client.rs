//! Running a load generator to its end: what it printed, and what it cost.

use std::process::Stdio;

use anyhow::{Context, Result, bail};

use super::lab::{CLIENT_CORE, Lab};
use super::tools::{ENDED_BY_TIMEOUT, Invocation, Tool};

/// A client that is still running this long after its own duration has hung.
const GRACE_S: u32 = 10;
/// A client that has hung and does not end when it is told to is killed after this.
const KILL_AFTER_S: u32 = 5;
/// GNU timeout's exit codes for a client that it has ended, or killed.
const HUNG: [i32; 2] = [ENDED_BY_TIMEOUT, 137];

/// What a finished process cost, start-up, probing and rendering included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Cost {
    /// From start to end, in seconds.
    pub(super) wall_s: f64,
    /// User and system time, in seconds.
    pub(super) cpu_s: f64,
    /// Largest resident set, in KiB.
    pub(super) peak_kib: u64,
}

/// A finished client.
pub(super) struct Finished {
    /// What it printed on standard output.
    pub(super) stdout: String,
    pub(super) cost: Cost,
}

/// Runs a client on its core under GNU time, whose child starts from a tiny process: the peak it reports is the
/// client's own, where a child of this process would inherit our resident set as its floor. GNU time takes CPU and
/// memory from `wait4`.
pub(super) fn run(lab: &Lab, tool: Tool, label: &str, invocation: &Invocation, seconds: u32) -> Result<Finished> {
    let program = tool.path().context("could not be installed")?;
    let cost_file = lab.file(&format!("{label}.cost"));
    let mut command = Lab::pinned(CLIENT_CORE, &lab.time);
    command.args(["--quiet", "--format=%e %U %S %M", "-o"]).arg(&cost_file);
    // GNU timeout stands next to the client: it has to outlive a client that does not listen to TERM.
    let limit_s = invocation.stop_after_s.unwrap_or(seconds + GRACE_S);
    command.args(["setpriv", "--pdeathsig", "TERM", "timeout"]);
    command.args([format!("--kill-after={KILL_AFTER_S}"), limit_s.to_string()]);
    command.arg(program).args(&invocation.arguments);
    if tool == Tool::Plimsoll {
        let folder = lab.file(&format!("{label}.run"));
        // Of an earlier try or run: plimsoll never writes over a result.
        if folder.exists() {
            std::fs::remove_dir_all(&folder).with_context(|| format!("removing {}", folder.display()))?;
        }
        command.arg("-o").arg(folder);
    }
    // Tools that keep files in the home directory shall do so in ours.
    command.current_dir(&lab.folder).env("HOME", &lab.folder);
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("cannot start {label}"))?;
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    std::fs::write(lab.file(&format!("{label}.out")), &output.stdout)?;
    if !output.stderr.is_empty() {
        std::fs::write(lab.file(&format!("{label}.err")), &output.stderr)?;
    }
    let code = output.status.code();
    if !code.is_some_and(|code| invocation.accepted.contains(&code)) {
        if code.is_some_and(|code| HUNG.contains(&code)) {
            bail!("it had not ended after {limit_s} s");
        }
        let stderr = String::from_utf8_lossy(&output.stderr);
        let said = last_line(&stderr).or_else(|| last_line(&stdout)).unwrap_or_else(|| "it said nothing".to_owned());
        bail!("it ended with {}: {said}", output.status);
    }
    let cost = std::fs::read_to_string(&cost_file).with_context(|| format!("no cost of {label}"))?;
    let cost = parse_cost(&cost).with_context(|| format!("cannot read the cost of {label}: {cost}"))?;
    Ok(Finished { stdout, cost })
}

/// Outcome of a tool: its result, or the reason why it has none. The error of an essential tool stays one and ends the run.
pub(super) fn outcome_of<T>(tool: Tool, result: Result<T>) -> Result<Result<T, String>> {
    match result {
        Err(error) if tool.is_essential() => Err(error.context(tool.name())),
        result => Ok(result.map_err(|error| format!("{error:#}"))),
    }
}

/// The last line that says something, without colours.
fn last_line(text: &str) -> Option<String> {
    let line = text.lines().rev().map(str::trim).find(|line| !line.is_empty())?;
    let mut parts = line.split("\u{1b}[");
    let first = parts.next().unwrap_or_default();
    let rest = parts.map(|part| part.split_once('m').map_or(part, |pair| pair.1));
    Some(std::iter::once(first).chain(rest).collect())
}

/// `wall user system peak_kib` as GNU time prints it, to 10 ms: 0.33 % of a 3 s window. Before that it says when the
/// exit code was not 0.
fn parse_cost(text: &str) -> Option<Cost> {
    let mut fields = text.lines().last()?.split_whitespace();
    let mut seconds = || fields.next()?.parse::<f64>().ok();
    let (wall_s, user, system) = (seconds()?, seconds()?, seconds()?);
    Some(Cost { wall_s, cpu_s: user + system, peak_kib: fields.next()?.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::{Cost, Tool, last_line, outcome_of, parse_cost};

    #[test]
    fn cost_is_read() {
        let cost = Cost { wall_s: 3.07, cpu_s: 2.0, peak_kib: 4321 };
        assert_eq!(parse_cost("3.07 0.50 1.50 4321\n"), Some(cost));
        assert_eq!(parse_cost("Command exited with non-zero status 124\n3.07 0.50 1.50 4321\n"), Some(cost));
        assert_eq!(parse_cost("Command terminated by signal 9\n"), None);
        assert_eq!(parse_cost(""), None);
    }

    #[test]
    fn only_an_essential_tool_ends_the_comparison() {
        let failed = || Err::<(), _>(anyhow::Error::msg("it hung"));
        assert_eq!(outcome_of(Tool::Oha, failed()).unwrap(), Err("it hung".to_owned()));
        assert_eq!(outcome_of(Tool::Wrk, Ok(7)).unwrap(), Ok(7));
        assert_eq!(format!("{:#}", outcome_of(Tool::Wrk, failed()).unwrap_err()), "wrk: it hung");
    }

    #[test]
    fn an_error_is_told_by_its_last_line() {
        assert_eq!(last_line("usage\nunable to connect\n\n").as_deref(), Some("unable to connect"));
        let colourful = "[\u{1b}[1;33merror\u{1b}[0m] socket: read error\n";
        assert_eq!(last_line(colourful).as_deref(), Some("[error] socket: read error"));
        assert_eq!(last_line("\n"), None);
    }
}
