//! The promises of the renderers on records of arbitrary texts: nothing acts in a terminal, nothing is markup in a page.

#![no_main]

#[allow(dead_code, reason = "the tests need more records")]
#[path = "../../crates/report/tests/render/capacities.rs"]
mod capacities;
#[allow(dead_code, reason = "the tests need more records")]
#[path = "../../crates/report/tests/render/comparisons.rs"]
mod comparisons;
#[allow(dead_code, reason = "the tests need more records")]
#[path = "../../crates/report/tests/render/experiments.rs"]
mod experiments;
#[allow(dead_code, reason = "the tests need more records")]
#[path = "../../crates/report/tests/render/fixtures.rs"]
mod fixtures;
#[path = "../../crates/report/tests/render/forms.rs"]
mod forms;
#[allow(dead_code, reason = "the tests need more records")]
#[path = "../../crates/report/tests/render/histories.rs"]
mod histories;
#[allow(dead_code, reason = "the tests need more pages")]
#[path = "../../crates/report/tests/render/pages.rs"]
mod pages;
#[allow(dead_code, reason = "the tests make all renderings at once")]
#[path = "../../crates/report/tests/render/promises.rs"]
mod promises;
#[path = "../../crates/report/tests/render/renders.rs"]
mod renders;
#[path = "../../crates/report/tests/render/series.rs"]
mod series;

// Full records are made before the first input, which would else be a slow one. The first byte says what is rendered, and how.
libfuzzer_sys::fuzz_target!(init: promises::keep_one(0, ""), |data: &[u8]| {
    if let Some((number, texts)) = data.split_first() {
        promises::keep_one(usize::from(*number), &String::from_utf8_lossy(texts));
    }
});
