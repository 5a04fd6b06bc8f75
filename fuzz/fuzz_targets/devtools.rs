//! The promises of what is made of the messages of a browser on arbitrary bytes.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| browser::testing::fuzz_devtools(data));
