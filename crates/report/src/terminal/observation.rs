//! Samples of `plimsoll observe`, as a table or as lines that are appended.

use super::Style;
use super::layout::{columns, labelled, labelled_bold, shortened, table, wrap};
use crate::visible;
use crate::words::observed::cores_number;
use model::human::{bytes, count, percent, plural, rate, time};
use model::{CpuTimes, GroupObservation, NS_PER_S, Observation, OthersUse, Sockets};
use std::collections::BTreeMap;

/// Processes and states named in a line.
const NAMED_MAX: usize = 3;
/// Counters of the kernel that move with any traffic: how much there was is told in other words.
const ORDINARY: [&str; 21] = [
    "ActiveOpens",
    "PassiveOpens",
    "InSegs",
    "OutSegs",
    "OutRsts",
    "EstabResets",
    "DelayedACKs",
    "TCPOrigDataSent",
    "TCPAbortOnData",
    "TCPAbortOnClose",
    "TCPLossProbes",
    "TCPFromZeroWindowAdv",
    "TCPToZeroWindowAdv",
    "InDatagrams",
    "OutDatagrams",
    "InReceives",
    "OutRequests",
    "processed",
    "squeezed",
    "periods",
    "some_ns",
];
/// Parts of the kernel that are told apart from the other counters.
const DEVICES: [&str; 2] = ["nic/", "disk/"];
/// Columns of the table, the dispensable ones last.
const COLUMNS: [&str; 9] = ["target", "CPUs", "RSS", "threads", "waiting", "accept", "processes", "fds", "sockets"];
/// Characters of a target in the table: what stands behind a longer one would move too far.
const TARGET_MAX: usize = 32;
/// As many of them as there are at least.
const COLUMNS_MIN: usize = 3;

/// One look, or several together: the machine, a table of what was asked for, and what else has happened. Ends with a newline.
#[must_use]
pub fn observation(seen: &Observation, style: &Style) -> String {
    let style = *style;
    let mut out = labelled_bold("machine", &machine(seen), style);
    if !seen.groups.is_empty() {
        let rows: Vec<Vec<String>> = seen.groups.iter().map(row).collect();
        let of = |n: usize| {
            let cut: Vec<Vec<String>> = rows.iter().map(|row| row[..n].to_vec()).collect();
            table(&COLUMNS[..n], &cut, 1, 2)
        };
        let fitting = (COLUMNS_MIN..=COLUMNS.len()).rev().map(of).find(|text| columns(text) <= style.width);
        out.push_str(&format!("\n{}\n", fitting.unwrap_or_else(|| of(COLUMNS_MIN))));
    }
    for (label, text) in besides(seen) {
        out.push_str(&labelled(label, &text, style));
    }
    out
}

/// The same in lines that stand by themselves: one of the machine, one of each that was asked for.
#[must_use]
pub fn observation_lines(seen: &Observation) -> String {
    let at = format!("{:>6}", time(seen.to_ns as f64));
    let mut machine = vec![format!("machine {}", machine(seen))];
    machine.extend(besides(seen).into_iter().map(|(label, text)| format!("{label} {text}")));
    let mut out = format!("{at}  {}\n", visible::line(&machine.join("; ")));
    for group in &seen.groups {
        let cells = row(group);
        let named = cells.iter().zip(COLUMNS).skip(1).filter(|(cell, _)| *cell != "-");
        let named: Vec<String> = named.map(|(cell, name)| format!("{name} {cell}")).collect();
        let line = format!("{}: {}", group.target, named.join(", "));
        out.push_str(&format!("{at}  {}\n", visible::line(&line)));
    }
    out
}

/// What is not available, each with its reason, in lines. Empty when nothing is missing; no newline at the end.
#[must_use]
pub fn missing(unavailable: &BTreeMap<String, String>, style: &Style) -> String {
    let lines =
        unavailable.iter().map(|(part, why)| wrap("", &format!("not available: {part}: {why}"), style.width, 2));
    lines.collect::<Vec<_>>().join("\n")
}

