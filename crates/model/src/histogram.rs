//! Latency histograms: recorded by a worker without allocation, merged, summarised, encoded.
//!
//! Log-linear buckets after HdrHistogram: every value keeps three significant digits, so a quantile, the
//! smallest and the largest value are exact to 0.1 %. Histograms merge; percentiles never do.

use crate::{LatencySummary, NS_PER_S, Quantile};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::read::ZlibDecoder;
use hdrhistogram::serialization::{DeserializeError, Deserializer, Serializer, V2DeflateSerializer};
use hdrhistogram::{Counter, Histogram};
use std::collections::BTreeMap;
use std::io::{self, Read};
use std::ops::Range;
use thiserror::Error;

/// Largest value that is told apart; ns (one hour). Larger ones are recorded as this one.
pub const HIGHEST_NS: u64 = 3600 * NS_PER_S;
/// Of the normal distribution: 95 % of it lie within so many standard deviations.
const Z_95: f64 = 1.959_964;
/// Significant decimal digits every value keeps.
pub const SIGNIFICANT_DIGITS: u8 = 3;

/// Begins of HdrHistogram's V2 encoding, with DEFLATE and without.
const DEFLATED: u64 = 0x1c84_9314;
const PLAIN: u64 = 0x1c84_9313;
/// Bytes before the compressed part, and before the counts of the plain one.
const DEFLATED_HEAD: usize = 8;
const PLAIN_HEAD: usize = 40;
/// Every encoded histogram has room for smaller values only: histograms grow in powers of two; ns.
const ENCODED_BELOW_NS: u64 = HIGHEST_NS.next_power_of_two();
/// Most bytes of a plain encoding: nine for each of the buckets below that.
const PLAIN_MAX_BYTES: usize = PLAIN_HEAD + 9 * 33 * 1024;
/// Most values of an encoded histogram; it is of a second or two. Sums over a log cannot overflow.
const ENCODED_COUNT_MAX: u64 = 1 << 40;

/// What a worker records into: 32-bit counters, 128 KiB.
pub type LatencyHistogram = HistogramOf<u32>;
/// What histograms of many workers, seconds and iterations are merged into: 64-bit counters, at most 256 KiB.
pub type MergedHistogram = HistogramOf<u64>;

/// A histogram of ns values with counters of type `C`; see [`LatencyHistogram`] and [`MergedHistogram`].
///
/// All share one geometry, so any two of the same counter type can be added.
#[derive(Clone, Debug)]
pub struct HistogramOf<C: Counter> {
    /// None until the first value, unless memory was asked for.
    inner: Option<Histogram<C>>,
}

/// An encoded histogram that could not be read.
#[derive(Debug, Error)]
pub enum DecodeError {
    /// The text is not base64.
    #[error("encoded histogram is not base64")]
    Base64(#[from] base64::DecodeError),
    /// The bytes are not a V2 histogram.
    #[error("encoded histogram is damaged: {0}")]
    Format(DeserializeError),
    /// A histogram of another tool, with other buckets.
    #[error("histogram has {digits} digits from {lowest_ns} ns, which is not the geometry used here")]
    Geometry {
        /// Its significant digits.
        digits: u8,
        /// Its smallest value; ns.
        lowest_ns: u64,
    },
    /// It asks for more memory than a histogram of a load, or says that there are more values.
    #[error("encoded histogram has more or larger values than any load")]
    TooLarge,
}

impl<C: Counter> Default for HistogramOf<C> {
    /// An empty histogram that takes memory with its values only, as much as the largest of them needs.
    fn default() -> Self {
        Self { inner: None }
    }
}

impl<C: Counter> PartialEq for HistogramOf<C> {
    /// True if the same was recorded, however much memory there is for more.
    fn eq(&self, other: &Self) -> bool {
        self.buckets().eq(other.buckets())
    }
}

fn with_memory<C: Counter>() -> Histogram<C> {
    Histogram::new_with_bounds(1, HIGHEST_NS, SIGNIFICANT_DIGITS).expect("constant bounds are valid")
}

/// Every bucket takes real memory as soon as it is there, so that this one has those that are needed.
fn growing<C: Counter>() -> Histogram<C> {
    Histogram::new(SIGNIFICANT_DIGITS).expect("constant digits are valid")
}

impl<C: Counter> HistogramOf<C> {
    /// An empty histogram. Allocates everything it will ever need.
    #[must_use]
    pub fn new() -> Self {
        Self { inner: Some(with_memory()) }
    }

