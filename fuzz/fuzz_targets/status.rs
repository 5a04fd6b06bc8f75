//! The promises of the readers of status pages and counters of servers on arbitrary bytes.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| observe::testing::fuzz_status(data));
