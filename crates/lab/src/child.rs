//! Child processes that end with their value.

use std::io::{BufRead, BufReader};
use std::ops::{Deref, DerefMut};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result};
use serde_json::Value;

/// A child that is killed with this value, unless it has ended before.
pub(crate) struct Killed(pub(crate) Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Deref for Killed {
    type Target = Child;

    fn deref(&self) -> &Child {
        &self.0
    }
}

impl DerefMut for Killed {
    fn deref_mut(&mut self) -> &mut Child {
        &mut self.0
    }
}

/// Starts a server, and returns its first line on stdout: JSON that says where it listens.
pub(crate) fn announced(command: &mut Command) -> Result<(Killed, Value)> {
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
    let mut child = Killed(child.with_context(|| format!("cannot start {}", command.get_program().display()))?);
    let mut stdout = BufReader::new(child.stdout.take().context("its stdout is piped")?);
    let mut line = String::new();
    stdout.read_line(&mut line)?;
    let said =
        serde_json::from_str(&line).with_context(|| format!("a server does not say where it listens: {line:?}"))?;
    // A full pipe would stop the server.
    std::thread::spawn(move || std::io::copy(&mut stdout, &mut std::io::sink()));
    Ok((child, said))
}

#[cfg(test)]
mod tests {
    use super::announced;
    use std::process::Command;

    fn started(script: &str) -> anyhow::Result<serde_json::Value> {
        announced(Command::new("sh").args(["-c", script])).map(|(_, said)| said)
    }

    #[test]
    fn the_first_line_of_a_server_is_read_while_it_runs_and_has_to_be_json() {
        assert_eq!(started(r#"echo '{"url":"u"}'; exec sleep 600"#).unwrap()["url"], "u");
        let silent = format!("{:#}", started("echo no; exec sleep 600").unwrap_err());
        assert!(silent.starts_with("a server does not say where it listens: \"no\\n\""), "{silent}");
    }
}