fn machine(seen: &Observation) -> String {
    let Some(machine) = &seen.machine else { return "CPU not known".into() };
    let CpuTimes { user_ns, system_ns, softirq_ns, steal_ns, .. } = machine.total;
    let cores = |ns: u64| cores_number(ns as f64 / length_ns(seen));
    format!(
        "{} of {} CPUs busy: user {}, system {}, softirq {}, steal {}",
        cores(machine.total.busy_ns()),
        machine.cpus.len(),
        cores(user_ns),
        cores(system_ns),
        cores(softirq_ns),
        cores(steal_ns)
    )
}

/// The cells of [`COLUMNS`].
fn row(group: &GroupObservation) -> Vec<String> {
    let of = |n: Option<u64>, limit: Option<u64>| match (n, limit) {
        (Some(n), Some(limit)) => format!("{}/{}", count(n), count(limit)),
        (Some(n), None) => count(n),
        (None, _) => "-".into(),
    };
    let sockets = group.sockets.as_ref();
    vec![
        shortened(&group.target, TARGET_MAX),
        cores_number(group.cpu_cores),
        bytes(group.figures.rss_bytes),
        count(group.figures.threads),
        group.run_queue_wait.map_or_else(|| "-".into(), cores_number),
        of(sockets.and_then(|sockets| sockets.accept_queue), sockets.and_then(|sockets| sockets.accept_backlog)),
        processes(group),
        of(group.figures.fds, group.figures.fds_limit),
        sockets.map_or_else(|| "-".into(), states),
    ]
}

/// `nginx x 3, php-fpm`.
fn processes(group: &GroupObservation) -> String {
    let name = |name: &str, n: u64| if n > 1 { format!("{name} x {n}") } else { name.to_owned() };
    let all: Vec<_> = group.processes.iter().map(|process| name(&process.name, process.figures.count)).collect();
    listed(&all)
}

fn listed(all: &[String]) -> String {
    let more = match all.len().saturating_sub(NAMED_MAX) {
        0 => String::new(),
        more => format!(", {more} more"),
    };
    all[..all.len().min(NAMED_MAX)].join(", ") + &more
}

/// The server's ends of connections by state, the most first.
fn states(sockets: &Sockets) -> String {
    let mut states: Vec<(&String, &u64)> = sockets.server.iter().flatten().collect();
    states.sort_by_key(|(_, n)| std::cmp::Reverse(**n));
    let words: Vec<String> = states.into_iter().map(|(state, n)| format!("{} {state}", count(*n))).collect();
    if words.is_empty() { "-".into() } else { listed(&words) }
}

/// Everything that has a line of its own: label and text.
fn besides(seen: &Observation) -> Vec<(&'static str, String)> {
    let lines = [
        ("others", seen.others.as_ref().map(|others| others_use(others, seen))),
        ("network", devices(seen, "nic/", network)),
        ("disk", devices(seen, "disk/", disk)),
        ("counters", counters(seen)),
    ];
    lines.into_iter().filter_map(|(label, text)| Some((label, text?))).filter(|(_, text)| !text.is_empty()).collect()
}

fn others_use(others: &OthersUse, seen: &Observation) -> String {
    let length_ns = (seen.to_ns - others.from_ns).max(1) as f64;
    let mut all: Vec<_> = others.processes.iter().collect();
    all.sort_by_key(|process| std::cmp::Reverse(process.figures.cpu_ns));
    let words = |ns: u64| format!("{} CPUs", cores_number(ns as f64 / length_ns));
    let named: Vec<String> =
        all.iter().map(|process| format!("{} {}", process.name, words(process.figures.cpu_ns))).collect();
    listed(&named)
}

