//! Bodies that are sent in pieces as the client takes them: what they consist of, and when the next piece may go.

use model::NS_PER_S;
use rand_core::Rng;

use super::random::generator;

/// Bytes of body that are handed to the kernel at once, and the largest chunk of chunked transfer coding.
pub(super) const PIECE_BYTES: usize = 64 * 1024;
/// What [`Fill::Pattern`] repeats.
const PATTERN: &[u8; 16] = b"0123456789abcdef";
/// A slow body is sent in pieces of this much time, as far as that is at least a byte; ns.
const PACE_PIECE_NS: u64 = 10_000_000;

/// What a body consists of. Every byte follows from its position, so a piece may begin anywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fill {
    Pattern,
    Zero,
    /// Pseudo-random: the same seed, the same bytes.
    Random {
        seed: u64,
    },
}

/// A body on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Body {
    pub(super) fill: Fill,
    pub(super) size: u64,
    pub(super) sent: u64,
    /// Bytes of a chunk, up to [`PIECE_BYTES`], when it goes in chunked transfer coding.
    pub(super) chunk: Option<usize>,
    /// It stops without the last chunk.
    pub(super) unfinished: bool,
    pub(super) pace: Option<Pace>,
}

/// A body sent slower than the client could take it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pace {
    /// At least 1.
    pub(super) bytes_per_s: u64,
    /// When the body begins; ns since the start.
    pub(super) begin_ns: u64,
}

impl Body {
    /// Bytes of the next piece.
    pub(super) fn next_len(&self) -> usize {
        let most = match (self.chunk, self.pace) {
            (Some(chunk), _) => chunk as u64,
            (None, Some(pace)) => pace.bytes_over(PACE_PIECE_NS).clamp(1, PIECE_BYTES as u64),
            (None, None) => PIECE_BYTES as u64,
        };
        most.min(self.size - self.sent) as usize
    }

    /// When the next piece may be sent; ns since the start, none when at any time.
    pub(super) fn due_ns(&self) -> Option<u64> {
        let pace = self.pace?;
        let until = u128::from(self.sent) + self.next_len() as u128;
        let wait_ns = (until * u128::from(NS_PER_S)).div_ceil(u128::from(pace.bytes_per_s));
        Some(pace.begin_ns.saturating_add(u64::try_from(wait_ns).unwrap_or(u64::MAX)))
    }
}

impl Pace {
    fn bytes_over(self, ns: u64) -> u64 {
        (u128::from(self.bytes_per_s) * u128::from(ns) / u128::from(NS_PER_S)) as u64
    }
}

/// Where the bytes of bodies come from; one for each worker.
pub(super) struct Source {
    pattern: Box<[u8]>,
    zeros: Box<[u8]>,
    random: Box<[u8]>,
}

impl Source {
    pub(super) fn new() -> Self {
        Self {
            pattern: PATTERN.repeat(PIECE_BYTES / PATTERN.len() + 1).into_boxed_slice(),
            zeros: vec![0; PIECE_BYTES].into_boxed_slice(),
            random: vec![0; PIECE_BYTES + WORD].into_boxed_slice(),
        }
    }

    /// `len` bytes, at most [`PIECE_BYTES`], from `offset` on.
    pub(super) fn piece(&mut self, fill: Fill, offset: u64, len: usize) -> &[u8] {
        match fill {
            Fill::Pattern => &self.pattern[offset as usize % PATTERN.len()..][..len],
            Fill::Zero => &self.zeros[..len],
            Fill::Random { seed } => {
                let skip = offset as usize % WORD;
                generator(seed, offset / WORD as u64).fill_bytes(&mut self.random[..skip + len]);
                &self.random[skip..skip + len]
            }
        }
    }
}

/// Bytes of one number of the generator.
const WORD: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn body(size: u64, pace: Option<Pace>) -> Body {
        Body { fill: Fill::Zero, size, sent: 0, chunk: None, unfinished: false, pace }
    }

    #[test]
    fn random_bytes_look_random_and_other_fills_are_what_they_say() {
        let mut source = Source::new();
        let random = source.piece(Fill::Random { seed: 1 }, 0, PIECE_BYTES).to_vec();
        assert_ne!(random, source.piece(Fill::Random { seed: 2 }, 0, PIECE_BYTES));
        let mut counts = [0u32; 256];
        random.iter().for_each(|byte| counts[usize::from(*byte)] += 1);
        // 256 each on average with a deviation of 16.
        assert!(counts.iter().all(|count| (150..400).contains(count)), "{counts:?}");
        assert_eq!(source.piece(Fill::Pattern, 1_000_003, 4), b"3456");
        assert!(source.piece(Fill::Zero, 5, PIECE_BYTES).iter().all(|byte| *byte == 0));
    }

    #[test]
    fn a_paced_body_ends_when_its_rate_says_and_no_piece_is_early() {
        for (size, bytes_per_s) in [(1_000_000, 1_000_000), (100, 7), (1, 1), (10_000_000, 1 << 40)] {
            let mut body = body(size, Some(Pace { bytes_per_s, begin_ns: 500 }));
            let mut last_ns = 0;
            while body.sent < body.size {
                let due_ns = body.due_ns().unwrap();
                assert!(due_ns >= last_ns && body.next_len() >= 1);
                last_ns = due_ns;
                body.sent += body.next_len() as u64;
            }
            let expected_ns = 500 + (u128::from(size) * 1_000_000_000).div_ceil(u128::from(bytes_per_s)) as u64;
            assert_eq!(last_ns, expected_ns);
        }
        assert_eq!(body(10, None).due_ns(), None);
    }

    proptest! {
        /// However the kernel cuts a body, its bytes are the same.
        #[test]
        fn pieces_join_to_the_same_bytes(cuts in prop::collection::vec(1usize..3_000, 1..20), seed: u64) {
            let mut source = Source::new();
            for fill in [Fill::Pattern, Fill::Zero, Fill::Random { seed }] {
                let mut joined = Vec::new();
                for cut in &cuts {
                    joined.extend_from_slice(source.piece(fill, joined.len() as u64, *cut));
                }
                prop_assert_eq!(&joined, source.piece(fill, 0, joined.len()));
            }
        }
    }
}