    /// Counts one value; ns. Never allocates when made by [`HistogramOf::new`], never fails: above [`HIGHEST_NS`] it
    /// saturates.
    #[inline]
    pub fn record(&mut self, value_ns: u64) {
        self.record_n(value_ns, C::one());
    }

    #[inline]
    fn record_n(&mut self, value_ns: u64, count: C) {
        let inner = self.inner.get_or_insert_with(growing);
        inner
            .record_n(value_ns.min(HIGHEST_NS), count)
            .expect("every value up to the highest has a bucket, or gets one");
    }

    /// Forgets all values and keeps the memory.
    pub fn clear(&mut self) {
        if let Some(inner) = self.inner.as_mut().filter(|inner| !inner.is_empty()) {
            inner.reset();
        }
    }

    /// True if nothing was recorded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.inner.as_ref().is_none_or(Histogram::is_empty)
    }

    /// Values recorded.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.inner.as_ref().map_or(0, Histogram::len)
    }

    /// Adds every value of `other`, bucket by bucket.
    ///
    /// # Panics
    /// If a bucket of a wider counter type has a count that the own type cannot hold.
    pub fn add<D: Counter>(&mut self, other: &HistogramOf<D>) {
        let Some(theirs) = other.inner.as_ref().filter(|theirs| !theirs.is_empty()) else { return };
        for step in theirs.iter_recorded() {
            let count = C::from_u64(step.count_since_last_iteration()).expect("the own counters are as wide");
            self.record_n(step.value_iterated_to(), count);
        }
    }

    /// Takes every value of `other` away, which is among the own ones: what is not, stays as it is.
    pub fn subtract(&mut self, other: &Self) {
        let (Some(mine), Some(theirs)) = (&self.inner, &other.inner) else { return };
        let mut left = Self::default();
        for step in mine.iter_recorded() {
            let value_ns = step.value_iterated_to();
            let count = step.count_at_value().saturating_sub(theirs.count_at(value_ns));
            if count > C::zero() {
                left.record_n(value_ns, count);
            }
        }
        *self = left;
    }

    /// Smallest recorded value that at least the share `q` (0 to 1) of all values does not exceed; ns. 0 when empty.
    #[must_use]
    pub fn quantile(&self, q: f64) -> u64 {
        self.inner.as_ref().map_or(0, |inner| inner.value_at_quantile(q))
    }

    /// The distribution in the usual figures; all zero when empty.
    #[must_use]
    pub fn summary(&self) -> LatencySummary {
        self.summary_with(&[])
    }

    /// The distribution in the usual figures and the quantiles that were `asked` for; all zero, and these missing, when empty.
    #[must_use]
    pub fn summary_with(&self, asked: &[Quantile]) -> LatencySummary {
        let Some(inner) = self.inner.as_ref().filter(|inner| !inner.is_empty()) else {
            return LatencySummary::default();
        };
        LatencySummary {
            n: self.count(),
            mean_ns: inner.mean(),
            min_ns: inner.min(),
            p50_ns: self.quantile(0.5),
            p90_ns: self.quantile(0.9),
            p95_ns: self.quantile(0.95),
            p99_ns: self.quantile(0.99),
            p99_9_ns: self.quantile(0.999),
            max_ns: inner.max(),
            others_ns: asked.iter().map(|quantile| (*quantile, self.quantile(quantile.share()))).collect(),
            ranges_ns: BTreeMap::new(),
        }
    }

    /// 95 % intervals of quantiles; none when empty.
    #[must_use]
    pub fn ranges(&self, quantiles: &[Quantile]) -> BTreeMap<Quantile, [u64; 2]> {
        let known = quantiles.iter().filter(|_| self.count() > 0);
        known.map(|quantile| (*quantile, self.range(quantile.share()))).collect()
    }

    /// 95 % interval of the quantile `q`, 0 to 1, from its order statistics: the rank of the true quantile among `n`
    /// independent values is binomial, here by its normal approximation (Hahn and Meeker, Statistical Intervals, 5.2); ns.
    fn range(&self, q: f64) -> [u64; 2] {
        let n = self.count() as f64;
        let half = Z_95 * (q * (1.0 - q) / n).sqrt();
        // A share of 0 would be none of the values.
        [self.quantile((q - half).max(1.0 / n)), self.quantile((q + half).min(1.0))]
    }

    /// Share of the values above `value_ns`, 0 to 1; values in the same bucket do not count as above.
    #[must_use]
    pub fn share_above(&self, value_ns: u64) -> f64 {
        let Some(inner) = self.inner.as_ref().filter(|inner| !inner.is_empty()) else { return 0.0 };
        let up_to: u64 = inner
            .iter_recorded()
            .take_while(|step| inner.lowest_equivalent(step.value_iterated_to()) <= value_ns)
            .map(|step| step.count_since_last_iteration())
            .sum();
        (self.count() - up_to) as f64 / self.count() as f64
    }

    /// The recorded buckets in rising order: largest value of the bucket in ns, and how many values are in it.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.inner
            .iter()
            .flat_map(Histogram::iter_recorded)
            .map(|step| (step.value_iterated_to(), step.count_since_last_iteration()))
    }

    /// How many values are in each of `n` bins of `width_ns`, from 0 on.
    #[must_use]
    pub fn bins(&self, width_ns: u64, n: usize) -> Vec<u64> {
        let mut bins = vec![0; n];
        for (value_ns, count) in self.buckets() {
            if let Some(bin) = bins.get_mut((value_ns / width_ns) as usize) {
                *bin += count;
            }
        }
        bins
    }

    /// HdrHistogram's V2 + DEFLATE encoding, base64: what its log files hold. The largest value that the text has room
    /// for is not always the same, as it depends on what was recorded.
    #[must_use]
    pub fn encode(&self) -> String {
        let empty;
        let inner = match &self.inner {
            Some(inner) => inner,
            None => {
                empty = growing();
                &empty
            }
        };
        let mut bytes = Vec::new();
        V2DeflateSerializer::new().serialize(inner, &mut bytes).expect("writing to memory cannot fail");
        STANDARD.encode(bytes)
    }

    /// The inverse of [`HistogramOf::encode`]; any counter type can read what any other wrote. The text may come from
    /// anywhere: it takes no more memory than what [`HistogramOf::encode`] makes.
    ///
    /// # Errors
    /// When the text is not such an encoding, or is one of a histogram with another geometry, or of a larger one.
    pub fn decode(encoded: &str) -> Result<Self, DecodeError> {
        let plain = inflate(&STANDARD.decode(encoded)?)?;
        check(&plain)?;
        let mut inner: Histogram<C> =
            Deserializer::new().deserialize(&mut plain.as_slice()).map_err(DecodeError::Format)?;
        if inner.len() > ENCODED_COUNT_MAX || inner.max() > inner.highest_equivalent(HIGHEST_NS) {
            return Err(DecodeError::TooLarge);
        }
        inner.auto(true);
        Ok(Self { inner: Some(inner) })
    }
}

