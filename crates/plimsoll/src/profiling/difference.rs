//! What changed from one profiled load to another: read from stored results, and written as files.

use super::php::PHP_FOLDED;
use super::{FOLDED, is_file_itself, write_file};
use crate::exit::CommandError;
use crate::store::private;
use input::text_at_most;
use model::{FunctionChange, Profiled};
use report::flame::{self, Difference, PhpSide, Side, difference};
use report::record::{PROFILES_FOLDER, difference_stem, php_difference_stem};
use std::path::{Path, PathBuf};

/// Largest file of stacks.
const FOLDED_MAX_BYTES: u64 = 256 << 20;

/// One of two profiled loads.
pub(crate) struct Half {
    pub(crate) name: String,
    folded: String,
    /// Stacks of PHP functions, where the server samples them.
    php: Option<String>,
    pub(crate) profiled: Profiled,
    sample_us_per_good: f64,
}

impl Half {
    /// None where there was no good response that CPU time could be related to.
    pub(crate) fn new(name: String, folded: String, php: Option<String>, profiled: Profiled) -> Option<Self> {
        let sample_us_per_good = profiled.sample_us_per_good_request?;
        Some(Self { name, folded, php, profiled, sample_us_per_good })
    }

    /// That of a stored result in `directory`, whose stacks lie beside its figures.
    pub(crate) fn stored(directory: &Path, name: String, profiled: Profiled) -> Result<Self, CommandError> {
        let path = directory.join(FOLDED);
        let folded = stacks(&path).map_err(|why| CommandError::usage(format!("{}: {why}", path.display())))?;
        // The difference of the others is whole without.
        let php = profiled.php.as_ref().and_then(|_| stacks(&directory.join(PHP_FOLDED)).ok());
        Self::new(name, folded, php, profiled).ok_or_else(|| {
            CommandError::usage(format!(
                "{}: no good response while it was profiled, so there is nothing to relate CPU time to",
                directory.display()
            ))
        })
    }

    /// True if its server samples PHP functions.
    pub(crate) const fn has_php(&self) -> bool {
        self.php.is_some()
    }

    fn php_side(&self) -> Option<PhpSide<'_>> {
        Some(PhpSide {
            name: &self.name,
            folded: self.php.as_deref()?,
            clock: self.profiled.php.as_ref()?.clock,
            sample_us_per_good: self.profiled.php_sample_us_per_good()?,
        })
    }

    pub(crate) fn side(&self) -> Side<'_> {
        Side {
            name: &self.name,
            folded: &self.folded,
            profiled: &self.profiled,
            sample_us_per_good: self.sample_us_per_good,
        }
    }
}

/// What has changed of PHP functions; none where one of both does not sample them, or has not sampled all.
pub(crate) fn php_difference(before: &Half, after: &Half) -> Option<Difference> {
    flame::php_difference(before.php_side()?, after.php_side()?)
}

/// The PHP functions whose share changed; none where there is no difference of them.
pub(crate) fn php_function_changes(before: &Half, after: &Half) -> Vec<FunctionChange> {
    let both = before.php_side().zip(after.php_side());
    both.map_or_else(Vec::new, |(before, after)| flame::php_function_changes(before, after))
}

/// Why there is no difference of PHP functions although both sample them; none where there may be one.
pub(crate) fn php_unrelated(before: &Half, after: &Half) -> Option<String> {
    let both = [before, after].map(|half| half.profiled.php.as_ref().map(|php| (half, php)));
    let (half, _) = both.into_iter().collect::<Option<Vec<_>>>()?.into_iter().find(|(_, php)| php.is_full)?;
    Some(format!(
        "no difference of PHP functions: a file of samples of '{}' was full, so that requests are missing; profile it for \
         less time",
        half.name
    ))
}

/// Writes both graphs of a difference and its stacks, each beginning with `stem`; their paths.
pub(crate) fn write_difference(stem: &Path, difference: &Difference) -> Result<Vec<PathBuf>, CommandError> {
    let Difference { as_after, as_before, folded } = difference;
    let files = [(".svg", as_after), ("-reverse.svg", as_before), (".folded", folded)];
    let write = |(end, content): (&str, &String)| {
        let mut path = stem.as_os_str().to_owned();
        path.push(end);
        let path = PathBuf::from(path);
        write_file(&path, content).map(|()| path)
    };
    files.into_iter().map(write).collect()
}

