//! Ways to start agents: each gives one byte stream per agent, on which the protocol is the same.

use clock::monotonic_ns;
use model::NS_PER_S;
use std::io::{Read, Write};
use std::sync::Arc;
use std::time::Duration;

/// How long agents may take to be there, the copy of the program included.
pub(crate) const START_NS: u64 = 120 * NS_PER_S;

/// Why an agent that has not said hello in time is not waited for.
pub(crate) fn not_there() -> String {
    format!("it was not there within {} s; see whether it can be reached", START_NS / NS_PER_S)
}

/// How long an agent may take to end once nothing more is said to it.
pub(crate) const END_NS: u64 = 2 * NS_PER_S;

/// How often an agent is looked at that is to end.
const END_PAUSE: Duration = Duration::from_millis(20);

/// What a look at one that is to end finds; none until an instant; ns.
pub(crate) fn ended_until<T>(until_ns: u64, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    loop {
        let found = look();
        if found.is_some() || monotonic_ns() >= until_ns {
            return found;
        }
        std::thread::sleep(END_PAUSE);
    }
}

/// A way to start agents, or to wait for those that others start. Shared by one thread per agent.
pub(crate) trait Launcher: Send + Sync + 'static {
    /// Names of the agents, in their order.
    fn names(&self) -> Vec<String>;

    /// Stream of an agent, once it is there; else why there is none, in a line.
    fn connect(&self, agent: usize) -> Result<Stream, String>;

    /// State of the start in a few words, for the progress line.
    fn state(&self) -> String;

    /// What the user has to do so that agents come; none if that is nothing.
    fn instructions(&self) -> Option<String> {
        None
    }

    /// Lines on what has happened since the last call.
    fn take_notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// Time within which all agents are there or are told to be missing; ns.
    fn timeout_ns(&self) -> u64 {
        START_NS
    }

    /// True if the loopback of an agent is its own, also on this machine.
    fn has_own_loopback(&self) -> bool {
        false
    }

    /// Nobody waits for agents any more, and what was started for them ends.
    fn close(&self) {}
}

/// Byte stream of an agent.
pub(crate) struct Stream {
    /// What the agent says.
    pub(crate) from: Box<dyn Read + Send>,
    /// What is said to it; the stream ends when this is dropped.
    pub(crate) to: Box<dyn Write + Send>,
    /// What carries it.
    pub(crate) carrier: Arc<dyn Carrier>,
}

/// Process or socket that carries a stream.
pub(crate) trait Carrier: Send + Sync {
    /// Waits until the agent has ended its stream, or this instant has come, and ends it; ns.
    fn end(&self, until_ns: u64);

    /// Why the stream has ended, in a line; waits until it has.
    fn why(&self) -> String;
}