/// Those devices that did something, each in words.
fn devices(seen: &Observation, kind: &str, words: fn(&BTreeMap<String, u64>, f64) -> Option<String>) -> Option<String> {
    let seconds = length_ns(seen) / NS_PER_S as f64;
    let all = seen.kernel.counters.iter().filter_map(|(part, counters)| {
        let words = words(counters, seconds)?;
        Some(format!("{} {words}", part.strip_prefix(kind)?))
    });
    let all: Vec<String> = all.collect();
    (!all.is_empty()).then(|| all.join("; "))
}

fn network(counters: &BTreeMap<String, u64>, seconds: f64) -> Option<String> {
    let of = |name: &str| counters.get(name).copied().unwrap_or(0);
    let (received, sent) = (of("received_bytes"), of("sent_bytes"));
    let lost = ["received_dropped", "sent_dropped", "received_errors", "sent_errors"].map(of).iter().sum();
    let lost = if lost > 0 { format!(", {} lost", plural(lost, "packet")) } else { String::new() };
    let each_s = |n: u64| bytes((n as f64 / seconds) as u64);
    (received + sent > 0).then(|| format!("{}/s in, {}/s out{lost}", each_s(received), each_s(sent)))
}

fn disk(counters: &BTreeMap<String, u64>, seconds: f64) -> Option<String> {
    let of = |name: &str| counters.get(name).copied().unwrap_or(0);
    let busy = of("busy_ns") as f64 / (seconds * NS_PER_S as f64);
    let each_s = |name: &str| bytes((of(name) as f64 / seconds) as u64);
    let moved = of("reads") + of("writes") > 0;
    moved.then(|| {
        let (read, written) = (each_s("read_bytes"), each_s("written_bytes"));
        format!("{} busy, {read}/s read, {written}/s written", percent(busy.min(1.0)))
    })
}

/// Counters of the kernel that should not move, and did.
fn counters(seen: &Observation) -> Option<String> {
    let seconds = length_ns(seen) / NS_PER_S as f64;
    let parts = seen.kernel.counters.iter().filter(|(part, _)| !DEVICES.iter().any(|kind| part.starts_with(kind)));
    let moved = parts.flat_map(|(part, counters)| counters.iter().map(move |(name, n)| (part, name, *n)));
    let moved = moved.filter(|(_, name, n)| *n > 0 && !ORDINARY.contains(&name.as_str()));
    let words = moved.map(|(part, name, n)| match name.strip_suffix("_ns") {
        Some(name) => format!("{part} {name} {}", time(n as f64)),
        None => format!("{part} {name} {}", rate(n as f64 / seconds)),
    });
    let words: Vec<String> = words.collect();
    (!words.is_empty()).then(|| words.join(", "))
}

