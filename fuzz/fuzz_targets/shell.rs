//! The promises of the reader of what the shell of a host says on arbitrary bytes.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| agent::testing::fuzz_shell(data));
