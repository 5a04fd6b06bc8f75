//! Takes plotly.js out of its crate once, as a compressed file: at run time the crate could only give it as a copy in memory,
//! twice as large as all that plimsoll needs for a load.

use flate2::Compression;
use flate2::write::GzEncoder;
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::{env, io};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo names it"));
    let mut encoder = GzEncoder::new(File::create(out.join("plotly.js.gz"))?, Compression::best());
    encoder.write_all(plotly_script().as_bytes())?;
    encoder.finish().map(drop)
}

/// Plotly itself, without the typesetting of formulas that comes with it: half a page's weight that no chart needs.
fn plotly_script() -> String {
    let sources = plotly::Plot::offline_js_sources();
    let script = sources.split("</script>").find(|part| part.contains("plotly.js v"));
    let (_, code) = script.and_then(|script| script.split_once('>')).expect("the crate brings its script");
    code.to_owned()
}
