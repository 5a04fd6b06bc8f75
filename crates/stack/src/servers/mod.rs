//! The servers plimsoll knows. Each is a row of a table and a pure function from settings to a layout.

mod apache;
mod backend;
mod caddy;
pub(crate) mod command;
mod haproxy;
mod lighttpd;
mod mariadb;
mod mysql;
mod nginx;
mod nginx_lua;
mod php_fpm;
mod redis;
mod target;
mod varnish;
pub(crate) mod wordpress;

use crate::error::StackError;
use crate::layout::{Body, Endpoint, Layout, Process, Ready, Stop};
use crate::place::{Place, settle_paths};
use crate::settings::{FILE_BYTES_MAX, Settings, wrong};
use crate::spec::{Server, Spec};
use std::path::Path;

/// The name of a server that is a command line of the user.
pub(crate) const COMMAND: &str = "command";

/// Where the certificate and its key are, below the state directory, when TLS is asked for.
pub(crate) const CERTIFICATE: &str = "conf/cert.pem";
/// See [`CERTIFICATE`]. HAProxy looks for it under this name.
pub(crate) const KEY: &str = "conf/cert.pem.key";

/// A longer file of a configuration is content, which nobody wants to read.
const SHOWN_BYTES_MAX: usize = 64 << 10;

const ALL: &[&Server] = &[
    &nginx::NGINX,
    &nginx_lua::NGINX_LUA,
    &apache::APACHE,
    &lighttpd::LIGHTTPD,
    &caddy::CADDY,
    &haproxy::HAPROXY,
    &varnish::VARNISH,
    &php_fpm::PHP_FPM,
    &wordpress::WORDPRESS,
    &mariadb::MARIADB,
    &mysql::MYSQL,
    &redis::REDIS,
    &target::TARGET,
    &command::COMMAND,
];

/// Suffixes of files and their types, for servers that are told.
const TYPES: [(&str, &str); 6] = [
    ("html", "text/html"),
    ("txt", "text/plain"),
    ("css", "text/css"),
    ("js", "application/javascript"),
    ("png", "image/png"),
    ("svg", "image/svg+xml"),
];
/// What is compressed beside `text/html`.
const COMPRESSED: &str = "text/plain text/css application/javascript application/json";

/// All that are known, in the order of the help.
pub fn all() -> impl Iterator<Item = &'static Server> {
    ALL.iter().copied()
}

/// The server of that name.
pub(crate) fn find(name: &str) -> Result<&'static Server, StackError> {
    let found = all().find(|server| server.name == name);
    found.ok_or_else(|| {
        let names: Vec<&str> = all().map(|server| server.name).filter(|name| *name != COMMAND).collect();
        StackError::Wrong(format!(
            "there is no server {name:?}; there are {}, and any command after --",
            names.join(", ")
        ))
    })
}

/// True if it is a command line of the user.
pub(crate) fn is_command(spec: &Spec) -> bool {
    spec.server.name == COMMAND
}

/// True if it is plimsoll itself.
pub(crate) fn runs_own_program(spec: &Spec) -> bool {
    spec.server.name == target::NAME
}

/// Refuses what a server cannot have that answers on a Unix socket only.
fn socket_only(spec: &Spec) -> Result<(), StackError> {
    let name = spec.server.name;
    if spec.settings.port == 0 && spec.settings.path == Settings::default().path {
        return Ok(());
    }
    Err(StackError::Wrong(format!("{name} answers on a Unix socket: it has no port and no path; leave them out")))
}

/// Makes the paths of a specification absolute, looks whether they are there, and whether a configuration can hold them.
pub(crate) fn settle(spec: &mut Spec) -> Result<(), StackError> {
    settle_paths(&mut spec.settings)?;
    match &spec.settings.root {
        // On a command line a path may have any character.
        Some(root) if !is_command(spec) => quoted(root).map(drop),
        _ => Ok(()),
    }
}

/// A path in quotation marks, as every configuration here takes it. Refuses what any of them would not take as it is.
fn quoted(path: &Path) -> Result<String, StackError> {
    let is_plain = |c: char| !c.is_control() && !"\"\\${}*?[".contains(c);
    match path.to_str().filter(|text| text.chars().all(is_plain)) {
        Some(text) => Ok(format!("\"{text}\"")),
        None => Err(StackError::Wrong(format!(
            "{path:?} has a character that configurations of servers cannot hold (\" \\ $ {{ }} * ? [); reach it by another path"
        ))),
    }
}

/// What a server would be given to run, for people: each file under its name, and the command lines.
///
/// # Errors
/// If the server is not installed or a setting contradicts another.
pub fn print_config(spec: &Spec, own_program: &Path) -> Result<String, StackError> {
    let mut spec = spec.clone();
    settle(&mut spec)?;
    let place = Place::example(&spec.settings, own_program.to_owned())?;
    let layout = (spec.server.layout)(&spec, &place)?;
    let mut text = String::new();
    for (name, content) in &layout.files {
        let is_shown = name.starts_with("conf/") && !name.ends_with(".key") && content.len() <= SHOWN_BYTES_MAX;
        let shown = match std::str::from_utf8(content) {
            Ok(content) if is_shown => content.trim_end().to_owned(),
            _ => format!("({} bytes)", content.len()),
        };
        text.push_str(&format!("# {}\n{shown}\n\n", place.text(name)));
    }
    let once = layout.provision.iter().chain(&layout.fill);
    let processes = once.chain(layout.services.iter().map(|service| &service.process));
    for process in processes {
        text.push_str(&format!("$ {} {}\n", process.program.display(), process.args.join(" ")));
    }
    Ok(text)
}

