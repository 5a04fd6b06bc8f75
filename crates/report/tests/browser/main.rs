//! A browser shows the page of every kind of result: it draws each chart, nothing is fetched, and axe-core, which checks
//! accessibility, has no complaint; on a wide screen and on a narrow one, light and dark.

#[allow(dead_code, reason = "a browser needs fewer records than the golden texts")]
#[path = "../render/capacities.rs"]
mod capacities;
#[allow(dead_code, reason = "a browser needs fewer records than the golden texts")]
#[path = "../render/comparisons.rs"]
mod comparisons;
#[allow(dead_code, reason = "a browser needs fewer records than the golden texts")]
#[path = "../render/experiments.rs"]
mod experiments;
#[allow(dead_code, reason = "a browser needs fewer records than the golden texts")]
#[path = "../render/fixtures.rs"]
mod fixtures;
#[allow(dead_code, reason = "a browser needs fewer records than the golden texts")]
#[path = "../render/histories.rs"]
mod histories;
#[path = "../render/pages.rs"]
mod pages;
#[path = "../render/renders.rs"]
mod renders;
#[path = "../render/series.rs"]
mod series;

use capacities::bracketed;
use comparisons::compared;
use experiments::experiment;
use fixtures::{arms, invalid_run, valid_run, valid_sweep};
use histories::changed_history;
use model::Redacted;
use pages::{charts, is_strips, item, of_run, of_sweep, page, profiled, with_seconds};
use renders::render;
use report::flame::Scale;
use report::html::{Graphs, Item};
use report::record::AnyRecord;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What looks at the page from inside.
const READER: &str = include_str!("reader.js");
/// The package of axe-core that is installed when it is missing.
const AXE: &str = "axe-core@4";
/// Frames in which a page is shown at the same time: their names and widths. All are as high as a small screen.
const FRAMES: [(&str, u32); 2] = [("wide", 1280), ("narrow", 400)];
const SCREEN_PX: f64 = 800.0;
/// What Chromium takes for the scheme that its user prefers (`blink::mojom::PreferredColorScheme`).
const SCHEMES: [(&str, u8); 2] = [("dark", 0), ("light", 1)];
/// Bytes of a page without flame graphs.
const SIZE_MAX: usize = 1_000_000;

/// What the reader tells of one frame.
#[derive(Debug, Deserialize)]
struct Seen {
    frame: String,
    /// Where the sentences of the first screen end; px from its top.
    answers: Vec<(String, Option<f64>)>,
    picture: Option<f64>,
    /// Parts that are unfolded before anybody has asked.
    open: usize,
    /// True if all was unfolded and drawn for paper.
    printed: bool,
    overflow_px: f64,
    charts: usize,
    curves: usize,
    strips: usize,
    zoomed: BTreeMap<String, Vec<String>>,
    keys: Vec<String>,
    fetched: Vec<String>,
    violations: Vec<String>,
}

/// The pages with what has to stand on their first screen beside the number and the next step.
fn all_pages() -> Vec<(&'static str, String, &'static [&'static str])> {
    const JUDGED: &[&str] = &["verdict"];
    const LIMITED: &[&str] = &["verdict", "limiter"];
    let (arms, capacity, comparison, experiment, render) = (arms(), bracketed(), compared(), experiment(), render());
    let (run, sweep) = (valid_run(), valid_sweep());
    let profiled = profiled(with_seconds(valid_run()));
    let (title, here) = (Redacted::text("CPU"), Redacted::text("here"));
    let running = report::flame::graph("nginx;main;send_[k] 30\nnginx;main;read_[k] 10\n", &title, Scale::Samples);
    let waiting = report::off_cpu::of_switches("php;main;poll_[k] 30000\n", Some(10.0), &here).map(|waits| waits.svg);
    let graph = [Graphs { running, waiting, ..Graphs::default() }];
    let with_graph = Item { graphs: &graph, ..item("profiled", AnyRecord::Run(&profiled), None) };
    let several = [item("first", AnyRecord::Sweep(&sweep), None), item("second", AnyRecord::Run(&run), None)];
    vec![
        ("run", of_run(&with_seconds(invalid_run())), JUDGED),
        ("profiled", page(&[with_graph]), JUDGED),
        ("sweep", of_sweep(&sweep), LIMITED),
        ("arms", page(&[item("both", AnyRecord::Sweeps(&arms), None)]), &[]),
        ("several", page(&several), &[]),
        ("capacity", page(&[item("capacity", AnyRecord::Capacity(&capacity), None)]), JUDGED),
        ("compare", page(&[item("compare", AnyRecord::Compare(&comparison), None)]), JUDGED),
        ("experiment", page(&[item("experiment", AnyRecord::Experiment(&experiment), None)]), JUDGED),
        ("render", page(&[item("render", AnyRecord::Render(&render), None)]), JUDGED),
        ("history", report::html::history_page(&changed_history()).to_string(), &[]),
    ]
}

#[test]
fn a_browser_shows_every_page_as_it_is_meant_to_be_seen() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pages");
    fs::create_dir_all(&folder).expect("a folder for the pages");
    let axe = axe(&folder);
    for (name, page, answers) in all_pages() {
        let path = folder.join(format!("{name}.html"));
        fs::write(&path, &page).expect("a file in it");
        let looked_at = format!("<script>{axe}</script><script>{READER}</script></body>");
        let read = folder.join(format!("{name}-read.html"));
        fs::write(&read, page.replace("</body>", &looked_at)).expect("a file in it");
        assert!(page.contains("<iframe") || page.len() < SIZE_MAX, "{name} has {} bytes", page.len());
        for (scheme, number) in SCHEMES {
            for seen in shown(&folder, &read, number) {
                let place = format!("{name}, {}, {scheme}", seen.frame);
                is_whole(&seen, &page, &place);
                is_quiet(&seen, &place);
                is_answered(&seen, answers, &place);
            }
        }
    }
}

