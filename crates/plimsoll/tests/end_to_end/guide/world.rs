//! What the commands of a page find: servers at the addresses that it names, files, stored results, other machines, and
//! processes by their names.

use super::shortened::{set, shortened, value};
use crate::support::{Certificate, Ended, Kind, SOCKET, Server, Site, Target, shell};
use lab::hosts::reach;
use lab::samples::{Mark, Page, split_unquoted};
use std::fs::{Permissions, create_dir, set_permissions, write};
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// Paths that the pages ask for, besides the front page.
const FILES: [&str; 6] = ["index.html", "index.php", "urandom", "pool", "products", "search"];
/// Processes that the pages watch behind a server. Here they have other names, as another test may have real ones.
const COMPANIONS: [&str; 2] = ["php-fpm", "mariadbd"];
/// How often a measurement whose result is stored is made at most.
const ATTEMPTS: u32 = 5;
/// A configuration of nginx as `--serve 'nginx config=FILE'` takes it.
const NGINX: &str = "daemon off; pid {state}/run/nginx.pid; error_log {state}/log/error.log;\n\
    events { worker_connections 1024; }\n\
    http { access_log off; client_body_temp_path {state}/tmp/a; proxy_temp_path {state}/tmp/b; \
    fastcgi_temp_path {state}/tmp/c; uwsgi_temp_path {state}/tmp/d; scgi_temp_path {state}/tmp/e;\n\
    server { listen {address}:{port}; root {root}; location / { return 200 good; } } }\n";
/// A small experiment.
const EXPERIMENT: &str = "serve = \"target pool={workers} pool-time=1ms\"\n[variants.grid]\nworkers = [1, 2]\n\
    [flags]\nduration = \"200ms\"\nwarmup = \"0s\"\nconnections = 4\n";
/// What wrk prints.
const WRK: &str = "Running 30s test @ http://127.0.0.1:8080/\n  2 threads and 100 connections\n  \
    Thread Stats   Avg      Stdev     Max   +/- Stdev\n    Latency     2.00ms    0.50ms  10.00ms   90.00%\n    \
    Req/Sec    25.00k     1.00k   30.00k    80.00%\n  1500000 requests in 30.00s, 1.20GB read\nRequests/sec:  50000.00\n\
    Transfer/sec:     40.00MB\n";

/// The directory in which the commands of a page run, and what they reach. All of it ends with this value.
pub(super) struct World {
    folder: TempDir,
    /// At 127.0.0.1:8080 and :8081 of the page.
    plain: [Server; 2],
    secure: Server,
    /// Where :8080 of the page leads: the first of these, or a stack that the page has started there.
    first: String,
    /// A stack that the page starts at a port of its own choice gets this one. No other world has it.
    stack_port: u16,
    _companions: Vec<Target>,
}

impl World {
    pub(super) fn new(page: &Page) -> Self {
        let front_page = vec![b'.'; 12_000];
        let files = FILES.map(|name| (name, &front_page[..]));
        let certificate = Certificate::for_names(&["127.0.0.1", "shop.example"]);
        let html = "location ~ html$ { default_type text/html; }";
        let site = Site { nginx_directives: html, ..Site::of(&files) };
        let plain = [(); 2].map(|()| Server::start(Kind::Nginx, site));
        let secure = Server::start(Kind::Nginx, Site { tls: Some(("TLSv1.3", &certificate)), ..Site::of(&files) });
        let folder = tempfile::tempdir().expect("a directory");
        for name in ["", "temporary", "hosts"] {
            let path = folder.path().join(name);
            if !name.is_empty() {
                create_dir(&path).expect("our own directory");
            }
            // Servers that root starts run as another user.
            set_permissions(path, Permissions::from_mode(0o755)).expect("our own directory");
        }
        let first = plain[0].address().to_string();
        let mut world = Self { folder, plain, secure, first, stack_port: free_port(), _companions: Vec::new() };
        reach(&world.folder.path().join("hosts")).expect("a script");
        world.write_files(page, &certificate.pem);
        world._companions = COMPANIONS.map(|name| world.companion(name)).into();
        world
    }

    /// Files that commands name: those that the page shows, and others.
    fn write_files(&self, page: &Page, certificate: &str) {
        let page_json = "x".repeat(6000);
        let known = [
            ("page.json", &page_json[..]),
            ("login", "user:password"),
            ("ca.pem", certificate),
            ("mix.txt", "5 /\n3 /products\n1 /search?q=ships\n"),
            ("pools.toml", EXPERIMENT),
            ("old.conf", NGINX),
            ("new.conf", NGINX),
            ("wrk.txt", WRK),
        ];
        let blocks = page.blocks().expect("blocks and marks");
        let shown = blocks.iter().flat_map(|block| {
            let names =
                block.marks.iter().filter_map(|mark| if let Mark::File(name) = mark { Some(name) } else { None });
            names.map(|name| (&name[..], &block.text[..]))
        });
        for (name, content) in known.into_iter().chain(shown) {
            write(self.folder.path().join(name), content).expect("a file");
        }
    }

