//! What is typed wrong: usage errors whose line names the thing, told by the function that `main` calls, without a process for
//! each. How the binary prints them and ends is in `tests/command_line`.

mod capacity;
mod compare;
mod experiment;
mod render;
mod run;
mod stored;
mod sweep;
mod target;
mod thresholds;

use crate::cli::Cli;
use crate::exit::Exit;
use clap::Parser;
use std::sync::mpsc;
use std::time::Duration;

/// A URL nothing listens behind; it must not get that far.
const NOWHERE: &str = "http://127.0.0.1:1/";
/// What has not ended after this has been started, as a server that should have been refused.
const LIMIT: Duration = Duration::from_secs(30);

/// `plimsoll VERB ARGS` is a usage error whose first line has all of `named`; but for those of the argument parser, which have a
/// hint behind it, it has no other.
#[track_caller]
fn fails(verb: &[&str], args: &[&str], named: &[&str]) {
    let line = match Cli::try_parse_from(["plimsoll"].iter().chain(verb).chain(args)) {
        Err(error) => {
            assert!(error.use_stderr(), "{verb:?} {args:?}: {error}");
            let text = error.to_string();
            assert!(text.starts_with("error: "), "{verb:?} {args:?}: {text}");
            text.lines().next().unwrap_or_default().to_owned()
        }
        Ok(cli) => {
            let (teller, told) = mpsc::channel();
            std::thread::spawn(move || teller.send(crate::execute(cli.verb)));
            let Err(error) = told.recv_timeout(LIMIT).expect("what is refused ends at once") else {
                panic!("{verb:?} {args:?} is no error");
            };
            let line = report::visible::block(&error.message).into_owned();
            assert_eq!((error.exit, line.lines().count()), (Exit::Usage, 1), "{verb:?} {args:?}: {line}");
            line
        }
    };
    for part in named {
        assert!(line.contains(part), "{verb:?} {args:?}: {part:?} is not named: {line}");
    }
}