fn length_ns(seen: &Observation) -> f64 {
    (seen.to_ns - seen.from_ns).max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{MachineCpu, ProcessFigures, ProcessUse};

    fn seen() -> Observation {
        let process = |name: &str, count, cpu_ns| ProcessUse {
            name: name.into(),
            figures: ProcessFigures { count, cpu_ns, ..ProcessFigures::default() },
        };
        let sockets = Sockets {
            server: Some([("established".to_owned(), 64), ("time_wait".to_owned(), 2)].into()),
            accept_queue: Some(3),
            accept_backlog: Some(511),
            ..Sockets::default()
        };
        let group = GroupObservation {
            target: ":8080".into(),
            cpu_cores: 0.62,
            figures: ProcessFigures {
                count: 3,
                threads: 5,
                rss_bytes: 23_100_000,
                fds: Some(12),
                fds_limit: Some(1024),
                ..ProcessFigures::default()
            },
            run_queue_wait: Some(0.03),
            processes: vec![process("nginx", 3, 1), process("sh", 1, 1)],
            sockets: Some(sockets),
            ..GroupObservation::default()
        };
        let total = CpuTimes { user_ns: NS_PER_S, system_ns: NS_PER_S / 2, ..CpuTimes::default() };
        let figures = |pairs: &[(&str, u64)]| pairs.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect();
        let counters = [
            ("tcp", figures(&[("InSegs", 900), ("ListenOverflows", 4), ("RetransSegs", 0)])),
            ("nic/lo", figures(&[("received_bytes", 2_000_000), ("sent_bytes", 4_000_000), ("sent_dropped", 7)])),
            ("nic/eth0", figures(&[("received_bytes", 0)])),
            ("disk/vda", figures(&[("busy_ns", NS_PER_S / 2), ("writes", 3), ("written_bytes", 8192)])),
        ];
        Observation {
            from_ns: NS_PER_S,
            to_ns: 3 * NS_PER_S,
            machine: Some(MachineCpu { total, cpus: vec![CpuTimes::default(); 2], ..MachineCpu::default() }),
            groups: vec![group],
            others: Some(OthersUse {
                from_ns: NS_PER_S,
                processes: vec![process("sshd", 1, NS_PER_S)],
                ..OthersUse::default()
            }),
            kernel: model::KernelFigures {
                counters: counters.map(|(part, figures)| (part.to_owned(), figures)).into(),
                ..model::KernelFigures::default()
            },
            ..Observation::default()
        }
    }

    #[test]
    fn a_look_is_a_table_with_what_has_happened_besides() {
        let expected = "\
machine      0.75 of 2 CPUs busy: user 0.50, system 0.25, softirq 0, steal 0

target  CPUs      RSS  threads  waiting  accept      processes       fds                      sockets
:8080   0.62  23.1 MB        5    0.030   3/511  nginx x 3, sh  12/1,024  64 established, 2 time_wait

others       sshd 0.50 CPUs
network      lo 1.00 MB/s in, 2.00 MB/s out, 7 packets lost
disk         vda 25 % busy, 0 B/s read, 4,096 B/s written
counters     tcp ListenOverflows 2.00/s
";
        assert_eq!(observation(&seen(), &Style { width: 110, colour: false, verbose: false }), expected);
        let narrow = observation(&seen(), &Style { width: 45, colour: false, verbose: false });
        assert!(narrow.contains("threads") && !narrow.contains("sockets"), "{narrow}");
    }

    #[test]
    fn a_long_target_is_shortened_in_the_middle_and_the_columns_stay() {
        let mut seen = seen();
        let path = "unix:/var/lib/containers/storage/überlay/0123456789/merged/run/php-fpm.sock";
        seen.groups[0].target = path.into();
        let table = observation(&seen, &Style { width: 140, colour: false, verbose: false });
        let line = table.lines().find(|line| line.contains("php-fpm.sock")).expect("its row");
        assert!(line.starts_with("unix:/var/lib/c…run/php-fpm.sock  0.62"), "{table}");
        assert!(columns(&table) < 140 && table.contains("sockets"), "no column is lost: {table}");
        // Where each line stands by itself there is room.
        assert!(observation_lines(&seen).contains(&format!("{path}: CPUs")));
        assert_eq!((shortened("äöü", 3), shortened("äöüß", 3)), ("äöü".into(), "ä…ß".into()));
    }

    #[test]
    fn lines_stand_by_themselves() {
        let lines = observation_lines(&seen());
        let [machine, group] = &lines.lines().collect::<Vec<_>>()[..] else { panic!("{lines}") };
        assert!(machine.starts_with("3.00 s  machine 0.75 of 2 CPUs busy") && machine.ends_with("2.00/s"), "{machine}");
        assert!(group.starts_with("3.00 s  :8080: CPUs 0.62, RSS 23.1 MB, threads 5"), "{group}");
    }

    #[test]
    fn what_is_missing_is_no_zero() {
        let bare = Observation { groups: vec![GroupObservation::default()], ..Observation::default() };
        assert!(observation(&bare, &Style { width: 110, colour: false, verbose: false }).contains("CPU not known"));
        assert_eq!(row(&bare.groups[0])[4..], ["-", "-", "", "-", "-"]);
        let why = [("conntrack".to_owned(), "no file".to_owned())].into();
        assert_eq!(
            missing(&why, &Style { width: 80, colour: false, verbose: false }),
            "not available: conntrack: no file"
        );
    }
}