/// A server that hands out files from one process and what it starts, with one configuration.
fn files(spec: &Spec, place: &Place, process: Process, config: &str, text: String) -> Layout {
    let layout = Layout {
        services: vec![process.service(Ready::Endpoint, Stop::TERM)],
        endpoint: Some(Endpoint::Http { url: place.url(&spec.settings) }),
        body: expected(&spec.settings).map(Body::Is),
        main_config: Some(config.into()),
        ..Layout::default()
    }
    .file(config, text);
    match spec.settings.root {
        Some(_) => layout,
        None => layout.file("www/index.html", page(spec.settings.file_size)),
    }
}

/// The workers of a server that cannot have any number of them.
fn workers(spec: &Spec, max: u32) -> Result<u32, StackError> {
    match spec.settings.workers {
        asked if asked > max => {
            Err(wrong("workers", &asked.to_string(), &format!("at most {max} with {}", spec.server.name)))
        }
        asked => Ok(asked),
    }
}

/// The file that is served: text that compresses about as well as a page, and names its own size by its length.
pub(crate) fn page(bytes: u64) -> Vec<u8> {
    const LINE: &[u8] =
        b"plimsoll finds how much load a web server holds, and says whether the number may be believed.\n";
    LINE.iter().copied().cycle().take(bytes as usize).collect()
}

/// The body that the path of `settings` must give when a server hands out files; none when we cannot know it.
pub(crate) fn expected(settings: &Settings) -> Option<Vec<u8>> {
    match &settings.root {
        None if settings.path == "/" || settings.path == "/index.html" => Some(page(settings.file_size)),
        None => None,
        Some(root) => {
            let path = settings.path.split('?').next().unwrap_or_default().trim_start_matches('/');
            let file = root.join(if path.is_empty() || path.ends_with('/') {
                format!("{path}index.html")
            } else {
                path.into()
            });
            // A pipe would not end, and of a larger file one asks the server only whether it is there.
            let found = std::fs::metadata(&file).ok()?;
            if found.is_file() && found.len() <= FILE_BYTES_MAX { std::fs::read(file).ok() } else { None }
        }
    }
}

/// `on` or `off`, as most configurations have it.
pub(crate) const fn on_off(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::Source;

    /// What `configure` makes of a text such as `nginx workers=2`.
    pub(super) fn configured<T>(text: &str, configure: fn(&Spec, &Place) -> T) -> T {
        let spec = Spec::parse(text).expect("known");
        configure(&spec, &Place::example(&spec.settings, "/nonexistent".into()).expect("a place"))
    }

    #[test]
    fn what_servers_run_is_known_by_name() {
        for server in all().filter(|server| server.name != COMMAND) {
            assert!(!server.programs.is_empty(), "{}", server.name);
            for program in server.programs {
                assert!(
                    model::known_program(program).is_some(),
                    "{program} of {}: a row in model/src/program.rs",
                    server.name
                );
            }
        }
    }

    /// The load would go to where nobody listens. WordPress has the web server of php-fpm.
    #[test]
    fn each_server_of_http_listens_at_its_address() {
        let mut found = Vec::new();
        for server in all().filter(|server| ![COMMAND, "wordpress"].contains(&server.name)) {
            let spec = Spec::parse(&format!("{} address=192.0.2.7", server.name)).expect("known");
            let place = Place::example(&spec.settings, "/nonexistent".into()).expect("a place");
            let layout = (server.layout)(&spec, &Place { source: Source::Image, ..place }).expect(server.name);
            let Some(Endpoint::Http { url }) = &layout.endpoint else { continue };
            assert!(url.starts_with("http://192.0.2.7:"), "{url}");
            let files = layout.files.iter().map(|(_, content)| String::from_utf8_lossy(content).into_owned());
            let words = layout.services.iter().map(|service| service.process.args.join(" "));
            let texts: String = files.chain(words).collect();
            assert!(texts.contains("192.0.2.7"), "{}: {texts}", server.name);
            found.push(server.name);
        }
        assert!(found.len() >= 9, "{found:?}");
    }

    #[test]
    fn a_root_that_breaks_configurations_is_refused() {
        let folder = tempfile::tempdir().expect("a directory");
        for name in ["a\"b", "a\\b", "$a", "a{b}", "a*", "a[b]", "a\nb"] {
            let root = folder.path().join(name);
            std::fs::create_dir(&root).expect("a directory in it");
            let with_root = |text: &str| {
                let mut spec = Spec::parse(text).expect("known");
                spec.settings.root = Some(root.clone());
                settle(&mut spec)
            };
            let error = with_root("nginx").expect_err(name).to_string();
            assert!(error.contains("reach it by another path") && error.lines().count() == 1, "{error}");
            with_root("-- ./my-server {root}").expect("it is in no configuration");
        }
        assert_eq!(quoted(Path::new("/srv/my site;#é")).expect("fine in quotes"), "\"/srv/my site;#é\"");
    }

    /// A directory of modules as a package brings them, so that no test needs that.
    pub(super) fn modules(names: &[&str]) -> tempfile::TempDir {
        let directory = tempfile::tempdir().expect("a directory");
        for name in names {
            std::fs::write(directory.path().join(format!("mod_{name}.so")), "").expect("a file in it");
        }
        directory
    }
}
