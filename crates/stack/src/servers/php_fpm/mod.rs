//! php-fpm: a pool of PHP processes, behind nginx or Apache.

mod apache;
mod extension;
mod page;
mod profile;

use super::{Server, nginx};
use crate::error::StackError;
use crate::extra::{Extra, Takes};
use crate::layout::{Body, Endpoint, Layout, Process, Ready, Stop};
use crate::limits::setting;
use crate::place::Place;
use crate::settings::{SPECIAL, Settings};
use crate::spec::Spec;
use model::Setting;

pub(super) use extension::extension;
pub(super) use profile::{PHP_PROFILE, needed as needed_for_profile};

pub(super) const PHP_FPM: Server = Server {
    name: "php-fpm",
    about: "php-fpm behind nginx or Apache: a generated page, or a PHP site with --root (package php-fpm)",
    knows: &SPECIAL,
    extras: EXTRAS,
    programs: &["php-fpm", "nginx", "apache2"],
    limits,
    layout,
};

/// Of all that php-fpm is a part of.
pub(super) fn limits(spec: &Spec) -> Vec<Setting> {
    let children = setting("children", "pm.max_children", "php-fpm", spec.extras.number("children"), 1000);
    let front = spec.workers("worker_processes", "nginx");
    [children].into_iter().chain((spec.extras.text("front") == "nginx").then_some(front)).collect()
}

/// For all that php-fpm is a part of, as the five that follow and [`PHP_PROFILE`].
pub(super) const FRONT: Extra = Extra {
    name: "front",
    default: "nginx",
    takes: Takes::Word(&["nginx", "apache"]),
    meaning: "who passes requests on to php-fpm",
};
const FRONT_OR_NONE: Extra = Extra {
    takes: Takes::Word(&["nginx", "apache", "none"]),
    meaning: "who passes requests on to php-fpm; none: FastCGI without a web server is measured",
    ..FRONT
};
pub(super) const PM: Extra = Extra {
    name: "pm",
    default: "static",
    takes: Takes::Word(&["static", "dynamic", "ondemand"]),
    meaning: "how PHP processes are kept",
};
pub(super) const CHILDREN: Extra =
    Extra { name: "children", default: "5", takes: Takes::Number(1, 1000), meaning: "PHP processes, at most" };
pub(super) const LISTEN_BACKLOG: Extra = Extra {
    name: "listen_backlog",
    default: "511",
    takes: Takes::Number(1, 65_535),
    meaning: "length of php-fpm's own accept queue",
};
pub(super) const OPCACHE: Extra =
    Extra { name: "opcache", default: "on", takes: Takes::Switch, meaning: "compiled PHP is kept" };
pub(super) const STATUS: Extra =
    Extra { name: "status", default: "on", takes: Takes::Switch, meaning: "counters of the pool at /fpm-status" };

const EXTRAS: &[Extra] = &[
    FRONT_OR_NONE,
    PM,
    CHILDREN,
    Extra {
        name: "socket",
        default: "unix",
        takes: Takes::Word(&["unix", "tcp"]),
        meaning: "between the front and php-fpm; tcp: open to every user of this machine",
    },
    LISTEN_BACKLOG,
    Extra {
        name: "sleep",
        default: "0s",
        takes: Takes::Time,
        meaning: "time the generated page waits, as for a database",
    },
    Extra { name: "burn", default: "0s", takes: Takes::Time, meaning: "CPU time the generated page uses" },
    OPCACHE,
    STATUS,
    PHP_PROFILE,
];

/// Its programs, by the version that Debian 12 has first.
pub(super) const PROGRAMS: [&str; 7] =
    ["php-fpm8.2", "php-fpm8.5", "php-fpm8.4", "php-fpm8.3", "php-fpm8.1", "php-fpm8.0", "php-fpm"];
const CONFIG: &str = "conf/php-fpm.conf";
/// Where the counters are asked for, as they queue behind the load otherwise.
const STATUS_SOCKET: &str = "run/fpm-status.sock";

