//! The bill of materials (SBOM) of the binary: CycloneDX JSON, by cargo-cyclonedx.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::release::FEATURES;
use crate::snapshot::{self, Snapshot};
use crate::tools;
use xtask::workspace;

const TOOL: &str = "cargo-cyclonedx";
/// The first that keeps to `SOURCE_DATE_EPOCH`: of one commit it writes the same file each time.
const TOOL_VERSION: &str = "0.5.9";
/// The name by which the format is recognised.
const FILE: &str = "plimsoll.cdx.json";

/// Writes `target/sbom/plimsoll.cdx.json`.
pub(crate) fn write() -> Result<()> {
    // Compiled: no wheel of it is known.
    let tool = tools::compiled(TOOL, TOOL_VERSION)?;
    let folder = workspace::target().join("sbom");
    snapshot::tell_changes()?;
    // The tool writes beside each manifest, which therefore are copies.
    let copy = Snapshot::at(&folder.join("sources"))?;
    let arguments = ["cyclonedx", "--quiet", "--format", "json", "--spec-version", "1.5"];
    let mut command = tools::cargo(&tool, &arguments)?;
    command.args(FEATURES);
    workspace::run(command.current_dir(&copy.root).env("SOURCE_DATE_EPOCH", copy.epoch_s.to_string()))?;
    let made = copy.root.join("crates/plimsoll").join(FILE);
    let text = fs::read_to_string(&made).with_context(|| format!("reading {}", made.display()))?;
    let file = folder.join(FILE);
    fs::write(&file, without_folder(&text, &copy.root)?).with_context(|| format!("writing {}", file.display()))?;
    println!("     written: {}", file.display());
    snapshot::clear(&copy.root)
}

/// The crates of the workspace named by their place in it, not by the folder that it was in.
fn without_folder(sbom: &str, root: &Path) -> Result<String> {
    const LOCAL: &str = "path+file://";
    let text = sbom.replace(&format!("{LOCAL}{}/", root.display()), &format!("{LOCAL}/"));
    let other = text.split(LOCAL).skip(1).find(|rest| !rest.starts_with("/crates/"));
    if let Some(place) = other.and_then(|rest| rest.lines().next()) {
        bail!("the SBOM names a folder of this machine: {place}");
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::without_folder;
    use std::path::Path;

    #[test]
    fn no_folder_of_the_machine_is_in_it() {
        let sbom = "{\"bom-ref\": \"path+file:///home/me/src/crates/model#0.1.0\",\n \
                    \"purl\": \"pkg:cargo/serde@1.0.229\",\n \"ref\": \"path+file:///home/me/src/crates/wire#0.1.0\"}";
        let text = without_folder(sbom, Path::new("/home/me/src")).unwrap();
        assert!(!text.contains("/home/me"), "{text}");
        assert!(text.contains("\"path+file:///crates/model#0.1.0\"") && text.contains("pkg:cargo/serde"), "{text}");
        let elsewhere = without_folder(sbom, Path::new("/home/you")).unwrap_err();
        assert!(elsewhere.to_string().ends_with("/home/me/src/crates/model#0.1.0\","), "{elsewhere}");
    }
}
