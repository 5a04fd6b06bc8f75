//! Files with a limit: no more than that is read, whatever a file says of its size. `/dev/zero` has the size 0.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use thiserror::Error;

/// Time that is waited for whoever writes to a pipe that was named as a file; s.
const PIPE_WAIT_S: i64 = 30;

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
    read_open(open(path)?, max_bytes)
}

/// Opens a file that somebody else may have made, or named: a device has no end, and a pipe may have no writer.
///
/// # Errors
/// If it cannot be opened, or is no file.
pub fn open_file(path: &Path) -> io::Result<File> {
    let file = open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is no file")) }
}

/// Opens a file, or a pipe without waiting for its writer.
fn open(path: &Path) -> io::Result<File> {
    let unhindered = (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
    OpenOptions::new().read(true).custom_flags(unhindered).open(path)
}

/// A file that may be a pipe, on whose writer it waits for a while only.
struct Waiting(File);

impl Read for Waiting {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let limit = Timespec { tv_sec: PIPE_WAIT_S, tv_nsec: 0 };
        match poll(&mut [PollFd::new(&self.0, PollFlags::IN)], Some(&limit))? {
            0 => Err(io::Error::other(format!("nothing was written to the pipe for {PIPE_WAIT_S} s"))),
            _ => self.0.read(buffer),
        }
    }
}

/// The same of a file that is open.
///
/// # Errors
/// As of [`read_at_most`].
pub fn read_open(file: File, max_bytes: u64) -> Result<Vec<u8>, ReadError> {
    // Room for what it says to have: without it the memory would grow to twice that.
    let expected = file.metadata().map_or(0, |metadata| metadata.len()).min(max_bytes);
    let mut bytes = Vec::with_capacity(expected as usize);
    Waiting(file).take(max_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
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
    fn a_pipe_is_read_to_its_end_and_is_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &path,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
            0,
        )
        .unwrap();
        assert_eq!(open_file(&path).unwrap_err().to_string(), "it is no file");
        let writer = std::thread::spawn({
            let path = path.clone();
            move || std::fs::write(path, "x".repeat(100_000)).unwrap()
        });
        assert_eq!(read_at_most(&path, 1 << 20).unwrap().len(), 100_000, "more than a pipe holds");
        writer.join().unwrap();
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
