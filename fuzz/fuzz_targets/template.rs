//! The promises of templates of requests on arbitrary bytes.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| engine::testing::fuzz_template(data));
