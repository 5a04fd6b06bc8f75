//! Messages of the DevTools protocol: JSON objects, each ended by a NUL, without I/O.

use crate::said::in_a_line;
use serde::Deserialize;
use serde_json::Value;

/// Longest message that is read. What a page can put into one is an URL, a header, a title.
pub(crate) const MESSAGE_BYTES_MAX: usize = 8 << 20;

/// An answer to a command, or an event.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct Message {
    /// Number of the command that it answers.
    pub(crate) id: Option<u64>,
    /// Name of an event.
    pub(crate) method: String,
    /// Facts of an event.
    pub(crate) params: Value,
    /// Facts of an answer.
    pub(crate) result: Value,
    /// Why a command was refused.
    pub(crate) error: Option<Refusal>,
    /// Session (a page, a frame or a worker) that it is about.
    #[serde(rename = "sessionId")]
    pub(crate) session: Option<String>,
}

/// A command that was refused.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Refusal {
    pub(crate) message: String,
}

impl Message {
    /// Reads the text of a message. Fails on what is none.
    pub(crate) fn read(text: &[u8]) -> Result<Self, String> {
        let none = |error: serde_json::Error| {
            format!("sent what is no message of the protocol: {}", in_a_line(&error.to_string()))
        };
        serde_json::from_slice(text).map_err(none)
    }
}

/// Bytes into the texts of messages.
#[derive(Debug, Default)]
pub(crate) struct Reassembly {
    bytes: Vec<u8>,
    /// Bytes of which it is known that no NUL is in them.
    searched: usize,
}

impl Reassembly {
    /// Takes in what was read.
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The text of the next whole message; none before all of it is there. Fails on one that is too long.
    pub(crate) fn next(&mut self) -> Result<Option<Vec<u8>>, String> {
        let Some(end) = self.bytes[self.searched..].iter().position(|byte| *byte == 0).map(|at| self.searched + at)
        else {
            self.searched = self.bytes.len();
            return match self.searched {
                0..=MESSAGE_BYTES_MAX => Ok(None),
                _ => Err(format!("sent a message of more than {} MiB", MESSAGE_BYTES_MAX >> 20)),
            };
        };
        let mut text: Vec<u8> = self.bytes.drain(..=end).collect();
        text.truncate(end);
        self.searched = 0;
        Ok(Some(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_split_of_the_bytes_gives_the_same_messages() {
        let text = b"{\"id\":1,\"result\":{\"a\":2}}\0{\"method\":\"A.b\",\"params\":{},\"sessionId\":\"S\"}\0";
        for split in 0..text.len() {
            let mut reassembly = Reassembly::default();
            let mut found = Vec::new();
            for part in [&text[..split], &text[split..]] {
                reassembly.add(part);
                while let Some(text) = reassembly.next().unwrap() {
                    found.push(Message::read(&text).unwrap());
                }
            }
            assert_eq!((found.len(), found[0].id, found[0].result["a"].as_u64()), (2, Some(1), Some(2)), "{split}");
            assert_eq!((found[1].method.as_str(), found[1].session.as_deref()), ("A.b", Some("S")));
        }
    }

    #[test]
    fn what_is_no_message_or_too_long_is_refused() {
        assert!(Message::read(b"hello").unwrap_err().contains("no message"));
        let mut reassembly = Reassembly::default();
        reassembly.add(&vec![b'x'; MESSAGE_BYTES_MAX + 1]);
        assert_eq!(reassembly.next().unwrap_err(), "sent a message of more than 8 MiB");
    }

    /// The text of a message stood in the error, megabytes of it.
    #[test]
    fn the_error_of_a_long_message_is_one_short_line() {
        let error = Message::read(format!("{{\"id\":\"{}\"}}", "x\\n".repeat(100_000)).as_bytes()).unwrap_err();
        assert!(error.len() < 300 && !error.contains(char::is_control), "{error}");
    }
}
