//! Values of the application: what it can do, asked once on a connection of its own, since some close it after the answer.

use super::write::write_pair;
use super::{HEADER_BYTES, VERSION, record, record_header};
use crate::http1::{ClientError, Part};

/// 1 where the application takes several requests at a time on a connection.
const MULTIPLEXING: &str = "FCGI_MPXS_CONNS";

/// Appends the question whether the application multiplexes.
pub fn ask_multiplexing(out: &mut Vec<u8>) {
    let mut content = Vec::new();
    write_pair(&mut content, MULTIPLEXING, "");
    out.extend_from_slice(&record_header(record::GET_VALUES, 0, content.len() as u16));
    out.extend_from_slice(&content);
}

/// Answer to that question; none while `input` is not all of it.
///
/// # Errors
/// If it is no answer.
pub fn multiplexing(input: &[u8]) -> Result<Option<bool>, ClientError> {
    if input.first().is_some_and(|version| *version != VERSION) {
        return Err(ClientError::NotFastCgi);
    }
    let Some((header, content)) = input.split_first_chunk::<HEADER_BYTES>() else { return Ok(None) };
    if header[1] != record::GET_VALUES_RESULT {
        return Err(ClientError::Malformed(Part::Record));
    }
    let length = usize::from(u16::from_be_bytes([header[4], header[5]]));
    Ok(content.get(..length).map(|content| pairs(content).any(|pair| pair == (MULTIPLEXING.as_bytes(), &b"1"[..]))))
}

/// Names and values, up to the first that is cut off.
pub(super) fn pairs(mut bytes: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    std::iter::from_fn(move || {
        let (name, value) = (length(&mut bytes)?, length(&mut bytes)?);
        let (name, rest) = bytes.split_at_checked(name)?;
        let (value, rest) = rest.split_at_checked(value)?;
        bytes = rest;
        Some((name, value))
    })
}

/// One byte below 128, else four with the highest bit set.
fn length(bytes: &mut &[u8]) -> Option<usize> {
    let (&first, rest) = bytes.split_first()?;
    if first < 128 {
        *bytes = rest;
        return Some(usize::from(first));
    }
    let (four, rest) = bytes.split_first_chunk::<4>()?;
    *bytes = rest;
    Some((u32::from_be_bytes(*four) & !(1 << 31)) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(value: &str) -> Vec<u8> {
        let mut content = Vec::new();
        write_pair(&mut content, "FCGI_MAX_REQS", "50");
        write_pair(&mut content, MULTIPLEXING, value);
        let mut out = record_header(record::GET_VALUES_RESULT, 0, content.len() as u16).to_vec();
        out.extend_from_slice(&content);
        out
    }

    #[test]
    fn an_application_says_whether_it_multiplexes() {
        let mut asked = Vec::new();
        ask_multiplexing(&mut asked);
        assert_eq!(asked, b"\x01\x09\0\0\0\x11\0\0\x0f\0FCGI_MPXS_CONNS");
        for (value, multiplexes) in [("1", true), ("0", false), ("", false)] {
            let whole = answer(value);
            assert_eq!(multiplexing(&whole), Ok(Some(multiplexes)), "{value}");
            assert!((0..whole.len()).all(|cut| multiplexing(&whole[..cut]) == Ok(None)));
        }
        assert_eq!(multiplexing(&record_header(record::GET_VALUES_RESULT, 0, 0)), Ok(Some(false)), "it does not know");
        assert_eq!(multiplexing(b"HTTP/1.1 400"), Err(ClientError::NotFastCgi));
        assert!(multiplexing(&record_header(record::STDOUT, 1, 0)).is_err());
        assert_eq!(pairs(b"\x01\xffx").count(), 0, "a length that is cut off");
    }
}
