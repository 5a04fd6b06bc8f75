//! `plimsoll serve` with real servers: they answer as they were told to, wrong input is one clear line, and nothing is
//! left behind, however they end.

#[allow(dead_code, reason = "these tests need less of it than those of loads")]
#[path = "../end_to_end/support/program.rs"]
mod program;
#[allow(dead_code, unused_imports, reason = "these tests need less of it than those of loads")]
#[path = "../shared/mod.rs"]
mod shared;

mod chaos;
mod data;
mod ends;
mod forks;
mod hostile;
mod ordinary_user;
mod php;
mod piped;
mod proxies;
mod restart;
mod stacks;
mod support;
mod surroundings;
mod web;
mod wrong;

// What `program` stands on.
use shared::{list, now, wait_for};
