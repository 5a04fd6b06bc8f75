//! The npm package: the binary itself is the command, so nothing is downloaded or run when it is installed.

use std::io;

use serde_json::{Value, json};

use super::about::About;
use super::archive::{File, tar_gz};
use crate::platform::Platform;

/// Folder of all files, as npm has it in its packages.
const FOLDER: &str = "package";
const PROGRAM: &str = "bin/plimsoll";

/// Name of the file.
pub(super) fn name(platform: &Platform, about: &About) -> String {
    format!("plimsoll-{}-linux-{}.tgz", about.version, platform.node)
}

/// The package of a platform: the binary, and the documents beside it.
pub(super) fn pack(
    platform: &Platform,
    about: &About,
    program: Vec<u8>,
    documents: Vec<File>,
    epoch_s: u64,
) -> io::Result<Vec<u8>> {
    let manifest = format!("{:#}\n", manifest(platform, about));
    let own = [File::document("package.json", manifest), File::program(PROGRAM, program)];
    let files: Vec<File> = own.into_iter().chain(documents).map(|file| file.below(FOLDER)).collect();
    tar_gz(&files, epoch_s)
}

/// npm refuses the package on another system or processor.
fn manifest(platform: &Platform, about: &About) -> Value {
    json!({
        "name": "plimsoll",
        "version": about.version,
        "description": about.description,
        "license": about.licence,
        "keywords": about.keywords,
        "bin": { "plimsoll": PROGRAM },
        "os": ["linux"],
        "cpu": [platform.node],
    })
}

#[cfg(test)]
mod tests {
    use super::{name, pack};
    use crate::dist::about::About;
    use crate::dist::archive::File;
    use crate::dist::archive::tests::{EPOCH_S, unpacked_gz};
    use crate::platform::PLATFORMS;
    use serde_json::Value;

    #[test]
    fn the_command_of_the_package_is_the_binary_and_npm_knows_its_platform() {
        let about = About {
            version: "0.1.0".to_owned(),
            description: "a".to_owned(),
            licence: "MIT OR Apache-2.0".to_owned(),
            keywords: vec!["benchmark".to_owned()],
        };
        let [intel, arm] = &PLATFORMS;
        assert_eq!(name(intel, &about), "plimsoll-0.1.0-linux-x64.tgz");
        assert_eq!(name(arm, &about), "plimsoll-0.1.0-linux-arm64.tgz");
        let packed = || {
            let documents = vec![File::document("LICENSE-MIT", "licence")];
            pack(arm, &about, b"program".to_vec(), documents, EPOCH_S).unwrap()
        };
        assert_eq!(packed(), packed());
        let files = unpacked_gz(&packed());
        assert_eq!(files["package/LICENSE-MIT"].1, b"licence");
        let manifest: Value = serde_json::from_slice(&files["package/package.json"].1).unwrap();
        let program = manifest["bin"]["plimsoll"].as_str().unwrap();
        assert_eq!(files[&format!("package/{program}")], (0o755, b"program".to_vec()));
        assert_eq!((&manifest["version"], &manifest["cpu"][0]), (&"0.1.0".into(), &"arm64".into()));
    }
}
