//! Starts the built-in target as a child process of the same binary, on CPUs of its own.

use crate::environment::usable_cpus;
use crate::exit::Trouble;
use crate::target_url::TargetUrl;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

/// The built-in target answers with a known truth: a pool of this many workers, each this long at a request.
/// So the first sweep anyone runs can be checked against arithmetic: a knee at 4 and a plateau at 2,000/s.
pub(crate) const POOL_WORKERS: u32 = 4;
/// See [`POOL_WORKERS`].
pub(crate) const POOL_TIME: &str = "2ms";

/// A running target; ends with this value.
#[derive(Debug)]
pub(crate) struct Builtin {
    child: Child,
    pub(crate) url: TargetUrl,
    /// What it is to be trusted by, DER; none without TLS.
    pub(crate) certificates: Vec<Vec<u8>>,
    /// CPUs that are left for the load.
    pub(crate) load_cpus: Vec<u32>,
}

impl Builtin {
    /// Starts the target and waits until it listens.
    pub(crate) fn start(tls: bool) -> Result<Self, Trouble> {
        let (target_cpus, load_cpus) = divide(&usable_cpus());
        let wrong = |why: String| Trouble::target(format!("cannot start the built-in target: {why}"));
        let program = std::env::current_exe().map_err(|e| wrong(e.to_string()))?;
        let mut command = Command::new(program);
        command.args(["target", "--listen", "127.0.0.1:0", "--die-with-parent"]);
        command.args(["--pool", &POOL_WORKERS.to_string(), "--pool-time", POOL_TIME]);
        command.args(["--workers", &target_cpus.len().max(1).to_string()]);
        if tls {
            command.arg("--tls");
        }
        if !target_cpus.is_empty() {
            command.args(["--cpus", &list(&target_cpus)]);
        }
        // Its own process group: ^C in the terminal ends the load first, then we end the target.
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command.stdout(Stdio::piped()).spawn().map_err(|e| wrong(e.to_string()))?;
        let mut line = String::new();
        let stdout = child.stdout.take().ok_or_else(|| wrong("it has no output".into()))?;
        let said = BufReader::new(stdout).read_line(&mut line).map_err(|e| wrong(e.to_string()));
        let told = said.and_then(|_| understood(&line).ok_or_else(|| wrong(format!("it said {line:?}"))));
        let url = told.and_then(|(url, certificates)| Ok((TargetUrl::parse(&format!("{url}pool"))?, certificates)));
        match url {
            Ok((url, certificates)) => Ok(Self { child, url, certificates, load_cpus }),
            Err(trouble) => {
                end(&mut child);
                Err(trouble)
            }
        }
    }
}

impl Drop for Builtin {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

fn end(child: &mut Child) {
    // It may have ended by itself already; both calls then do nothing.
    let _ = child.kill();
    let _ = child.wait();
}

/// The URL of the landing page and the certificates in the target's first line.
fn understood(line: &str) -> Option<(String, Vec<Vec<u8>>)> {
    let value: serde_json::Value = serde_json::from_str(line).ok()?;
    let certificates = match value.get("certificate") {
        Some(pem) => engine::tls::certificates(pem.as_str()?.as_bytes()).ok()?,
        None => Vec::new(),
    };
    Some((value.get("url")?.as_str()?.into(), certificates))
}

/// First half of the CPUs for the target, the rest for the load; with one CPU nothing is pinned.
fn divide(cpus: &[u32]) -> (Vec<u32>, Vec<u32>) {
    if cpus.len() < 2 {
        return (Vec::new(), Vec::new());
    }
    let (target, load) = cpus.split_at(cpus.len() / 2);
    (target.to_vec(), load.to_vec())
}

fn list(cpus: &[u32]) -> String {
    cpus.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_are_divided_without_overlap() {
        assert_eq!(divide(&[0, 1]), (vec![0], vec![1]));
        assert_eq!(divide(&[0, 1, 2, 3, 4]), (vec![0, 1], vec![2, 3, 4]));
        assert_eq!(divide(&[5]), (vec![], vec![]));
    }

    #[test]
    fn url_and_certificate_are_read_from_the_first_line() {
        let plain = understood("{\"url\":\"http://127.0.0.1:80/\"}\n");
        assert_eq!(plain, Some(("http://127.0.0.1:80/".into(), Vec::new())));
        assert_eq!(understood("{\"url\":\"https://127.0.0.1:80/\",\"certificate\":\"none\"}"), None);
        assert_eq!(understood("oops"), None);
    }
}
