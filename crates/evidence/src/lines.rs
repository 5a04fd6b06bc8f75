//! Lines of a log that may come from anywhere: one that is longer than any of ours is refused, not read.

use std::io::{self, BufRead, Read as _};

/// Reads the next line into `line`, without its end, which counts as one of at most `max_bytes`. False at the end of the
/// log: a line that does not end is the last thing that was written, and is left out.
///
/// # Errors
/// Those of `log`, and `InvalidData` of a longer line.
pub(crate) fn next(log: &mut impl BufRead, line: &mut Vec<u8>, max_bytes: u64) -> io::Result<bool> {
    line.clear();
    log.by_ref().take(max_bytes).read_until(b'\n', line)?;
    if line.pop_if(|last| *last == b'\n').is_some() {
        return Ok(true);
    }
    if (line.len() as u64) < max_bytes {
        return Ok(false);
    }
    Err(io::Error::new(io::ErrorKind::InvalidData, format!("a line has more than {max_bytes} bytes")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(mut log: &[u8], max_bytes: u64) -> Result<Vec<Vec<u8>>, String> {
        let (mut line, mut all) = (Vec::new(), Vec::new());
        while next(&mut log, &mut line, max_bytes).map_err(|error| error.to_string())? {
            all.push(line.clone());
        }
        Ok(all)
    }

    #[test]
    fn the_last_line_counts_only_with_its_end() {
        assert_eq!(lines(b"a\n\nbc\nd", 10), Ok(vec![b"a".to_vec(), Vec::new(), b"bc".to_vec()]));
        assert_eq!(lines(b"", 10), Ok(Vec::new()));
    }

    #[test]
    fn a_line_without_an_end_is_not_read_into_memory() {
        let endless = io::BufReader::new(io::repeat(b'x'));
        let (mut log, mut line) = (endless, Vec::new());
        let error = next(&mut log, &mut line, 1000).unwrap_err();
        assert_eq!((error.to_string().as_str(), line.len()), ("a line has more than 1000 bytes", 1000));
        assert_eq!(lines(b"abcd\n", 5), Ok(vec![b"abcd".to_vec()]));
        assert!(lines(b"abcde\n", 5).is_err());
    }
}
