//! Takes plotly.js out of its crate once, as a file: at run time the crate could only give it as a copy in memory, twice as
//! large as all that plimsoll needs for a load.

use std::path::PathBuf;
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo names it"));
    fs::write(out.join("plotly.js"), plotly_script()).expect("cargo's directory can be written to");
}

/// Plotly itself, without the typesetting of formulas that comes with it: half a page's weight that no chart needs.
fn plotly_script() -> String {
    let sources = plotly::Plot::offline_js_sources();
    let script = sources.split("</script>").find(|part| part.contains("plotly.js v"));
    let (_, code) = script.and_then(|script| script.split_once('>')).expect("the crate brings its script");
    code.to_owned()
}