fn layout(spec: &Spec, place: &Place) -> Result<Layout, StackError> {
    let mut layout = pool(spec, place, &Additions::default())?;
    layout.body = page::expected(spec)?.map(Body::Is);
    if spec.settings.root.is_none() {
        for (name, content) in page::files(spec) {
            layout = layout.file(name, content);
        }
    }
    Ok(layout)
}

/// What a site on top of php-fpm adds.
#[derive(Default)]
pub(super) struct Additions {
    /// To the http block of nginx.
    pub(super) http: String,
    /// To the location of nginx that passes requests on.
    pub(super) pass: &'static str,
    /// To the configuration of Apache.
    pub(super) apache: String,
    /// Modules of Apache for it.
    pub(super) modules: &'static [&'static str],
    /// What Apache does with `.htaccess` files.
    pub(super) htaccess: Htaccess,
}

/// What Apache does with `.htaccess` files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Htaccess {
    /// It looks for none.
    #[default]
    Ignored,
    /// It obeys them, beside its own configuration.
    Read,
    /// It obeys them, and they alone send a path that is no file to the site.
    Routes,
}

/// The pool and its front, without anything to serve.
pub(super) fn pool(spec: &Spec, place: &Place, additions: &Additions) -> Result<Layout, StackError> {
    let ready = match spec.extras.text("socket") {
        "tcp" => Ready::Port(place.ports[1]),
        _ => Ready::Socket(place.path("run/php-fpm.sock")),
    };
    if spec.extras.text("front") == "none" {
        return alone(spec, place);
    }
    let Front { process: front, name, config } = front(spec, place, additions)?;
    let layout = Layout {
        services: vec![process(spec, place)?.service(ready, Stop::TERM), front.service(Ready::Endpoint, Stop::TERM)],
        endpoint: Some(Endpoint::Http { url: place.url(&spec.settings) }),
        main_config: Some(CONFIG.into()),
        warnings: warnings(spec, place),
        ..Layout::default()
    }
    .file(CONFIG, configuration(spec, place))
    .file(name, config)
    .status_page("/fpm-status?json", spec.extras.on("status"));
    profile::add(layout, spec, place)
}

/// The pool without a front. What a front would do cannot be asked for.
fn alone(spec: &Spec, place: &Place) -> Result<Layout, StackError> {
    let settings = &spec.settings;
    if let Some(name) = of_front(spec) {
        return Err(StackError::Wrong(format!("{name} needs front=nginx or front=apache")));
    }
    let path = match settings.path.strip_prefix('/') {
        Some(rest) if rest.is_empty() || rest.starts_with('?') => format!("/index.php{rest}"),
        _ => settings.path.clone(),
    };
    let script = format!("{}{path}", place.docroot(settings));
    let socket = place.path("run/php-fpm.sock");
    let url = format!("fastcgi+unix:{}:{script}", socket.display());
    let layout = Layout {
        services: vec![process(spec, place)?.service(Ready::Endpoint, Stop::TERM)],
        endpoint: Some(Endpoint::FastCgi { url, socket, script }),
        main_config: Some(CONFIG.into()),
        ..Layout::default()
    }
    .file(CONFIG, configuration(spec, place));
    profile::add(layout, spec, place)
}

/// A setting that was asked for and is that of a front.
fn of_front(spec: &Spec) -> Option<&'static str> {
    let (settings, default) = (&spec.settings, Settings::default());
    let all = [
        ("tls", settings.tls),
        ("gzip", settings.gzip),
        ("access-log", settings.access_log),
        ("address", settings.address != default.address),
        ("port", settings.port != default.port),
        ("workers", settings.workers != default.workers),
        ("worker-connections", settings.worker_connections != default.worker_connections),
        ("keepalive", settings.keepalive != default.keepalive),
        ("keepalive-requests", settings.keepalive_requests.is_some()),
        ("sendfile", settings.sendfile != default.sendfile),
        ("backlog", settings.backlog != default.backlog),
        ("socket=tcp", spec.extras.text("socket") == "tcp"),
    ];
    all.into_iter().find(|(_, is_asked)| *is_asked).map(|(name, _)| name)
}

