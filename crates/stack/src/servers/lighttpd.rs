//! lighttpd: one process, or a master and its workers.

use super::{CERTIFICATE, COMPRESSED, KEY, Server, TYPES, files};
use crate::error::StackError;
use crate::extra::{Extra, Takes};
use crate::layout::{Layout, Process};
use crate::place::Place;
use crate::settings::SPECIAL;
use crate::settings::{descriptors, wrong};
use crate::spec::Spec;

pub(super) const LIGHTTPD: Server = Server {
    name: "lighttpd",
    about: "lighttpd: one process; with more workers, a master and these (package lighttpd)",
    knows: &SPECIAL,
    extras: EXTRAS,
    programs: &["lighttpd"],
    limits: |spec| vec![spec.workers("server.max-worker", "lighttpd")],
    layout,
};

const EXTRAS: &[Extra] = &[
    Extra {
        name: "keepalive_timeout",
        default: "5s",
        takes: Takes::Time,
        meaning: "time an idle connection is kept; whole seconds",
    },
    Extra {
        name: "stat_cache",
        default: "simple",
        takes: Takes::Word(&["simple", "disable"]),
        meaning: "what is known of a file is kept for a second",
    },
    Extra {
        name: "status",
        default: "on",
        takes: Takes::Switch,
        meaning: "counters at /server-status?auto, with one worker: it adds none up",
    },
    Extra { name: "modules", default: "/usr/lib/lighttpd", takes: Takes::Text, meaning: "directory of its modules" },
];

const CONFIG: &str = "conf/lighttpd.conf";
/// It counts the requests of a connection after the first in 16 bits.
const REQUESTS_MAX: u32 = 65_536;
const SECOND_NS: u64 = 1_000_000_000;

fn layout(spec: &Spec, place: &Place) -> Result<Layout, StackError> {
    let program = place.program(&["lighttpd"], "lighttpd")?;
    let text = configuration(spec, place)?;
    let args = ["-D", "-m", spec.extras.text("modules"), "-f", &place.text(CONFIG)];
    let process = Process::new("lighttpd", program).args(args);
    // With several, its page tells of the one that answers.
    let is_on = spec.extras.on("status") && spec.settings.workers == 1;
    Ok(files(spec, place, process, CONFIG, text).status_page("/server-status?auto", is_on))
}

fn configuration(spec: &Spec, place: &Place) -> Result<String, StackError> {
    let settings = &spec.settings;
    let types: String = TYPES.iter().map(|(suffix, kind)| format!("\".{suffix}\" => \"{kind}\", ")).collect();
    Ok(format!(
        "server.modules = ({modules})\n\
         server.bind = \"{address}\"\n\
         server.port = {port}\n\
         server.listen-backlog = {backlog}\n\
         server.max-worker = {workers}\n\
         server.max-connections = {connections}\n\
         server.max-fds = {files}\n\
         server.max-keep-alive-requests = {requests}\n\
         server.max-keep-alive-idle = {idle_s}\n\
         server.network-backend = \"{backend}\"\n\
         server.stat-cache-engine = \"{stat_cache}\"\n\
         server.document-root = \"{root}\"\n\
         server.errorlog = \"{error_log}\"\n\
         server.pid-file = \"{pid}\"\n\
         server.upload-dirs = (\"{tmp}\")\n\
         index-file.names = (\"index.html\")\n\
         mimetype.assign = ({types}\"\" => \"application/octet-stream\")\n\
         {parts}",
        modules = modules(spec, place)?,
        address = settings.address,
        port = place.ports[0],
        backlog = settings.backlog,
        // One worker needs no master.
        workers = if settings.workers == 1 { 0 } else { settings.workers },
        connections = settings.worker_connections,
        files = descriptors(settings.worker_connections.into()),
        requests = requests(spec)?,
        idle_s = idle_s(spec)?,
        backend = if settings.sendfile { "sendfile" } else { "writev" },
        stat_cache = spec.extras.text("stat_cache"),
        root = place.docroot(&spec.settings),
        error_log = place.text("log/error.log"),
        pid = place.text("run/lighttpd.pid"),
        tmp = place.text("tmp"),
        parts = parts(spec, place),
    ))
}