/// Every chart is drawn with every curve, at once or when its part is unfolded or printed, and follows the others on its axis.
fn is_whole(seen: &Seen, page: &str, place: &str) {
    let charts = charts(page);
    let (strips, curves): (Vec<_>, Vec<_>) =
        charts.iter().flat_map(|chart| chart["data"].as_array().expect("curves")).partition(|of| is_strips(of));
    assert_eq!((seen.charts, seen.curves, seen.strips), (charts.len(), curves.len(), strips.len()), "{place}");
    assert!(seen.charts > 0 && seen.printed, "{place}: not everything is on paper");
    let zoomed: Vec<_> = seen.zoomed.values().flatten().collect();
    let first = page.split("</article>").next().unwrap_or_default();
    assert_eq!(zoomed, vec!["1,2"; first.matches(" data-axis=").count()], "{place}: charts on one axis zoom together");
    let [all, near, again] = &seen.keys[..] else { panic!("{place}: {:?}", seen.keys) };
    assert!(all == again && all != near, "{place}: keys do not zoom: {:?}", seen.keys);
}

/// Nothing is fetched, nothing sticks out, and nothing is out of reach.
fn is_quiet(seen: &Seen, place: &str) {
    assert_eq!(seen.fetched, [""; 0], "{place}");
    assert_eq!(seen.violations, [""; 0], "{place}");
    assert!(seen.overflow_px <= 0.0, "{place}: {} px too wide", seen.overflow_px);
}

/// The answers stand on the first screen of a wide window, with the picture, and all else is folded.
fn is_answered(seen: &Seen, answers: &[&str], place: &str) {
    assert_eq!(seen.open, 0, "{place}: parts are unfolded");
    let bottom = |name: &str| seen.answers.iter().find(|(of, _)| of == name).and_then(|(_, bottom)| *bottom);
    for name in answers.iter().chain(&["number", "next"]) {
        let bottom = bottom(name).unwrap_or_else(|| panic!("{place}: {name} is missing"));
        assert!(seen.frame != "wide" || bottom <= SCREEN_PX, "{place}: {name} ends at {bottom} px");
    }
    assert!(
        seen.frame != "wide" || seen.picture.is_none_or(|bottom| bottom <= SCREEN_PX),
        "{place}: {:?}",
        seen.picture
    );
}

/// What the reader sees in each frame.
fn shown(folder: &Path, page: &Path, scheme: u8) -> Vec<Seen> {
    let frames = FRAMES.map(|(name, width_px)| {
        let source = format!("file://{}?frame={name}", page.display());
        format!("<iframe src=\"{source}\" style=\"width:{width_px}px;height:{SCREEN_PX}px;border:0;display:block\"></iframe>")
    });
    let around = folder.join("around.html");
    let tell = "<script>addEventListener('message', event => { document.getElementById('seen').textContent += event.data + '\\n'; });</script>";
    let text = format!(
        "<!doctype html><meta name=\"color-scheme\" content=\"light dark\">{tell}<pre id=\"seen\"></pre>{}",
        frames.concat()
    );
    fs::write(&around, text).expect("a file in it");
    // `timeout` ends a browser that hangs; nothing is asserted on how long it takes.
    let shown = Command::new("timeout")
        .args(["--kill-after=5", "120", "chromium", "--headless", "--no-sandbox", "--disable-gpu"])
        .args(["--enable-logging=stderr", "--virtual-time-budget=60000", "--window-size=1400,1900", "--dump-dom"])
        .arg(format!("--blink-settings=preferredColorScheme={scheme}"))
        .arg(format!("--user-data-dir={}", folder.join("profile").display()))
        .arg(format!("file://{}", around.display()))
        .output()
        .expect("timeout, of coreutils, starts");
    let (dom, log) = (String::from_utf8_lossy(&shown.stdout), String::from_utf8_lossy(&shown.stderr));
    assert!(shown.status.success(), "chromium (Debian package chromium) failed: {log}");
    let console: Vec<_> = log.lines().filter(|line| line.contains(":CONSOLE")).collect();
    assert_eq!(console, [""; 0], "{}", page.display());
    let (_, told) = dom.split_once("<pre id=\"seen\">").expect("the page around the frames");
    let (told, _) = told.split_once("</pre>").expect("its end");
    let told = told.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    let seen: Vec<Seen> = told.lines().map(|line| serde_json::from_str(line).expect("what a reader tells")).collect();
    assert_eq!(seen.len(), FRAMES.len(), "{}: a reader has not come to the end: {log}", page.display());
    seen
}

/// The script of axe-core, installed if it is missing.
fn axe(folder: &Path) -> String {
    let script: PathBuf = folder.join("node_modules/axe-core/axe.min.js");
    if !script.is_file() {
        let mut npm = Command::new("npm");
        npm.args(["install", "--silent", "--no-fund", "--no-audit", "--prefix"]).arg(folder).arg(AXE);
        let installed = npm.current_dir(folder).status().expect("npm (Debian package npm) starts");
        assert!(installed.success(), "npm cannot install {AXE}");
    }
    fs::read_to_string(&script).expect("axe-core brings its script")
}