/// A Unix socket lies in a folder that is closed to others. FastCGI knows no password, and who speaks it says which program
/// is run with which settings.
fn warnings(spec: &Spec, place: &Place) -> Vec<String> {
    if spec.extras.text("socket") != "tcp" {
        return Vec::new();
    }
    let user = place.account.as_ref().map_or("yourself", |account| account.name.as_str());
    let port = place.ports[1];
    vec![format!(
        "socket=tcp: any user of this machine can run PHP as {user} through port {port}; the default, unix, is closed to others"
    )]
}

/// Who stands before it.
struct Front {
    process: Process,
    /// Path and content of its configuration.
    name: &'static str,
    config: String,
}

fn front(spec: &Spec, place: &Place, additions: &Additions) -> Result<Front, StackError> {
    // A program that is named is php-fpm's.
    let place = &Place { binary: None, ..place.clone() };
    if spec.extras.text("front") == "apache" {
        return apache::front(spec, place, additions);
    }
    let config = nginx_configuration(spec, place, additions)?;
    Ok(Front { process: nginx::process(place)?, name: nginx::CONFIG, config })
}

/// Configuration of nginx before the pool.
pub(super) fn nginx_configuration(spec: &Spec, place: &Place, added: &Additions) -> Result<String, StackError> {
    let server = locations(spec, place, added.pass);
    let parts = nginx::Parts { server: &server, http: &added.http, ..nginx::Parts::default() };
    Ok(nginx::configuration(&facing("nginx", spec, &[])?, place, &parts))
}

/// A server with the settings of `spec`, some of its own, and its defaults otherwise.
fn facing(name: &str, spec: &Spec, pairs: &[(String, String)]) -> Result<Spec, StackError> {
    let mut own = Spec::new(name, pairs, Vec::new(), None)?;
    own.settings = spec.settings.clone();
    Ok(own)
}

fn process(spec: &Spec, place: &Place) -> Result<Process, StackError> {
    let program = place.program(&PROGRAMS, "php-fpm")?;
    // These cannot be set in a pool. The lock file would be in /tmp.
    let opcache = format!("opcache.enable={}", u8::from(spec.extras.on("opcache")));
    let lock = format!("opcache.lockfile_path={}", place.text("tmp"));
    let args = ["--nodaemonize", "--fpm-config", &place.text(CONFIG), "-d", &opcache, "-d", &lock];
    let profile = profile::arguments(spec, &program, place);
    Ok(Process::new("php-fpm", program).args(args).args(profile))
}

/// Configuration of the pool.
pub(super) fn configuration(spec: &Spec, place: &Place) -> String {
    let children = spec.extras.number("children");
    let pm = match spec.extras.text("pm") {
        // Half of them wait, as a pool that is sized for its peak has it.
        "dynamic" => format!(
            "dynamic\npm.start_servers = {half}\npm.min_spare_servers = 1\npm.max_spare_servers = {half}",
            half = children.div_ceil(2)
        ),
        "ondemand" => "ondemand\npm.process_idle_timeout = 10s".to_owned(),
        other => other.to_owned(),
    };
    let mut text = format!(
        "[global]\n\
         pid = {pid}\n\
         error_log = {log}\n\
         daemonize = no\n\
         systemd_interval = 0\n\
         [www]\n\
         listen = {listen}\n\
         listen.backlog = {backlog}\n\
         pm = {pm}\n\
         pm.max_children = {children}\n\
         pm.max_requests = 0\n\
         request_terminate_timeout = 0\n\
         catch_workers_output = yes\n\
         php_admin_flag[display_errors] = off\n\
         php_admin_flag[log_errors] = on\n\
         php_admin_value[session.save_path] = {tmp}\n\
         php_admin_value[sys_temp_dir] = {tmp}\n\
         php_admin_value[upload_tmp_dir] = {tmp}\n",
        pid = place.text("run/php-fpm.pid"),
        log = place.text("log/php-fpm.log"),
        listen = listen(spec, place),
        backlog = spec.extras.number("listen_backlog"),
        tmp = place.text("tmp"),
    );
    text.push_str(&profile::line(spec, place));
    if spec.extras.text("socket") == "tcp" {
        text.push_str("listen.allowed_clients = 127.0.0.1\n");
    }
    if spec.extras.on("status") {
        text.push_str(&format!("pm.status_path = /fpm-status\npm.status_listen = {}\n", place.text(STATUS_SOCKET)));
    }
    text
}

