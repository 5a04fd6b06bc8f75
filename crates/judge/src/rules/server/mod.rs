//! The server: pools, processes and limits that are full, or failing.

pub(crate) mod database;
mod descriptors;
mod disk;
mod memory;
mod nginx_drops;
mod pool_full;
mod quota;
mod restarted;

use crate::Rule;

pub(crate) static ALL: [Rule; 8] = [
    pool_full::RULE,
    nginx_drops::RULE,
    restarted::RULE,
    quota::RULE,
    descriptors::RULE,
    database::RULE,
    memory::RULE,
    disk::RULE,
];
