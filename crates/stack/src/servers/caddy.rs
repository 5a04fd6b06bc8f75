//! Caddy: one process, in Go.

use super::{CERTIFICATE, KEY, Server, files};
use crate::error::StackError;
use crate::extra::{Extra, Takes};
use crate::layout::{Layout, Process};
use crate::place::Place;
use crate::spec::Spec;

pub(super) const CADDY: Server = Server {
    name: "caddy",
    about: "Caddy: one process; workers are its GOMAXPROCS (package caddy)",
    knows: &["workers", "keepalive", "access-log", "tls", "gzip", "file-size", "root"],
    extras: EXTRAS,
    programs: &["caddy"],
    limits: |_| Vec::new(),
    layout,
};

const EXTRAS: &[Extra] = &[
    Extra { name: "keepalive_timeout", default: "5m", takes: Takes::Time, meaning: "time an idle connection is kept" },
    Extra {
        name: "metrics",
        default: "on",
        takes: Takes::Switch,
        meaning: "counters at /metrics, in the format of Prometheus",
    },
];

const CONFIG: &str = "conf/Caddyfile";

fn layout(spec: &Spec, place: &Place) -> Result<Layout, StackError> {
    let program = place.program(&["caddy"], "caddy")?;
    let mut process =
        Process::new("caddy", program).args(["run", "--adapter", "caddyfile", "--config", &place.text(CONFIG)]);
    process.env.push(("GOMAXPROCS".into(), spec.settings.workers.to_string()));
    Ok(files(spec, place, process, CONFIG, configuration(spec, place)))
}

/// The site has no name: Caddy would hold what is said of TLS for clients only that name it in the handshake, and an
/// address is not named there. HTTP/3 would take a UDP port as well.
fn configuration(spec: &Spec, place: &Place) -> String {
    let settings = &spec.settings;
    let scheme = if settings.tls { "https" } else { "http" };
    let metrics = spec.extras.on("metrics");
    let site = [
        (settings.tls, format!("\ttls {} {}\n", place.text(CERTIFICATE), place.text(KEY))),
        // Go closes the connection behind an answer that says so.
        (!settings.keepalive, "\theader Connection close\n".into()),
        (settings.gzip, "\tencode {\n\t\tgzip\n\t\tminimum_length 256\n\t}\n".into()),
        (
            settings.access_log,
            format!(
                "\tlog {{\n\t\toutput file {} {{\n\t\t\troll_disabled\n\t\t}}\n\t}}\n",
                place.text("log/access.log")
            ),
        ),
        (metrics, "\tmetrics /metrics\n".into()),
    ];
    let site: String = site.into_iter().filter(|(wanted, _)| *wanted).map(|(_, text)| text).collect();
    format!(
        "{{\n\tadmin off\n\tauto_https off\n\tstorage file_system {storage}\n\
         \tservers {{\n\t\tprotocols h1 h2\n{counted}\t\ttimeouts {{\n\t\t\tidle {idle_ms}ms\n\t\t}}\n\t}}\n}}\n\
         {scheme}://:{port} {{\n\tbind {address}\n\troot * \"{root}\"\n{site}\tfile_server\n}}\n",
        storage = place.text("tmp"),
        counted = if metrics { "\t\tmetrics\n" } else { "" },
        idle_ms = spec.extras.time_ns("keepalive_timeout") / 1_000_000,
        address = settings.address,
        port = place.ports[0],
        root = place.docroot(&spec.settings),
    )
}
