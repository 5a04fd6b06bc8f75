//! Eight bytes at a time: header lines are so short that the fixed cost of a vectorised search is most of its time.
//!
//! In a little-endian word, `(word - 0x01…01 * n) & !word & 0x80…80` marks bytes below `n` (n <= 0x80); a borrow can mark
//! a byte wrongly, but only above one that is marked rightly, so the lowest mark is exact (H. S. Warren, Hacker's
//! Delight, 2nd edition, section 6-1).

use memchr::memchr;

const ONES: u64 = u64::MAX / 0xff;
const HIGH: u64 = ONES << 7;
/// Bytes searched word by word before the vectorised search takes over.
const SHORT_BYTES: usize = 64;

/// Position of the first LF.
#[inline]
pub(crate) fn line_feed(input: &[u8]) -> Option<usize> {
    let mut at = 0;
    while at < SHORT_BYTES {
        let Some(&word) = input[at..].first_chunk() else { break };
        let marks = below(u64::from_le_bytes(word) ^ each(b'\n'), 1);
        if marks != 0 {
            return Some(at + first(marks));
        }
        at += size_of::<u64>();
    }
    memchr(b'\n', &input[at..]).map(|found| at + found)
}

/// Position of the first byte that cannot be part of a header name: the colon, white space, a control or a byte
/// outside ASCII. The other separators that RFC 9110 section 5.6.2 excludes are let through.
#[inline]
pub(crate) fn name_end(line: &[u8]) -> Option<usize> {
    let mut at = 0;
    while let Some(&word) = line[at..].first_chunk() {
        let word = u64::from_le_bytes(word);
        let colon = below(word ^ each(b':'), 1);
        let marks = colon | below(word, 0x21) | below(word ^ each(0x7f), 1) | (word & HIGH);
        if marks != 0 {
            return Some(at + first(marks));
        }
        at += size_of::<u64>();
    }
    line[at..].iter().position(|&byte| byte == b':' || !byte.is_ascii_graphic()).map(|found| at + found)
}

/// Marks the high bit of the bytes that are smaller than `bound`; exact up to the lowest mark.
#[inline]
fn below(word: u64, bound: u8) -> u64 {
    word.wrapping_sub(each(bound)) & !word & HIGH
}

/// A word of eight times the same byte.
#[inline]
fn each(byte: u8) -> u64 {
    ONES * u64::from(byte)
}

#[inline]
fn first(marks: u64) -> usize {
    (marks.trailing_zeros() / u8::BITS) as usize
}

#[cfg(test)]
mod tests {
    use super::{line_feed, name_end};

    /// Every byte value at every position of short inputs, with neighbours that provoke borrows.
    #[test]
    fn agrees_with_the_plain_search() {
        for length in 0..80 {
            for at in 0..length {
                for byte in 0..=u8::MAX {
                    for filler in [b'a', b'\n' + 1, b':' + 1, b'!'] {
                        let mut input = vec![filler; length];
                        input[at] = byte;
                        assert_eq!(line_feed(&input), input.iter().position(|&byte| byte == b'\n'));
                        let outside = |&byte: &u8| byte == b':' || !byte.is_ascii_graphic();
                        assert_eq!(name_end(&input), input.iter().position(outside), "{byte:#x} at {at} of {length}");
                    }
                }
            }
        }
    }
}
