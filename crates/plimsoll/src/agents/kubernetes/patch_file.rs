//! File of a patch as it was read. Builds that cannot reach a cluster read it too, so that a missing file has one message.

use crate::exit::CommandError;
use crate::typed::shown;
use std::path::Path;

/// Largest patch that is read: a Job has at most a few hundred lines, and etcd takes no object of more than 1.5 MiB.
const BYTES_MAX: u64 = 256 << 10;

/// A patch by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PatchFile {
    /// Its path as messages show it.
    pub(super) name: String,
    pub(super) text: String,
}

impl PatchFile {
    /// Reads a file, once: it may be a pipe.
    pub(crate) fn read(path: &Path) -> Result<Self, CommandError> {
        let name = shown(&path.to_string_lossy());
        let text = input::text_at_most(path, BYTES_MAX).map_err(|error| {
            CommandError::usage(format!("patch {name}: {error}; patch= is the path of a YAML or JSON file"))
        })?;
        Ok(Self { name, text })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_missing_too_long_or_no_text_is_named() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let path = folder.path().join("pods.yaml");
        let refused = |path: &Path| PatchFile::read(path).expect_err("it cannot be read").message;
        let missing = refused(&path);
        assert!(missing.contains("pods.yaml") && missing.contains("No such file"), "{missing}");
        std::fs::write(&path, vec![b'#'; BYTES_MAX as usize + 1]).expect("our own file");
        assert!(refused(&path).contains("more than 262144 bytes"), "{}", refused(&path));
        std::fs::write(&path, [0xff]).expect("our own file");
        assert!(
            refused(&path).contains("no text in UTF-8") || refused(&path).contains("not text"),
            "{}",
            refused(&path)
        );
        assert!(refused(Path::new("/dev/zero")).contains("more than"), "it has no end");
    }
}
