//! The promises of the samples of a profile, read and named on arbitrary bytes.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| observe::testing::fuzz_samples(data));
