//! What a program says on its standard error, of which the last is kept.

use crate::lock::hold;
use std::collections::VecDeque;
use std::io::Read;
use std::sync::Mutex;

/// Shared by who listens and who asks.
pub(super) struct Said {
    last: Mutex<VecDeque<u8>>,
    /// Bytes that are kept.
    max: usize,
}

impl Said {
    pub(super) fn new(max: usize) -> Self {
        Self { last: Mutex::default(), max }
    }

    /// Listens until it ends.
    pub(super) fn listen(&self, mut from: impl Read) {
        let mut buffer = [0; 1024];
        while let Ok(n @ 1..) = from.read(&mut buffer) {
            let mut last = hold(&self.last);
            last.extend(&buffer[..n]);
            let excess = last.len().saturating_sub(self.max);
            last.drain(..excess);
        }
    }

    /// The last until now.
    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(hold(&self.last).make_contiguous()).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_is_kept() {
        let said = Said::new(5);
        said.listen(&b"first\nlast\n"[..]);
        assert_eq!(said.text(), "last\n");
        said.listen(&b"!"[..]);
        assert_eq!(said.text(), "ast\n!");
    }
}
