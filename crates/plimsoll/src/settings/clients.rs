//! Where the load comes from: this machine, or others.

use crate::agents::host::Host;
use crate::agents::remote::RemoteOptions;
use crate::agents::ssh::Ssh;
use crate::cli::clients::{ClientArgs, LossArg};
use crate::exit::CommandError;
use agent::OnLoss;
use model::Warmup;

/// The machines of `--client`; none without it.
pub(crate) fn remote(args: &ClientArgs, warmup: Warmup) -> Result<Option<RemoteOptions>, CommandError> {
    if args.client.is_empty() {
        return Ok(None);
    }
    if warmup == Warmup::Auto {
        return Err(CommandError::usage(
            "--warmup auto is for one machine: several would not agree when it ends; write a time",
        ));
    }
    let on_loss = match args.on_agent_loss {
        LossArg::End => OnLoss::End,
        LossArg::Continue => OnLoss::Continue,
    };
    Ok(Some(RemoteOptions { hosts: Host::list(&args.client)?, ssh: Ssh::new(args.ssh.as_deref())?, on_loss }))
}
