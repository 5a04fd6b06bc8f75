//! The promises of lists of requests on arbitrary bytes.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| input::testing::fuzz_url_list(data));