/// Writes what changed from the baseline of a comparison in `directory` to its variant at `index`, from 1; nothing where
/// neither has a stack.
pub(crate) fn keep_difference(directory: &Path, index: usize, before: &Half, after: &Half) -> Result<(), CommandError> {
    let native = difference(before.side(), after.side()).map(|difference| (difference_stem(index), difference));
    let php = php_difference(before, after).map(|difference| (php_difference_stem(index), difference));
    if native.is_none() && php.is_none() {
        return Ok(());
    }
    let folder = directory.join(PROFILES_FOLDER);
    private::create_directory(&folder)
        .map_err(|error| CommandError::usage(format!("cannot create {}: {error}", folder.display())))?;
    let mut all = native.iter().chain(&php);
    all.try_for_each(|(stem, difference)| write_difference(&directory.join(stem), difference).map(drop))
}

/// The stacks of a profile, which may come from anywhere.
fn stacks(path: &Path) -> Result<String, String> {
    if path.symlink_metadata().is_ok() && !is_file_itself(path) {
        return Err("it is no file".into());
    }
    text_at_most(path, FOLDED_MAX_BYTES).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{PhpProfiled, ProcessRole, ProfiledProcess};
    use std::os::unix::fs::symlink;

    #[test]
    fn stacks_are_read_of_a_file_and_through_no_link() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("profile.folded"), folder.path().join("link"));
        assert!(stacks(&file).unwrap_err().contains("No such file"));
        std::fs::write(&file, "main 1\n").unwrap();
        symlink(&file, &link).unwrap();
        assert_eq!((stacks(&file).as_deref(), stacks(&link)), (Ok("main 1\n"), Err("it is no file".to_owned())));
    }

    fn half(name: &str, folded: &str) -> Half {
        half_with(name, folded, None)
    }

    fn half_with(name: &str, folded: &str, php: Option<&str>) -> Half {
        let server = ProfiledProcess { name: "s".into(), role: ProcessRole::Server, ..ProfiledProcess::default() };
        let sample_us_per_good_request = Some(1.0);
        let sampled = php.map(|_| Box::new(PhpProfiled { sample_ns: 10_000_000, ..PhpProfiled::default() }));
        let profiled = Profiled {
            sample_us_per_good_request,
            processes: vec![server],
            php: sampled,
            frequency_hz: 100,
            ..Profiled::default()
        };
        Half::new(name.into(), folded.into(), php.map(str::to_owned), profiled).unwrap()
    }

    #[test]
    fn samples_of_a_part_of_the_requests_make_no_difference_and_that_is_told() {
        let before = half_with("a", "s;m 1\n", Some("i;f 3\n"));
        let mut after = half_with("b", "s;m 1\n", Some("i;f 4\n"));
        assert!(php_difference(&before, &after).is_some() && php_unrelated(&before, &after).is_none());
        after.profiled.php.iter_mut().for_each(|php| php.is_full = true);
        assert!(php_difference(&before, &after).is_none() && php_function_changes(&before, &after).is_empty());
        for said in [php_unrelated(&before, &after), php_unrelated(&after, &before)] {
            let said = said.unwrap();
            assert!(said.contains("samples of 'b' was full") && said.lines().count() == 1, "{said}");
        }
        assert_eq!(php_unrelated(&half("c", ""), &after), None, "one that samples none is compared with nothing");
    }

    #[test]
    fn differences_of_a_comparison_have_names_without_those_of_its_variants() {
        let folder = tempfile::tempdir().unwrap();
        let (before, after) = (half("../a", "s;main 3\n"), half("../../b", "s;main 4\n"));
        keep_difference(folder.path(), 2, &before, &after).unwrap();
        let mut names: Vec<String> = std::fs::read_dir(folder.path().join("profiles"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        assert_eq!(names, ["1-to-3-reverse.svg", "1-to-3.folded", "1-to-3.svg"]);
        keep_difference(folder.path(), 3, &half("a", ""), &after).unwrap();
        assert!(!folder.path().join("profiles/1-to-4.svg").exists(), "there is no stack");
        let (before, after) = (half_with("a", "s;m 1\n", Some("i;f 3\n")), half_with("b", "", Some("i;f 4\n")));
        keep_difference(folder.path(), 4, &before, &after).unwrap();
        let php = std::fs::read_to_string(folder.path().join("profiles/php-1-to-5.folded")).unwrap();
        assert_eq!(php, "i;f 3000 4000\n", "ns for each good response");
        assert!(
            !folder.path().join("profiles/1-to-5.svg").exists() && php_difference(&before, &half("c", "")).is_none()
        );
    }
}
