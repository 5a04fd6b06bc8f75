//! The promises of stored results, read and shown in every form on arbitrary bytes.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| report::testing::fuzz_run_json(data));
