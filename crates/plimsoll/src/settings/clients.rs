//! Where the load comes from: this machine, or others.

use crate::agents::host::Host;
use crate::agents::remote::{AGREE_NS, RemoteOptions, too_few};
use crate::agents::ssh::Ssh;
use crate::cli::clients::{ClientArgs, LossArg};
use crate::exit::CommandError;
use agent::OnLoss;
use model::Warmup;

/// The machines of `--client`; none without it. The smallest load has so many connections, by a flag.
pub(crate) fn remote(
    args: &ClientArgs,
    warmup: Warmup,
    (flag, connections): (&str, u32),
) -> Result<Option<RemoteOptions>, CommandError> {
    if args.client.is_empty() {
        return Ok(None);
    }
    if warmup == Warmup::Auto {
        return Err(CommandError::usage(
            "--warmup auto is for one machine: several would not agree when it ends; write a time",
        ));
    }
    let hosts = Host::list(&args.client)?;
    if (connections as usize) < hosts.len() {
        return Err(too_few(flag, connections, hosts.len()));
    }
    let on_loss = match args.on_agent_loss {
        LossArg::End => OnLoss::End,
        LossArg::Continue => OnLoss::Continue,
    };
    Ok(Some(RemoteOptions { hosts, ssh: Ssh::new(args.ssh.as_deref())?, on_loss }))
}

/// About how long a load takes before it starts, beyond what one of this machine does; ns.
pub(crate) const fn agree_ns(args: &ClientArgs) -> u64 {
    if args.client.is_empty() { 0 } else { AGREE_NS }
}
