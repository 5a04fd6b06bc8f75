//! Running a load generator to its end: what it counted, and what it cost.

use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::lab::{CLIENT_CORE, Lab};

/// A client that is still running this long after its own duration has hung.
const GRACE_S: u32 = 30;
/// plimsoll's exit codes that mean "measured": fine, and not valid (a short window is, for plimsoll).
const PLIMSOLL_MEASURED: &[i32] = &[0, 4];

/// What a finished process cost, start-up, probing and rendering included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Cost {
    /// User and system time, in seconds.
    pub(super) cpu_s: f64,
    /// Largest resident set, in KiB.
    pub(super) peak_kib: u64,
}

/// One finished load.
#[derive(Clone, Debug)]
pub(super) struct Load {
    pub(super) requests: u64,
    pub(super) per_s: f64,
    pub(super) cost: Cost,
}

impl Load {
    /// CPU time of the client per completed request, in ns.
    pub(super) fn cpu_ns_per_request(&self) -> f64 {
        self.cost.cpu_s * 1e9 / self.requests as f64
    }
}

/// One closed-loop load.
pub(super) struct Closed<'a> {
    /// Names the raw output files.
    pub(super) label: &'a str,
    pub(super) url: &'a str,
    pub(super) connections: u32,
    pub(super) seconds: u32,
    /// A new connection for every request.
    pub(super) close: bool,
}

/// wrk with one thread.
pub(super) fn wrk(lab: &Lab, load: &Closed<'_>) -> Result<Load> {
    let mut arguments = words(&format!("-t1 -c{} -d{}s", load.connections, load.seconds));
    if load.close {
        arguments.extend(["-H".to_owned(), "Connection: close".to_owned()]);
    }
    arguments.push(load.url.to_owned());
    let (output, cost) = run(lab, &format!("{}-wrk", load.label), &lab.wrk, &arguments, load.seconds, &[0])?;
    if output.contains("Non-2xx") {
        bail!("wrk saw error responses:\n{output}");
    }
    let (requests, per_s) = parse_wrk(&output).with_context(|| format!("cannot read what wrk printed:\n{output}"))?;
    Ok(Load { requests, per_s, cost })
}

/// plimsoll with one thread, no warm-up: the whole process is measured, as it is for wrk.
pub(super) fn plimsoll(lab: &Lab, load: &Closed<'_>) -> Result<Load> {
    let mut options = format!("-c {} -t 1", load.connections);
    if load.close {
        options.push_str(" --no-keepalive");
    }
    let (record, cost) = plimsoll_record(lab, &format!("{}-plimsoll", load.label), load.url, load.seconds, &options)?;
    let requests = record["requests"]["completed"].as_u64().context("no requests.completed in plimsoll's record")?;
    let per_s = record["throughput_per_s"].as_f64().context("no throughput_per_s in plimsoll's record")?;
    Ok(Load { requests, per_s, cost })
}

/// The bare epoll loop of this crate, which keeps its connections.
pub(super) fn floor(lab: &Lab, load: &Closed<'_>) -> Result<Load> {
    let address = load.url.trim_start_matches("http://").trim_end_matches('/');
    let (connections, seconds) = (load.connections, load.seconds);
    let arguments = words(&format!("floor --address {address} --connections {connections} --seconds {seconds}"));
    let (output, cost) = run(lab, &format!("{}-floor", load.label), &lab.xtask, &arguments, load.seconds, &[0])?;
    let counted: Value = serde_json::from_str(&output).context("the floor printed no JSON")?;
    let requests = counted["requests"].as_u64().context("no requests in what the floor printed")?;
    let per_s = counted["per_s"].as_f64().context("no per_s in what the floor printed")?;
    Ok(Load { requests, per_s, cost })
}

/// `plimsoll run URL ... --json`: the record it printed.
pub(super) fn plimsoll_record(lab: &Lab, label: &str, url: &str, seconds: u32, options: &str) -> Result<(Value, Cost)> {
    let mut arguments = words(&format!("run {url} {options} -d {seconds}s --warmup 0s --json -o"));
    arguments.push(lab.file(&format!("{label}.run")).to_string_lossy().into_owned());
    let (output, cost) = run(lab, label, &lab.plimsoll, &arguments, seconds, PLIMSOLL_MEASURED)?;
    let record =
        serde_json::from_str(&output).with_context(|| format!("plimsoll printed no JSON object:\n{output}"))?;
    Ok((record, cost))
}

/// Runs a client on its core under GNU time, whose child starts from a tiny process: the peak it reports is the
/// client's own, where a child of this process would inherit our resident set as its floor.
pub(super) fn run(
    lab: &Lab,
    label: &str,
    program: &Path,
    arguments: &[String],
    seconds: u32,
    accepted: &[i32],
) -> Result<(String, Cost)> {
    let cost_file = lab.file(&format!("{label}.cost"));
    let output = Lab::pinned(CLIENT_CORE, Path::new("timeout"))
        .args(["--kill-after=5".to_owned(), (seconds + GRACE_S).to_string()])
        .arg(&lab.time)
        .args(["--quiet", "--format=%U %S %M", "-o"])
        .args([&cost_file, program])
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot start {label}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    std::fs::write(lab.file(&format!("{label}.out")), &output.stdout)?;
    if !output.status.code().is_some_and(|code| accepted.contains(&code)) {
        bail!("{label} ended with {}:\n{text}{}", output.status, String::from_utf8_lossy(&output.stderr));
    }
    let cost = std::fs::read_to_string(&cost_file).with_context(|| format!("no cost of {label}"))?;
    let cost = parse_cost(&cost).with_context(|| format!("cannot read the cost of {label}: {cost}"))?;
    Ok((text, cost))
}

/// `user system peak_kib` as GNU time prints it, to 10 ms: 0.25 % of a 4 s window.
fn parse_cost(text: &str) -> Option<Cost> {
    let mut fields = text.split_whitespace();
    let user: f64 = fields.next()?.parse().ok()?;
    let system: f64 = fields.next()?.parse().ok()?;
    Some(Cost { cpu_s: user + system, peak_kib: fields.next()?.parse().ok()? })
}

/// Requests and requests/s: `  64124 requests in 2.10s, 8.32MB read` and `Requests/sec:  30545.87`.
fn parse_wrk(text: &str) -> Option<(u64, f64)> {
    let requests = text.lines().find_map(|line| line.split_once(" requests in ")?.0.trim().parse().ok())?;
    let per_s = text.lines().find_map(|line| line.strip_prefix("Requests/sec:")?.trim().parse().ok())?;
    Some((requests, per_s))
}

/// Splits a command line that holds no quotes.
pub(super) fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::{Cost, Load, parse_cost, parse_wrk};

    #[test]
    fn wrk_is_read() {
        let text = "  64124 requests in 2.10s, 8.32MB read\nRequests/sec:  30545.87\nTransfer/sec:      3.96MB\n";
        assert_eq!(parse_wrk(text), Some((64124, 30545.87)));
        assert_eq!(parse_wrk("unable to connect to 127.0.0.1:1 Connection refused\n"), None);
    }

    #[test]
    fn cost_is_read_and_shared_out() {
        let cost = parse_cost("0.50 1.50 4321\n").unwrap();
        assert_eq!(cost, Cost { cpu_s: 2.0, peak_kib: 4321 });
        let load = Load { requests: 400_000, per_s: 1e5, cost };
        assert!((load.cpu_ns_per_request() - 5000.0).abs() < 1e-9);
        assert_eq!(parse_cost("Command terminated by signal 9\n"), None);
    }
}
