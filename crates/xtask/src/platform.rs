//! Platforms of a release, and what a build for each needs.
//!
//! All are of musl: a binary with glibc in it still loads libraries of the machine to find a host (nsswitch.conf), and these
//! have to be of the same glibc. musl asks DNS and /etc/hosts by itself, and its licence (MIT) has no conditions on linking.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use xtask::packages::{self, Tool};
use xtask::workspace::{self, printed};

/// A processor with the static C library.
pub(crate) struct Platform {
    /// The name that rustc has for it.
    pub(crate) triple: &'static str,
    /// The name that Debian and container images have for its processor.
    pub(crate) architecture: &'static str,
    /// The name that Node.js has for its processor.
    pub(crate) node: &'static str,
    /// Begin of the names of Debian's compilers for it on another processor.
    prefix: &'static str,
    /// Such a compiler and its headers.
    cross: [Tool; 2],
}

/// All that releases are made for.
pub(crate) static PLATFORMS: [Platform; 2] = [
    Platform {
        triple: "x86_64-unknown-linux-musl",
        architecture: "amd64",
        node: "x64",
        prefix: "x86_64-linux-gnu-",
        cross: [
            Tool::new("x86_64-linux-gnu-gcc", &["gcc-x86-64-linux-gnu"]),
            Tool::new("/usr/x86_64-linux-gnu/include/stdint.h", &["libc6-dev-amd64-cross"]),
        ],
    },
    Platform {
        triple: "aarch64-unknown-linux-musl",
        architecture: "arm64",
        node: "arm64",
        prefix: "aarch64-linux-gnu-",
        cross: [
            Tool::new("aarch64-linux-gnu-gcc", &["gcc-aarch64-linux-gnu"]),
            Tool::new("/usr/aarch64-linux-gnu/include/stdint.h", &["libc6-dev-arm64-cross"]),
        ],
    },
];

impl Platform {
    /// That of this machine's processor, whose binaries can be run here.
    pub(crate) fn own() -> Result<&'static Self> {
        let own = PLATFORMS.iter().find(|platform| platform.is_own());
        own.with_context(|| format!("no release is made on a processor of type {}", std::env::consts::ARCH))
    }

    pub(crate) fn is_own(&self) -> bool {
        self.processor() == std::env::consts::ARCH
    }

    /// The name that rustc and uname(1) have for its processor.
    pub(crate) fn processor(&self) -> &'static str {
        self.triple.split('-').next().unwrap_or(self.triple)
    }

    /// Installs what a build needs and is missing: the standard library, and a C compiler for another processor.
    pub(crate) fn prepare(&self) -> Result<()> {
        if !self.has_library()? {
            println!("     rustup target add {}", self.triple);
            printed(Command::new("rustup").args(["target", "add", self.triple]).current_dir(workspace::root()))
                .context("its standard library is not installed")?;
        }
        if self.is_own() { Ok(()) } else { packages::ensure(&self.cross) }
    }

    /// True if rustc has the standard library for it.
    fn has_library(&self) -> Result<bool> {
        let arguments = ["--print", "target-libdir", "--target", self.triple];
        let folder = printed(Command::new("rustc").args(arguments).current_dir(workspace::root()))?;
        Ok(Path::new(&folder).is_dir())
    }

    /// Variables with its C compiler, its archiver and its linker. musl is in the standard library; a compiler for glibc
    /// serves, as the C code in crates includes nothing that the two have differently.
    pub(crate) fn compilers(&self) -> [(String, String); 3] {
        let (compiler, archiver) = if self.is_own() {
            ("cc".to_owned(), "ar".to_owned())
        } else {
            (format!("{}gcc", self.prefix), format!("{}ar", self.prefix))
        };
        let name = self.triple.replace('-', "_");
        [
            (format!("CC_{name}"), compiler.clone()),
            (format!("AR_{name}"), archiver),
            (format!("CARGO_TARGET_{}_LINKER", name.to_uppercase()), compiler),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::{PLATFORMS, Platform};

    #[test]
    fn another_processor_has_compilers_of_its_own() {
        let own = Platform::own().unwrap();
        let compiler = |platform: &Platform| platform.compilers().map(|(_, program)| program);
        assert_eq!(compiler(own), ["cc", "ar", "cc"]);
        let other = PLATFORMS.iter().find(|platform| !platform.is_own()).unwrap();
        let programs = compiler(other);
        assert!(programs.iter().all(|program| program.starts_with(other.processor())), "{programs:?}");
        let names = PLATFORMS[1].compilers().map(|(name, _)| name);
        assert_eq!(names[0], "CC_aarch64_unknown_linux_musl");
        assert_eq!(names[2], "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_LINKER");
    }
}