fn cut_off() -> DecodeError {
    DecodeError::Format(DeserializeError::IoError(io::ErrorKind::UnexpectedEof.into()))
}

/// Number in the big-endian `bytes`, of at most eight.
fn number(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// The plain encoding in a compressed one.
fn inflate(bytes: &[u8]) -> Result<Vec<u8>, DecodeError> {
    let (head, deflated) = bytes.split_at_checked(DEFLATED_HEAD).ok_or_else(cut_off)?;
    if number(&head[..4]) != DEFLATED {
        return Err(DecodeError::Format(DeserializeError::InvalidCookie));
    }
    let mut plain = Vec::new();
    let mut inflated = ZlibDecoder::new(deflated).take(PLAIN_MAX_BYTES as u64 + 1);
    inflated.read_to_end(&mut plain).map_err(|error| DecodeError::Format(error.into()))?;
    if plain.len() > PLAIN_MAX_BYTES { Err(DecodeError::TooLarge) } else { Ok(plain) }
}

/// Checks what a plain encoding says of itself: whoever decodes it takes its lengths for granted, and memory for them.
fn check(plain: &[u8]) -> Result<(), DecodeError> {
    let (head, counts) = plain.split_at_checked(PLAIN_HEAD).ok_or_else(cut_off)?;
    let field = |range: Range<usize>| number(&head[range]);
    let (cookie, length, digits) = (field(0..4), field(4..8), field(12..16));
    let (lowest_ns, highest_ns) = (field(16..24), field(24..32));
    if cookie != PLAIN {
        return Err(DecodeError::Format(DeserializeError::InvalidCookie));
    }
    if (lowest_ns, digits) != (1, u64::from(SIGNIFICANT_DIGITS)) {
        return Err(DecodeError::Geometry { digits: u8::try_from(digits).unwrap_or(u8::MAX), lowest_ns });
    }
    // Nine bytes of ones are the one number that the decoder cannot negate.
    if highest_ns >= ENCODED_BELOW_NS || counts.windows(9).any(|bytes| bytes == [0xff; 9]) {
        return Err(DecodeError::TooLarge);
    }
    if length == counts.len() as u64 { Ok(()) } else { Err(cut_off()) }
}

/// The latency histograms of a load thread, of a second, of a load; ns.
#[derive(Clone, Debug)]
pub struct HistogramsOf<C: Counter> {
    /// Completion minus intended send.
    pub response: HistogramOf<C>,
    /// Completion minus actual send.
    pub service: HistogramOf<C>,
    /// First byte of the response minus actual send.
    pub first_byte: HistogramOf<C>,
    /// Actual minus intended send, as far as our own loop was late; of open loops only.
    pub slip_client: HistogramOf<C>,
    /// Actual minus intended send, as far as no connection was free; of open loops only.
    pub slip_blocked: HistogramOf<C>,
    /// The TLS handshake of each connection, those before the clock started included.
    pub handshake: HistogramOf<C>,
}

/// What a worker records into.
pub type WorkerHistograms = HistogramsOf<u32>;
/// What is merged.
pub type Histograms = HistogramsOf<u64>;

impl<C: Counter> Default for HistogramsOf<C> {
    fn default() -> Self {
        let empty = HistogramOf::default;
        Self {
            response: empty(),
            service: empty(),
            first_byte: empty(),
            slip_client: empty(),
            slip_blocked: empty(),
            handshake: empty(),
        }
    }
}

impl<C: Counter> PartialEq for HistogramsOf<C> {
    fn eq(&self, other: &Self) -> bool {
        self.each().into_iter().zip(other.each()).all(|((_, mine), (_, theirs))| mine == theirs)
    }
}

impl<C: Counter> HistogramsOf<C> {
    /// All of them, by the names that they have in logs.
    #[must_use]
    pub const fn each(&self) -> [(&'static str, &HistogramOf<C>); 6] {
        let Self { response, service, first_byte, slip_client, slip_blocked, handshake } = self;
        [
            ("response", response),
            ("service", service),
            ("first_byte", first_byte),
            ("slip_client", slip_client),
            ("slip_blocked", slip_blocked),
            ("handshake", handshake),
        ]
    }

    /// The one of that name.
    pub fn named_mut(&mut self, name: &str) -> Option<&mut HistogramOf<C>> {
        let at = self.each().iter().position(|(one, _)| *one == name)?;
        self.each_mut().into_iter().nth(at)
    }

    fn each_mut(&mut self) -> [&mut HistogramOf<C>; 6] {
        let Self { response, service, first_byte, slip_client, slip_blocked, handshake } = self;
        [response, service, first_byte, slip_client, slip_blocked, handshake]
    }

    /// Adds every value of `other`.
    pub fn add<D: Counter>(&mut self, other: &HistogramsOf<D>) {
        self.each_mut().into_iter().zip(other.each()).for_each(|(mine, (_, theirs))| mine.add(theirs));
    }

    /// Takes every value of `other`, which is among the own ones, away.
    pub fn subtract(&mut self, other: &Self) {
        self.each_mut().into_iter().zip(other.each()).for_each(|(mine, (_, theirs))| mine.subtract(theirs));
    }

    /// Forgets all values and keeps the memory.
    pub fn clear(&mut self) {
        self.each_mut().into_iter().for_each(HistogramOf::clear);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::text_of;
    use proptest::prelude::*;

    #[test]
    fn values_are_counted_in_bins_and_those_beyond_the_last_are_left_out() {
        let mut h = LatencyHistogram::new();
        for value_ms in [0, 3, 41, 42, 4_000] {
            h.record(value_ms * 1_000_000);
        }
        let bins = h.bins(4_000_000, 11);
        assert_eq!((bins.len(), bins[0], bins[10], bins.iter().sum::<u64>()), (11, 2, 2, 4));
        assert_eq!(LatencyHistogram::default().bins(1, 2), [0, 0]);
    }

    #[test]
    fn summary_matches_known_values() {
        let mut h = LatencyHistogram::new();
        for value in 1..=1000 {
            h.record(value);
        }
        // below 2048 every value has its own bucket
        let expected = LatencySummary {
            n: 1000,
            mean_ns: 500.5,
            min_ns: 1,
            p50_ns: 500,
            p90_ns: 900,
            p95_ns: 950,
            p99_ns: 990,
            p99_9_ns: 999,
            max_ns: 1000,
            others_ns: [].into(),
            ranges_ns: [].into(),
        };
        assert_eq!(h.summary(), expected);
        let asked = ["p25", "p97.5"].map(|text| text.parse().expect("a quantile"));
        let others: Vec<_> =
            h.summary_with(&asked).others_ns.into_iter().map(|(of, ns)| (of.to_string(), ns)).collect();
        assert_eq!(others, [("p25".to_owned(), 250), ("p97.5".to_owned(), 975)]);
        assert_eq!(h.share_above(900), 0.1);
        assert_eq!(h.share_above(0), 1.0);
        assert_eq!(h.share_above(1000), 0.0);
        assert_eq!(h.buckets().map(|(_, n)| n).sum::<u64>(), 1000);
    }

    #[test]
    fn empty_is_all_zero() {
        let mut h = LatencyHistogram::new();
        assert!(h.is_empty());
        assert_eq!(h.summary(), LatencySummary::default());
        assert_eq!(h.share_above(1), 0.0);
        h.record(5);
        assert!(!h.is_empty());
        h.clear();
        assert!(h.is_empty());
        assert_eq!(h, LatencyHistogram::new());
    }

    #[test]
    fn zero_and_beyond_an_hour_are_kept() {
        let mut h = LatencyHistogram::new();
        h.record(0);
        h.record(u64::MAX);
        let summary = h.summary();
        assert_eq!((summary.n, summary.min_ns), (2, 0));
        assert!(summary.max_ns.abs_diff(HIGHEST_NS) < HIGHEST_NS / 1000, "{}", summary.max_ns);
    }

    #[test]
    fn one_that_grows_tells_the_same_as_one_that_is_whole() {
        for largest in [0, 5_000_000, HIGHEST_NS, u64::MAX] {
            let (mut grown, mut whole) = (LatencyHistogram::default(), LatencyHistogram::new());
            for value in [1, 40_000, largest] {
                grown.record(value);
                whole.record(value);
            }
            assert_eq!(grown, whole, "{largest}");
            assert_eq!(grown.summary(), whole.summary(), "{largest}");
            let mut decoded = LatencyHistogram::decode(&grown.encode()).unwrap();
            assert_eq!(decoded, whole, "{largest}");
            decoded.record(HIGHEST_NS);
            assert_eq!(decoded.count(), 4, "what was read has room for more");
        }
    }

    #[test]
    fn counters_beyond_32_bits_merge() {
        let mut merged = MergedHistogram::new();
        merged.record_n(7, u64::from(u32::MAX));
        merged.add(&merged.clone());
        assert_eq!(MergedHistogram::decode(&merged.encode()).unwrap().count(), 2 * u64::from(u32::MAX));
        assert!(matches!(LatencyHistogram::decode(&merged.encode()), Err(DecodeError::Format(_))));
    }

    #[test]
    fn damage_is_an_error() {
        let mut h = LatencyHistogram::new();
        (1..5000).for_each(|v| h.record(v * 977));
        let text = h.encode();
        assert!(matches!(MergedHistogram::decode("no base64!"), Err(DecodeError::Base64(_))));
        assert!(matches!(MergedHistogram::decode(""), Err(DecodeError::Format(_))));
        assert!(matches!(MergedHistogram::decode(&text[..text.len() / 8 * 4]), Err(DecodeError::Format(_))));
        let foreign = HistogramOf { inner: Some(Histogram::<u64>::new_with_bounds(1, HIGHEST_NS, 2).unwrap()) };
        assert!(matches!(MergedHistogram::decode(&foreign.encode()), Err(DecodeError::Geometry { digits: 2, .. })));
    }

    /// A plain encoding with these fields and counts.
    fn plain(length: u32, digits: u32, highest_ns: u64, counts: &[u8]) -> Vec<u8> {
        let mut plain = Vec::new();
        [0x1c84_9313, length, 0, digits].into_iter().for_each(|word: u32| plain.extend(word.to_be_bytes()));
        [1, highest_ns].into_iter().for_each(|word: u64| plain.extend(word.to_be_bytes()));
        plain.extend(1.0_f64.to_be_bytes());
        plain.extend(counts);
        plain
    }

    #[test]
    fn a_short_text_does_not_ask_for_gigabytes() {
        let decode = |plain: &[u8]| MergedHistogram::decode(&text_of(plain));
        let good = plain(1, 3, HIGHEST_NS, &[2]);
        assert_eq!(decode(&good).unwrap().count(), 1, "one value of 0");
        // A payload of 4 GiB in less than 84 bytes.
        let long = text_of(&plain(u32::MAX, 3, HIGHEST_NS, &[2]));
        assert!(long.len() < 84, "{long}");
        assert!(matches!(MergedHistogram::decode(&long), Err(DecodeError::Format(_))));
        assert!(matches!(decode(&plain(1, 3, u64::MAX, &[2])), Err(DecodeError::TooLarge)));
        assert!(matches!(decode(&plain(1, 5, HIGHEST_NS, &[2])), Err(DecodeError::Geometry { digits: 5, .. })));
        let bomb = vec![0; 4 * PLAIN_MAX_BYTES];
        assert!(text_of(&bomb).len() < bomb.len() / 50);
        assert!(matches!(decode(&bomb), Err(DecodeError::TooLarge)));
        // One value too often.
        let many = [0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f];
        assert!(matches!(decode(&plain(8, 3, HIGHEST_NS, &many)), Err(DecodeError::TooLarge)));
        assert!(matches!(decode(&plain(9, 3, HIGHEST_NS, &[0xff; 9])), Err(DecodeError::TooLarge)));
    }

    #[test]
    fn the_largest_histograms_are_read_back() {
        let (mut grown, mut whole) = (MergedHistogram::default(), MergedHistogram::new());
        for bucket in 0..42 {
            for value in (1_u64 << bucket..).step_by((1 << bucket) / 1024 + 1).take_while(|ns| *ns < 2 << bucket) {
                [&mut grown, &mut whole].into_iter().for_each(|h| h.record_n(value, 1 << 20));
            }
        }
        for histogram in [grown, whole] {
            assert_eq!(MergedHistogram::decode(&histogram.encode()).unwrap(), histogram);
        }
    }

    proptest! {
        #[test]
        fn encoding_round_trips_into_either_width(values in prop::collection::vec(0..HIGHEST_NS, 0..200)) {
            let mut h = LatencyHistogram::new();
            values.iter().for_each(|v| h.record(*v));
            let text = h.encode();
            prop_assert_eq!(LatencyHistogram::decode(&text).unwrap().summary(), h.summary());
            let merged = MergedHistogram::decode(&text).unwrap();
            prop_assert_eq!(merged.summary(), h.summary());
            prop_assert!(merged.buckets().eq(h.buckets()));
        }

        #[test]
        fn merging_is_recording_together(
            left in prop::collection::vec(0..HIGHEST_NS, 0..50),
            right in prop::collection::vec(0..HIGHEST_NS, 0..50),
        ) {
            let (mut a, mut b, mut both) = (LatencyHistogram::new(), LatencyHistogram::new(), LatencyHistogram::new());
            left.iter().for_each(|v| { a.record(*v); both.record(*v) });
            right.iter().for_each(|v| { b.record(*v); both.record(*v) });
            a.add(&b);
            prop_assert_eq!(a.summary(), both.summary());
        }

        #[test]
        fn quantiles_keep_three_digits(value in 1..HIGHEST_NS, q in 0.0..=1.0) {
            let mut h = LatencyHistogram::new();
            h.record(value);
            prop_assert!(h.quantile(q).abs_diff(value) <= value / 1000);
        }
    }
}
