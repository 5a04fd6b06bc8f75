//! A browser draws every chart of the HTML page.

#[allow(dead_code, reason = "a browser needs fewer records than the golden texts")]
#[path = "../render/capacities.rs"]
mod capacities;
#[allow(dead_code, reason = "a browser needs fewer records than the golden texts")]
#[path = "../render/comparisons.rs"]
mod comparisons;
#[allow(dead_code, reason = "a browser needs fewer records than the golden texts")]
#[path = "../render/fixtures.rs"]
mod fixtures;
#[allow(dead_code, reason = "a browser needs fewer records than the golden texts")]
#[path = "../render/histories.rs"]
mod histories;
#[path = "../render/pages.rs"]
mod pages;
#[path = "../render/series.rs"]
mod series;

use capacities::bracketed;
use comparisons::compared;
use fixtures::{arms, invalid_run, valid_sweep};
use histories::changed_history;
use model::Redacted;
use pages::{charts, is_strips, item, of_run, of_sweep, page, profiled, with_seconds};
use report::flame::Scale;
use report::html::{Graphs, Item};
use report::record::AnyRecord;
use std::process::Command;

#[test]
fn a_browser_draws_every_chart_without_an_error() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (arms, capacity, comparison) = (arms(), bracketed(), compared());
    let profiled = profiled(with_seconds(invalid_run()));
    let (title, here) = (Redacted::text("CPU"), Redacted::text("here"));
    let running = report::flame::graph("nginx;main;send_[k] 30\nnginx;main;read_[k] 10\n", &title, Scale::Samples);
    let waiting = report::off_cpu::of_switches("php;main;poll_[k] 30000\n", Some(10.0), &here).map(|waits| waits.svg);
    let graph = [Graphs { running, waiting, ..Graphs::default() }];
    let with_graph = Item { graphs: &graph, ..item("profiled", AnyRecord::Run(&profiled), None) };
    let pages = [
        ("run", of_run(&with_seconds(invalid_run()))),
        ("zoomed", zoomed(&of_run(&with_seconds(invalid_run())))),
        ("profiled", page(&[with_graph])),
        ("sweep", of_sweep(&valid_sweep())),
        ("arms", page(&[item("both", AnyRecord::Sweeps(&arms), None)])),
        ("capacity", page(&[item("capacity", AnyRecord::Capacity(&capacity), None)])),
        ("compare", page(&[item("compare", AnyRecord::Compare(&comparison), None)])),
        ("history", report::html::history_page(&changed_history()).to_string()),
    ];
    for (name, page) in pages {
        let path = directory.path().join(format!("{name}.html"));
        std::fs::write(&path, &page).expect("a file in it");
        // `timeout` ends a browser that hangs; nothing is asserted on how long it takes.
        let shown = Command::new("timeout")
            .args(["--kill-after=5", "60", "chromium", "--headless", "--no-sandbox", "--disable-gpu"])
            .args(["--enable-logging=stderr", "--virtual-time-budget=10000", "--dump-dom"])
            .arg(format!("--user-data-dir={}", directory.path().join("profile").display()))
            .arg(format!("file://{}", path.display()))
            .output()
            .expect("timeout, of coreutils, starts");
        let (dom, log) = (String::from_utf8_lossy(&shown.stdout), String::from_utf8_lossy(&shown.stderr));
        assert!(shown.status.success(), "chromium (Debian package chromium) failed: {log}");
        let console: Vec<_> = log.lines().filter(|line| line.contains(":CONSOLE")).collect();
        assert_eq!(console, [""; 0], "{name}");
        let charts = charts(&page);
        assert!(
            charts.len() > 1 && dom.matches(" drawn\"").count() == charts.len(),
            "{name}: not every chart is drawn"
        );
        if name == "zoomed" {
            let ranges = format!("data-ranges=\"{}\"", ["1,2"; 7].join(";"));
            assert!(dom.contains(&ranges), "the charts on one time axis zoom together");
            continue;
        }
        let (strips, curves): (Vec<_>, Vec<_>) =
            charts.iter().flat_map(|chart| chart["data"].as_array().expect("curves")).partition(|of| is_strips(of));
        assert_eq!(dom.matches("class=\"trace scatter ").count(), curves.len(), "{name}: a curve is missing");
        // Plotly paints strips into an image; one without pixels would be a short one.
        let images = dom.split("<image ").skip(1).filter(|image| image.contains("href=\"data:image/png;base64,iVBOR"));
        assert_eq!(images.count(), strips.len(), "{name}: strips are missing");
    }
}

/// The page with a reader who zooms its first chart once all are drawn, and a note of what all show then.
fn zoomed(page: &str) -> String {
    let reader = r#"<script>
        const every = setInterval(() => {
            const charts = [...document.querySelectorAll(".chart")];
            if (!charts.every(chart => chart.classList.contains("drawn"))) return;
            clearInterval(every);
            Plotly.relayout(charts[0], { "xaxis.range[0]": 1, "xaxis.range[1]": 2 });
            const timed = charts.filter(chart => "clock" in chart.dataset);
            const note = () => document.body.dataset.ranges = timed.map(chart => chart.layout.xaxis.range.join()).join(";");
            setTimeout(note, 500);
        }, 100);
    </script></body>"#;
    page.replace("</body>", reader)
}
