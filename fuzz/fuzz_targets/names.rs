//! The promises of what the process says that reads program files, on arbitrary bytes.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| observe::testing::fuzz_names(data));
