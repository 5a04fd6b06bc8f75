//! Frames of a byte stream: a line that says what is spoken, then messages with their lengths before them.

use thiserror::Error;

/// First bytes of either direction, whatever the version of the protocol.
pub const PREAMBLE: &[u8] = b"plimsoll agent\n";
/// Bytes of a length.
const LENGTH_BYTES: usize = 4;
/// Longest message of an agent: a tick whose ten histograms are as large as they get; bytes.
pub const OF_AGENT_MAX: usize = 8 << 20;
/// Longest message of a coordinator: a plan with its bodies in base64, which may have 192 MiB in all; bytes.
pub const OF_COORDINATOR_MAX: usize = 256 << 20;
/// Of what is no preamble so much is shown; bytes.
const SHOWN_MAX: usize = 80;

/// Reason why bytes are no frames.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FrameError {
    /// Something else stands where the preamble belongs.
    #[error("something else than a plimsoll agent answered: {:?}", .0)]
    Preamble(String),
    /// A message is longer than any.
    #[error("a message of {length} bytes, at most {longest} are allowed")]
    TooLong {
        /// Its length as it is told.
        length: usize,
        /// Bound.
        longest: usize,
    },
}

/// Cuts a byte stream into messages.
#[derive(Clone, Debug)]
pub struct Decoder {
    bytes: Vec<u8>,
    /// Bytes before it have been handed out.
    at: usize,
    has_preamble: bool,
    longest: usize,
}

impl Decoder {
    /// At the begin of a stream whose messages have at most `longest` bytes.
    #[must_use]
    pub const fn new(longest: usize) -> Self {
        Self { bytes: Vec::new(), at: 0, has_preamble: false, longest }
    }

    /// Takes in what a read returned.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.at);
        self.at = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// The next whole message; none until more has come.
    ///
    /// # Errors
    /// If these are no frames. It stays so.
    pub fn message(&mut self) -> Result<Option<&[u8]>, FrameError> {
        if !self.has_preamble && !self.preamble()? {
            return Ok(None);
        }
        let rest = &self.bytes[self.at..];
        let Some((length, rest)) = rest.split_first_chunk::<LENGTH_BYTES>() else { return Ok(None) };
        let length = u32::from_be_bytes(*length) as usize;
        if length > self.longest {
            return Err(FrameError::TooLong { length, longest: self.longest });
        }
        if rest.len() < length {
            return Ok(None);
        }
        let from = self.at + LENGTH_BYTES;
        self.at = from + length;
        Ok(Some(&self.bytes[from..self.at]))
    }

    /// True once the preamble has passed.
    fn preamble(&mut self) -> Result<bool, FrameError> {
        let n = self.bytes.len().min(PREAMBLE.len());
        if self.bytes[..n] != PREAMBLE[..n] {
            let shown = &self.bytes[..self.bytes.len().min(SHOWN_MAX)];
            // What it says is told as a line, however it was cut.
            if shown.len() < SHOWN_MAX && !shown.contains(&b'\n') {
                return Ok(false);
            }
            let line = String::from_utf8_lossy(shown).lines().next().unwrap_or_default().to_owned();
            return Err(FrameError::Preamble(line));
        }
        self.has_preamble = n == PREAMBLE.len();
        self.at = if self.has_preamble { n } else { 0 };
        Ok(self.has_preamble)
    }
}

/// Adds a message to `out`; false if it is longer than the other side would take, and nothing is added.
#[must_use]
pub fn write(out: &mut Vec<u8>, message: &[u8], longest: usize) -> bool {
    let Some(length) = u32::try_from(message.len()).ok().filter(|_| message.len() <= longest) else { return false };
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(message);
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(decoder: &mut Decoder) -> Result<Vec<Vec<u8>>, FrameError> {
        let mut found = Vec::new();
        while let Some(message) = decoder.message()? {
            found.push(message.to_vec());
        }
        Ok(found)
    }

    proptest! {
        #[test]
        fn messages_come_back_however_they_are_cut(
            messages in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..8),
            cuts in prop::collection::vec(1_usize..30, 0..60),
        ) {
            let mut stream = PREAMBLE.to_vec();
            messages.iter().for_each(|message| assert!(write(&mut stream, message, 100)));
            let (mut decoder, mut found, mut rest) = (Decoder::new(100), Vec::new(), stream.as_slice());
            for cut in cuts {
                let (piece, more) = rest.split_at(cut.min(rest.len()));
                decoder.push(piece);
                found.extend(all(&mut decoder).unwrap());
                rest = more;
            }
            decoder.push(rest);
            found.extend(all(&mut decoder).unwrap());
            prop_assert_eq!(found, messages);
        }
    }

    #[test]
    fn another_program_and_a_message_without_end_are_refused() {
        let mut decoder = Decoder::new(10);
        decoder.push(b"Welcome to host b\nplimsoll agent\n");
        assert_eq!(decoder.message(), Err(FrameError::Preamble("Welcome to host b".into())));
        let mut decoder = Decoder::new(10);
        decoder.push(PREAMBLE);
        decoder.push(&11_u32.to_be_bytes());
        assert_eq!(decoder.message(), Err(FrameError::TooLong { length: 11, longest: 10 }));
        let mut out = Vec::new();
        assert!(!write(&mut out, &[0; 11], 10) && out.is_empty());
    }
}
