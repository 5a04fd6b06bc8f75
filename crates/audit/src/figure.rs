//! The figures that outputs contain, each with its unit in its name.

/// Larger figures are nonsense: no run lasts 100 days or counts so far.
pub(crate) const FIGURE_MAX: f64 = 1e16;

macro_rules! figures {
    ($($(#[doc = $doc:literal])* $variant:ident = $name:literal,)*) => {
        /// A figure that outputs contain. Its name has its unit.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Figure { $($(#[doc = $doc])* $variant,)* }

        impl Figure {
            /// The name in the record.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}

figures! {
    /// Responses per second as printed.
    Throughput = "throughput_per_s",
    /// Requests that the printed rate is of, where these are not all responses.
    InRate = "in_rate",
    /// Measured duration.
    Duration = "duration_ns",
    /// Requested duration.
    DurationAsked = "duration_asked_ns",
    /// Requests per second that were to be sent.
    RateOffered = "rate_offered_per_s",
    /// Requests (or connections) per second that were sent.
    RateSent = "rate_sent_per_s",
    /// Requests that were to be sent.
    Planned = "planned",
    /// Complete responses.
    Responses = "responses",
    /// Of these: with a status that is no success, as far as the tool looks.
    BadStatus = "bad_status",
    /// Of these: redirects.
    Redirects = "redirects",
    /// Of these: with another size than the first, and a good status.
    WrongSize = "wrong_size",
    /// Requests without a complete response.
    Broken = "broken",
    /// Requests with a bad status or without a response, where the tool does not tell which.
    BadOrBroken = "bad_or_broken",
    /// Requests without an answer in time; where they are counted differs by tool.
    Timeouts = "timeouts",
    /// Scheduled but never sent.
    Dropped = "dropped",
    /// Iterations of a script that ended, each with any number of requests.
    Iterations = "iterations",
    /// Connections asked for.
    Connections = "connections",
    /// Load threads.
    Threads = "threads",
    /// Connections that could not be opened.
    ConnectErrors = "connect_errors",
    /// File descriptors that could not be had.
    NoFds = "fds_exhausted",
    /// Local ports that could not be had.
    NoPorts = "ports_exhausted",
    /// Requests on connections used before, of a client told to do so.
    KeptAlive = "kept_alive",
    /// Connections in all.
    ConnectionsOpened = "connections_opened",
    /// Size of the body of one response.
    BodyBytes = "body_bytes",
    /// Size of one response with head and body.
    ResponseBytes = "response_bytes",
    /// The tool's own CPU use, 0 to 1.
    ClientCpu = "client_cpu_share",
    /// Mean response time.
    LatencyMean = "latency_mean_ns",
    /// Smallest.
    LatencyMin = "latency_min_ns",
    /// Median.
    LatencyP50 = "latency_p50_ns",
    /// 75th percentile.
    LatencyP75 = "latency_p75_ns",
    /// 90th percentile.
    LatencyP90 = "latency_p90_ns",
    /// 95th percentile.
    LatencyP95 = "latency_p95_ns",
    /// 99th percentile.
    LatencyP99 = "latency_p99_ns",
    /// 99.9th percentile.
    LatencyP999 = "latency_p99_9_ns",
    /// Largest.
    LatencyMax = "latency_max_ns",
    /// Mean part of the response times in which the client looked up the name and connected.
    ConnectMean = "connect_mean_ns",
    /// Steps in which the tool prints latencies.
    Resolution = "latency_resolution_ns",
    /// After which the tool gives up on a response.
    Timeout = "timeout_ns",
    /// Mean time between two responses, which is no latency.
    Interval = "interval_mean_ns",
}

/// Quantiles: figure, q, name in sentences, key in the evidence of findings.
pub(crate) const QUANTILES: [(Figure, f64, &str, &str); 6] = [
    (Figure::LatencyP50, 0.5, "p50", "p50"),
    (Figure::LatencyP75, 0.75, "p75", "p75"),
    (Figure::LatencyP90, 0.9, "p90", "p90"),
    (Figure::LatencyP95, 0.95, "p95", "p95"),
    (Figure::LatencyP99, 0.99, "p99", "p99"),
    (Figure::LatencyP999, 0.999, "p99.9", "p99_9"),
];
