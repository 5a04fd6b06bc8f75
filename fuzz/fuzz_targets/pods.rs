//! The promises of the reader of pods on arbitrary bytes.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| agent::testing::fuzz_pods(data));
