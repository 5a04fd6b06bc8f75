//! The promises of the readers of other tools' output on arbitrary bytes.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| audit::testing::fuzz_audit(data));
