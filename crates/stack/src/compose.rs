//! The same stack for containers: a Compose file, and what has to lie beside it.
//!
//! Each process of the layout is a service; the files are those of a private start, but that the web server listens for all of
//! its container, whose port is published on loopback. All share the folder of the Compose file as their state directory, and
//! speak to each other by sockets in it.

use crate::error::StackError;
use crate::layout::{Layout, Process, Ready};
use crate::php_profile::{self, clock};
use crate::place::{Place, Source, secret};
use crate::servers::settle;
use crate::settings::Settings;
use crate::spec::Spec;
use crate::state::SERVERS;
use crate::tree::Folder;
use rustix::fs::Mode;
use std::ffi::CString;
use std::io::{self, Write};
use std::path::Path;

/// Where the folder is inside the containers.
const INSIDE: &str = "/srv/plimsoll";
const IMAGE: &str = "localhost/plimsoll-wordpress";
/// `www-data` of Debian, as whom root has the services run.
const WWW_DATA: u32 = 33;
/// Written when the database is filled.
const FILLED: &str = "run/filled";

/// A stack for containers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compose {
    /// Relative path and content of each file; those that end in `.key` are secret.
    files: Vec<(String, Vec<u8>)>,
    /// Folders that the services write to.
    folders: &'static [&'static str],
    /// User and group that files and folders belong to.
    owner: (u32, u32),
    /// What answers when it is up.
    pub url: String,
}

impl Compose {
    /// Writes all to `dir`, which is made here and is our own until it is whole: whom it is for can put no link into it.
    ///
    /// # Errors
    /// If it is there already, or if the system refuses.
    pub fn write(&self, dir: &Path) -> io::Result<()> {
        // Others have no business in it: there are passwords.
        let top = Folder::create(dir)?;
        for folder in self.folders {
            top.make(&CString::new(*folder)?)?;
        }
        self.files.iter().try_for_each(|(path, content)| write(&top, path, content))?;
        top.give_all(self.owner.0, self.owner.1)
    }
}

/// Writes a file into a folder, with the folders on its path.
fn write(folder: &Folder, path: &str, content: &[u8]) -> io::Result<()> {
    match path.split_once('/') {
        Some((inner, rest)) => write(&folder.make(&CString::new(inner)?)?, rest, content),
        None => {
            let mode = if path.ends_with(".key") { 0o600 } else { 0o644 };
            folder.make_file(path, Mode::from_raw_mode(mode))?.write_all(content)
        }
    }
}

/// The Compose file of `spec` and what lies beside it, for the user and group `caller`.
///
/// # Errors
/// If it is another server than WordPress, or needs what no image has.
pub fn compose(spec: &Spec, caller: (u32, u32)) -> Result<Compose, StackError> {
    let place = place(spec, secret()?)?;
    of_place(spec, place, if caller.0 == 0 { (WWW_DATA, WWW_DATA) } else { caller })
}

fn place(spec: &Spec, secret: String) -> Result<Place, StackError> {
    let settings = &spec.settings;
    let refused = [
        ("tls", settings.tls),
        ("binary", settings.binary.is_some()),
        ("build", settings.build.is_some()),
        ("config", settings.config.is_some()),
        ("wrapper", !settings.wrapper.is_empty()),
        ("env", !settings.env.is_empty()),
        ("cpus", !settings.cpus.is_empty()),
        ("user", settings.user.is_some()),
        ("database=mysql", spec.extras.text("database") == "mysql"),
        (php_profile::SETTING, clock(spec).is_some()),
    ];
    match refused.into_iter().find(|(_, is_asked)| *is_asked) {
        _ if spec.server.name != "wordpress" => {
            Err(StackError::Wrong(format!("there is a Compose file of wordpress, and none of {}", spec.server.name)))
        }
        Some((name, _)) => Err(StackError::Wrong(format!("{name} cannot be in a Compose file; leave it out"))),
        None => Ok(Place {
            dir: INSIDE.into(),
            account: None,
            source: Source::Image,
            secret,
            ..Place::example(settings, "/nonexistent".into())?
        }),
    }
}

fn of_place(spec: &Spec, place: Place, owner: (u32, u32)) -> Result<Compose, StackError> {
    let mut spec = spec.clone();
    settle(&mut spec)?;
    if spec.settings.address != Settings::default().address {
        return Err(StackError::Wrong("address: a Compose file publishes its port on loopback; leave it out".into()));
    }
    let layout = (spec.server.layout)(&spec, &place)?;
    let packages = packages(&spec, &place)?;
    let url = place.url(&spec.settings);
    let port = place.ports[0];
    let mut files: Vec<(String, Vec<u8>)> =
        layout.files.iter().map(|(name, content)| (name.clone(), opened(name, content, port))).collect();
    files.extend([
        ("compose.yaml".to_owned(), compose_file(&layout, owner, port, &url).into_bytes()),
        ("image/Containerfile".to_owned(), container_file(&packages).into_bytes()),
        ("start.sh".to_owned(), script(&layout).into_bytes()),
    ]);
    Ok(Compose { files, folders: &SERVERS, owner, url })
}

