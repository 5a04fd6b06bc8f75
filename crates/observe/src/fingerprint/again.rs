//! Changes since a fingerprint was taken, without taking all of it once more.

use super::program::{
    COMMAND_FILE, CONFIG_MAX_BYTES, DIRECTORY, HASH, PATH, SECRET, hash, hash_of_all, hash_of_program,
};
use super::{Facts, PROGRAM, of_machine};
use crate::files::Files;
use model::{Change, Fingerprint};
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The limits of this very program, which raises them.
const OWN: &str = "limits";
/// Ends of the names of files that a server writes while it runs: no part of its configuration.
const WRITTEN: [&str; 7] = ["log", "err", "out", "pid", "db", "sqlite", "sqlite3"];

/// A fingerprint, and the programs' files as they were when it was taken.
#[derive(Clone, Debug, Default)]
pub struct TakenFingerprint {
    /// What it tells.
    pub fingerprint: Fingerprint,
    programs: BTreeMap<PathBuf, Stamp>,
}

/// What changes with a file: its number, length and the last change of either (s and ns).
type Stamp = (u64, u64, i64, i64);

impl TakenFingerprint {
    /// Remembers the files of a fingerprint that was just taken.
    #[must_use]
    pub fn new(fingerprint: Fingerprint) -> Self {
        let paths = sections_of_programs(&fingerprint).filter_map(|(_, facts)| facts.get(PATH));
        let programs = paths.filter_map(|path| Some((PathBuf::from(path), stamp(Path::new(path))?))).collect();
        Self { fingerprint, programs }
    }

    /// The same, but what lies below a directory is not looked at again: it goes with the server, and that is no change of it.
    #[must_use]
    pub fn without_files_below(mut self, directory: &Path) -> Self {
        for (_, facts) in self.fingerprint.facts.iter_mut().filter(|(section, _)| section.starts_with(PROGRAM)) {
            facts.retain(|name, _| {
                let path = name.strip_prefix(COMMAND_FILE).or_else(|| name.strip_prefix(DIRECTORY));
                path.is_none_or(|path| !Path::new(path).starts_with(directory))
            });
        }
        self.programs.retain(|path, _| !path.starts_with(directory));
        self
    }

    /// What is another now: settings of the machine, and programs and configuration files of the server.
    #[must_use]
    pub fn changes(&self) -> Vec<Change> {
        let now = of_machine(&Files::default());
        let mut changes = Vec::new();
        for (section, before) in self.fingerprint.facts.iter().filter(|(section, _)| *section != OWN) {
            // An interface that has come or gone is another matter.
            let Some(after) = now.facts.get(section) else { continue };
            let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
            changes
                .extend(names.into_iter().filter_map(|name| change(section, name, before.get(name), after.get(name))));
        }
        for (section, facts) in sections_of_programs(&self.fingerprint) {
            let again = facts.iter().filter_map(|(name, before)| Some((name, before, self.hashed_again(facts, name)?)));
            changes
                .extend(again.filter_map(|(name, before, after)| change(section, name, Some(before), after.as_ref())));
        }
        changes
    }

    /// The hash that a fact has now, none within when there is none; none when it is no hash, or its file rests.
    fn hashed_again(&self, facts: &Facts, name: &str) -> Option<Option<String>> {
        if let Some(directory) = name.strip_prefix(DIRECTORY) {
            return Some(hash_of_all(Path::new(directory)));
        }
        if let Some(file) = name.strip_prefix(COMMAND_FILE).map(Path::new) {
            let is_written = file.extension().is_some_and(|end| WRITTEN.iter().any(|written| end == *written));
            // What was taken for a secret stays one.
            let is_secret = facts.get(name).is_some_and(|before| before == SECRET);
            return (!is_written && !is_secret).then(|| hash(file, CONFIG_MAX_BYTES));
        }
        let path = Path::new(facts.get(PATH).filter(|_| name == HASH)?);
        let before = self.programs.get(path)?;
        (stamp(path).as_ref() != Some(before)).then(|| path.exists().then(|| hash_of_program(path)))
    }
}

fn sections_of_programs(fingerprint: &Fingerprint) -> impl Iterator<Item = (&String, &Facts)> {
    fingerprint.facts.iter().filter(|(section, _)| section.starts_with(PROGRAM))
}

fn change(section: &str, name: &str, before: Option<&String>, after: Option<&String>) -> Option<Change> {
    let text = |fact: Option<&String>| fact.cloned().unwrap_or_default();
    let (section, name) = (section.to_owned(), name.to_owned());
    (before != after).then(|| Change { section, name, before: text(before), after: text(after) })
}

