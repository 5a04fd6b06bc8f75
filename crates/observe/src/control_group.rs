//! The processes of a control group and of those below it, version 1 and 2.

use crate::files::Files;
use crate::selector::SelectError;
use std::collections::BTreeSet;

const MOUNT: &str = "/sys/fs/cgroup";
const MEMBERS: &str = "cgroup.procs";
/// Groups that are looked into for one: more than a machine has, and an end should links form a ring.
const GROUPS_MAX: usize = 10_000;

/// The processes of the group at `path`, as `/proc/PID/cgroup` or a full path names it.
pub(crate) fn processes(files: &Files, path: &str) -> Result<BTreeSet<i32>, SelectError> {
    let mut places = vec![place(files, path).ok_or_else(|| SelectError::NoCgroup(path.to_owned()))?];
    let (mut found, mut looked) = (BTreeSet::new(), 0);
    while let Some(place) = places.pop() {
        let members = files.text(&format!("{place}/{MEMBERS}")).unwrap_or_default();
        // A process that this container does not see has the number 0.
        found.extend(members.lines().filter_map(|line| line.parse::<i32>().ok()).filter(|pid| *pid > 0));
        looked += 1;
        if looked == GROUPS_MAX {
            break;
        }
        let below = files.names(&place).into_iter().map(|name| format!("{place}/{name}"));
        places.extend(below.filter(|place| is_group(files, place)));
    }
    if found.is_empty() { Err(SelectError::EmptyCgroup(path.to_owned())) } else { Ok(found) }
}

/// Its directory: that of version 2 first, else that of any controller which has it.
fn place(files: &Files, path: &str) -> Option<String> {
    let inside = path.trim_end_matches('/');
    if inside.starts_with(MOUNT) {
        return is_group(files, inside).then(|| inside.to_owned());
    }
    let controllers = files.names(MOUNT).into_iter().map(|name| format!("{MOUNT}/{name}"));
    let mounts = [MOUNT.to_owned(), format!("{MOUNT}/unified")].into_iter().chain(controllers);
    mounts.map(|mount| format!("{mount}{inside}")).find(|place| is_group(files, place))
}

fn is_group(files: &Files, place: &str) -> bool {
    files.exists(&format!("{place}/{MEMBERS}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(texts: &[(&str, &str)]) -> (tempfile::TempDir, Files) {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in texts {
            let place = root.path().join("sys/fs/cgroup").join(path).join(MEMBERS);
            std::fs::create_dir_all(place.parent().unwrap()).unwrap();
            std::fs::write(place, text).unwrap();
        }
        let files = Files::below(root.path());
        (root, files)
    }

    #[test]
    fn members_of_a_group_are_those_below_it_too() {
        let (_root, files) =
            tree(&[("", "1\n"), ("web", ""), ("web/a", "7\n8\n0\n"), ("web/b", ""), ("web/b/c", "9\n"), ("idle", "")]);
        assert_eq!(processes(&files, "/web"), Ok([7, 8, 9].into()), "one that is not seen here has the number 0");
        assert_eq!(processes(&files, "/web/a/"), Ok([7, 8].into()));
        assert_eq!(processes(&files, "/sys/fs/cgroup/web/b/c"), Ok([9].into()));
        assert_eq!(processes(&files, "/idle"), Err(SelectError::EmptyCgroup("/idle".into())));
        assert_eq!(processes(&files, "/nowhere"), Err(SelectError::NoCgroup("/nowhere".into())));
        assert!(processes(&files, "/sys/fs/cgroup/nowhere").is_err());
    }

    #[test]
    fn version_1_has_it_under_its_controllers() {
        let (_root, files) = tree(&[("cpu", "1\n"), ("cpu/box", "5\n"), ("unified", "2\n")]);
        assert_eq!(processes(&files, "/box"), Ok([5].into()));
        assert_eq!(processes(&files, "/"), Ok([2].into()));
    }
}
