//! Programs of other people: Debian packages, and what goes into a folder below `target`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Result;
use xtask::packages::{self, Tool};
use xtask::workspace;

/// Where a program comes from. All but packages goes below [`root`].
#[derive(Clone, Copy)]
pub(crate) enum Origin {
    /// Debian packages.
    Debian(&'static [Tool]),
    /// PyPI, into one virtual environment; programs are in [`python`].
    PyPi(&'static [&'static str]),
    /// npm, into the folder.
    Npm(&'static [&'static str]),
    /// Go modules of the program in the folder; `go build` makes `server`.
    Go(&'static [&'static str]),
    /// A Go program with its package and version; it goes into [`go`].
    GoProgram(&'static str, &'static str),
    /// crates.io; the program goes into [`crates`].
    Crates(&'static str),
    /// It is there when plimsoll can be built and tested.
    Here,
}

/// Everything that is installed.
pub(crate) fn root() -> PathBuf {
    workspace::target().join("servers")
}

/// Programs of the virtual environment.
pub(crate) fn python() -> PathBuf {
    root().join("python/bin")
}

/// Programs from crates.io.
pub(crate) fn crates() -> PathBuf {
    root().join("crates/bin")
}

/// Go programs.
pub(crate) fn go() -> PathBuf {
    root().join("go/bin")
}

impl Origin {
    /// The source in a word.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Debian(_) => "Debian",
            Self::PyPi(_) => "PyPI",
            Self::Npm(_) => "npm",
            Self::Go(_) | Self::GoProgram(..) => "Go",
            Self::Crates(_) => "crates.io",
            Self::Here => "-",
        }
    }

    /// Installs what is missing, for a program whose files are in `folder`.
    pub(crate) fn install(self, folder: &Path) -> Result<()> {
        match self {
            Self::Here => Ok(()),
            Self::Debian(tools) => packages::ensure(tools),
            Self::PyPi(names) => {
                if !python().join("pip").is_file() {
                    workspace::run(Command::new("python3").args(["-m", "venv"]).arg(root().join("python")))?;
                }
                workspace::run(Command::new(python().join("pip")).args(["install", "--quiet"]).args(names))
            }
            Self::Npm(names) if names.iter().all(|name| folder.join("node_modules").join(name).is_dir()) => Ok(()),
            Self::Npm(names) => {
                let mut npm = Command::new("npm");
                npm.args(["install", "--silent", "--no-fund", "--no-audit", "--prefix"]).arg(folder);
                workspace::run(npm.args(names).current_dir(folder))
            }
            Self::Go(_) if folder.join("server").is_file() => Ok(()),
            Self::Go(modules) => {
                if !folder.join("go.mod").is_file() {
                    run_go(&["mod", "init", "server"], folder)?;
                }
                modules.iter().try_for_each(|module| run_go(&["get", module], folder))?;
                run_go(&["build", "-o", "server", "."], folder)
            }
            Self::GoProgram(name, _) if go().join(name).is_file() => Ok(()),
            Self::GoProgram(_, package) => run_go(&["install", package], folder),
            Self::Crates(name) if crates().join(name).is_file() => Ok(()),
            Self::Crates(name) => {
                eprintln!("cargo install {name} (once, some minutes)");
                let mut cargo = workspace::cargo(&["install", "--quiet", "--locked", name, "--root"]);
                workspace::run(cargo.arg(root().join("crates")).stdin(Stdio::null()))
            }
        }
    }
}

fn run_go(arguments: &[&str], folder: &Path) -> Result<()> {
    let program = packages::find("go").unwrap_or_else(|| "/usr/local/go/bin/go".into());
    workspace::run(Command::new(program).args(arguments).env("GOPATH", root().join("go")).current_dir(folder))
}
