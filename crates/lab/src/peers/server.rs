//! Servers under test, each on its own core, a free port of loopback and a folder of its own; stopped by pid.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal};
use serde_json::Value;

use super::lab::{Lab, SERVER_CORE};
use crate::child::{Killed, announced};
use crate::loopback::{await_ports, free_ports, get, write_certificate};
use crate::usage;
use xtask::workspace;

/// How long a server may take to start or to stop.
const TIMEOUT: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(20);
/// A server to which nothing comes for this long has settled.
const QUIET: Duration = Duration::from_millis(50);

/// The only cipher suite nginx may agree on, so that every client encrypts alike.
pub(super) const CIPHER_SUITE: &str = "TLS_AES_256_GCM_SHA384";

/// A running server; dropping it stops it.
pub(super) struct Server {
    child: Killed,
    pub(super) url: String,
    /// Address and path of what tells the server's own counts.
    status: (String, &'static str),
}

/// What a server has counted since its start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Counts {
    pub(super) connections: u64,
    pub(super) requests: u64,
}

impl Counts {
    /// What came between an earlier asking and this one, the asking itself left out.
    pub(super) const fn since(self, earlier: Self) -> Self {
        Self {
            connections: (self.connections - earlier.connections).saturating_sub(1),
            requests: (self.requests - earlier.requests).saturating_sub(1),
        }
    }
}

impl Server {
    /// The fixed-response server of this crate.
    pub(super) fn null() -> Result<Self> {
        let mut command = Lab::pinned(SERVER_CORE, &workspace::release_binary("lab"));
        command.args(["null-server", "--listen", "127.0.0.1:0"]);
        Self::listening(command)
    }

    /// plimsoll's built-in target; `options` go after its own.
    pub(super) fn target(options: &[&str], log: &Path) -> Result<Self> {
        // The target appends: what an earlier run into the same folder has left would be taken for arrivals of this one.
        std::fs::File::create(log).with_context(|| format!("cannot write {}", log.display()))?;
        let mut command = Lab::pinned(SERVER_CORE, &workspace::release_binary("plimsoll"));
        command.args(["target", "--listen", "127.0.0.1:0"]).args(options).arg("--log").arg(log);
        Self::listening(command)
    }

    /// One nginx worker that answers from memory, with or without TLS 1.3.
    pub(super) fn nginx(lab: &Lab, tls: bool) -> Result<Self> {
        let [port, status_port] = free_ports()?;
        let folder = lab.file(if tls { "nginx-tls" } else { "nginx" });
        std::fs::create_dir_all(&folder)?;
        if tls {
            write_certificate(&folder)?;
        }
        let config = folder.join("nginx.conf");
        std::fs::write(&config, nginx_config(&folder.to_string_lossy(), port, status_port, tls))?;
        let mut command = Lab::pinned(SERVER_CORE, &lab.nginx);
        command.arg("-p").arg(&folder).arg("-c").arg(&config).args(["-e", "error.log"]);
        let child = Killed(command.stdin(Stdio::null()).spawn().context("cannot start nginx")?);
        let scheme = if tls { "https" } else { "http" };
        let url = format!("{scheme}://127.0.0.1:{port}/");
        let mut server = Self { child, url, status: (format!("127.0.0.1:{status_port}"), "/") };
        await_ports(&mut server.child, &[port], TIMEOUT).context("nginx")?;
        Ok(server)
    }

    /// What the server has counted so far, this asking included.
    pub(super) fn counts(&self) -> Result<Counts> {
        let body = self.body()?;
        parse_counts(&body).with_context(|| format!("no counts in `{body}`"))
    }

    /// Waits until nothing comes any more: what the last client left in the queues must not count for the next.
    pub(super) fn settle(&self) -> Result<()> {
        let started = Instant::now();
        let mut before = self.counts()?;
        while started.elapsed() < TIMEOUT {
            std::thread::sleep(QUIET);
            let now = self.counts()?;
            if now.since(before) == (Counts { connections: 0, requests: 0 }) {
                return Ok(());
            }
            before = now;
        }
        bail!("the server is still busy {TIMEOUT:?} after its last client has ended")
    }

    /// Connections that are open at the built-in target, this asking left out.
    pub(super) fn open_connections(&self) -> Result<u64> {
        let body = self.body()?;
        Ok(parse_open(&body).with_context(|| format!("no open connections in `{body}`"))?.saturating_sub(1))
    }

    /// What the server answers when it is asked for its counts.
    fn body(&self) -> Result<String> {
        let (address, path) = &self.status;
        let response = get(address, path, TIMEOUT).with_context(|| format!("asking {address} for its counts"))?;
        let (_, body) = response.split_once("\r\n\r\n").context("no head")?;
        Ok(body.to_owned())
    }

    /// Largest resident set so far, in KiB.
    pub(super) fn peak_kib(&self) -> Result<u64> {
        usage::sizes(self.child.id())?.vmhwm.context("no VmHWM of a server")
    }

    /// CPU seconds spent so far; of nginx those of master and worker.
    pub(super) fn cpu_s(&self) -> f64 {
        let pid = self.child.id().cast_signed();
        usage::children(pid).into_iter().chain([pid]).filter_map(|pid| usage::process_cpu_s(pid).ok()).sum()
    }

