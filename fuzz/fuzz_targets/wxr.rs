//! The promises of the reader of exports of WordPress on arbitrary bytes.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| stack::testing::fuzz_wxr(data));
