//! `plimsoll agent`: the other end of `--client`, on a connection to the coordinator, or on stdin and stdout.

use crate::agents::connect::caller::call;
use crate::agents::connect::token::Token;
use crate::agents::identity::identity;
use crate::agents::serve::serve;
use crate::cli::clients::AgentArgs;
use crate::exit::{CommandError, Exit};
use crate::output::printer;
use std::time::Duration;

pub(crate) fn agent(args: &AgentArgs) -> Result<Exit, CommandError> {
    match &args.connect {
        None => serve(std::io::stdin(), std::io::stdout(), identity()?),
        Some(address) => connected(address, args),
    }
    .map(|()| Exit::Fine)
}

fn connected(address: &str, args: &AgentArgs) -> Result<(), CommandError> {
    let (token, own) = (Token::of_agent(args.token_file.as_deref())?, identity()?);
    let (from, to) = call(address, &token, &own.build, Duration::from_nanos(args.wait.ns))?;
    printer::note(&format!("connected to the coordinator at {address}"));
    serve(from, to, own)
}
