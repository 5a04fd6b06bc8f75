//! `cargo xtask outputs`: what other load generators print of a server that fails in a known way, kept as fixtures.
//!
//! `truth.json` beside them has what the server did; `crates/audit/tests/audit/captured.rs` holds `audit` against it.

mod page;
mod server;
mod tool;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use clap::builder::PossibleValuesParser;
use serde::{Deserialize, Serialize};
use xtask::workspace;

use crate::install;
use crate::is_wanted;
use crate::progress::each;
use server::{Fault, Server, Truth};
use tool::{TOOLS, Tool};

/// Where the fixtures are.
const FOLDER: &str = "crates/audit/tests/audit/captured";
/// What the server did for each of them.
const TRUTH: &str = "truth.json";
/// Servers, each of which every tool meets.
const CASES: [(&str, Fault); 8] = [
    ("good", Fault::None),
    ("quarter-500", Fault::Status(500, 4)),
    ("fifth-404", Fault::Status(404, 5)),
    ("third-302", Fault::Status(302, 3)),
    ("all-503", Fault::Status(503, 1)),
    ("closed", Fault::Close(10)),
    ("cut", Fault::Cut(10)),
    ("refused", Fault::Refused),
];
/// Most time for a tool, in seconds.
const LIMIT_S: &str = "20";
/// Time for a tool, for the forecast.
const RUN_S: f64 = 2.0;

/// Other load generators against a server that fails in a known way: keeps what they print, with version and truth, as
/// fixtures of the tests of `audit`. Installs into target/servers, and Debian packages
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// This form of output alone; can be repeated. Fixtures of others stay as they are
    #[arg(long, value_name = "FORM", value_parser = forms())]
    only: Vec<String>,
    /// Run no tool: take the fixtures as they are
    #[arg(long, conflicts_with = "only")]
    stored: bool,
    /// Write docs/lab/outputs.md as well: what audit reads in all fixtures
    #[arg(long)]
    write_docs: bool,
}

fn forms() -> PossibleValuesParser {
    PossibleValuesParser::new(TOOLS.iter().map(|tool| tool.form))
}

/// One fixture, as the tests read it.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Fixture {
    file: String,
    tool: String,
    version: String,
    command: String,
    truth: Truth,
    /// Requests that may be on their way when the tool's time is up.
    slack: u64,
}

/// Runs all tools; one that cannot be installed is named, and its fixtures stay as they are.
///
/// # Errors
/// If a tool does not end, or a fixture cannot be written.
pub fn run(options: Options) -> Result<()> {
    let folder = workspace::root().join(FOLDER);
    std::fs::create_dir_all(&folder)?;
    let wanted: Vec<&Tool> =
        TOOLS.iter().filter(|tool| !options.stored && is_wanted(&options.only, tool.form)).collect();
    let mut fixtures = stored(&folder)?;
    for tool in each(wanted, |tool| (tool.form, RUN_S * CASES.len() as f64)) {
        match captured(tool, &folder) {
            Ok(new) => {
                fixtures.retain(|fixture| !new.iter().any(|new| new.file == fixture.file));
                fixtures.extend(new);
            }
            Err(error) => eprintln!("  left out: {error:#}"),
        }
    }
    fixtures.sort_by(|one, other| one.file.cmp(&other.file));
    if !options.stored {
        workspace::write(&format!("{FOLDER}/{TRUTH}"), &(serde_json::to_string_pretty(&fixtures)? + "\n"))?;
    }
    if options.write_docs {
        page::render(&fixtures, &folder)?.write(page::PATH)?;
    }
    Ok(())
}

/// Fixtures of earlier runs.
fn stored(folder: &Path) -> Result<Vec<Fixture>> {
    let path = folder.join(TRUTH);
    if !path.is_file() {
        return Ok(Vec::new());
    }
    serde_json::from_str(&std::fs::read_to_string(&path)?).with_context(|| format!("reading {}", path.display()))
}

/// The fixtures of a tool, one for each case.
fn captured(tool: &Tool, folder: &Path) -> Result<Vec<Fixture>> {
    let home = install::root().join("outputs");
    std::fs::create_dir_all(&home)?;
    tool.from.install(&home)?;
    let version = shell(&version_of(tool), &home)?.lines().next().unwrap_or("?").trim().replace('\t', " ");
    let mut fixtures = Vec::new();
    for (case, fault) in CASES {
        let server = Server::start(fault)?;
        let address = server.address;
        let command = |text: &str| {
            text.replace("{url}", &format!("http://{address}/page"))
                .replace("{host}", &address.ip().to_string())
                .replace("{port}", &address.port().to_string())
        };
        let command = command(tool.command);
        let output = shell(&command, &home)?;
        let truth = server.truth();
        let file = tool.file(case);
        // A pipe is no command line of the tool, and above JSON none can stand.
        let is_typed = command.starts_with(tool.name) && !tool.is_json;
        let text = if is_typed { format!("$ {command}\n{output}") } else { output };
        std::fs::write(folder.join(&file), text)?;
        let (tool, slack) = (tool.name.to_owned(), tool.slack);
        fixtures.push(Fixture { file, tool, version: version.clone(), command, truth, slack });
    }
    Ok(fixtures)
}

fn version_of(tool: &Tool) -> String {
    let program = install::go().join(tool.name).display().to_string();
    // The line with the module has its version.
    tool.version.replace("{go}", &format!("{program} | awk '$1 == \"mod\" {{ print $2, $3 }}'"))
}

/// What a shell command prints, its errors among it, as people save it.
fn shell(command: &str, home: &Path) -> Result<String> {
    let path = std::env::var("PATH").unwrap_or_default();
    let own: [PathBuf; 3] = [install::go(), install::python(), home.join("node_modules/.bin")];
    let own = own.map(|folder| folder.display().to_string()).join(":");
    let output = Command::new("timeout")
        .args([LIMIT_S, "sh", "-c", &format!("exec 2>&1; {command}")])
        // Tools that keep files in the home directory shall do so in ours.
        .env("HOME", home)
        .env("PATH", format!("{own}:{path}:/usr/local/go/bin"))
        .env("NO_COLOR", "1")
        .current_dir(home)
        .stdin(Stdio::null())
        .output()
        .context("cannot start timeout(1)")?;
    ensure!(output.status.code() != Some(124), "`{command}` had not ended after {LIMIT_S} s");
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::{CASES, TOOLS};
    use std::collections::BTreeSet;

    #[test]
    fn fixtures_have_names_of_their_own() {
        let forms: BTreeSet<_> = TOOLS.iter().map(|tool| tool.form).collect();
        let cases: BTreeSet<_> = CASES.iter().map(|(name, _)| name).collect();
        assert_eq!((forms.len(), cases.len()), (TOOLS.len(), CASES.len()));
    }
}
