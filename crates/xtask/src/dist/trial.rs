//! What was made is installed in a folder of its own, as its users install it, and measures the built-in server for a second.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::release::features;
use crate::snapshot;
use xtask::packages;
use xtask::workspace::printed;

/// Exit codes with a verdict: valid or a bound, and invalid, which a window of a second always is.
const WITH_VERDICT: [i32; 2] = [0, 4];
const VERDICTS: [&str; 3] = ["VALID", "BOUND", "INVALID"];

/// A way to install a file of the release.
struct Way {
    /// End of the name of the file.
    ending: &'static str,
    /// The program that installs it, which need not be on this machine.
    installer: &'static str,
    /// Commands of sh(1) with the file as `$1` and an empty folder as `$2`.
    script: &'static str,
    /// Where the program is below that folder afterwards.
    program: &'static str,
    /// A document that is there as well; none where the tool installs programs only.
    document: Option<&'static str>,
}

const WAYS: [Way; 6] = [
    Way {
        ending: "-unknown-linux-musl.tar.gz",
        installer: "tar",
        script: "tar --extract --gzip --strip-components 1 --directory \"$2\" --file \"$1\"",
        program: "plimsoll",
        document: Some("man/plimsoll-sweep.1"),
    },
    Way {
        ending: ".deb",
        installer: "dpkg-deb",
        script: "dpkg-deb --extract \"$1\" \"$2\"",
        program: "usr/bin/plimsoll",
        document: Some("usr/share/doc/plimsoll/book/docs/guide/first-test.html"),
    },
    Way {
        ending: ".whl",
        installer: "python3",
        script: "python3 -m venv \"$2\" && \"$2/bin/pip\" install --quiet --no-index \"$1\"",
        program: "bin/plimsoll",
        document: None,
    },
    Way {
        ending: ".whl",
        installer: "uv",
        script: "UV_TOOL_BIN_DIR=\"$2\" uv tool install --quiet --offline \"$1\"",
        program: "plimsoll",
        document: None,
    },
    Way {
        ending: ".tgz",
        installer: "npm",
        script: "npm install --silent --offline --no-audit --no-fund --prefix \"$2\" \"$1\"",
        program: "node_modules/.bin/plimsoll",
        document: Some("node_modules/plimsoll/THIRD-PARTY-LICENCES.txt"),
    },
    Way {
        ending: ".tgz",
        installer: "npx",
        script: "cd \"$2\" && npx --yes --offline --package \"$1\" -c 'cp \"$(command -v plimsoll)\" plimsoll'",
        program: "plimsoll",
        document: None,
    },
];

/// Tries the files of this machine's platform, each of which stands alone, in a folder that is cleared. One that cannot be
/// tried here is named.
pub(super) fn run(files: &[PathBuf], version: &str, folder: &Path) -> Result<()> {
    for way in &WAYS {
        let file = files.iter().find(|file| file.to_string_lossy().ends_with(way.ending));
        let file = file.with_context(|| format!("no file *{} was made", way.ending))?;
        let name = file.file_name().unwrap_or_default().display();
        if packages::find(way.installer).is_none() {
            println!("     {name} was not tried with {0}: {0} is not installed", way.installer);
            continue;
        }
        way.try_out(file, version, folder).with_context(|| format!("{name} with {}", way.installer))?;
        println!("     {name} was installed with {}, and the program measures", way.installer);
    }
    snapshot::clear(folder)
}

impl Way {
    /// Installs the file, and has the program measure.
    fn try_out(&self, file: &Path, version: &str, folder: &Path) -> Result<()> {
        snapshot::clear(folder)?;
        fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
        // The caches of installers are there: a binary of an earlier release is in none of them.
        let mut install = Command::new("sh");
        install.args(["-c", self.script, "sh"]).args([file, folder]).current_dir(folder).env("HOME", folder);
        printed(&mut install)?;
        if let Some(document) = self.document {
            ensure!(folder.join(document).is_file(), "{document} was not installed");
        }
        let program = folder.join(self.program);
        let said = printed(Command::new(&program).arg("-V"))?;
        ensure!(said == format!("plimsoll {version}"), "`plimsoll -V` says {said:?}");
        let described = printed(Command::new(&program).arg("--version"))?;
        let missing: Vec<_> = features().filter(|feature| !described.contains(feature)).collect();
        ensure!(missing.is_empty(), "`plimsoll --version` says {described:?}, without the feature {missing:?}");
        measure(Command::new(&program).args(["run", "--duration", "1s"]).current_dir(folder))
    }
}

/// Fails unless a measurement ends with a verdict, which is the first word of what it prints.
fn measure(command: &mut Command) -> Result<()> {
    let output = command.stdin(Stdio::null()).output().context("starting the measurement")?;
    let said = String::from_utf8_lossy(&output.stdout);
    let is_verdict = said.split_whitespace().next().is_some_and(|word| VERDICTS.contains(&word));
    let has_verdict = is_verdict && output.status.code().is_some_and(|code| WITH_VERDICT.contains(&code));
    let first = said.lines().next().unwrap_or_default();
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(has_verdict, "no verdict, but {}: {first} {}", output.status, errors.trim());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Way, measure};
    use std::path::Path;
    use std::process::Command;

    fn tried(program: &str, document: Option<&'static str>) -> Result<(), String> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("made");
        std::fs::write(&file, program).unwrap();
        let script = "cp \"$1\" \"$2/plimsoll\" && chmod +x \"$2/plimsoll\"";
        let way = Way { ending: "made", installer: "cp", script, program: "plimsoll", document };
        let place: &Path = &folder.path().join("place");
        way.try_out(&file, "0.1.0", place).map_err(|error| format!("{error:#}"))
    }

    #[test]
    fn what_is_installed_has_to_be_of_the_release_and_to_measure() {
        let number = "#!/bin/sh\n[ \"$1\" != -V ] || { echo plimsoll 0.1.0; exit; }\n";
        let version =
            format!("{number}[ \"$1\" != --version ] || {{ echo 'plimsoll 0.1.0 (1a, musl, kubernetes)'; exit; }}\n");
        assert_eq!(tried(&format!("{version}echo 'INVALID too short'; exit 4"), None), Ok(()));
        let broken = tried(&format!("{version}echo 'no such file' >&2; exit 3"), None).unwrap_err();
        assert!(broken.contains("exit status: 3") && broken.ends_with("no such file"), "{broken}");
        let older = tried("#!/bin/sh\necho plimsoll 0.0.9\n", None).unwrap_err();
        assert!(older.contains("plimsoll 0.0.9"), "{older}");
        let other = tried(&format!("{number}echo 'plimsoll 0.1.0 (1a, musl)'"), None).unwrap_err();
        assert!(other.ends_with("without the feature [\"kubernetes\"]"), "{other}");
        let bare = tried(&version, Some("man/plimsoll.1")).unwrap_err();
        assert_eq!(bare, "man/plimsoll.1 was not installed");
    }

    #[test]
    fn a_text_that_is_no_verdict_is_none() {
        let said = measure(Command::new("sh").args(["-c", "echo hello"])).unwrap_err().to_string();
        assert!(said.starts_with("no verdict, but exit status: 0: hello"), "{said}");
    }
}
