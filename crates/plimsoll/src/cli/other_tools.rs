//! Flags of other load generators, and what says the same here.

/// Flags of other tools that mean the same.
#[derive(Clone, Copy, Debug)]
pub(super) struct Foreign {
    /// As they are typed there.
    pub(super) flags: &'static [&'static str],
    pub(super) tools: &'static str,
    /// What to write here.
    pub(super) here: &'static str,
}

const fn foreign(flags: &'static [&'static str], tools: &'static str, here: &'static str) -> Foreign {
    Foreign { flags, tools, here }
}

/// The table; none of the flags is one of `plimsoll run`.
pub(super) const FOREIGN: [Foreign; 31] = [
    foreign(&["--concurrency", "--concurrent"], "ab, siege and Locust", "-c N for N connections"),
    foreign(&["--vus", "--users", "--clients", "-vus"], "k6, Locust and h2load", "-c N for N connections"),
    foreign(&["--max-vus", "--preAllocatedVUs", "-max-connections"], "k6 and vegeta", "-c N beside -R RATE"),
    foreign(&["--num-conns", "--num-calls"], "httperf", "-n N for N requests, --no-keepalive for a connection each"),
    foreign(&["-z"], "hey and oha", "-d TIME, such as -d 30s"),
    foreign(&["--run-time", "--time", "--benchmark-time", "--test-duration"], "Locust, siege and others", "-d TIME"),
    foreign(&["-duration", "--durations"], "vegeta", "-d TIME, such as -d 30s"),
    foreign(&["--timelimit"], "ab", "-d TIME, such as -d 30s"),
    foreign(&["--iterations", "-i", "--reps", "-r"], "k6 and siege", "-n N for N requests in all"),
    foreign(&["--total-requests", "--num-requests", "--amount"], "several tools", "-n N for N requests in all"),
    foreign(&["--rps", "--qps", "--throughput", "--request-rate", "-rate"], "several tools", "-R PER_SECOND"),
    foreign(&["--spawn-rate", "--hatch-rate", "--ramp-up", "--rampup"], "Locust and JMeter", "plimsoll sweep URL"),
    foreign(&["--stage", "--stages"], "k6", "plimsoll sweep URL --over rate"),
    foreign(
        &["--latency", "--latencies", "-L", "--print-latency"],
        "wrk, wrk2 and bombardier",
        "nothing: percentiles are always shown",
    ),
    foreign(&["--u_latency"], "wrk2", "nothing: with -R both latencies are always shown"),
    foreign(&["--script", "-s", "--lua"], "wrk", "--urls FILE for a script of constants or a mix, or --template"),
    foreign(&["-targets", "--targets", "--file", "-f", "--locustfile"], "vegeta, siege and Locust", "--urls FILE"),
    foreign(&["--testplan", "--jmx", "--nongui"], "JMeter", "--har FILE with a recording, or --urls FILE"),
    foreign(&["--data", "--data-raw", "--postdata", "-D", "--body-file"], "curl and others", "-b TEXT or -b @FILE"),
    foreign(&["-p", "-T", "--content-type"], "ab", "-m POST -b @FILE, and -H 'Content-Type: TYPE'"),
    foreign(&["--request", "-X", "--http-method"], "curl", "-m NAME"),
    foreign(&["--headers", "-header", "--add-header", "--user-agent", "-A"], "several tools", "-H 'Name: value'"),
    foreign(&["--cookie", "-C"], "ab and curl", "-H 'Cookie: NAME=VALUE'"),
    foreign(&["--disable-keepalive", "--disable-keep-alive", "-disable-keepalive"], "oha and hey", "--no-keepalive"),
    foreign(
        &["--keepalive", "--keep-alive", "-keepalive"],
        "several tools",
        "nothing: connections are kept open, unless --no-keepalive",
    ),
    foreign(&["--insecure-skip-tls-verify", "--no-verify", "-insecure"], "k6, vegeta and others", "-k"),
    foreign(&["--cacert", "--root-certs", "-root-certs"], "curl and vegeta", "--ca-cert FILE"),
    foreign(&["--cpu-list", "--workers", "-workers"], "hey and vegeta", "--threads N, and --cpus LIST"),
    foreign(&["--output-format", "--format", "--summary-export", "-j"], "oha and k6", "--json"),
    foreign(
        &["--csv", "-e", "-g", "--logfile"],
        "ab, Locust and others",
        "-o DIR, and plimsoll report DIR --format csv",
    ),
    foreign(&["--unixsock", "--unix", "-unix-socket"], "oha and vegeta", "--unix-socket PATH"),
];

/// The row of a flag.
pub(super) fn row(flag: &str) -> Option<&'static Foreign> {
    FOREIGN.iter().find(|row| row.flags.contains(&flag))
}