/// Where php-fpm listens, in its own words.
fn listen(spec: &Spec, place: &Place) -> String {
    match spec.extras.text("socket") {
        "tcp" => format!("127.0.0.1:{}", place.ports[1]),
        _ => place.text("run/php-fpm.sock"),
    }
}

/// What nginx passes on, and what is added where it does. A path that is no file is the site's own affair, as most sites want it.
fn locations(spec: &Spec, place: &Place, added: &str) -> String {
    let address = listen(spec, place);
    let pass = if spec.extras.text("socket") == "tcp" { address } else { format!("unix:{address}") };
    let mut text = String::from("    index index.php index.html;\n");
    // Not Debian's parameters: they leave the port out of HTTP_HOST, and links and redirects lose it then.
    for (name, value) in PARAMETERS {
        text.push_str(&format!("    fastcgi_param {name} {value};\n"));
    }
    if spec.settings.tls {
        text.push_str("    fastcgi_param HTTPS on;\n");
    }
    text.push_str("    fastcgi_buffers 16 32k;\n    fastcgi_buffer_size 32k;\n");
    text.push_str("    location / { try_files $uri $uri/ /index.php$is_args$args; }\n");
    text.push_str(&format!("    location ~ \\.php$ {{ try_files $uri =404; fastcgi_pass {pass};{added} }}\n"));
    if spec.extras.on("status") {
        let socket = place.text(STATUS_SOCKET);
        text.push_str(&format!("    location = /fpm-status {{ access_log off; fastcgi_pass unix:{socket}; }}\n"));
    }
    text
}

