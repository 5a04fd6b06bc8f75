//! Limits of this machine that a plan needs: open files and local ports.

use model::human::plural;
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
         raise it (as root: ulimit -Hn {needed}){}", fewer(*most)
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

/// The other way out, where it is one.
fn fewer(most: u64) -> String {
    if most == 0 { String::new() } else { format!(" or use at most {}", plural(most, "connection")) }
}

/// Raises the soft limit of open files as far as `connections` need it, or as far as it can be raised.
///
/// # Errors
/// If the hard limit is too small.
pub fn open_files(connections: u32, threads: u32) -> Result<(), LimitError> {
    let needed = u64::from(connections) + u64::from(threads) + SPARE_DESCRIPTORS;
    let limit = getrlimit(Resource::Nofile);
    let hard = limit.maximum.unwrap_or(u64::MAX);
    let soft = limit.current.unwrap_or(u64::MAX);
    let goal = needed.min(hard);
    let raised =
        soft >= goal || setrlimit(Resource::Nofile, Rlimit { current: Some(goal), maximum: limit.maximum }).is_ok();
    let reached = if raised { soft.max(goal) } else { soft };
    if reached >= needed {
        return Ok(());
    }
    let most = reached.saturating_sub(SPARE_DESCRIPTORS + u64::from(threads));
    Err(LimitError::OpenFiles { connections, needed, hard: reached, most })
}

/// True if there are as many local ports as `connections` to one address of TCP need.
///
/// # Errors
/// If there are fewer.
pub fn ports(connections: u32) -> Result<(), LimitError> {
    match local_ports() {
        Some(ports) if ports < u64::from(connections) => Err(LimitError::Ports { connections, ports }),
        _ => Ok(()),
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
        let error = open_files(u32::MAX, 1).unwrap_err().to_string();
        assert!(error.contains("4294967295 connections"), "{error}");
    }

    #[test]
    fn no_connections_at_all_are_no_advice() {
        let told = |most| LimitError::OpenFiles { connections: 16, needed: 82, hard: 64, most }.to_string();
        assert!(told(0).ends_with("(as root: ulimit -Hn 82)"), "{}", told(0));
        assert!(told(1).ends_with("(as root: ulimit -Hn 82) or use at most 1 connection"), "{}", told(1));
    }
}
