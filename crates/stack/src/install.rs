//! Installation of what a server needs.

use crate::error::{Missing, StackError};
use crate::servers::print_config;
use crate::spec::Spec;
use packages::Apt;
use rustix::process::geteuid;
use std::path::Path;

/// Installs the Debian packages that `spec` lacks; starts no service of theirs. Returns their names.
///
/// # Errors
/// If there are some and we are not root, or if apt-get fails.
pub fn install(spec: &Spec, own_program: &Path) -> Result<Vec<&'static str>, StackError> {
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
        fetch(&packages)?;
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
fn fetch(packages: &[&str]) -> Result<(), StackError> {
    let all = packages.join(" ");
    if !geteuid().is_root() {
        return Err(StackError::Wrong(format!("only root can install packages: apt-get install {all}")));
    }
    let failed = |reason: String| StackError::Machine { doing: format!("install {all}"), reason };
    let apt = Apt::begin().map_err(|error| failed(format!("services cannot be kept from starting: {error}")))?;
    let installed = apt.install(packages).or_else(|_| {
        // What is wrong is said by what follows.
        let _ = apt.update();
        apt.install(packages)
    });
    installed.map_err(failed)
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