    /// Starts a server whose first line of output is JSON with a field `listening`.
    fn listening(mut command: Command) -> Result<Self> {
        let (child, said) = announced(&mut command)?;
        let address = said["listening"].as_str().with_context(|| format!("no `listening` in {said}"))?;
        Ok(Self { child, url: format!("http://{address}/"), status: (address.to_owned(), "/stats") })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // setpriv and taskset replace themselves by the server, so the child's pid is the server's own.
        if let Some(pid) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            let _ = rustix::process::kill_process(pid, Signal::TERM);
        }
        let started = Instant::now();
        while started.elapsed() < TIMEOUT {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(POLL);
        }
    }
}

/// The null server's `{"connections":2,"requests":2}`, or the third line of nginx's `stub_status`: accepted, handled,
/// requests.
fn parse_counts(body: &str) -> Option<Counts> {
    if let Ok(json) = serde_json::from_str::<Value>(body) {
        return Some(Counts { connections: json["connections"].as_u64()?, requests: json["requests"].as_u64()? });
    }
    let numbers: Vec<u64> = body.lines().nth(2)?.split_whitespace().map_while(|word| word.parse().ok()).collect();
    Some(Counts { connections: *numbers.first()?, requests: *numbers.get(2)? })
}

/// The sum over the workers in the built-in target's `/stats`.
fn parse_open(body: &str) -> Option<u64> {
    let stats: Value = serde_json::from_str(body).ok()?;
    stats["workers"].as_array()?.iter().map(|worker| worker["open"].as_u64()).sum()
}

/// Everything nginx writes goes into `folder`; 64 bytes of body, connections kept for ever.
fn nginx_config(folder: &str, port: u16, status_port: u16, tls: bool) -> String {
    let body = "0123456789abcdef".repeat(4);
    let ssl = if tls { " ssl" } else { "" };
    let tls = if tls {
        format!(
            "ssl_certificate {folder}/cert.pem;
        ssl_certificate_key {folder}/key.pem;
        ssl_protocols TLSv1.3;
        ssl_conf_command Ciphersuites {CIPHER_SUITE};"
        )
    } else {
        String::new()
    };
    format!(
        "daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
worker_rlimit_nofile 8192;
events {{ worker_connections 4096; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    keepalive_requests 1000000000;
    keepalive_timeout 3600s;
    server {{
        listen 127.0.0.1:{port}{ssl} backlog=4096;
        {tls}
        default_type text/plain;
        location / {{ return 200 \"{body}\"; }}
    }}
    server {{
        listen 127.0.0.1:{status_port};
        location / {{ stub_status; }}
    }}
}}
"
    )
}

#[cfg(test)]
mod tests {
    use super::{Counts, nginx_config, parse_counts, parse_open};

    #[test]
    fn nginx_keeps_to_its_folder_and_port() {
        let config = nginx_config("/somewhere", 4321, 4322, false);
        assert!(config.contains("listen 127.0.0.1:4321 backlog=4096;"));
        assert!(config.contains("listen 127.0.0.1:4322;"));
        assert!(config.contains("pid /somewhere/nginx.pid;"));
        assert!(!config.contains("ssl"));
        let (_, rest) = config.split_once("return 200 \"").unwrap();
        assert_eq!(rest.split_once('"').unwrap().0.len(), 64);
    }

    #[test]
    fn nginx_encrypts_one_way_only() {
        let config = nginx_config("/somewhere", 4321, 4322, true);
        assert!(config.contains("listen 127.0.0.1:4321 ssl backlog=4096;"));
        assert!(config.contains("ssl_certificate /somewhere/cert.pem;"));
        assert!(config.contains("ssl_protocols TLSv1.3;"));
        assert!(config.contains("Ciphersuites TLS_AES_256_GCM_SHA384;"));
    }

    #[test]
    fn counts_are_read_from_both_servers() {
        let nginx = "Active connections: 1 \nserver accepts handled requests\n 3870 3870 45711 \n\
                     Reading: 0 Writing: 1 Waiting: 0 \n";
        assert_eq!(parse_counts(nginx), Some(Counts { connections: 3870, requests: 45711 }));
        let null = "{\"connections\":65,\"requests\":1000}";
        assert_eq!(parse_counts(null), Some(Counts { connections: 65, requests: 1000 }));
        assert_eq!(parse_counts("<html>\n"), None);
    }

    #[test]
    fn open_connections_are_those_of_all_workers() {
        let stats = r#"{"workers":[{"connections":9,"open":3},{"connections":9,"open":4}],"refused_connections":0}"#;
        assert_eq!(parse_open(stats), Some(7));
        assert_eq!(parse_open(r#"{"workers":[{"connections":9}]}"#), None);
    }

    #[test]
    fn the_asking_itself_is_left_out() {
        let before = Counts { connections: 3, requests: 10 };
        let after = Counts { connections: 68, requests: 1011 };
        assert_eq!(after.since(before), Counts { connections: 64, requests: 1000 });
    }
}
