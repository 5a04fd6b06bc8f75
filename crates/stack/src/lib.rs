//! Servers under test: configured, started, checked, restarted and ended, privately and cleanly.
//!
//! [`Spec`] (what is asked for) -> `layout` (files, processes, address; a pure function) ->
//! [`Running`] (a directory and a supervisor). The *supervisor* is a small process between us and the servers: it starts them,
//! and ends them and all they have started when it is told to or when we are gone, however we went.
//!
//! Servers are not trusted. One that root starts runs as another user, in folders of its own below a directory of ours, and
//! what it does there is handled by descriptor (`tree`); of our environment it gets what is on a list (`environment`).

mod account;
mod clean;
mod compose;
mod environment;
mod error;
mod extra;
mod group;
mod install;
mod layout;
mod limits;
mod own_account;
mod parse;
mod php_profile;
mod piped;
mod place;
mod programs;
mod ready;
mod running;
mod servers;
mod settings;
mod spec;
mod stacks;
mod standing;
mod state;
mod supervisor;
mod sys;
pub mod testing;
mod topology;
mod tree;

pub use clean::{Leftover, abandoned, clean};
pub use compose::{Compose, compose};
pub use environment::{PASSED_VARIABLES, SET_VARIABLES};
pub use error::{Missing, StackError};
pub use install::install;
pub use layout::Endpoint;
pub use php_profile::{PHP_SAMPLE_NS, PhpSamples, PhpStacks, PhpWritten};
pub use piped::Piped;
pub use programs::installed;
pub use running::{Options, Running};
pub use servers::{all, print_config};
pub use settings::Settings;
pub use spec::{Server, Spec};
pub use stacks::{Log, Stack, stacks, standing_at};
pub use standing::Standing;
pub use supervisor::keep;
pub use topology::{Division, divide, duet, usable_cpus};
