//! Files with a limit: no more than that is read, whatever a file says of its size. `/dev/zero` has the size 0.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use thiserror::Error;

/// Reason why a file was not read.
#[derive(Debug, Error)]
pub enum ReadError {
    /// An error of the system.
    #[error("cannot read the file: {0}")]
    Io(#[from] io::Error),
    /// More than the limit is in it.
    #[error("the file has more than {max_bytes} bytes")]
    TooLong {
        /// The limit.
        max_bytes: u64,
    },
    /// It is not UTF-8.
    #[error("the file is not text in UTF-8")]
    NotText,
}

/// The content of the file at `path`, which has at most `max_bytes`.
///
/// # Errors
/// If it cannot be read, or is longer.
pub fn read_at_most(path: &Path, max_bytes: u64) -> Result<Vec<u8>, ReadError> {
    read_open(File::open(path)?, max_bytes)
}

/// The same of a file that is open.
///
/// # Errors
/// As of [`read_at_most`].
pub fn read_open(file: File, max_bytes: u64) -> Result<Vec<u8>, ReadError> {
    // Room for what it says to have: without it the memory would grow to twice that.
    let expected = file.metadata().map_or(0, |metadata| metadata.len()).min(max_bytes);
    let mut bytes = Vec::with_capacity(expected as usize);
    file.take(max_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max_bytes { Err(ReadError::TooLong { max_bytes }) } else { Ok(bytes) }
}

/// The same for text.
///
/// # Errors
/// If it cannot be read, is longer, or is not UTF-8.
pub fn text_at_most(path: &Path, max_bytes: u64) -> Result<String, ReadError> {
    String::from_utf8(read_at_most(path, max_bytes)?).map_err(|_| ReadError::NotText)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_an_end_is_read_up_to_the_limit() {
        // Its size is 0: a check of the size beforehand lets it pass, and the read never ends.
        let error = read_at_most(Path::new("/dev/zero"), 1 << 20).unwrap_err();
        assert_eq!(error.to_string(), "the file has more than 1048576 bytes");
    }

    #[test]
    fn a_file_at_its_limit_is_read_without_room_for_more() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), vec![b'x'; 100_000]).unwrap();
        let bytes = read_at_most(file.path(), 100_000).unwrap();
        assert_eq!(bytes.len(), 100_000);
        assert!(bytes.capacity() <= 2 * bytes.len(), "{}", bytes.capacity());
        assert!(matches!(read_at_most(file.path(), 99_999), Err(ReadError::TooLong { max_bytes: 99_999 })));
    }

    #[test]
    fn what_cannot_be_read_or_is_no_text_is_told() {
        assert!(text_at_most(Path::new("/nowhere/at-all"), 1).unwrap_err().to_string().contains("No such file"));
        assert!(read_at_most(Path::new("/"), 1 << 20).unwrap_err().to_string().contains("directory"));
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), [0xff, 0xfe]).unwrap();
        assert!(matches!(text_at_most(file.path(), 10), Err(ReadError::NotText)));
    }
}
