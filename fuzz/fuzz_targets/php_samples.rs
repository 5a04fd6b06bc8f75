//! The promises of the readers of samples of PHP on arbitrary bytes.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| stack::testing::fuzz_php_samples(data));
