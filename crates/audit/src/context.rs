//! Context of an output: expected responses, limits, processes on the server.

use super::scan::{number, word_after};
use super::text::Text;
use std::collections::BTreeMap;
use thiserror::Error;

/// Everything that may be told with an output.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Context {
    /// Size of a right body.
    pub expect_size_bytes: Option<u64>,
    /// The client's limit of open files (`ulimit -n`).
    pub nofile: Option<u64>,
    /// CPUs of the server.
    pub cores: Option<u32>,
    /// CPU use of the server's processes.
    pub processes: Option<Processes>,
    /// Responses per second while that was sampled.
    pub processes_rate_per_s: Option<f64>,
    /// Workers that the pool of the server is to have: what would that buy?
    pub workers_wanted: Option<u32>,
    /// Sockets of the client.
    pub sockets: Option<Sockets>,
}

/// CPU use out of `pidstat -u`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Processes {
    /// CPUs that all processes together kept busy.
    pub cores_busy: f64,
    /// CPUs that each process of a command kept busy, the busiest first; by command.
    pub(crate) commands: BTreeMap<String, Vec<f64>>,
}

/// Sockets out of `ss -s`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sockets {
    /// Established.
    pub established: u64,
    /// In TIME_WAIT: each holds a local port for a minute.
    pub time_wait: u64,
}

/// Reason why a file of context could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ContextError {
    /// Not the output of pidstat.
    #[error("it has no line of `pidstat -u` with %usr, %system, %CPU and a command")]
    NoPidstat,
    /// Not the output of ss.
    #[error("it has no line `TCP: N (estab N, ..., timewait N)` of `ss -s`")]
    NoSs,
}

impl Processes {
    /// Reads `pidstat -u`: the averages if there are any, else the mean over its samples.
    ///
    /// # Errors
    /// When there is no such line.
    pub fn read(text: &Text) -> Result<Self, ContextError> {
        let rows: Vec<Row<'_>> = text.lines().filter_map(|(_, line)| row(line)).collect();
        let averages: Vec<&Row<'_>> = rows.iter().filter(|row| row.at == "Average:").collect();
        let (counted, samples) = if averages.is_empty() {
            let mut times: Vec<&str> = rows.iter().map(|row| row.at).collect();
            times.sort_unstable();
            times.dedup();
            (rows.iter().collect(), times.len().max(1))
        } else {
            (averages, 1)
        };
        if rows.is_empty() {
            return Err(ContextError::NoPidstat);
        }
        let mut by_process: BTreeMap<(&str, &str), f64> = BTreeMap::new();
        for row in counted {
            *by_process.entry((row.command, row.pid)).or_default() += row.percent / 100.0 / samples as f64;
        }
        let mut commands: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        for ((command, _), cores) in &by_process {
            commands.entry((*command).to_owned()).or_default().push(*cores);
        }
        commands.values_mut().for_each(|all| all.sort_by(|a, b| b.total_cmp(a)));
        Ok(Self { cores_busy: by_process.values().sum(), commands })
    }
}

/// A process in a sample, or on average.
struct Row<'a> {
    at: &'a str,
    pid: &'a str,
    percent: f64,
    command: &'a str,
}

/// A line `TIME [AM|PM] UID PID %usr %system %guest %wait %CPU CPU Command`; without %wait before sysstat 11.
fn row(line: &str) -> Option<Row<'_>> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let rest = if matches!(words.get(1), Some(&("AM" | "PM"))) { &words[2..] } else { words.get(1..)? };
    let [uid, pid, usr, system, .., percent, cpu, command] = rest else { return None };
    let whole = |word: &str| word.chars().all(|c| c.is_ascii_digit());
    let is_row =
        whole(uid) && whole(pid) && number(usr).is_some() && number(system).is_some() && (*cpu == "-" || whole(cpu));
    Some(Row { at: words[0], pid, percent: number(percent).filter(|_| is_row)?, command })
}

impl Sockets {
    /// Reads `ss -s`.
    ///
    /// # Errors
    /// When there is no line of TCP.
    pub fn read(text: &Text) -> Result<Self, ContextError> {
        let tcp = text.lines().find_map(|(_, line)| {
            let of = |label: &str| line.starts_with("TCP:").then(|| number(word_after(line, label)?)).flatten();
            Some(Self { established: of("estab ")? as u64, time_wait: of("timewait ")? as u64 })
        });
        tcp.ok_or(ContextError::NoSs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(lines: &str) -> Text {
        Text::decode(lines.as_bytes()).unwrap()
    }

    #[test]
    fn pidstat_is_summed_over_processes() {
        let head = "02:32:25 PM   UID       PID    %usr %system  %guest   %wait    %CPU   CPU  Command\n";
        let samples = format!(
            "{head}02:32:30 PM   999    931570   81.62   30.83    0.00    0.00  112.45    61  mysqld\n\
             02:32:30 PM    82   1007523   68.77   11.46    0.00    0.00   80.25   127  php-fpm\n"
        );
        assert!((Processes::read(&text(&samples)).unwrap().cores_busy - 1.927).abs() < 1e-9);
        let averages =
            format!("{samples}Average:       82   1007523   50.00   10.00    0.00    0.00   60.00     -  php-fpm\n");
        assert!((Processes::read(&text(&averages)).unwrap().cores_busy - 0.6).abs() < 1e-9);
        assert_eq!(Processes::read(&text(head)), Err(ContextError::NoPidstat));
    }

    #[test]
    fn ss_is_read() {
        let line = "TCP:   17265 (estab 140, closed 17096, orphaned 1, timewait 16882)";
        assert_eq!(Sockets::read(&text(line)), Ok(Sockets { established: 140, time_wait: 16_882 }));
        assert_eq!(Sockets::read(&text("TCP: 3")), Err(ContextError::NoSs));
    }
}
