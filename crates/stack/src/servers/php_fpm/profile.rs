//! Samples of PHP functions: what php-fpm is told, and the script before each request.

use super::extension::{extension, is_loaded};
use crate::error::StackError;
use crate::extra::{Extra, Takes};
use crate::layout::Layout;
use crate::php_profile::{DEPTH_MAX, FILE_BYTES_MAX, FILES, FOLDER, PHP_SAMPLE_NS, SETTING, VALUES, clock};
use crate::place::Place;
use crate::spec::Spec;
use model::PhpClock;
use std::path::{Path, PathBuf};

pub(in crate::servers) const PHP_PROFILE: Extra = Extra {
    name: SETTING,
    default: VALUES[0],
    takes: Takes::Word(&VALUES),
    meaning: "PHP functions sampled by excimer, every 10 ms of CPU time or of real time: see plimsoll stack php-profile",
};

/// The extension and its package.
const EXTENSION: &str = "excimer";
const PACKAGE: &str = "php-excimer";
/// What runs before each request.
const SCRIPT: &str = "conf/php-profile.php";

/// What has to be installed for it. Of a PHP of the user's own nobody knows where its extensions are.
pub(in crate::servers) fn needed(spec: &Spec, place: &Place) -> Option<Result<PathBuf, StackError>> {
    clock(spec).filter(|_| place.binary.is_none()).map(|_| extension(EXTENSION, PACKAGE, place))
}

/// Adds it to a pool, if it is asked for.
pub(super) fn add(layout: Layout, spec: &Spec, place: &Place) -> Result<Layout, StackError> {
    let Some(clock) = clock(spec) else { return Ok(layout) };
    needed(spec, place).transpose()?;
    if spec.settings.config.is_some() {
        return Err(StackError::Wrong(format!("{SETTING} is of the generated configuration: leave out config")));
    }
    Ok(layout.file(SCRIPT, script(clock, spec, place)))
}

/// Settings of php-fpm's command line.
pub(super) fn arguments(spec: &Spec, program: &Path, place: &Place) -> Vec<String> {
    let is_told = clock(spec).is_some() && place.binary.is_none() && !is_loaded(EXTENSION, program, place);
    if is_told { vec!["-d".into(), format!("extension={EXTENSION}")] } else { Vec::new() }
}

/// A line of the pool; empty if it is not asked for.
pub(super) fn line(spec: &Spec, place: &Place) -> String {
    let line = |_| format!("php_admin_value[auto_prepend_file] = {}\n", place.text(SCRIPT));
    clock(spec).map(line).unwrap_or_default()
}

fn script(clock: PhpClock, spec: &Spec, place: &Place) -> String {
    let event = match clock {
        PhpClock::Cpu => "EXCIMER_CPU",
        PhpClock::Real => "EXCIMER_REAL",
    };
    // A path of the user's own may have any character.
    let root = place.docroot(&spec.settings).replace('\\', "\\\\").replace('\'', "\\'");
    let values = [
        ("{event}", event.to_owned()),
        ("{period_s}", (PHP_SAMPLE_NS as f64 / 1e9).to_string()),
        ("{depth}", DEPTH_MAX.to_string()),
        ("{folder}", place.text(&format!("tmp/{FOLDER}"))),
        ("{files}", FILES.to_string()),
        ("{bytes}", FILE_BYTES_MAX.to_string()),
        ("{root}", root),
    ];
    values.iter().fold(include_str!("php-profile.php.in").to_owned(), |text, (name, value)| text.replace(name, value))
}

#[cfg(test)]
mod tests {
    use super::super::configuration;
    use super::super::tests::of;
    use super::*;

    #[test]
    fn requests_are_sampled_where_that_is_asked_for() {
        let (spec, place) = of("php-fpm php_profile=cpu");
        let line = "php_admin_value[auto_prepend_file] = /tmp/plimsoll-state/conf/php-profile.php\n";
        assert!(configuration(&spec, &place).contains(line));
        insta::assert_snapshot!("script", script(PhpClock::Cpu, &spec, &place));
        let (spec, place) = of("php-fpm php_profile=off");
        assert!(!configuration(&spec, &place).contains("prepend") && needed(&spec, &place).is_none());
        assert!(arguments(&spec, Path::new("/usr/sbin/php-fpm0.0"), &place).is_empty());
    }

    #[test]
    fn an_extension_that_is_not_loaded_is_loaded() {
        let (spec, mut place) = of("php-fpm php_profile=real");
        let arguments = |place: &Place| arguments(&spec, Path::new("/usr/sbin/php-fpm0.0"), place);
        assert_eq!(arguments(&place), ["-d", "extension=excimer"]);
        assert!(script(PhpClock::Real, &spec, &place).contains("setEventType(EXCIMER_REAL);"));
        // Of another PHP nobody knows.
        place.binary = Some("/opt/php/sbin/php-fpm".into());
        assert!(arguments(&place).is_empty());
    }

    #[test]
    fn a_path_stays_a_text_of_the_script() {
        let (mut spec, place) = of("php-fpm php_profile=cpu");
        spec.settings.root = Some("/srv/it's \\ a site".into());
        let script = script(PhpClock::Cpu, &spec, &place);
        assert!(script.contains(r"str_replace(['/srv/it\'s \\ a site/', "), "{script}");
    }

    #[test]
    fn a_configuration_of_the_user_s_own_is_refused() {
        let (mut spec, mut place) = of("php-fpm php_profile=cpu");
        // Nobody knows where its extensions are.
        place.binary = Some("/bin/sh".into());
        let layout = add(Layout::default(), &spec, &place).expect("it can be");
        assert!(layout.files[0].0 == SCRIPT, "{layout:?}");
        spec.settings.config = Some("/etc/php-fpm.conf".into());
        let error = add(Layout::default(), &spec, &place).expect_err("both").to_string();
        assert_eq!(error, "php_profile is of the generated configuration: leave out config");
    }
}