    /// Starts a process that a page may watch.
    fn companion(&self, name: &str) -> Target {
        let program = self.folder.path().join(self.companion_name(name));
        symlink(env!("CARGO_BIN_EXE_plimsoll"), &program).expect("a link");
        Target::start_as(&program, &[])
    }

    /// At most 15 characters, which the kernel keeps of it.
    fn companion_name(&self, name: &str) -> String {
        format!("{}{name}", self.stack_port)
    }

    /// The command with the addresses of servers that are here. A stack that it starts is at :8080 from then on.
    pub(super) fn redirected(&mut self, command: &str) -> String {
        let mut words: Vec<String> = split_unquoted(command, " ").into_iter().map(str::to_owned).collect();
        if let Some(port) = words.iter_mut().find(|word| *word == "port=8080") {
            *port = format!("port={}", self.stack_port);
            self.first = format!("127.0.0.1:{}", self.stack_port);
            // The packages are there, or the test says which are not.
            words.retain(|word| word != "--install");
        }
        self.redirect_connections(&mut words);
        words.iter().map(|word| self.redirected_word(word)).collect::<Vec<_>>().join(" ")
    }

    /// The socket or the host to which the connections of a load go.
    fn redirect_connections(&self, words: &mut Vec<String>) {
        if let Some(host) = value(words, "--connect-to") {
            let fields: Vec<&str> = host.split(':').collect();
            let from = fields[..fields.len() - 2].iter().map(|field| format!("{field}:")).collect::<String>();
            set(words, "--connect-to", &format!("{from}{}", self.secure.address()));
            set(words, "--ca-cert", "ca.pem");
        }
        if value(words, "--unix-socket").is_some() {
            set(words, "--unix-socket", &self.plain[0].path(SOCKET).display().to_string());
        }
        if let Some(at) = words.iter().position(|word| word == "--listen") {
            words[at + 1] = "127.0.0.1:0".into();
        }
    }

    fn redirected_word(&self, word: &str) -> String {
        let port = self.first.rsplit(':').next().unwrap_or_default();
        match word {
            ":8080" => format!(":{port}"),
            "DIR" => "killed".into(),
            _ if COMPANIONS.contains(&word) => self.companion_name(word),
            _ => word
                .replace("127.0.0.1:8080", &self.first)
                .replace("127.0.0.1:8081", &self.plain[1].address().to_string())
                .replace("127.0.0.1:8443", &self.secure.address().to_string())
                .replace("://web1.example.com", &format!("://{}", self.first))
                .replace("10.0.0.10", "127.0.0.2"),
        }
    }

    /// Makes the stored results that a command reads, unless the page has made them; one that it writes is not there yet.
    pub(super) fn provide(&mut self, command: &str) {
        let words: Vec<&str> = command.split(' ').collect();
        if let Some(name) = output(command) {
            let _ = std::fs::remove_dir_all(self.folder.path().join(name));
        }
        let is_read = |name: &str| {
            let mut before = "";
            words.iter().any(|word| std::mem::replace(&mut before, *word) != "-o" && *word == name)
        };
        for name in ["before", "after"] {
            let path = format!("plimsoll-runs/{name}");
            let is_one_of_all = is_read("plimsoll-runs/*") || is_read("plimsoll-runs");
            if (is_read(&path) || is_one_of_all) && !self.folder.path().join(&path).exists() {
                let load = shortened(&format!("plimsoll run http://127.0.0.1:8080/ -o {path}"));
                let load = self.redirected(&load);
                self.finish(&load);
            }
        }
        if is_read("killed") && !self.folder.path().join("killed").exists() {
            self.finish(&format!(
                "\"$PLIMSOLL\" run http://{}/ -c 1 -R 20 -d 60s --warmup 0s -q -o killed & \
                 until grep -q '\"event\":\"tick\"' killed/events.jsonl; do sleep 0.1; done 2>/dev/null; \
                 kill -9 $!; wait $!",
                self.first
            ));
        }
    }

    #[track_caller]
    fn finish(&self, command: &str) {
        let ended = self.run(command);
        assert!(ended.status.success() || command.contains("kill "), "{command}\n{ended:#?}");
    }

    /// Runs a command here to its end. One whose result is stored is repeated a few times while that is invalid, as other
    /// programs can make it: nothing may be compared with it then.
    #[track_caller]
    pub(super) fn run(&self, command: &str) -> Ended {
        let folder = self.folder.path().display();
        let script = format!(
            "cd {folder}; export TMPDIR={folder}/temporary PLIMSOLL_SSH={folder}/hosts/reach; {{ {command}; }}"
        );
        let stored = output(command).map(|name| self.folder.path().join(name));
        for _ in 1..ATTEMPTS {
            let ended = shell(&script).run();
            match &stored {
                Some(stored) if ended.status.code() == Some(4) => {
                    std::fs::remove_dir_all(stored).expect("its result");
                }
                _ => return ended,
            }
        }
        shell(&script).run()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        // A test that has failed leaves its stacks up.
        let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
        command.args(["stack", "down", "--all"]).env("TMPDIR", self.folder.path().join("temporary"));
        let _ = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    }
}

/// The directory in which a measurement stores its result, where the command names it.
fn output(command: &str) -> Option<&str> {
    command.split(" -o ").nth(1)?.split(' ').next()
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("it is bound").port()
}
