//! The promises of interval logs and the histograms in them on arbitrary bytes.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    model::testing::fuzz_histogram(data);
    evidence::testing::fuzz_interval_log(data);
});
