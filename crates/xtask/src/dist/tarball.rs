//! The archive of a platform with the binary, its manual pages and its completions: for unpacking by hand, and for
//! `cargo binstall`, which finds it by the template in the manifest of `plimsoll`.

use std::io;

use super::about::About;
use super::archive::{File, tar_gz};
use crate::platform::Platform;

/// Name of the folder in it; the file has the same with [`EXTENSION`].
pub(super) fn name(platform: &Platform, about: &About) -> String {
    format!("plimsoll-{}-{}", about.version, platform.triple)
}

pub(super) const EXTENSION: &str = ".tar.gz";

/// The archive of a platform.
pub(super) fn pack(
    platform: &Platform,
    about: &About,
    program: Vec<u8>,
    documents: Vec<File>,
    epoch_s: u64,
) -> io::Result<Vec<u8>> {
    let folder = name(platform, about);
    let files = std::iter::once(File::program("plimsoll", program)).chain(documents);
    tar_gz(&files.map(|file| file.below(&folder)).collect::<Vec<_>>(), epoch_s)
}

#[cfg(test)]
mod tests {
    use super::{EXTENSION, name, pack};
    use crate::dist::about::About;
    use crate::dist::archive::tests::{EPOCH_S, unpacked_gz};
    use crate::platform::{PLATFORMS, Platform};
    use xtask::workspace;

    /// A template of cargo-binstall as it fills it in for a platform; the address of the repository is left out.
    fn filled_in(template: &str, platform: &Platform, about: &About) -> String {
        let values = [
            ("{ name }", "plimsoll"),
            ("{ bin }", "plimsoll"),
            ("{ version }", &about.version),
            ("{ target }", platform.triple),
            ("{ archive-suffix }", EXTENSION),
            ("{ binary-ext }", ""),
        ];
        values.into_iter().fold(template.to_owned(), |text, (name, value)| text.replace(name, value))
    }

    #[test]
    fn cargo_binstall_finds_the_archive_and_the_binary_in_it() {
        let manifest: toml::Table = workspace::read("crates/plimsoll/Cargo.toml").unwrap().parse().unwrap();
        let binstall = &manifest["package"]["metadata"]["binstall"];
        let about = About::read(&workspace::root()).unwrap();
        for platform in &PLATFORMS {
            let filled_in = |key: &str| filled_in(binstall[key].as_str().unwrap(), platform, &about);
            let address = format!("{{ repo }}/releases/download/v{}/", about.version);
            assert_eq!(filled_in("pkg-url"), format!("{address}{}{EXTENSION}", name(platform, &about)));
            let archive = pack(platform, &about, b"program".to_vec(), Vec::new(), EPOCH_S).unwrap();
            assert_eq!(unpacked_gz(&archive)[&filled_in("bin-dir")], (0o755, b"program".to_vec()));
        }
        assert_eq!(binstall["pkg-fmt"].as_str(), Some("tgz"));
    }
}
