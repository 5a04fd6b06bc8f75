//! `cargo xtask kubernetes`: load from the pods of a real cluster, which is built and started for it, and what happens when
//! agents, coordinator, links and rights fail.

mod cases;
mod cluster;
mod patched;
mod programs;
mod running;

use anyhow::{Result, bail, ensure};

use crate::first_verdict::made;
use crate::is_wanted;
use cases::CASES;
use cluster::{Cluster, Parts};

/// Load from a cluster of Kubernetes with two nodes in network namespaces, with what `cargo xtask dist` has made, and each way
/// in which it fails: etcd, containerd and runc of Debian, the rest built by Go, as root; 2 minutes, the first time also 10 of CPU time for Go
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// These cases alone
    #[arg(long, value_name = "CASE,...", value_delimiter = ',', value_parser = cases::names())]
    only: Vec<String>,
}

/// Starts the cluster and tries the cases.
///
/// # Errors
/// If there is no cluster, or a case ends otherwise than it should.
pub fn run(options: Options) -> Result<()> {
    ensure!(rustix::process::geteuid().is_root(), "network namespaces and containers need root");
    let processor = std::env::consts::ARCH;
    let parts = Parts {
        kubernetes: programs::ensure()?,
        plimsoll: made(&format!("-{processor}"))?,
        image: made(&format!("-{processor}-image.tar"))?,
    };
    let cluster = Cluster::start(parts)?;
    let mut failed = Vec::new();
    for case in CASES.iter().filter(|case| is_wanted(&options.only, case.name)) {
        match (case.check)(&cluster) {
            Ok(said) => println!("{:<24} {said}", case.name),
            Err(error) => {
                println!("{:<24} FAILED: {error:#}", case.name);
                failed.push(case.name);
            }
        }
    }
    match failed.as_slice() {
        [] => Ok(()),
        names => bail!("failed: {}", names.join(", ")),
    }
}
