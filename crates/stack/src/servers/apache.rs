//! Apache httpd: a parent and processes that serve.

use super::{CERTIFICATE, COMPRESSED, KEY, Server, TYPES, files, on_off, quoted};
use crate::error::StackError;
use crate::extra::{Extra, Takes};
use crate::layout::{Layout, Process};
use crate::place::Place;
use crate::settings::wrong;
use crate::spec::Spec;

pub(super) const APACHE: Server = Server {
    name: "apache",
    about: "Apache httpd: a parent and processes of threads (package apache2-bin)",
    knows: &[
        "workers",
        "keepalive",
        "keepalive-requests",
        "access-log",
        "tls",
        "gzip",
        "sendfile",
        "backlog",
        "file-size",
        "root",
    ],
    extras: EXTRAS,
    programs: &["apache2"],
    limits: |_| Vec::new(),
    layout,
};

const EXTRAS: &[Extra] = &[
    Extra {
        name: "mpm",
        default: "event",
        takes: Takes::Word(&["event", "worker", "prefork"]),
        meaning: "how it shares out its work",
    },
    Extra {
        name: "threads",
        default: "64",
        takes: Takes::Number(1, 4096),
        meaning: "requests a worker serves at once: its threads; prefork has a process for each",
    },
    Extra { name: "keepalive_timeout", default: "5s", takes: Takes::Time, meaning: "time an idle connection is kept" },
    Extra {
        name: "htaccess",
        default: "off",
        takes: Takes::Switch,
        meaning: ".htaccess files are looked for and obeyed",
    },
    Extra {
        name: "status",
        default: "on",
        takes: Takes::Word(&["on", "off", "extended"]),
        meaning: "counters at /server-status?auto; extended: of each request",
    },
    Extra { name: "ssl_protocols", default: "TLSv1.2 TLSv1.3", takes: Takes::Text, meaning: "versions of TLS" },
    Extra {
        name: "modules",
        default: "/usr/lib/apache2/modules",
        takes: Takes::Text,
        meaning: "directory of its modules",
    },
];

/// Where its configuration is, below the state directory.
pub(super) const CONFIG: &str = "conf/apache.conf";
const PACKAGE: &str = "apache2-bin";
/// More processes than Apache can count.
const PREFORK_MAX: u64 = 20_000;
/// What most `.htaccess` files use.
const HTACCESS_MODULES: [&str; 12] = [
    "rewrite",
    "headers",
    "expires",
    "setenvif",
    "env",
    "alias",
    "negotiation",
    "access_compat",
    "authn_core",
    "authn_file",
    "auth_basic",
    "authz_user",
];

fn layout(spec: &Spec, place: &Place) -> Result<Layout, StackError> {
    let text = configuration(spec, place, &Parts::default())?;
    let is_on = spec.extras.text("status") != "off";
    Ok(files(spec, place, process(place)?, CONFIG, text).status_page("/server-status?auto", is_on))
}

/// The process of an Apache whose configuration is at [`CONFIG`].
pub(super) fn process(place: &Place) -> Result<Process, StackError> {
    let program = place.program(&["apache2", "httpd"], PACKAGE)?;
    Ok(Process::new("apache", program).args(["-DFOREGROUND", "-f", &place.text(CONFIG)]))
}

/// What a server behind Apache adds to its configuration.
#[derive(Default)]
pub(super) struct Parts<'a> {
    /// Modules beside those that it loads for itself.
    pub(super) modules: &'a [&'static str],
    /// Files of a directory that are looked for before `index.html`, each with a blank behind it.
    pub(super) index: &'a str,
    /// At the end, where it stands before what was said.
    pub(super) text: &'a str,
}

/// The configuration of Apache for `spec`.
pub(super) fn configuration(spec: &Spec, place: &Place, parts: &Parts<'_>) -> Result<String, StackError> {
    let settings = &spec.settings;
    let log = match settings.access_log {
        true => format!(
            "LogFormat \"%h - - %t \\\"%r\\\" %>s %B\" common\nCustomLog {} common\n",
            place.text("log/access.log")
        ),
        false => String::new(),
    };
    let types: String = TYPES.iter().map(|(suffix, kind)| format!("AddType {kind} .{suffix}\n")).collect();
    let gzip = match settings.gzip {
        true => format!("AddOutputFilterByType DEFLATE text/html {COMPRESSED}\n"),
        false => String::new(),
    };
    Ok(format!(
        "ServerRoot {state}\n\
         ServerName {address}\n\
         Listen {address}:{port}\n\
         ListenBackLog {backlog}\n\
         PidFile {run}/apache.pid\n\
         DefaultRuntimeDir {run}\n\
         Mutex pthread default\n\
         ErrorLog {error_log}\n\
         {modules}{processes}\
         KeepAlive {keepalive}\n\
         KeepAliveTimeout {timeout_ms}ms\n\
         MaxKeepAliveRequests {requests}\n\
         EnableSendfile {sendfile}\n\
         {log}TypesConfig /dev/null\n\
         {types}{gzip}{status}{tls}\
         DirectoryIndex {index}index.html\n\
         DocumentRoot \"{root}\"\n\
         <Directory \"{root}\">\n  Options FollowSymLinks\n  AllowOverride {overrides}\n  Require all granted\n</Directory>\n{more}",
        state = place.text(""),
        address = settings.address,
        port = place.ports[0],
        backlog = settings.backlog,
        run = place.text("run"),
        error_log = place.text("log/error.log"),
        modules = modules(spec, place, parts.modules)?,
        processes = processes(spec)?,
        keepalive = on_off(settings.keepalive && settings.keepalive_requests != Some(1)),
        timeout_ms = spec.extras.time_ns("keepalive_timeout") / 1_000_000,
        // It counts those after the first; 0 is without end.
        requests = settings.keepalive_requests.map_or(0, |all| all - 1),
        sendfile = on_off(settings.sendfile),
        status = status(spec),
        tls = tls(spec, place),
        root = place.docroot(&spec.settings),
        index = parts.index,
        more = parts.text,
        overrides = if spec.extras.on("htaccess") { "All" } else { "None" },
    ))
}

