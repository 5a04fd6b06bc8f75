//! Fingerprint of a certificate: the text by which one end is told which certificate the other end has.
//!
//! The coordinator of agents in a cluster puts its own fingerprint into their command line, and each agent prints its own
//! fingerprint. Both are public: whoever knows them can neither show the certificate's key nor make another certificate of them.

use ring::digest::{SHA256, SHA256_OUTPUT_LEN, digest};
use rustls::pki_types::CertificateDer;
use std::fmt;
use std::str::FromStr;

/// Beginning of the line in which an agent prints its fingerprint.
const ANNOUNCED: &str = "the certificate of this agent has the SHA-256 fingerprint ";

/// SHA-256 of a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fingerprint([u8; SHA256_OUTPUT_LEN]);

impl Fingerprint {
    pub(super) fn of(certificate: &CertificateDer<'_>) -> Self {
        let mut bytes = [0; SHA256_OUTPUT_LEN];
        bytes.copy_from_slice(digest(&SHA256, certificate).as_ref());
        Self(bytes)
    }

    /// The line with which an agent tells its fingerprint to whoever can read its output.
    pub(crate) fn announcement(self) -> String {
        format!("{ANNOUNCED}{self}")
    }

    /// The fingerprint in a line that an agent has printed; none if it is another line.
    #[cfg(any(feature = "kubernetes", test))]
    pub(crate) fn announced(line: &str) -> Option<Self> {
        line.trim().strip_prefix(ANNOUNCED)?.parse().ok()
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for Fingerprint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("is no fingerprint, which has {} hexadecimal digits", 2 * SHA256_OUTPUT_LEN);
        if text.len() != 2 * SHA256_OUTPUT_LEN || !text.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Err(wrong());
        }
        let mut bytes = [0; SHA256_OUTPUT_LEN];
        for (byte, at) in bytes.iter_mut().zip((0..text.len()).step_by(2)) {
            *byte = u8::from_str_radix(&text[at..at + 2], 16).map_err(|_| wrong())?;
        }
        Ok(Self(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_is_the_same_after_it_was_written_and_read() {
        let one = Fingerprint::of(&CertificateDer::from(vec![1, 2, 3]));
        assert_eq!(one.to_string(), "039058c6f2c0cb492c533b0a4d14ef77cc0f78abccced5287d84a1a2011cfb81");
        assert_eq!(one.to_string().parse(), Ok(one));
        assert_eq!(Fingerprint::announced(&format!("{}\n", one.announcement())), Some(one));
        assert_ne!(one, Fingerprint::of(&CertificateDer::from(vec![1, 2, 4])));
    }

    #[test]
    fn other_texts_are_no_fingerprints() {
        let digits = "0".repeat(64);
        for text in ["", &digits[1..], &format!("{digits}0"), &digits.replacen('0', "g", 1), &"é".repeat(32)] {
            assert!(text.parse::<Fingerprint>().is_err(), "{text}");
        }
        assert_eq!(Fingerprint::announced(&digits), None);
    }
}
