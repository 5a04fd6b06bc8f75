//! Extensions of PHP: where Debian has them, and which it loads.

use crate::error::StackError;
use crate::place::{Place, Source};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Where Debian has the extensions of PHP, in a folder for each version.
const EXTENSIONS: &str = "/usr/lib/php";
/// Where it has the configuration of each version.
const CONFIGURATIONS: &str = "/etc/php";

/// The file of an extension, where Debian has them; of others nobody knows where they are.
pub(in crate::servers) fn extension(name: &str, package: &'static str, place: &Place) -> Result<PathBuf, StackError> {
    extension_in(Path::new(EXTENSIONS), name, package, place)
}

fn extension_in(folder: &Path, name: &str, package: &'static str, place: &Place) -> Result<PathBuf, StackError> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let is_version = |name: &OsStr| name.to_string_lossy().bytes().all(|byte| byte.is_ascii_digit());
    let versions: Vec<PathBuf> =
        entries.filter(|entry| is_version(&entry.file_name())).map(|entry| entry.path()).collect();
    let files = versions.iter().map(|version| version.join(format!("{name}.so")));
    match files.clone().find(|file| file.is_file()).or_else(|| files.clone().next()) {
        Some(file) => place.file(file, package),
        None if place.source == Source::Nothing => place.file(folder.join(name), package),
        None => Ok(folder.to_owned()),
    }
}

/// True if php-fpm loads the extension without being told, as Debian has it after an installation: PHP warns of one that it is
/// to load twice.
pub(super) fn is_loaded(name: &str, program: &Path, place: &Place) -> bool {
    place.source != Source::Installed || is_loaded_in(Path::new(CONFIGURATIONS), name, program)
}

fn is_loaded_in(configurations: &Path, name: &str, program: &Path) -> bool {
    let program = program.file_name().unwrap_or_default().to_string_lossy();
    let version = program.trim_start_matches("php-fpm");
    let names = |folder: &Path| {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect::<Vec<_>>()
    };
    let versions = if version.is_empty() { names(configurations) } else { vec![version.to_owned()] };
    let file = format!("{name}.ini");
    let is_its = |found: &String| found.trim_start_matches(|c: char| c.is_ascii_digit() || c == '-') == file;
    versions.iter().any(|version| names(&configurations.join(version).join("fpm/conf.d")).iter().any(is_its))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::Spec;

    #[test]
    fn an_extension_is_looked_for_where_debian_has_them() {
        let folder = tempfile::tempdir().expect("a directory");
        let place = Place::example(&Spec::parse("wordpress").expect("known").settings, "/nonexistent".into());
        let place = &place.expect("a place");
        let mysqli = || extension_in(folder.path(), "mysqli", "php-mysql", place);
        assert!(mysqli().is_ok(), "another system");
        std::fs::create_dir(folder.path().join("20220829")).expect("a directory in it");
        let error = mysqli().expect_err("not there").to_string();
        assert!(error.contains("20220829/mysqli.so is not installed: apt-get install php-mysql"), "{error}");
        std::fs::write(folder.path().join("20220829/mysqli.so"), "").expect("a file");
        assert!(mysqli().is_ok());
    }

    #[test]
    fn an_extension_is_loaded_by_the_version_that_is_told_to() {
        let folder = tempfile::tempdir().expect("a directory");
        for (version, file) in [("8.2", "20-excimer.ini"), ("8.4", "20-excimers.ini")] {
            let conf = folder.path().join(version).join("fpm/conf.d");
            std::fs::create_dir_all(&conf).and_then(|()| std::fs::write(conf.join(file), "")).expect("a file");
        }
        let is_loaded = |program| is_loaded_in(folder.path(), "excimer", Path::new(program));
        assert!(is_loaded("/usr/sbin/php-fpm8.2") && is_loaded("/usr/sbin/php-fpm"));
        assert!(!is_loaded("/usr/sbin/php-fpm8.4") && !is_loaded("/usr/sbin/php-fpm8.3"));
    }
}