/// The Debian packages of the image.
fn packages(spec: &Spec, place: &Place) -> Result<Vec<&'static str>, StackError> {
    match (spec.server.layout)(spec, &Place { source: Source::Nothing, ..place.clone() }) {
        Err(StackError::Missing(missing)) => {
            let mut packages: Vec<&str> = missing.iter().map(|missing| missing.package).collect();
            packages.sort_unstable();
            packages.dedup();
            Ok(packages)
        }
        other => other.map(|_| Vec::new()),
    }
}

fn container_file(packages: &[&str]) -> String {
    format!(
        "# Image of all services, with Debian's packages.\n\
         FROM docker.io/library/debian:bookworm-slim\n\
         RUN apt-get update && apt-get install -y --no-install-recommends \\\n    {} \\\n    && rm -rf /var/lib/apt/lists/*\n",
        packages.join(" \\\n    ")
    )
}

fn compose_file(layout: &Layout, owner: (u32, u32), port: u16, url: &str) -> String {
    let mut text = format!(
        "# WordPress as plimsoll stack up has it, in containers: podman-compose up -d, or docker compose up -d\n\
         # It answers at {url} once the service setup has ended. Its data are in this folder; remove it afterwards.\n\
         # podman without root: add userns_mode: keep-id to each service.\n\
         services:\n"
    );
    let services = layout.services.iter().map(|service| (service.process.name.as_str(), &service.ready));
    for (name, ready) in std::iter::once(("setup", None)).chain(services.map(|(name, ready)| (name, Some(ready)))) {
        let ports = match ready {
            Some(Ready::Endpoint) => format!("    ports: [\"127.0.0.1:{port}:{port}\"]\n"),
            _ => String::new(),
        };
        text.push_str(&format!(
            "  {name}:\n    image: {IMAGE}\n    build: ./image\n    user: \"{}:{}\"\n{ports}    \
             volumes: [\".:{INSIDE}\"]\n    command: [\"sh\", \"{INSIDE}/start.sh\", \"{name}\"]\n",
            owner.0, owner.1
        ));
    }
    text
}

/// A configuration for a container, whose loopback nobody else reaches.
fn opened(name: &str, content: &[u8], port: u16) -> Vec<u8> {
    let text = match std::str::from_utf8(content) {
        Ok(text) if name.starts_with("conf/") && name.ends_with(".conf") => text,
        _ => return content.to_vec(),
    };
    let address = format!("127.0.0.1:{port}");
    let listens = |line: &str| ["listen ", "Listen "].iter().any(|word| line.trim_start().starts_with(word));
    let lines = text.split_inclusive('\n');
    let opened =
        lines.map(|line| if listens(line) { line.replace(&address, &port.to_string()) } else { line.to_owned() });
    opened.collect::<String>().into_bytes()
}

/// Starts one part, after what it needs. Not every version of Compose waits for other services.
fn script(layout: &Layout) -> String {
    let mut text = format!(
        "#!/bin/sh\n# Starts one part of the stack, after what it needs: sh start.sh PART\nset -eu\ncd {INSIDE}\n\
         export HOME={INSIDE}/home TMPDIR={INSIDE}/tmp\n\
         # Waits until a file or socket is there.\n\
         await() {{\n  n=0\n  until [ -e \"$1\" ]; do\n    n=$((n + 1))\n    \
         [ $n -le 1200 ] || {{ echo \"$1 is not there after 5 minutes\" >&2; exit 1; }}\n    sleep 0.25\n  done\n}}\n\
         case $1 in\n"
    );
    text.push_str(&setup(layout));
    let mut before: Option<String> = None;
    for service in &layout.services {
        let wait = before.as_ref().map_or_else(String::new, |path: &String| format!("  await {path}\n"));
        text.push_str(&format!(
            "{name})\n  await {FILLED}\n{wait}  exec {command}\n  ;;\n",
            name = service.process.name,
            command = command(&service.process)
        ));
        before = socket(&service.ready).or(before);
    }
    text.push_str("*)\n  echo \"there is no part $1\" >&2\n  exit 2\n  ;;\nesac\n");
    text
}

/// What happens once: files are copied, and the database is made and filled by its first start.
fn setup(layout: &Layout) -> String {
    let line = |process: &Process| format!("  {}\n", command(process));
    let provision: String = layout.provision.iter().map(line).collect();
    let fill: String = layout.fill.iter().map(line).collect();
    let first = layout.services.first();
    let (start, wait) = first.map_or_else(Default::default, |service| {
        let wait = socket(&service.ready).map_or_else(String::new, |path| format!("  await {path}\n  sleep 1\n"));
        (format!("  {} &\n  first=$!\n", command(&service.process)), wait)
    });
    format!(
        "setup)\n  [ ! -e {FILLED} ] || exit 0\n  # What an interrupted setup has left.\n  \
         rm -rf data/* home/* run/*\n{provision}{start}{wait}{fill}  kill $first\n  wait $first || true\n  \
         : >{FILLED}\n  ;;\n"
    )
}

