//! The promises of experiments on arbitrary bytes.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| input::testing::fuzz_experiment(data));