fn stamp(path: &Path) -> Option<Stamp> {
    let metadata = std::fs::metadata(path).ok()?;
    Some((metadata.ino(), metadata.len(), metadata.ctime(), metadata.ctime_nsec()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, Mode, mkfifoat};

    /// Its stamp changes with a link to it, and its hash is not taken.
    #[test]
    fn a_link_to_a_large_program_does_not_change_it() {
        let directory = tempfile::tempdir().unwrap();
        let place = |name: &str| directory.path().join(name);
        std::fs::File::create(place("web")).unwrap().set_len(1 << 30).unwrap();
        let facts = [(PATH, place("web").display().to_string()), (HASH, hash_of_program(&place("web")))];
        let mut fingerprint = Fingerprint::default();
        fingerprint.facts.insert(format!("{PROGRAM}web"), facts.map(|(name, fact)| (name.to_owned(), fact)).into());
        let taken = TakenFingerprint::new(fingerprint);
        let before = stamp(&place("web"));
        std::fs::hard_link(place("web"), place("other")).unwrap();
        assert_ne!(stamp(&place("web")), before);
        assert_eq!(taken.changes(), []);
        std::fs::write(place("new"), "1").unwrap();
        std::fs::rename(place("new"), place("web")).unwrap();
        assert_eq!(taken.changes().len(), 1);
    }

    #[test]
    fn files_that_go_with_the_server_are_not_looked_at_again() {
        let state = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        let files = [elsewhere.path().join("web"), state.path().join("web.conf"), elsewhere.path().join("web.conf")];
        for file in &files {
            std::fs::write(file, "1").unwrap();
        }
        let [web, generated, own] = &files;
        let of = |path: &Path| (format!("{COMMAND_FILE}{}", path.display()), hash(path, CONFIG_MAX_BYTES).unwrap());
        let program = [(PATH.to_owned(), web.display().to_string()), (HASH.to_owned(), hash_of_program(web))];
        let mut fingerprint = of_machine(&Files::default());
        fingerprint
            .facts
            .insert(format!("{PROGRAM}web"), program.into_iter().chain([of(generated), of(own)]).collect());
        let taken = TakenFingerprint::new(fingerprint);
        drop(state);
        assert_eq!(taken.changes().len(), 1, "while the server runs that is a change");
        let taken = taken.without_files_below(generated.parent().unwrap());
        assert_eq!(taken.changes(), []);
        std::fs::write(own, "2").unwrap();
        std::fs::remove_file(web).unwrap();
        assert_eq!(taken.changes().len(), 2, "a file of the user's own and the program are looked at as before");
    }

    #[test]
    fn changed_files_are_told_and_logs_may_grow() {
        let directory = tempfile::tempdir().unwrap();
        let place = |name: &str| directory.path().join(name);
        for name in ["web", "web.conf", "error.log"] {
            std::fs::write(place(name), "1").unwrap();
        }
        let hashed = |name: &str| hash(&place(name), CONFIG_MAX_BYTES).unwrap();
        let mut facts = Facts::new();
        facts.insert(PATH.into(), place("web").display().to_string());
        facts.insert(HASH.into(), hashed("web"));
        for name in ["web.conf", "error.log"] {
            facts.insert(format!("{COMMAND_FILE}{}", place(name).display()), hashed(name));
        }
        let mut fingerprint = of_machine(&Files::default());
        fingerprint.facts.insert(format!("{PROGRAM}web"), facts);
        let taken = TakenFingerprint::new(fingerprint);
        assert_eq!(taken.changes(), []);
        for name in ["web.conf", "error.log"] {
            std::fs::write(place(name), "2").unwrap();
        }
        let [changed] = &taken.changes()[..] else { panic!("{:?}", taken.changes()) };
        assert_eq!((changed.section.as_str(), changed.after.as_str()), ("program/web", hashed("web.conf").as_str()));
        std::fs::remove_file(place("web")).unwrap();
        let gone = taken.changes();
        assert!(gone.iter().any(|change| change.name == HASH && change.after.is_empty()), "{gone:?}");
    }

    #[test]
    fn a_file_that_has_become_a_pipe_or_a_device_holds_up_no_end() {
        let directory = tempfile::tempdir().unwrap();
        let place = |name: &str| directory.path().join(name);
        let mut facts = Facts::new();
        for name in ["web", "pipe.conf", "zero.conf"] {
            std::fs::write(place(name), "1").unwrap();
            let hash = hash(&place(name), CONFIG_MAX_BYTES).unwrap();
            facts.insert(format!("{COMMAND_FILE}{}", place(name).display()), hash);
        }
        facts.insert(PATH.into(), place("web").display().to_string());
        facts.insert(HASH.into(), hash_of_program(&place("web")));
        let mut fingerprint = of_machine(&Files::default());
        fingerprint.facts.insert(format!("{PROGRAM}web"), facts);
        let taken = TakenFingerprint::new(fingerprint);
        let replace = |name: &str| std::fs::remove_file(place(name)).map(|()| place(name)).unwrap();
        for pipe in ["web", "pipe.conf"] {
            mkfifoat(CWD, replace(pipe), Mode::RUSR).unwrap();
        }
        std::os::unix::fs::symlink("/dev/zero", replace("zero.conf")).unwrap();
        let after: Vec<_> = taken.changes().into_iter().map(|change| change.after).collect();
        assert_eq!(after.len(), 4, "{after:?}");
        assert!(after.iter().all(|hash| hash.is_empty() || hash.starts_with("not read")), "{after:?}");
    }

    #[test]
    fn settings_that_are_others_now_are_told() {
        let mut fingerprint = of_machine(&Files::default());
        let sysctl = fingerprint.facts.get_mut("sysctl").expect("every kernel has some");
        let (name, before) = sysctl.first_key_value().map(|(name, now)| (name.clone(), format!("not {now}"))).unwrap();
        sysctl.insert(name.clone(), before.clone());
        fingerprint.facts.get_mut(OWN).expect("limits").insert("max_open_files".into(), "1 1".into());
        let changes = TakenFingerprint::new(fingerprint).changes();
        assert_eq!(changes.len(), 1, "{changes:?}");
        assert_eq!((&changes[0].section, &changes[0].name, &changes[0].before), (&"sysctl".to_owned(), &name, &before));
    }
}