/// All processes and threads from the begin to the end, so that none come and go under load.
fn processes(spec: &Spec) -> Result<String, StackError> {
    let (workers, threads) = (u64::from(spec.settings.workers), spec.extras.number("threads"));
    let all = workers * threads;
    if spec.extras.text("mpm") != "prefork" {
        return Ok(format!(
            "StartServers {workers}\nServerLimit {workers}\nThreadsPerChild {threads}\nThreadLimit {threads}\n\
             MaxRequestWorkers {all}\nMinSpareThreads 1\nMaxSpareThreads {}\nMaxConnectionsPerChild 0\n",
            all + threads
        ));
    }
    if all > PREFORK_MAX {
        let may_be = format!("so many that workers times threads is at most {PREFORK_MAX} with mpm=prefork");
        return Err(wrong("threads", &threads.to_string(), &may_be));
    }
    Ok(format!(
        "StartServers {all}\nServerLimit {all}\nMaxRequestWorkers {all}\nMinSpareServers 1\nMaxSpareServers {}\nMaxConnectionsPerChild 0\n",
        all + 1
    ))
}

fn modules(spec: &Spec, place: &Place, more: &[&'static str]) -> Result<String, StackError> {
    let settings = &spec.settings;
    let mpm = format!("mpm_{}", spec.extras.text("mpm"));
    let mut names = vec![mpm.as_str(), "authz_core", "mime", "dir"];
    names.extend(more);
    if spec.extras.text("status") != "off" {
        names.push("status");
    }
    if settings.gzip {
        names.extend(["filter", "deflate"]);
    }
    if settings.tls {
        names.extend(["socache_shmcb", "ssl"]);
    }
    if spec.extras.on("htaccess") {
        names.extend(HTACCESS_MODULES.iter().filter(|name| !more.contains(name)));
    }
    let line = |name: &&str| {
        let path = place.file(format!("{}/mod_{name}.so", spec.extras.text("modules")).into(), PACKAGE)?;
        Ok(format!("LoadModule {name}_module {}\n", quoted(&path)?))
    };
    names.iter().map(line).collect()
}

fn status(spec: &Spec) -> String {
    let mode = spec.extras.text("status");
    if mode == "off" {
        return String::new();
    }
    let extended = on_off(mode == "extended");
    format!(
        "ExtendedStatus {extended}\n<Location /server-status>\n  SetHandler server-status\n  Require all granted\n</Location>\n"
    )
}

fn tls(spec: &Spec, place: &Place) -> String {
    if !spec.settings.tls {
        return String::new();
    }
    let versions: String =
        spec.extras.text("ssl_protocols").split_whitespace().map(|version| format!(" +{version}")).collect();
    format!(
        "SSLEngine on\nSSLProtocol -all{versions}\nSSLSessionCache shmcb:{}(512000)\nSSLCertificateFile {}\nSSLCertificateKeyFile {}\n",
        place.text("run/sessions"),
        place.text(CERTIFICATE),
        place.text(KEY),
    )
}

#[cfg(test)]
mod tests {
    use super::super::tests::{configured, modules};
    use super::*;

    const MODULES: [&str; 6] = ["mpm_event", "mpm_prefork", "authz_core", "mime", "dir", "status"];

    fn plain(spec: &Spec, place: &Place) -> Result<String, StackError> {
        configuration(spec, place, &Parts::default())
    }

    #[test]
    fn workers_and_threads_are_what_is_served_at_once() {
        let modules = modules(&[&MODULES[..], &HTACCESS_MODULES].concat());
        let with = |settings: &str| {
            let text = format!("apache modules={} workers=2 threads=8 {settings}", modules.path().display());
            configured(&text, plain).expect("it can be")
        };
        let text = with("");
        for line in
            ["StartServers 2", "ServerLimit 2", "ThreadsPerChild 8", "MaxRequestWorkers 16", "AllowOverride None"]
        {
            assert!(text.lines().any(|found| found.trim() == line), "{line} is not in {text}");
        }
        let text = with("mpm=prefork htaccess=on status=off");
        assert!(text.contains("StartServers 16\n") && text.contains("mpm_prefork_module"), "{text}");
        assert!(text.contains("rewrite_module") && text.contains("AllowOverride All"), "{text}");
        assert!(!text.contains("ThreadsPerChild") && !text.contains("server-status"), "{text}");
    }

    #[test]
    fn what_apache_cannot_have_is_refused() {
        let modules = modules(&MODULES);
        let text = format!("apache modules={} mpm=prefork workers=1000 threads=1000", modules.path().display());
        let error = configured(&text, plain).expect_err("too many");
        assert!(error.to_string().contains("at most 20000"), "{error}");
        let error = configured("apache modules=/nonexistent", plain).expect_err("none there").to_string();
        assert!(
            error.contains("/nonexistent/mod_mpm_event.so is not installed: apt-get install apache2-bin"),
            "{error}"
        );
    }
}
