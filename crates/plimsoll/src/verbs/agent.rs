//! `plimsoll agent`: the other end of `--client`, on stdin and stdout.

use crate::agents::serve::serve;
use crate::cli::clients::AgentArgs;
use crate::exit::{CommandError, Exit};

pub(crate) fn agent(_: &AgentArgs) -> Result<Exit, CommandError> {
    serve().map(|()| Exit::Fine)
}
