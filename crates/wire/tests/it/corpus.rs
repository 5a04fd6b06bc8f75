//! The fuzz targets' checks on the committed corpus and on seeded mutations of it, so that every test run fuzzes a bit.
//!
//! A failure prints the input as a byte string; add it to `tests/corpus` once it is understood.

use std::fs;
use std::panic::catch_unwind;
use std::path::Path;
use wire::testing::{CONFIG_BYTES, fuzz_client, fuzz_fastcgi, fuzz_server};

const MUTATIONS: usize = 40_000;

const TOKENS: [&[u8]; 21] = [
    b"\r\n",
    b"\n",
    b"\r",
    b"\0",
    b":",
    b", ",
    b";x=y",
    b"0\r\n\r\n",
    b"\r\n\r\n",
    b"ffffffffffffffff",
    b"18446744073709551615",
    b"HTTP/1.1 100 Continue\r\n\r\n",
    b"HTTP/1.0 200 OK\r\n",
    b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    b"Content-Length: 3\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"Connection: close\r\n",
    b"Expect: 100-continue\r\n",
    b"\x01\x06\0\x01\0\x04\0\0A: b",
    b"\x01\x03\0\x01\0\x08\0\0\0\0\0\0\0\0\0\0",
    b"Status: 204\n\n",
];

/// splitmix64 (S. Vigna, public domain): small, seeded and good enough to pick edits.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound.max(1) as u64).expect("below a usize")
    }
}

/// Every seed of a directory, in the order of names.
fn corpus(name: &str) -> Vec<Vec<u8>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus").join(name);
    let mut paths: Vec<_> =
        fs::read_dir(directory).expect("a corpus").map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    let seeds: Vec<_> = paths.iter().map(|path| fs::read(path).expect("a seed")).collect();
    assert!(seeds.len() >= 10, "the corpus of {name} is too small");
    seeds
}

fn mutate(seeds: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut input = seeds[random.below(seeds.len())].clone();
    for _ in 0..=random.below(6) {
        let at = random.below(input.len() + 1);
        let end = input.len().min(at + random.below(24));
        match random.below(7) {
            0 => input.truncate(at.max(CONFIG_BYTES)),
            1 => drop(input.drain(at..end)),
            2 => drop(input.splice(at..at, TOKENS[random.below(TOKENS.len())].iter().copied())),
            3 => drop(input.splice(at..at, input[at..end].to_vec())),
            4 => input.iter_mut().skip(at).take(1).for_each(|byte| *byte = random.next() as u8),
            5 => input.iter_mut().take(CONFIG_BYTES).for_each(|byte| *byte = random.next() as u8),
            _ => {
                let other = &seeds[random.below(seeds.len())];
                input.truncate(at);
                input.extend(&other[random.below(other.len())..]);
            }
        }
    }
    input
}

fn check(name: &str, target: fn(&[u8])) {
    let seeds = corpus(name);
    let mut random = Random(0x706c_696d_736f_6c6c);
    let mutants = (0..MUTATIONS).map(|_| mutate(&seeds, &mut random)).collect::<Vec<_>>();
    for input in seeds.iter().chain(&mutants) {
        assert!(catch_unwind(|| target(input)).is_ok(), "input: {}", input.escape_ascii());
    }
}

#[test]
fn client() {
    check("client", fuzz_client);
}

#[test]
fn fastcgi() {
    check("fastcgi", fuzz_fastcgi);
}

#[test]
fn server() {
    check("server", fuzz_server);
}
