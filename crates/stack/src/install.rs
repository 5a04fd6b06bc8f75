//! Installation of what a server needs.

use crate::error::{Missing, StackError};
use crate::servers::print_config;
use crate::spec::Spec;
use packages::Apt;
use rustix::process::geteuid;
use std::path::Path;

/// Packages that bring others are seen to be missing one after the other; more rounds than that are a fault.
const ROUNDS: usize = 4;

/// Installs the Debian packages that `spec` lacks; starts no service of theirs. Returns their names.
///
/// # Errors
/// If there are some and we are not root, or if apt-get fails.
pub fn install(spec: &Spec, own_program: &Path) -> Result<Vec<&'static str>, StackError> {
    let mut installed = Vec::new();
    for _ in 0..ROUNDS {
        let missing = match print_config(spec, own_program) {
            Err(StackError::Missing(missing)) => missing,
            other => return other.map(|_| installed),
        };
        let packages = names(&missing);
        if !geteuid().is_root() {
            return Err(StackError::Wrong(format!(
                "only root can install packages: apt-get install {}",
                packages.join(" ")
            )));
        }
        fetch(&packages)
            .map_err(|reason| StackError::Machine { doing: format!("install {}", packages.join(" ")), reason })?;
        installed.extend(packages);
    }
    print_config(spec, own_program).map(|_| installed)
}

/// The packages, each once.
fn names(missing: &[Missing]) -> Vec<&'static str> {
    let mut names: Vec<&str> = missing.iter().map(|missing| missing.package).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// The lists of packages may be older than what they name.
fn fetch(packages: &[&str]) -> Result<(), String> {
    let apt = Apt::begin().map_err(|error| format!("services cannot be kept from starting: {error}"))?;
    apt.install(packages).or_else(|_| {
        // What is wrong is said by what follows.
        let _ = apt.update();
        apt.install(packages)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_that_brings_two_things_is_installed_once() {
        let of = |program: &str, package| Missing { program: program.into(), package };
        assert_eq!(names(&[of("b", "two"), of("a", "one"), of("c", "two")]), ["one", "two"]);
    }

    #[test]
    fn nothing_is_installed_when_nothing_is_missing() {
        let spec = Spec::parse("-- sh").expect("a command");
        assert_eq!(install(&spec, Path::new("/nonexistent")).expect("it is there"), Vec::<&str>::new());
    }
}
