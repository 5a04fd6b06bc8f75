//! Who this program is, for the other end of a stream.

use crate::environment::usable_cpus;
use crate::exit::CommandError;
use agent::{Hello, PROTOCOL};
use std::path::Path;
use std::thread::available_parallelism;

/// The file of this program, also when it has been replaced since.
pub(crate) const OWN_PROGRAM: &str = "/proc/self/exe";

/// This program on this machine.
pub(crate) fn identity() -> Result<Hello, CommandError> {
    let build = observe::sha256(Path::new(OWN_PROGRAM))
        .ok_or_else(|| CommandError::usage(format!("cannot read the own program through {OWN_PROGRAM}")))?;
    let usable = usable_cpus().len() as u32;
    Ok(Hello {
        protocol: PROTOCOL,
        version: env!("CARGO_PKG_VERSION").into(),
        build,
        architecture: std::env::consts::ARCH.into(),
        host: rustix::system::uname().nodename().to_string_lossy().into_owned(),
        boot_id: observe::profile::boot_id(),
        // A container may use less than its CPUs.
        cpus: available_parallelism().map_or(usable, |cpus| usable.min(cpus.get() as u32)),
    })
}
