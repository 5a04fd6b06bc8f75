//! Archives of a release, whose bytes are a function of their files alone: no clock, user or folder of this machine is in them.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context, Result};
use flate2::{Compression, GzBuilder};
use tar::{Builder, EntryType, Header};

/// A file, or a folder, which has no content and ends with a slash.
pub(super) struct File {
    path: String,
    mode: u32,
    content: Vec<u8>,
}

impl File {
    pub(super) fn program(path: impl Into<String>, content: impl Into<Vec<u8>>) -> Self {
        Self { path: path.into(), mode: 0o755, content: content.into() }
    }

    pub(super) fn document(path: impl Into<String>, content: impl Into<Vec<u8>>) -> Self {
        Self { path: path.into(), mode: 0o644, content: content.into() }
    }

    pub(super) fn folder(path: &str, mode: u32) -> Self {
        Self { path: path.to_owned(), mode, content: Vec::new() }
    }

    /// A document of this machine, by its own name in a folder of the archive: `""`, or one that ends with a slash.
    pub(super) fn copy_into(folder: &str, source: &Path) -> Result<Self> {
        let name = source.file_name().unwrap_or_default().to_string_lossy();
        Ok(Self::document(format!("{folder}{name}"), read(source)?))
    }

    /// The same file in a folder.
    pub(super) fn below(self, folder: &str) -> Self {
        Self { path: format!("{folder}/{}", self.path), ..self }
    }
}

/// Reads a file that goes into an archive.
pub(super) fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("reading {}", path.display()))
}

/// Files of root's, all of one time, in this order.
pub(super) fn tar<'a>(files: impl IntoIterator<Item = &'a File>, epoch_s: u64) -> io::Result<Vec<u8>> {
    let mut tar = Builder::new(Vec::new());
    for file in files {
        let mut header = Header::new_ustar();
        header.set_entry_type(if file.path.ends_with('/') { EntryType::Directory } else { EntryType::Regular });
        header.set_size(file.content.len() as u64);
        header.set_mode(file.mode);
        header.set_mtime(epoch_s);
        header.set_uid(0);
        header.set_gid(0);
        tar.append_data(&mut header, &file.path, file.content.as_slice())?;
    }
    tar.into_inner()
}

/// The same, compressed; gzip's own time and name of a file are left out.
pub(super) fn tar_gz<'a>(files: impl IntoIterator<Item = &'a File>, epoch_s: u64) -> io::Result<Vec<u8>> {
    let mut gzip = GzBuilder::new().write(Vec::new(), Compression::best());
    gzip.write_all(&tar(files, epoch_s)?)?;
    gzip.finish()
}

#[cfg(test)]
pub(super) mod tests {
    use super::{File, tar_gz};
    use flate2::read::GzDecoder;
    use std::collections::BTreeMap;
    use std::io::Read;
    use tar::Archive;

    pub(in super::super) const EPOCH_S: u64 = 1_700_000_000;

    /// Mode and content by path; all else is as it must be.
    pub(in super::super) fn unpacked(tar: &[u8]) -> BTreeMap<String, (u32, Vec<u8>)> {
        let mut archive = Archive::new(tar);
        let entry = |mut entry: tar::Entry<'_, &[u8]>| {
            let header = entry.header().clone();
            assert_eq!((header.uid().unwrap(), header.gid().unwrap(), header.mtime().unwrap()), (0, 0, EPOCH_S));
            let mut content = Vec::new();
            entry.read_to_end(&mut content).unwrap();
            (entry.path().unwrap().to_string_lossy().into_owned(), (header.mode().unwrap(), content))
        };
        archive.entries().unwrap().map(|found| entry(found.unwrap())).collect()
    }

    /// The same of a compressed archive.
    pub(in super::super) fn unpacked_gz(tar_gz: &[u8]) -> BTreeMap<String, (u32, Vec<u8>)> {
        let mut tar = Vec::new();
        GzDecoder::new(tar_gz).read_to_end(&mut tar).unwrap();
        unpacked(&tar)
    }

    #[test]
    fn a_compressed_archive_has_the_files_and_no_time_of_its_own() {
        let files = [File::program("bin/a", "a"), File::document("b", "bb").below("doc")];
        let archive = tar_gz(&files, EPOCH_S).unwrap();
        let inside = unpacked_gz(&archive);
        assert_eq!(inside["bin/a"], (0o755, b"a".to_vec()));
        assert_eq!(inside["doc/b"], (0o644, b"bb".to_vec()));
        assert_eq!(archive[4..8], [0; 4], "the time in the head of gzip");
        assert_eq!(tar_gz(&files, EPOCH_S).unwrap(), archive);
    }
}
