//! The programs of Kubernetes, which Debian does not have: built by Go as one, from the modules that its own `go.sum` names.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};

use xtask::workspace::{self, printed};

const VERSION: &str = "v1.34.4";
/// Where the module that has them built is, in the repository.
const MODULE: &str = "crates/lab/kubernetes";

/// Path of the binary, which is built if it is not there: 10 minutes of CPU time the first time.
pub(super) fn ensure() -> Result<PathBuf> {
    let folder = workspace::target().join("kubernetes");
    let binary = folder.join(format!("kubernetes-{VERSION}"));
    if binary.is_file() {
        return Ok(binary);
    }
    let Ok(go) = printed(Command::new("go").arg("version")) else {
        bail!("Go 1.24 or newer builds the programs of Kubernetes, and there is no `go` here");
    };
    eprintln!("building Kubernetes {VERSION} with {go}: 10 minutes of CPU time, once");
    fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
    let part = binary.with_extension("part");
    let version = "k8s.io/component-base/version";
    let flags = format!("-s -w -X {version}.gitVersion={VERSION} -X {version}.gitMajor=1 -X {version}.gitMinor=34");
    let mut go = Command::new("go");
    go.args(["build", "-trimpath", "-ldflags", &flags, "-o"]).arg(&part).arg(".");
    go.current_dir(workspace::root().join(MODULE))
        .env("CGO_ENABLED", "0")
        .env("GOFLAGS", "-mod=readonly -buildvcs=false");
    workspace::run(&mut go)?;
    fs::rename(&part, &binary).with_context(|| format!("writing {}", binary.display()))?;
    Ok(binary)
}

#[cfg(test)]
mod tests {
    use super::{MODULE, VERSION};
    use xtask::workspace;

    #[test]
    fn the_binary_is_named_for_the_modules_it_is_built_of() {
        let module = workspace::read(&format!("{MODULE}/go.mod")).unwrap();
        assert!(module.contains(&format!("k8s.io/kubernetes {VERSION}\n")), "another version is required");
        let staged = format!(" v0{}\n", &VERSION[2..]);
        let replaced: Vec<_> = module.lines().filter(|line| line.contains("=> k8s.io/")).collect();
        assert!(
            !replaced.is_empty() && replaced.iter().all(|line| format!("{line}\n").ends_with(&staged)),
            "{replaced:?}"
        );
    }
}
