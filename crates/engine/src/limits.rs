//! Limits of this machine that a plan needs: open files and local ports.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use thiserror::Error;

/// Descriptors beyond one for each connection: standard streams, epoll, the record, the probe.
const SPARE_DESCRIPTORS: u64 = 64;

/// A plan this machine cannot carry out.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LimitError {
    /// The hard limit of open files is too low.
    #[error(
        "{connections} connections need {needed} file descriptors but the hard limit is {hard}; \
         raise it (as root: ulimit -Hn {needed}) or use at most {most} connections"
    )]
    OpenFiles {
        /// Connections asked for.
        connections: u32,
        /// Descriptors they need.
        needed: u64,
        /// What the system allows.
        hard: u64,
        /// Connections that would fit.
        most: u64,
    },
    /// One address can have no more connections than there are local ports.
    #[error(
        "{connections} connections to one address need as many local ports but \
         net.ipv4.ip_local_port_range holds {ports}; widen it or use at most {ports} connections"
    )]
    Ports {
        /// Connections asked for.
        connections: u32,
        /// Local ports there are.
        ports: u64,
    },
}

/// Raises the soft limit of open files as far as `connections` need it; returns the soft limit then in force.
///
/// # Errors
/// If the hard limit or the range of local ports is too small.
pub fn prepare(connections: u32, threads: u32) -> Result<u64, LimitError> {
    let needed = u64::from(connections) + u64::from(threads) + SPARE_DESCRIPTORS;
    let limit = getrlimit(Resource::Nofile);
    let hard = limit.maximum.unwrap_or(u64::MAX);
    if hard < needed {
        let most = hard.saturating_sub(SPARE_DESCRIPTORS + u64::from(threads));
        return Err(LimitError::OpenFiles { connections, needed, hard, most });
    }
    if let Some(ports) = local_ports().filter(|ports| *ports < u64::from(connections)) {
        return Err(LimitError::Ports { connections, ports });
    }
    let soft = limit.current.unwrap_or(u64::MAX);
    if soft >= needed {
        return Ok(soft);
    }
    match setrlimit(Resource::Nofile, Rlimit { current: Some(needed), maximum: limit.maximum }) {
        Ok(()) => Ok(needed),
        Err(_) => Err(LimitError::OpenFiles { connections, needed, hard: soft, most: soft }),
    }
}

/// Size of the range of local ports; none when the system does not tell.
fn local_ports() -> Option<u64> {
    parse_port_range(&std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").ok()?)
}

fn parse_port_range(text: &str) -> Option<u64> {
    let mut ends = text.split_whitespace().map(str::parse::<u64>);
    let (low, high) = (ends.next()?.ok()?, ends.next()?.ok()?);
    (high >= low).then(|| high - low + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn port_range_counts_both_ends() {
        assert_eq!(parse_port_range("32768\t60999\n"), Some(28_232));
        assert_eq!(parse_port_range("x"), None);
    }

    #[test]
    fn absurd_connection_counts_are_refused_with_the_number_to_set() {
        let error = prepare(u32::MAX, 1).unwrap_err().to_string();
        assert!(error.contains("4294967295 connections"), "{error}");
    }
}