/// What its modules are told.
fn parts(spec: &Spec, place: &Place) -> String {
    let settings = &spec.settings;
    let mut text = String::new();
    if settings.access_log {
        let log = place.text("log/access.log");
        text.push_str(&format!("accesslog.filename = \"{log}\"\naccesslog.format = \"%h - - %t \\\"%r\\\" %>s %B\"\n"));
    }
    if settings.gzip {
        let quoted: String = COMPRESSED.split(' ').map(|kind| format!(", \"{kind}\"")).collect();
        text.push_str(&format!(
            "deflate.mimetypes = (\"text/html\"{quoted})\ndeflate.allowed-encodings = (\"gzip\")\n"
        ));
    }
    if spec.extras.on("status") {
        text.push_str("status.status-url = \"/server-status\"\n");
    }
    if settings.tls {
        let (chain, key) = (place.text(CERTIFICATE), place.text(KEY));
        text.push_str(&format!("ssl.engine = \"enable\"\nssl.pemfile = \"{chain}\"\nssl.privkey = \"{key}\"\n"));
    }
    text
}

fn modules(spec: &Spec, place: &Place) -> Result<String, StackError> {
    let settings = &spec.settings;
    let all = [
        (settings.access_log, "mod_accesslog", "lighttpd"),
        (settings.gzip, "mod_deflate", "lighttpd-mod-deflate"),
        (spec.extras.on("status"), "mod_status", "lighttpd"),
        (settings.tls, "mod_openssl", "lighttpd-mod-openssl"),
    ];
    let wanted = all.into_iter().filter(|(wanted, ..)| *wanted);
    let quoted = wanted.map(|(_, name, package)| {
        place.file(format!("{}/{name}.so", spec.extras.text("modules")).into(), package)?;
        Ok(format!("\"{name}\""))
    });
    Ok(quoted.collect::<Result<Vec<_>, StackError>>()?.join(", "))
}

fn requests(spec: &Spec) -> Result<u32, StackError> {
    let asked = spec.settings.keepalive_requests.unwrap_or(REQUESTS_MAX);
    match spec.settings.keepalive {
        _ if asked > REQUESTS_MAX => {
            Err(wrong("keepalive-requests", &asked.to_string(), &format!("at most {REQUESTS_MAX} with lighttpd")))
        }
        true => Ok(asked - 1),
        false => Ok(0),
    }
}

fn idle_s(spec: &Spec) -> Result<u64, StackError> {
    let ns = spec.extras.time_ns("keepalive_timeout");
    if ns.is_multiple_of(SECOND_NS) && ns / SECOND_NS <= u64::from(u16::MAX) {
        return Ok(ns / SECOND_NS);
    }
    Err(wrong("keepalive_timeout", spec.extras.text("keepalive_timeout"), "a time in whole seconds with lighttpd"))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{configured, modules};
    use super::*;

    #[test]
    fn one_worker_is_one_process() {
        let modules = modules(&["status"]);
        let with = |settings: &str| {
            let text = format!("lighttpd modules={} {settings}", modules.path().display());
            configured(&text, configuration).expect("it can be")
        };
        let text = with("");
        assert!(
            text.contains("server.max-worker = 0\n") && text.contains("max-keep-alive-requests = 65535\n"),
            "{text}"
        );
        let text = with("workers=2 keepalive=off sendfile=off");
        assert!(text.contains("server.max-worker = 2\n") && text.contains("max-keep-alive-requests = 0\n"), "{text}");
        assert!(text.contains("network-backend = \"writev\""), "{text}");
    }

    #[test]
    fn what_lighttpd_cannot_count_is_refused() {
        let modules = modules(&["status"]);
        let there = format!("modules={}", modules.path().display());
        for (asked, modules, part) in [
            ("keepalive-requests=65537", there.as_str(), "at most 65536"),
            ("keepalive_timeout=1500ms", &there, "whole seconds"),
            ("", "modules=/nonexistent", "mod_status.so is not installed: apt-get install lighttpd"),
            ("status=off tls=on", "modules=/nonexistent", "apt-get install lighttpd-mod-openssl"),
        ] {
            let error = configured(&format!("lighttpd {modules} {asked}"), configuration).expect_err(asked).to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
