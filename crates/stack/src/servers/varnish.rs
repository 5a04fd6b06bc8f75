//! Varnish, a cache in front of another server.

use super::backend::{self, BACKEND, BACKEND_WORKERS};
use super::{COMPRESSED, Server, workers};
use crate::error::StackError;
use crate::extra::{Extra, Takes};
use crate::layout::{Endpoint, Layout, Process, Ready, Stop};
use crate::place::Place;
use crate::settings::size;
use crate::spec::Spec;

pub(super) const VARNISH: Server = Server {
    name: "varnish",
    about: "Varnish, a cache before another server; workers are its thread pools (package varnish)",
    knows: &["workers", "keepalive", "gzip", "backlog", "file-size", "root"],
    extras: EXTRAS,
    programs: &["varnishd", "cache-main"],
    limits: |_| Vec::new(),
    layout,
};

const EXTRAS: &[Extra] = &[
    BACKEND,
    BACKEND_WORKERS,
    Extra { name: "keepalive_timeout", default: "5s", takes: Takes::Time, meaning: "time an idle connection is kept" },
    Extra { name: "storage", default: "64MiB", takes: Takes::Size, meaning: "memory for what it keeps" },
    Extra {
        name: "ttl",
        default: "120s",
        takes: Takes::Time,
        meaning: "time an answer is kept; 0s: everything is passed on",
    },
];

const CONFIG: &str = "conf/default.vcl";
const POOLS_MAX: u32 = 32;

fn layout(spec: &Spec, place: &Place) -> Result<Layout, StackError> {
    let program = place.program(&["varnishd"], "varnish")?;
    let storage = size("storage", spec.extras.text("storage"))?;
    // Without a jail, which only root has, and without the port on which it would take orders.
    let process = Process::new("varnish", program)
        .args(["-F", "-j", "none", "-T", "none", "-n", &place.text("run/varnish"), "-f", &place.text(CONFIG)])
        .args(["-a", &format!("{}:{}", spec.settings.address, place.ports[0]), "-s", &format!("malloc,{storage}b")])
        .args(["-p", &format!("thread_pools={}", workers(spec, POOLS_MAX)?)])
        .args(["-p", &format!("listen_depth={}", spec.settings.backlog)])
        .args(["-p", &format!("timeout_idle={}", spec.extras.time_ns("keepalive_timeout") as f64 / 1e9)]);
    let mut layout = backend::layout(spec, place)?;
    layout.services.push(process.service(Ready::Endpoint, Stop::TERM));
    layout.endpoint = Some(Endpoint::Http { url: place.url(&spec.settings) });
    layout.main_config = Some(CONFIG.into());
    Ok(layout.file(CONFIG, configuration(spec, place)))
}

fn configuration(spec: &Spec, place: &Place) -> String {
    let ttl_ms = spec.extras.time_ns("ttl") / 1_000_000;
    let keep =
        if ttl_ms == 0 { "set beresp.uncacheable = true;".into() } else { format!("set beresp.ttl = {ttl_ms}ms;") };
    let types = COMPRESSED.replace(' ', "|").replace('/', ".");
    let gzip = match spec.settings.gzip {
        true => {
            format!("\n  if (beresp.http.Content-Type ~ \"^(text.html|{types})\") {{ set beresp.do_gzip = true; }}")
        }
        false => String::new(),
    };
    let close =
        if spec.settings.keepalive { "" } else { "sub vcl_deliver {\n  set resp.http.Connection = \"close\";\n}\n" };
    format!(
        "vcl 4.1;\n\
         backend default {{\n  .host = \"127.0.0.1\";\n  .port = \"{port}\";\n}}\n\
         sub vcl_backend_response {{\n  {keep}{gzip}\n}}\n\
         {close}",
        port = backend::port(place),
    )
}