fn socket(ready: &Ready) -> Option<String> {
    match ready {
        Ready::Socket(path) | Ready::Redis(path) | Ready::Mysql(path) => Some(path.display().to_string()),
        Ready::Endpoint | Ready::Page(_) | Ready::Port(_) => None,
    }
}

/// A process as a shell starts it.
fn command(process: &Process) -> String {
    let program = process.program.display().to_string();
    let env = process.env.iter().map(|(name, value)| format!("{name}={value}"));
    let prefix = if process.env.is_empty() { None } else { Some("env".to_owned()) };
    let words = prefix.into_iter().chain(env).chain([program]).chain(process.args.iter().cloned());
    // Only a NUL cannot be quoted, and no path has one.
    words
        .map(|word| shlex::try_quote(&word).map_or_else(|_| String::new(), |word| word.into_owned()))
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::{getegid, geteuid};
    use std::fs::metadata;
    use std::os::unix::fs::MetadataExt;

    fn of(text: &str) -> Result<Compose, String> {
        let spec = Spec::parse(text).expect("known");
        let place = place(&spec, "0".repeat(24)).map_err(|error| error.to_string())?;
        of_place(&spec, place, (33, 33)).map_err(|error| error.to_string())
    }

    fn file(compose: &Compose, name: &str) -> String {
        let (_, content) = compose.files.iter().find(|(found, _)| found == name).expect(name);
        String::from_utf8(content.clone()).expect("text")
    }

    #[test]
    fn an_address_has_no_place_in_a_compose_file() {
        let error = of("wordpress address=192.0.2.7").map(|compose| compose.url).expect_err("its port is published");
        assert!(error.contains("address") && error.contains("leave it out"), "{error}");
    }

    #[test]
    fn files_are_as_stored_wherever_they_are_made() {
        let compose = of("wordpress children=3 object_cache=redis port=8088").expect("it can be");
        insta::assert_snapshot!("compose", file(&compose, "compose.yaml"));
        insta::assert_snapshot!("start", file(&compose, "start.sh"));
        insta::assert_snapshot!("containerfile", file(&compose, "image/Containerfile"));
        assert_eq!(compose.url, "http://127.0.0.1:8088/");
        let nginx = file(&compose, "conf/nginx.conf");
        assert!(nginx.contains("listen 8088 ") && !nginx.contains("127.0.0.1:8088"), "{nginx}");
        let pool = file(&compose, "conf/php-fpm.conf");
        assert!(
            pool.contains("listen = /srv/plimsoll/run/php-fpm.sock\n") && pool.contains("max_children = 3\n"),
            "{pool}"
        );
    }

    #[test]
    fn what_no_image_has_is_refused() {
        assert_eq!(
            of("nginx").expect_err("no Compose file"),
            "there is a Compose file of wordpress, and none of nginx"
        );
        assert_eq!(of("wordpress tls=on").expect_err("no key"), "tls cannot be in a Compose file; leave it out");
        let error = of("wordpress php_profile=cpu").expect_err("nobody reads it there");
        assert_eq!(error, "php_profile cannot be in a Compose file; leave it out");
    }

    /// Who it is for could put links in the place of what root makes in it.
    #[test]
    fn a_compose_directory_is_given_away_when_it_is_whole() {
        let above = tempfile::tempdir().expect("a directory");
        let own = (geteuid().as_raw(), getegid().as_raw());
        let mut compose = of("wordpress children=3 port=8088").expect("it can be");
        compose.owner = if crate::account::may_become(WWW_DATA) { (WWW_DATA, WWW_DATA) } else { own };
        let owner = |path: &Path| metadata(path).expect("it is there").uid();
        let whole = above.path().join("whole");
        compose.write(&whole).expect("room for it");
        for path in ["", "data", "image/Containerfile", "conf", "conf/admin.key", "compose.yaml"] {
            assert_eq!(owner(&whole.join(path)), compose.owner.0, "{path}");
        }
        assert_eq!(metadata(whole.join("conf/admin.key")).expect("a file").mode() & 0o777, 0o600);
        assert_eq!(metadata(&whole).expect("a folder").mode() & 0o777, 0o700);
        assert!(compose.write(&whole).is_err(), "it is there");
        // The last file cannot be written.
        compose.files.push(("compose.yaml".into(), Vec::new()));
        let part = above.path().join("part");
        assert!(compose.write(&part).is_err());
        for path in ["", "data", "image", "compose.yaml"] {
            assert_eq!(owner(&part.join(path)), own.0, "{path}");
        }
    }

    #[test]
    fn words_reach_a_program_as_they_are() {
        let process = Process::new("x", "php8.2".into()).args(["-d", "a=b c", "it's"]);
        assert_eq!(shlex::split(&command(&process)).expect("words"), ["php8.2", "-d", "a=b c", "it's"]);
    }
}
