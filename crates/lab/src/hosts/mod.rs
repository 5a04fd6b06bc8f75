//! Machines for agents, all of them this one: directories that a script in the place of ssh leads to, and network namespaces with
//! an sshd each. Tests of the product use them too.

mod network;
mod reach;

pub use network::{Network, running, words};
pub use reach::reach;
