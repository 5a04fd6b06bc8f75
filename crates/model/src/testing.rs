//! The promises of the histogram decoder and the redactor on arbitrary bytes.

use crate::{HIGHEST_NS, MergedHistogram};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use std::io::Write as _;

/// Takes `data` as an encoded histogram, as it is and as what is compressed in one: no panic, and what is read has figures
/// that hold together and reads back.
///
/// # Panics
/// When a promise is broken.
pub fn fuzz_histogram(data: &[u8]) {
    check(&STANDARD.encode(data));
    check(&text_of(data));
}

/// Takes `data` as a text with secrets.
///
/// # Panics
/// When a promise of the redactor is broken.
pub fn fuzz_redactor(data: &[u8]) {
    crate::redact::promises::keep(data);
}

/// The text of a histogram whose plain encoding is `plain`.
pub(crate) fn text_of(plain: &[u8]) -> String {
    let mut deflated = ZlibEncoder::new(Vec::new(), Compression::default());
    deflated.write_all(plain).expect("memory takes every byte");
    let deflated = deflated.finish().expect("memory takes every byte");
    let mut bytes = 0x1c84_9314_u32.to_be_bytes().to_vec();
    bytes.extend((deflated.len() as u32).to_be_bytes());
    bytes.extend(deflated);
    STANDARD.encode(bytes)
}

fn check(text: &str) {
    let Ok(read) = MergedHistogram::decode(text) else { return };
    let summary = read.summary();
    assert!(summary.mean_ns.is_finite() && summary.min_ns <= summary.p50_ns, "{summary:?}");
    assert!(summary.p50_ns <= summary.p99_ns && summary.p99_ns <= summary.max_ns, "{summary:?}");
    assert!(summary.max_ns < 2 * HIGHEST_NS, "{summary:?}");
    assert_eq!(read.buckets().map(|(_, n)| n).sum::<u64>(), summary.n);
    assert_eq!(MergedHistogram::decode(&read.encode()).expect("it is our own"), read);
    let mut both = MergedHistogram::default();
    (0..2).for_each(|_| both.add(&read));
    assert_eq!(both.count(), 2 * summary.n);
    both.subtract(&read);
    assert_eq!(both.count(), summary.n);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A plain encoding of three values.
    fn plain() -> Vec<u8> {
        let mut plain = Vec::new();
        [0x1c84_9313_u32, 4, 0, 3].into_iter().for_each(|word| plain.extend(word.to_be_bytes()));
        [1, HIGHEST_NS].into_iter().for_each(|word| plain.extend(word.to_be_bytes()));
        plain.extend(1.0_f64.to_be_bytes());
        // Five times nothing, two values, nothing, one value.
        plain.extend([9, 4, 0, 2]);
        plain
    }

    #[test]
    fn the_seed_is_a_histogram() {
        let read = MergedHistogram::decode(&text_of(&plain())).unwrap();
        assert_eq!(read.buckets().collect::<Vec<_>>(), [(5, 2), (7, 1)]);
    }

    proptest! {
        #[test]
        fn histograms_keep_their_promises(
            edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
            counts in prop::collection::vec(any::<u8>(), 0..40),
        ) {
            let mut plain = plain();
            plain.extend(&counts);
            plain[7] = (4 + counts.len()) as u8;
            for (at, byte) in edits {
                let at = at.index(plain.len());
                plain[at] = byte;
            }
            fuzz_histogram(&plain);
        }
    }
}
