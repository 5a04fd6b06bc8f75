//! HAProxy in front of another server.

use super::backend::{self, BACKEND, BACKEND_WORKERS};
use super::{CERTIFICATE, COMPRESSED, Server, workers};
use crate::error::StackError;
use crate::extra::{Extra, Takes};
use crate::layout::{Endpoint, Layout, Process, Ready, Stop};
use crate::place::Place;
use crate::spec::Spec;

pub(super) const HAPROXY: Server = Server {
    name: "haproxy",
    about: "HAProxy before another server; workers are its threads (package haproxy)",
    knows: &["workers", "worker-connections", "keepalive", "access-log", "tls", "gzip", "backlog", "file-size", "root"],
    extras: EXTRAS,
    programs: &["haproxy"],
    limits: |_| Vec::new(),
    layout,
};

const EXTRAS: &[Extra] = &[
    BACKEND,
    BACKEND_WORKERS,
    Extra { name: "keepalive_timeout", default: "60s", takes: Takes::Time, meaning: "time an idle connection is kept" },
    Extra {
        name: "http_reuse",
        default: "safe",
        takes: Takes::Word(&["never", "safe", "aggressive", "always"]),
        meaning: "which connections to the server behind it are shared",
    },
    Extra { name: "stats", default: "on", takes: Takes::Switch, meaning: "counters at /haproxy-stats;csv" },
];

const CONFIG: &str = "conf/haproxy.cfg";
/// As it is built by Debian.
const THREADS_MAX: u32 = 64;

fn layout(spec: &Spec, place: &Place) -> Result<Layout, StackError> {
    let program = place.program(&["haproxy"], "haproxy")?;
    let process = Process::new("haproxy", program).args(["-db", "-f", &place.text(CONFIG)]);
    let mut layout = backend::layout(spec, place)?;
    layout.services.push(process.service(Ready::Endpoint, Stop::TERM));
    layout.endpoint = Some(Endpoint::Http { url: place.url(&spec.settings) });
    layout.main_config = Some(CONFIG.into());
    Ok(layout.file(CONFIG, configuration(spec, place)?))
}

/// It finds the key of the certificate beside it. Its access log goes to its stdout: it knows no files.
fn configuration(spec: &Spec, place: &Place) -> Result<String, StackError> {
    let settings = &spec.settings;
    let optional = |wanted: bool, text: &str| if wanted { text.to_owned() } else { String::new() };
    let ssl = optional(settings.tls, &format!(" ssl crt {} alpn h2,http/1.1", place.text(CERTIFICATE)));
    let gzip = format!("  compression algo gzip\n  compression type text/html {COMPRESSED}\n");
    Ok(format!(
        "global\n  nbthread {threads}\n  maxconn {connections}\n{log}\
         defaults\n  mode http\n{httplog}\
         \x20 timeout connect 5s\n  timeout client 60s\n  timeout server 60s\n  timeout http-keep-alive {idle_ms}ms\n\
         \x20 option http-keep-alive\n  http-reuse {reuse}\n\
         frontend front\n  bind {address}:{port} backlog {backlog}{ssl}\n  maxconn {connections}\n{gzip}{stats}{close}\
         \x20 default_backend back\n\
         backend back\n  server one 127.0.0.1:{behind}\n",
        threads = workers(spec, THREADS_MAX)?,
        connections = u64::from(settings.workers) * u64::from(settings.worker_connections),
        log = optional(settings.access_log, "  log stdout len 8192 format raw daemon\n"),
        httplog = optional(settings.access_log, "  log global\n  option httplog\n"),
        idle_ms = spec.extras.time_ns("keepalive_timeout") / 1_000_000,
        // `option httpclose` would close the connections to the backend, too.
        close = optional(!settings.keepalive, "  http-after-response set-header Connection close\n"),
        reuse = spec.extras.text("http_reuse"),
        address = settings.address,
        port = place.ports[0],
        backlog = settings.backlog,
        gzip = optional(settings.gzip, &gzip),
        stats = optional(spec.extras.on("stats"), "  stats enable\n  stats uri /haproxy-stats\n"),
        behind = backend::port(place),
    ))
}
