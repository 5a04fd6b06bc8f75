//! What has to be installed for WordPress.

use super::super::php_fpm::{self, extension};
use crate::error::StackError;
use crate::place::Place;
use crate::spec::Spec;
use std::path::{Path, PathBuf};

/// The directory that is copied.
pub(super) fn source(spec: &Spec) -> Result<PathBuf, StackError> {
    let path = Path::new(spec.extras.text("source"));
    std::path::absolute(path).map_err(|error| StackError::file("find", path, &error))
}

/// All that has to be installed.
pub(super) fn needed(spec: &Spec, place: &Place, source: &Path) -> Vec<Result<PathBuf, StackError>> {
    let (front, front_package) = match spec.extras.text("front") {
        "apache" => (&["apache2", "httpd"][..], "apache2-bin"),
        _ => (&["nginx"][..], "nginx-light"),
    };
    let mut needed = vec![place.helper(front, front_package), place.program(&php_fpm::PROGRAMS, "php-fpm"), php(place)];
    if place.binary.is_none() {
        needed.push(extension("mysqli", "php-mysql", place));
    }
    needed.extend(php_fpm::needed_for_profile(spec, place));
    match spec.extras.text("object_cache") {
        "redis" => {
            needed.push(extension("redis", "php-redis", place));
            needed.push(place.helper(&["redis-server"], "redis-server"));
        }
        "apcu" => needed.push(extension("apcu", "php-apcu", place)),
        _ => {}
    }
    if spec.extras.text("database") == "mariadb" {
        needed.push(place.helper(&["mariadbd"], "mariadb-server-core"));
    }
    needed.push(place.file(source.join("wp-load.php"), "wordpress"));
    needed.push(theme(place, source));
    needed
}

/// The first theme; without one WordPress gives an empty page.
fn theme(place: &Place, source: &Path) -> Result<PathBuf, StackError> {
    let themes = source.join("wp-content/themes");
    let entries = std::fs::read_dir(&themes).into_iter().flatten().flatten();
    let mut styles = entries.map(|entry| entry.path().join("style.css"));
    let first = styles.find(|style| style.is_file());
    place.file(first.unwrap_or_else(|| themes.join("*")), "wordpress-theme-twentytwentythree")
}

/// PHP for scripts, of the version that php-fpm has.
pub(super) fn php(place: &Place) -> Result<PathBuf, StackError> {
    let own = place.program(&php_fpm::PROGRAMS, "php-fpm").unwrap_or_default();
    let name = own.file_name().map(|name| name.to_string_lossy().replace("php-fpm", "php"));
    place.helper(&[name.as_deref().unwrap_or("php"), "php"], "php-cli")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::Source;
    use crate::programs;

    #[test]
    fn what_is_missing_is_named_at_once() {
        let empty = tempfile::tempdir().expect("a directory");
        let spec = Spec::parse("wordpress").expect("known");
        let place = Place::example(&spec.settings, "/nonexistent".into()).expect("a place");
        let error = programs::all(needed(&spec, &place, empty.path())).expect_err("there is no WordPress").to_string();
        let said = format!("{}/wp-load.php, {0}/wp-content/themes/* are not installed", empty.path().display());
        assert!(error.contains(&said) && error.contains("wordpress wordpress-theme-twentytwentythree"), "{error}");
        assert_eq!(error.lines().count(), 1);
    }

    #[test]
    fn what_a_setting_needs_is_among_it() {
        let packages = |text: &str| {
            let spec = Spec::parse(text).expect("known");
            let place = Place::example(&spec.settings, "/nonexistent".into()).expect("a place");
            let place = Place { source: Source::Nothing, ..place };
            let error = programs::all(needed(&spec, &place, Path::new("/nonexistent"))).expect_err("all is missing");
            error.to_string()
        };
        assert!(packages("wordpress php_profile=cpu").contains(" php-excimer "));
        let without = packages("wordpress object_cache=apcu");
        assert!(without.contains(" php-apcu ") && !without.contains("excimer"), "{without}");
    }
}
