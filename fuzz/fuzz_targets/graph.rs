//! The promises of flame graphs, stored and drawn of stacks, on arbitrary bytes.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| report::testing::fuzz_graph(data));
