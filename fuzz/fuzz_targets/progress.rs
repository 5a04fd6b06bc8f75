//! The promises of the readers of the plan and the steps of an experiment on arbitrary bytes.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| input::testing::fuzz_progress(data));
