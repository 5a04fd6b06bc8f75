//! nginx: a master and its workers.

use super::{CERTIFICATE, COMPRESSED, KEY, Server, TYPES, files, on_off};
use crate::error::StackError;
use crate::extra::{Extra, Takes};
use crate::layout::{Layout, Process};
use crate::place::Place;
use crate::settings::SPECIAL;
use crate::settings::descriptors;
use crate::spec::Spec;

pub(super) const NGINX: Server = Server {
    name: "nginx",
    about: "nginx: a master and workers (package nginx-light)",
    knows: &SPECIAL,
    extras: EXTRAS,
    programs: &["nginx"],
    limits: |spec| vec![spec.workers("worker_processes", "nginx")],
    layout,
};

/// For all that nginx is a part of.
pub(super) const KEEPALIVE_TIMEOUT: Extra =
    Extra { name: "keepalive_timeout", default: "75s", takes: Takes::Time, meaning: "time an idle connection is kept" };
/// For all that nginx is a part of.
pub(super) const STUB_STATUS: Extra =
    Extra { name: "stub_status", default: "on", takes: Takes::Switch, meaning: "counters at /nginx-status" };

const EXTRAS: &[Extra] = &[
    KEEPALIVE_TIMEOUT,
    Extra { name: "tcp_nopush", default: "off", takes: Takes::Switch, meaning: "head and file in one packet" },
    Extra { name: "multi_accept", default: "off", takes: Takes::Switch, meaning: "accept all that wait at once" },
    Extra { name: "accept_mutex", default: "off", takes: Takes::Switch, meaning: "workers accept in turns" },
    Extra { name: "reuseport", default: "off", takes: Takes::Switch, meaning: "an accept queue for each worker" },
    Extra { name: "open_file_cache", default: "off", takes: Takes::Switch, meaning: "descriptors of files are kept" },
    Extra {
        name: "aio",
        default: "off",
        takes: Takes::Word(&["off", "threads"]),
        meaning: "files are read by threads",
    },
    Extra { name: "ssl_protocols", default: "TLSv1.2 TLSv1.3", takes: Takes::Text, meaning: "versions of TLS" },
    STUB_STATUS,
];

fn layout(spec: &Spec, place: &Place) -> Result<Layout, StackError> {
    let text = configuration(spec, place, &Parts::default());
    let is_on = spec.extras.on("stub_status");
    Ok(files(spec, place, process(place)?, CONFIG, text).status_page("/nginx-status", is_on))
}

/// Where its configuration is, below the state directory.
pub(super) const CONFIG: &str = "conf/nginx.conf";

/// The process of an nginx whose configuration is at [`CONFIG`].
pub(super) fn process(place: &Place) -> Result<Process, StackError> {
    let program = place.program(&["nginx"], "nginx-light")?;
    // Without -e it opens the log of the installation first.
    let args = ["-e", &place.text("log/error.log"), "-p", &place.text(""), "-c", &place.text(CONFIG)];
    Ok(Process::new("nginx", program).args(args))
}

/// What a server behind or inside nginx adds to its configuration.
#[derive(Default)]
pub(super) struct Parts<'a> {
    /// Before everything, such as `load_module`.
    pub(super) main: &'a str,
    /// In the http block.
    pub(super) http: &'a str,
    /// In the server block.
    pub(super) server: &'a str,
}

/// The configuration of nginx for `spec`.
pub(super) fn configuration(spec: &Spec, place: &Place, parts: &Parts<'_>) -> String {
    let settings = &spec.settings;
    let http = http(spec, place);
    let server = server(spec, place);
    format!(
        "{parts_main}daemon off;\n\
         worker_processes {workers};\n\
         worker_rlimit_nofile {files};\n\
         pid {pid};\n\
         error_log {log} warn;\n\
         events {{\n  worker_connections {connections};\n{events}}}\n\
         http {{\n{http}{parts_http}  server {{\n{server}{parts_server}  }}\n}}\n",
        parts_main = parts.main,
        workers = settings.workers,
        files = descriptors(settings.worker_connections.into()),
        pid = place.text("run/nginx.pid"),
        log = place.text("log/error.log"),
        connections = settings.worker_connections,
        events = switches(spec, "  ", &["multi_accept", "accept_mutex"]),
        parts_http = parts.http,
        parts_server = parts.server,
    )
}

fn http(spec: &Spec, place: &Place) -> String {
    let settings = &spec.settings;
    let types: String = TYPES.iter().map(|(suffix, kind)| format!(" {kind} {suffix};")).collect();
    let mut text = format!("  default_type application/octet-stream;\n  types {{{types} }}\n");
    for folder in ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"] {
        text.push_str(&format!("  {folder}_temp_path {};\n", place.text(&format!("tmp/{folder}"))));
    }
    let access = match settings.access_log {
        true => format!("{} common", place.text("log/access.log")),
        false => "off".into(),
    };
    text.push_str("  log_format common '$remote_addr - - [$time_local] \"$request\" $status $body_bytes_sent';\n");
    text.push_str(&format!("  access_log {access};\n"));
    let timeout = if settings.keepalive { or(spec.extras.text("keepalive_timeout"), "75s") } else { "0" };
    // Its own default closes a connection after 1,000 requests.
    let requests = settings.keepalive_requests.unwrap_or(1_000_000_000);
    text.push_str(&format!("  keepalive_timeout {timeout};\n  keepalive_requests {requests};\n"));
    text.push_str(&format!("  sendfile {};\n  gzip {};\n", on_off(settings.sendfile), on_off(settings.gzip)));
    if settings.gzip {
        text.push_str(&format!("  gzip_types {COMPRESSED};\n  gzip_min_length 256;\n"));
    }
    text.push_str(&switches(spec, "  ", &["tcp_nopush"]));
    if spec.extras.on("open_file_cache") {
        text.push_str("  open_file_cache max=1000;\n");
    }
    if spec.extras.text("aio") == "threads" {
        text.push_str("  aio threads;\n");
    }
    text
}

fn server(spec: &Spec, place: &Place) -> String {
    let settings = &spec.settings;
    let ssl = if settings.tls { " ssl" } else { "" };
    let reuseport = if spec.extras.on("reuseport") { " reuseport" } else { "" };
    let (address, port, backlog) = (settings.address, place.ports[0], settings.backlog);
    let mut text = format!("    listen {address}:{port}{ssl} backlog={backlog}{reuseport};\n");
    if settings.tls {
        text.push_str(&format!(
            "    ssl_certificate {};\n    ssl_certificate_key {};\n    ssl_protocols {};\n    ssl_session_cache shared:sessions:1m;\n",
            place.text(CERTIFICATE),
            place.text(KEY),
            or(spec.extras.text("ssl_protocols"), "TLSv1.2 TLSv1.3"),
        ));
    }
    if spec.extras.on("stub_status") {
        text.push_str("    location = /nginx-status { stub_status; access_log off; }\n");
    }
    text.push_str(&format!("    root \"{}\";\n", place.docroot(&spec.settings)));
    text
}

fn switches(spec: &Spec, indent: &str, names: &[&str]) -> String {
    let line = |name: &&str| format!("{indent}{name} {};\n", on_off(spec.extras.on(name)));
    names.iter().map(line).collect()
}

/// A server that stands behind nginx has not all of nginx's settings.
fn or<'a>(text: &'a str, default: &'a str) -> &'a str {
    if text.is_empty() { default } else { text }
}
