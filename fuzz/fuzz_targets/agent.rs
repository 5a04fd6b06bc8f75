//! The promises of both ends of the agents' protocol on arbitrary bytes.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| agent::testing::fuzz(data));
