//! `plimsoll stack compose`: the files of a stack for containers.

use super::spec;
use crate::cli::stack::ComposeArgs;
use crate::exit::{CommandError, Exit};
use crate::output::printer;
use crate::serving;
use model::Redacted;
use rustix::process::{getegid, geteuid};

/// Writes them to a directory that is not there yet.
pub(super) fn compose(args: &ComposeArgs) -> Result<Exit, CommandError> {
    let spec = spec(&args.server, &args.settings, Vec::new())?;
    let caller = (geteuid().as_raw(), getegid().as_raw());
    let compose = stack::compose(&spec, caller).map_err(serving::command_error)?;
    let shown = Redacted::text(&args.output.display().to_string()).into_inner();
    compose.write(&args.output).map_err(|error| CommandError::usage(format!("--output {shown}: {error}")))?;
    printer::result(&format!(
        "{shown}/compose.yaml\nstart   cd {shown} && podman-compose up -d     (or docker compose up -d)\n\
         url     {}\nauth    --auth basic:file:{shown}/conf/admin.key\n",
        compose.url
    ))?;
    Ok(Exit::Fine)
}
