//! Header lines, and the few fields that decide framing and persistence.

use super::Version;
use super::error::{Fault, Part};
use super::scan::name_end;

/// What the headers of one message said about its length and its connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Fields {
    /// Header lines seen.
    pub(crate) count: usize,
    pub(crate) content_length: Option<u64>,
    pub(crate) transfer: Transfer,
    /// Number of the line, from 1, that said something of these last; 0: none did.
    framing_at: usize,
    close: bool,
    keep_alive: bool,
}

/// The transfer codings, as far as they matter here.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Transfer {
    /// No `Transfer-Encoding`.
    #[default]
    Absent,
    /// `identity` and nothing else: as none, in responses of servers older than RFC 7230.
    Identity,
    /// `chunked` and nothing else.
    Chunked,
    /// `chunked` after other codings: the framing is known, the content stays encoded.
    EncodedThenChunked,
    /// Other codings without a final `chunked`.
    Other,
}

impl Transfer {
    pub(crate) fn is_chunked(self) -> bool {
        matches!(self, Self::Chunked | Self::EncodedThenChunked)
    }
}

impl Fields {
    /// Takes a header into account if it is one of the three that matter to both sides.
    #[inline(always)]
    pub(crate) fn absorb(&mut self, name: &[u8], value: &[u8]) -> Result<(), Fault> {
        // The length alone rules nearly every other header out; the work on those that remain stays out of line, so
        // that skipping a header costs no call.
        match name.len() {
            10 if is(name, b"Connection") => self.connection(value),
            14 if is(name, b"Content-Length") => return self.length(value),
            17 if is(name, b"Transfer-Encoding") => return self.transfer_encoding(value),
            _ => {}
        }
        Ok(())
    }

    #[inline(never)]
    fn connection(&mut self, value: &[u8]) {
        self.framing_at = self.count;
        for option in list(value) {
            self.close |= is(option, b"close");
            self.keep_alive |= is(option, b"keep-alive");
        }
    }

    /// RFC 9110 section 8.6: digits only; a list or a repetition of the same value counts as that value.
    #[inline(never)]
    fn length(&mut self, value: &[u8]) -> Result<(), Fault> {
        self.framing_at = self.count;
        for item in value.split(|&byte| byte == b',') {
            let length = decimal(trim(item)).ok_or(Fault::Malformed(Part::ContentLength))?;
            if self.content_length.is_some_and(|known| known != length) {
                return Err(Fault::Malformed(Part::ContentLength));
            }
            self.content_length = Some(length);
        }
        Ok(())
    }

    /// RFC 9112 section 6.1; several header lines are one list.
    #[inline(never)]
    fn transfer_encoding(&mut self, value: &[u8]) -> Result<(), Fault> {
        self.framing_at = self.count;
        if trim(value).is_empty() && self.transfer == Transfer::Absent {
            self.transfer = Transfer::Other;
        }
        for coding in list(value).filter(|coding| !coding.is_empty()) {
            let chunked = is(coding, b"chunked");
            self.transfer = match (self.transfer, chunked) {
                (Transfer::Absent, true) => Transfer::Chunked,
                (Transfer::Identity | Transfer::Other, true) => Transfer::EncodedThenChunked,
                (Transfer::Absent | Transfer::Identity, false) if is(coding, b"identity") => Transfer::Identity,
                (Transfer::Absent | Transfer::Identity | Transfer::Other, false) => Transfer::Other,
                // Chunked must come last and once.
                (Transfer::Chunked | Transfer::EncodedThenChunked, _) => {
                    return Err(Fault::Malformed(Part::TransferEncoding));
                }
            };
        }
        Ok(())
    }

    /// True if the connection stays open after this message (RFC 9112 section 9.3). Framing that is faulty ends it:
    /// `Transfer-Encoding` in HTTP/1.0 (section 6.1).
    #[inline]
    pub(crate) fn keepalive(&self, version: Version) -> bool {
        let wished = match version {
            Version::Http11 => !self.close,
            Version::Http10 => self.keep_alive && !self.close,
        };
        let is_coded = !matches!(self.transfer, Transfer::Absent | Transfer::Identity);
        wished && (version == Version::Http11 || !is_coded)
    }

    /// What a user agent makes of the line counted last, which [`split_header`] has refused (RFC 9112 sections 5.1 and 5.2):
    /// white space between name and colon is dropped, and a folded line goes on with the value of the line before it. Where
    /// that value decides about length or connection, a fold is refused: others may read it differently.
    #[cold]
    pub(crate) fn tolerate<'a>(&mut self, line: &'a [u8]) -> Result<Tolerated<'a>, Fault> {
        let malformed = Fault::Malformed(Part::Header);
        let end = name_end(line).ok_or(malformed)?;
        if !matches!(line[end], b' ' | b'\t') {
            return Err(malformed);
        }
        if end > 0 {
            let value = trim(&line[end..]).strip_prefix(b":").ok_or(malformed)?;
            return Ok(Tolerated::Header(&line[..end], value));
        }
        // The first line has none before it; both are 0 then.
        if self.framing_at == self.count - 1 {
            return Err(malformed);
        }
        self.count -= 1;
        Ok(Tolerated::Folded(trim(line)))
    }
}

/// A line that breaks the grammar in a way that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tolerated<'a> {
    /// Name and value.
    Header(&'a [u8], &'a [u8]),
    /// More of the value before.
    Folded(&'a [u8]),
}

/// Splits a header line at its colon; the value keeps its surrounding white space. White space before the colon and
/// folded lines are errors, which a client may tolerate.
#[inline]
pub(crate) fn split_header(line: &[u8]) -> Result<(&[u8], &[u8]), Fault> {
    match name_end(line) {
        Some(colon) if colon > 0 && line[colon] == b':' => Ok((&line[..colon], &line[colon + 1..])),
        _ => Err(Fault::Malformed(Part::Header)),
    }
}

/// Case-insensitive comparison that is quickest for the usual spelling.
#[inline]
pub(crate) fn is<const N: usize>(name: &[u8], usual: &[u8; N]) -> bool {
    name == usual || name.eq_ignore_ascii_case(usual)
}

/// The elements of a comma-separated list, without white space around them; some may be empty.
pub(crate) fn list(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|&byte| byte == b',').map(trim)
}

/// Without spaces and tabs at both ends.
#[inline]
pub(crate) fn trim(mut value: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] = value {
        value = rest;
    }
    while let [rest @ .., b' ' | b'\t'] = value {
        value = rest;
    }
    value
}

/// A decimal number of digits only that fits 64 bits.
fn decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u64, |number, byte| {
        let digit = byte.checked_sub(b'0').filter(|digit| *digit <= 9)?;
        number.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

/// True if a byte may stand in a method or header name (RFC 9110 section 5.6.2).
#[inline]
pub(crate) fn is_tchar(byte: u8) -> bool {
    TCHAR[usize::from(byte)]
}

static TCHAR: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        let char = byte as u8;
        table[byte] = char.is_ascii_alphanumeric()
            || matches!(
                char,
                b'!' | b'#' | b'$' | b'%' | b'&' | b'\'' | b'*' | b'+' | b'-' | b'.' | b'^' | b'_' | b'`' | b'|' | b'~'
            );
        byte += 1;
    }
    table
};
