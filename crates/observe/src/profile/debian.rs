//! Which Debian package has the debug symbols of a file.

use std::path::Path;

/// What dpkg knows of each package.
const LISTS: &str = "/var/lib/dpkg/info";

/// The package that would bring the symbols that `file` lacks; none when no package owns it.
pub(super) fn debug_package(file: &str) -> Option<String> {
    let owner = owner(Path::new(LISTS), file)?;
    // The C library is the one with a package from the old days.
    Some(if owner == "libc6" { "libc6-dbg".into() } else { format!("{owner}-dbgsym") })
}

/// The package whose list has the file, by the name it has now or had before `/lib` became `/usr/lib`.
fn owner(lists: &Path, file: &str) -> Option<String> {
    let before = file.strip_prefix("/usr").filter(|rest| rest.starts_with("/lib") || rest.starts_with("/sbin"));
    let entries = std::fs::read_dir(lists).ok()?.flatten();
    entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|end| end == "list")).find_map(
        |path| {
            let list = std::fs::read_to_string(&path).ok()?;
            let is_theirs = list.lines().any(|line| line == file || Some(line) == before);
            let name = path.file_stem()?.to_str()?.split(':').next()?.to_owned();
            is_theirs.then_some(name)
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_owner_of_a_file_is_found_before_and_after_the_merge() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("libc6:amd64.list"), "/.\n/lib/x/libc.so.6\n").unwrap();
        std::fs::write(folder.path().join("nginx.list"), "/usr/sbin/nginx\n").unwrap();
        std::fs::write(folder.path().join("nginx.md5sums"), "/usr/sbin/other\n").unwrap();
        let owner = |file| owner(folder.path(), file);
        assert_eq!(owner("/usr/lib/x/libc.so.6").as_deref(), Some("libc6"));
        assert_eq!(owner("/usr/sbin/nginx").as_deref(), Some("nginx"));
        assert_eq!((owner("/usr/sbin/other"), owner("/opt/own")), (None, None));
    }
}
