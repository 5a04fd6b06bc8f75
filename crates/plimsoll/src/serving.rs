//! Servers under test: how this program starts them.

use crate::exit::CommandError;
use model::Redacted;
use serde_json::{Value, json};
use stack::{Endpoint, Options, Running, Spec, StackError, Standing};
use std::ffi::OsString;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Time a server is given to answer before it is measured.
pub(crate) const READY_TIMEOUT_NS: u64 = 30 * model::NS_PER_S;

/// Reads what `--serve` asks for. Each must be installed and make sense before any is started.
pub(crate) fn specs(texts: &[String]) -> Result<Vec<Spec>, CommandError> {
    let own = own_program()?;
    let read = |text: &String| {
        let mut spec = Spec::parse(text)?;
        spec.label = label(&spec).into_inner();
        // What is still to be built cannot be there yet.
        if spec.settings.build.is_none() {
            stack::print_config(&spec, &own)?;
        }
        Ok(spec)
    };
    texts.iter().map(read).collect::<Result<_, _>>().map_err(command_error)
}

/// Reads what `--serve` asks for on another machine, where it is looked at whether that can be.
pub(crate) fn specs_elsewhere(texts: &[String]) -> Result<Vec<Spec>, CommandError> {
    texts.iter().map(|text| elsewhere(text)).collect()
}

fn elsewhere(text: &str) -> Result<Spec, CommandError> {
    let refused = |what: &str| {
        let text = Redacted::text(text);
        CommandError::usage(format!("--serve {text:?} with --server-host: {what}"))
    };
    if text.starts_with('@') {
        return Err(refused("the file is of this machine; write the server and its settings in its place"));
    }
    let mut spec = Spec::parse(text).map_err(command_error)?;
    if spec.settings.build.is_some() {
        return Err(refused("build= is for this machine; build the program there, and name it by binary="));
    }
    if spec.settings.address != Ipv4Addr::LOCALHOST {
        return Err(refused("--server-ip says where it listens; leave out address="));
    }
    spec.label = label(&spec).into_inner();
    Ok(spec)
}

/// The URL under which a server of ours is measured.
pub(crate) fn measured(running: &Running) -> Result<&str, CommandError> {
    running.url().ok_or_else(|| {
        CommandError::usage(format!(
            "--serve {:?}: it speaks neither HTTP nor FastCGI, so there is nothing to measure",
            running.spec().label
        ))
    })
}

/// What a server is called wherever it is shown, recorded or made the name of a directory.
pub(crate) fn label(spec: &Spec) -> Redacted {
    Redacted::text(&spec.label)
}

/// The CPUs that a server leaves to the load; empty when it leaves none or has them all.
pub(crate) fn left(usable: &[u32], server: &[u32]) -> Vec<u32> {
    if server.is_empty() { Vec::new() } else { usable.iter().copied().filter(|cpu| !server.contains(cpu)).collect() }
}

/// How servers are started; `stop` ends a start early.
pub(crate) fn options(stop: Arc<AtomicBool>, ready_timeout_ns: u64) -> Result<Options, CommandError> {
    let own_program = own_program()?;
    Ok(Options {
        supervisor: supervisor(&own_program),
        own_program,
        now_ns: clock::monotonic_ns,
        cpus: Vec::new(),
        ready_timeout_ns,
        stop,
        keep_state: false,
        may_be_left: false,
    })
}

/// The command line of a supervisor.
pub(crate) fn supervisor(own_program: &Path) -> Vec<OsString> {
    vec![own_program.into(), "keep".into()]
}

/// What a script wants to know of a server.
pub(crate) fn line(standing: &Standing) -> Value {
    let mut line = match &standing.endpoint {
        Some(Endpoint::Http { url } | Endpoint::FastCgi { url, .. }) => json!({ "url": url }),
        Some(Endpoint::Socket { path }) => json!({ "socket": path }),
        None => json!({}),
    };
    if !standing.name.is_empty() {
        line["name"] = standing.name.as_str().into();
    }
    line["server"] = Redacted::text(&standing.served.label).into_inner().into();
    line["state"] = standing.state.display().to_string().into();
    line["processes"] = standing.processes.iter().map(|(name, pid)| json!({ "name": name, "pid": pid })).collect();
    line["status"] = standing.status.as_slice().into();
    let steps = standing.served.steps.iter();
    line["steps_ms"] = steps.map(|step| json!({ "name": step.name, "ms": step.ns as f64 / 1e6 })).collect();
    if let Some(certificate) = &standing.certificate {
        line["certificate"] = certificate.as_str().into();
    }
    if let Some(auth) = auth(standing) {
        line["auth"] = auth.into();
    }
    line
}

/// What `--auth` takes to use a server that asks for a password.
pub(crate) fn auth(standing: &Standing) -> Option<String> {
    standing.credentials.as_ref().map(|path| format!("basic:file:{}", path.display()))
}

/// The path of this program.
pub(crate) fn own_program() -> Result<PathBuf, CommandError> {
    std::env::current_exe()
        .map_err(|error| CommandError::usage(format!("cannot find the program of plimsoll itself: {error}")))
}

/// What stops a server is the server's fault or the user's. The message has what was typed, or what the server wrote last.
pub(crate) fn command_error(error: StackError) -> CommandError {
    let message = Redacted::text(&error.to_string());
    match error {
        StackError::Interrupted => CommandError::interrupted(),
        error if error.is_usage() => CommandError::usage(message),
        _ => CommandError::target(message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_and_messages_show_no_secret_of_a_specification() {
        let spec =
            Spec::parse("command env=DB_PASSWORD=s3cret -- ./server --token s3cret postgres://app:s3cret@db").unwrap();
        assert_eq!(
            label(&spec).as_str(),
            "command env=DB_PASSWORD=<redacted> -- ./server --token <redacted> postgres://<redacted>@db"
        );
        let error = Spec::parse("nginx env=DB_PASSWORD=s3cret fast").unwrap_err();
        let message = command_error(error).message;
        assert!(message.contains("is not key=value") && !message.contains("s3cret"), "{message}");
    }
}
