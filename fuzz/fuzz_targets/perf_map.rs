//! The promises of the lists of functions that just-in-time compilers leave, on arbitrary bytes.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| observe::testing::fuzz_perf_map(data));
