//! Installation of what a server needs.

use crate::error::{Missing, StackError};
use crate::servers::print_config;
use crate::spec::Spec;
use packages::Apt;
use rustix::process::geteuid;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Installs the Debian packages that `spec` lacks; starts no service of theirs. Returns their names. `stop` ends it early,
/// when it is set by a signal that apt-get gets too.
///
/// # Errors
/// If there are some and we are not root, if apt-get fails, or if `stop` is set before all are there.
pub fn install(spec: &Spec, own_program: &Path, stop: &AtomicBool) -> Result<Vec<&'static str>, StackError> {
    install_by(spec, own_program, stop, |packages| fetch(packages, stop))
}

/// The same by any way to get packages.
fn install_by(
    spec: &Spec,
    own_program: &Path,
    stop: &AtomicBool,
    mut fetch: impl FnMut(&[&'static str]) -> Result<(), StackError>,
) -> Result<Vec<&'static str>, StackError> {
    let mut installed = Vec::new();
    loop {
        let missing = match print_config(spec, own_program) {
            Err(StackError::Missing(missing)) => missing,
            other => return other.map(|_| installed),
        };
        let packages = names(&missing);
        // What one package brings shows what others lack; what was installed and is missing still is somewhere else.
        if packages.iter().all(|package| installed.contains(package)) {
            return Err(StackError::Missing(missing));
        }
        let fetched = fetch(&packages);
        if stop.load(Ordering::Relaxed) {
            return Err(StackError::Interrupted);
        }
        fetched?;
        installed.extend(packages);
    }
}

/// The packages, each once.
fn names(missing: &[Missing]) -> Vec<&'static str> {
    let mut names: Vec<&str> = missing.iter().map(|missing| missing.package).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Installs packages. The lists of packages may be older than what they name.
fn fetch(packages: &[&str], stop: &AtomicBool) -> Result<(), StackError> {
    let all = packages.join(" ");
    if !geteuid().is_root() {
        return Err(StackError::Wrong(format!("only root can install packages: apt-get install {all}")));
    }
    let failed = |reason: String| StackError::Machine { doing: format!("install {all}"), reason };
    let apt = Apt::begin().map_err(|error| failed(format!("services cannot be kept from starting: {error}")))?;
    let installed = apt.install(packages).or_else(|error| {
        if stop.load(Ordering::Relaxed) {
            return Err(error);
        }
        // What is wrong is said by what follows.
        let _ = apt.update();
        apt.install(packages)
    });
    installed.map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nothing ends it early.
    static STAYS: AtomicBool = AtomicBool::new(false);

    #[test]
    fn a_package_that_brings_two_things_is_installed_once() {
        let of = |program: &str, package| Missing { program: program.into(), package };
        assert_eq!(names(&[of("b", "two"), of("a", "one"), of("c", "two")]), ["one", "two"]);
    }

    /// An Apache whose modules are in `folder`; its program is there on every system.
    fn apache(folder: &Path) -> Spec {
        Spec::parse(&format!("apache binary=/bin/sh modules={}", folder.display())).expect("known")
    }

    #[test]
    fn what_a_package_brings_is_used_and_what_it_does_not_bring_is_named() {
        let folder = tempfile::tempdir().expect("a directory");
        let spec = apache(folder.path());
        let mut fetched = Vec::new();
        let missing = install_by(&spec, Path::new("/nonexistent"), &STAYS, |packages| {
            fetched.extend_from_slice(packages);
            Ok(())
        });
        let error = missing.expect_err("it brought nothing").to_string();
        assert!(error.contains("mod_mpm_event.so is not installed: apt-get install apache2-bin"), "{error}");
        assert_eq!(fetched, ["apache2-bin"], "it is installed once");
        let bring = |_: &[&'static str]| {
            for name in ["mpm_event", "authz_core", "mime", "dir", "status"] {
                std::fs::write(folder.path().join(format!("mod_{name}.so")), "").expect("a file");
            }
            Ok(())
        };
        let installed = install_by(&spec, Path::new("/nonexistent"), &STAYS, bring);
        assert_eq!(installed.expect("all is there"), ["apache2-bin"]);
    }

    /// ^C went to apt-get alone, or ended plimsoll while services were kept from starting.
    #[test]
    fn an_installation_that_is_interrupted_is_not_tried_again() {
        let folder = tempfile::tempdir().expect("a directory");
        let (stop, mut tries) = (AtomicBool::new(false), 0);
        let interrupted = install_by(&apache(folder.path()), Path::new("/nonexistent"), &stop, |_| {
            tries += 1;
            stop.store(true, Ordering::Relaxed);
            Err(StackError::Machine { doing: "install".into(), reason: "apt-get ended with signal: 2".into() })
        });
        assert!(matches!(interrupted, Err(StackError::Interrupted)), "{interrupted:?}");
        assert_eq!(tries, 1);
    }

    #[test]
    fn why_packages_cannot_be_had_is_told() {
        let folder = tempfile::tempdir().expect("a directory");
        let fails = |packages: &[&'static str]| {
            let doing = format!("install {}", packages.join(" "));
            Err(StackError::Machine { doing, reason: "E: Unable to locate package".into() })
        };
        let spec = apache(folder.path());
        let error = install_by(&spec, Path::new("/nonexistent"), &STAYS, fails).expect_err("no package");
        assert_eq!(error.to_string(), "cannot install apache2-bin: E: Unable to locate package");
        assert!(error.is_usage());
    }

    #[test]
    fn nothing_is_installed_when_nothing_is_missing() {
        let spec = Spec::parse("-- sh").expect("a command");
        assert_eq!(install(&spec, Path::new("/nonexistent"), &STAYS).expect("it is there"), Vec::<&str>::new());
    }
}
