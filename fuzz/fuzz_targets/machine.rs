//! The promises of the readers of `/proc` and of control groups on arbitrary bytes.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| observe::testing::fuzz_machine(data));
