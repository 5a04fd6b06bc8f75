//! The promises of the FastCGI client machine on arbitrary bytes.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| wire::testing::fuzz_fastcgi(data));
