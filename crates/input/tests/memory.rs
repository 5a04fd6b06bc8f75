//! Memory: what is read of a file of requests takes at most as much as the file once more.
//!
//! A binary of its own with a single test, because it counts what the whole process allocates.

use input::{Listed, RequestFile};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// A recording as browsers make them: most of it are contents of responses.
fn har() -> String {
    let entry = |n: usize| {
        let headers: Vec<_> =
            (0..8).map(|i| serde_json::json!({"name": format!("X-{i}"), "value": "0123456789".repeat(4)})).collect();
        let url = format!("https://shop.example/assets/{n}.js?v=0123456789");
        serde_json::json!({
            "request": {"method": "GET", "url": url, "headers": headers},
            "response": {"status": 200, "headers": headers, "content": {"text": "x".repeat(20_000)}},
        })
    };
    let entries: Vec<_> = (0..200).map(entry).collect();
    serde_json::json!({"log": {"version": "1.2", "entries": entries}}).to_string()
}

/// Bytes that are allocated while `file` is read, those that are given back meanwhile included.
fn allocated(file: &RequestFile) -> (usize, usize) {
    let region = Region::new(ALLOCATOR);
    let listed = Listed::read(file, &[], None).expect("requests");
    (listed.requests.len(), region.change().bytes_allocated)
}

#[test]
fn what_is_read_takes_at_most_as_much_memory_as_the_file_once_more() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| {
        std::fs::write(folder.path().join(name), text).expect("room");
        (folder.path().join(name), text.len())
    };
    let (har, har_bytes) = write("shop.har", &har());
    let lines: String = (0..200).map(|n| format!("POST /orders/{n} {}\n", "a=b&".repeat(10_000))).collect();
    let (urls, urls_bytes) = write("urls", &lines);
    assert!(har_bytes > 1_000_000 && urls_bytes > 1_000_000);
    for (file, bytes) in [(RequestFile::Har(har), har_bytes), (RequestFile::Urls(urls), urls_bytes)] {
        let (requests, taken) = allocated(&file);
        assert_eq!(requests, 200);
        // An eighth for what surrounds the texts.
        assert!(taken <= 2 * bytes + bytes / 8, "{taken} bytes for a file of {bytes}");
    }
}
