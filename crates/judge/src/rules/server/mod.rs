//! SV: full or failing pools, processes and limits of the server.

pub(super) mod database;
pub(super) mod descriptors;
pub(super) mod disk;
pub(super) mod memory;
pub(super) mod nginx_drops;
pub(super) mod pool_full;
pub(super) mod quota;
pub(super) mod restarted;