const PARAMETERS: [(&str, &str); 17] = [
    ("QUERY_STRING", "$query_string"),
    ("REQUEST_METHOD", "$request_method"),
    ("CONTENT_TYPE", "$content_type"),
    ("CONTENT_LENGTH", "$content_length"),
    ("SCRIPT_FILENAME", "$document_root$fastcgi_script_name"),
    ("SCRIPT_NAME", "$fastcgi_script_name"),
    ("REQUEST_URI", "$request_uri"),
    ("DOCUMENT_URI", "$document_uri"),
    ("DOCUMENT_ROOT", "$document_root"),
    ("SERVER_PROTOCOL", "$server_protocol"),
    ("REQUEST_SCHEME", "$scheme"),
    ("GATEWAY_INTERFACE", "CGI/1.1"),
    ("SERVER_SOFTWARE", "nginx"),
    ("REMOTE_ADDR", "$remote_addr"),
    ("SERVER_ADDR", "$server_addr"),
    ("SERVER_PORT", "$server_port"),
    ("SERVER_NAME", "$host"),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// What a text asks for, at a place with nothing of this machine in it.
    pub(super) fn of(text: &str) -> (Spec, Place) {
        let spec = Spec::parse(text).expect("known");
        let place = Place::example(&spec.settings, "plimsoll".into()).expect("a place");
        (spec, place)
    }

    #[test]
    fn a_pool_is_as_large_and_as_lazy_as_asked() {
        let (spec, place) = of("php-fpm pm=dynamic children=7 listen_backlog=8");
        let text = configuration(&spec, &place);
        for line in [
            "pm = dynamic\n",
            "pm.max_children = 7\n",
            "pm.start_servers = 4\n",
            "pm.max_spare_servers = 4\n",
            "listen.backlog = 8\n",
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
        let (spec, place) = of("php-fpm status=off");
        let text = configuration(&spec, &place);
        assert!(
            text.contains("pm = static\n") && !text.contains("start_servers") && !text.contains("status"),
            "{text}"
        );
    }

    #[test]
    fn both_sides_speak_of_the_same_socket() {
        for (text, listens, passes) in [
            (
                "php-fpm port=80",
                "listen = /tmp/plimsoll-state/run/php-fpm.sock\n",
                "unix:/tmp/plimsoll-state/run/php-fpm.sock;",
            ),
            ("php-fpm port=80 socket=tcp", "listen = 127.0.0.1:81\n", "fastcgi_pass 127.0.0.1:81;"),
        ] {
            let (spec, place) = of(text);
            assert!(configuration(&spec, &place).contains(listens), "{text}");
            assert!(locations(&spec, &place, "").contains(passes), "{text}");
        }
    }

    #[test]
    fn without_a_front_the_script_is_asked_for_on_the_socket_of_the_pool() {
        let (spec, mut place) = of("php-fpm front=none");
        // A program that is there on every system.
        place.binary = Some("/bin/sh".into());
        let layout = layout(&spec, &place).expect("it can be");
        let url = "fastcgi+unix:/tmp/plimsoll-state/run/php-fpm.sock:/tmp/plimsoll-state/www/index.php";
        assert!(matches!(&layout.endpoint, Some(Endpoint::FastCgi { url: found, .. }) if found == url));
        assert!(layout.services.len() == 1 && layout.body.is_some() && layout.status.is_empty());
    }

    /// It was part of the file's name, which there was none of.
    #[test]
    fn without_a_front_a_path_may_have_a_query() {
        for (path, script) in [("/index.php?x=1", "/index.php?x=1"), ("/?x=1", "/index.php?x=1"), ("/a.php", "/a.php")]
        {
            let (spec, mut place) = of(&format!("php-fpm front=none path={path}"));
            place.binary = Some("/bin/sh".into());
            let layout = layout(&spec, &place).expect("it can be");
            let Some(Endpoint::FastCgi { script: found, .. }) = layout.endpoint else { panic!("another endpoint") };
            assert_eq!(found, format!("/tmp/plimsoll-state/www{script}"));
        }
    }

    #[test]
    fn without_a_front_what_is_the_fronts_is_refused() {
        for (asked, name) in [
            ("tls=on", "tls"),
            ("gzip=on", "gzip"),
            ("access-log=on", "access-log"),
            ("port=8080", "port"),
            ("workers=2", "workers"),
            ("worker-connections=64", "worker-connections"),
            ("keepalive=off", "keepalive"),
            ("keepalive-requests=9", "keepalive-requests"),
            ("sendfile=off", "sendfile"),
            ("backlog=8", "backlog"),
            ("socket=tcp", "socket=tcp"),
        ] {
            let (spec, place) = of(&format!("php-fpm front=none {asked}"));
            let error = layout(&spec, &place).expect_err(asked).to_string();
            assert_eq!(error, format!("{name} needs front=nginx or front=apache"));
        }
        let (spec, _) = of("php-fpm front=none children=3 listen_backlog=8 path=/index.php root=/srv");
        assert_eq!(of_front(&spec), None);
    }

    #[test]
    fn no_port_is_open_to_other_users_unless_it_is_asked_for() {
        let (spec, place) = of("php-fpm port=80");
        let text = configuration(&spec, &place) + &locations(&spec, &place, "");
        assert!(!text.contains("127.0.0.1") && warnings(&spec, &place).is_empty(), "{text}");
        let (spec, place) = of("php-fpm port=80 socket=tcp");
        let warning = warnings(&spec, &place).concat();
        assert!(warning.contains("any user of this machine") && warning.contains("port 81"), "{warning}");
    }
}
