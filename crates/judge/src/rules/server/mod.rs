//! SV: full or failing pools, processes and limits of the server.

pub(crate) mod database;
pub(crate) mod descriptors;
pub(crate) mod disk;
pub(crate) mod memory;
pub(crate) mod nginx_drops;
pub(crate) mod pool_full;
pub(crate) mod quota;
pub(crate) mod restarted;
