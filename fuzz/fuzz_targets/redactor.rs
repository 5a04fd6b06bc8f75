//! The promises of the redactor on arbitrary bytes.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| model::testing::fuzz_redactor(data));
