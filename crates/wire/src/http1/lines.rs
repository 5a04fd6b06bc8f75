//! Lines out of reads: the one place that buffers.

use super::error::Fault;
use super::scan::line_feed;

/// Cuts input into lines and keeps the beginning of a line that a read cut off.
///
/// `used` counts the bytes of whole lines since [`Lines::reset`]; together with the cut-off line it may not exceed the
/// limit given to [`Lines::next`]. Both tests see the same bytes in whatever pieces they come, hence the same result.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    stash: Vec<u8>,
    /// The stash holds the beginning of a line; otherwise its content is done with.
    cut: bool,
    used: usize,
}

/// A line without its line end, and the bytes of the input it took.
pub(crate) type Line<'a> = (&'a [u8], usize);

impl Lines {
    /// The next line, or `None` when the input ends before the line does: the whole input is then consumed.
    #[inline(always)]
    pub(crate) fn next<'a>(&'a mut self, input: &'a [u8], limit: usize) -> Result<Option<Line<'a>>, Fault> {
        if !self.cut
            && let Some(end) = line_feed(input)
        {
            self.used += end + 1;
            if self.used > limit {
                return Err(Fault::HeadTooLarge);
            }
            return Ok(Some((without_cr(&input[..end]), end + 1)));
        }
        self.next_cut(input, limit)
    }

    /// [`Lines::next`] for a line that does not lie in one piece.
    #[cold]
    #[inline(never)]
    fn next_cut<'a>(&'a mut self, input: &'a [u8], limit: usize) -> Result<Option<Line<'a>>, Fault> {
        if !self.cut {
            self.stash.clear();
        }
        let end = line_feed(input);
        let taken = end.map_or(input.len(), |end| end + 1);
        if taken > limit - self.used - self.stash.len() {
            return Err(Fault::HeadTooLarge);
        }
        self.stash.extend_from_slice(&input[..taken]);
        self.cut = end.is_none() && !self.stash.is_empty();
        if end.is_none() {
            return Ok(None);
        }
        self.used += self.stash.len();
        Ok(Some((without_cr(&self.stash[..self.stash.len() - 1]), taken)))
    }

    /// The beginning of the current line, as far as earlier reads brought it.
    #[inline]
    pub(crate) fn begun(&self) -> &[u8] {
        if self.cut { &self.stash } else { &[] }
    }

    /// True if nothing came since the last reset.
    pub(crate) fn untouched(&self) -> bool {
        self.used == 0 && !self.cut
    }

    /// Begins a new count of bytes; only between lines.
    #[inline]
    pub(crate) fn reset(&mut self) {
        debug_assert!(!self.cut, "reset inside a line");
        self.used = 0;
    }

    /// As [`Lines::reset`], and forgets a line that was cut off: the message has ended within it.
    pub(crate) fn discard(&mut self) {
        self.cut = false;
        self.reset();
    }

    /// Bytes held back at the moment.
    pub(crate) fn stashed(&self) -> usize {
        self.begun().len()
    }
}

#[inline]
fn without_cr(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}
