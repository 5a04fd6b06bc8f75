//! Servers under test, each on its own core, a free port of loopback and a folder of its own; stopped by pid.

use std::io::{BufRead, BufReader};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal};
use serde_json::Value;

use super::lab::{self, Lab, SERVER_CORE};

/// How long a server may take to start or to stop.
const PATIENCE: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(20);

/// A running server; dropping it stops it.
pub(super) struct Server {
    child: Child,
    pub(super) url: String,
}

impl Server {
    /// The fixed-response server of this crate.
    pub(super) fn null(lab: &Lab) -> Result<Self> {
        let mut command = Lab::pinned(SERVER_CORE, &lab.xtask);
        command.args(["null-server", "--listen", "127.0.0.1:0"]);
        Self::announced(command)
    }

    /// plimsoll's built-in target; `options` go after its own.
    pub(super) fn target(lab: &Lab, options: &[&str], log: &Path) -> Result<Self> {
        let mut command = Lab::pinned(SERVER_CORE, &lab.plimsoll);
        command.args(["target", "--listen", "127.0.0.1:0"]).args(options).arg("--log").arg(log);
        Self::announced(command)
    }

    /// One nginx worker that answers from memory.
    pub(super) fn nginx(lab: &Lab) -> Result<Self> {
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let folder = lab.file("nginx");
        std::fs::create_dir_all(&folder)?;
        let config = folder.join("nginx.conf");
        std::fs::write(&config, nginx_config(&folder.to_string_lossy(), port))?;
        let mut command = Lab::pinned(SERVER_CORE, &lab.nginx);
        command.arg("-p").arg(&folder).arg("-c").arg(&config).args(["-e", "error.log"]);
        let child = command.stdin(Stdio::null()).spawn().context("cannot start nginx")?;
        let mut server = Self { child, url: format!("http://127.0.0.1:{port}/") };
        server.wait_for_port(port)?;
        Ok(server)
    }

    /// CPU seconds spent so far.
    pub(super) fn cpu_s(&self) -> f64 {
        lab::process_cpu_s(self.child.id())
    }

    /// Starts a server whose first line of output is JSON with a field `listening`.
    fn announced(mut command: Command) -> Result<Self> {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().context("cannot start a server")?;
        let mut output = BufReader::new(child.stdout.take().context("no standard output")?);
        let mut server = Self { child, url: String::new() };
        let mut line = String::new();
        output.read_line(&mut line)?;
        let first: Value = serde_json::from_str(&line).with_context(|| format!("not an announcement: `{line}`"))?;
        let address = first["listening"].as_str().with_context(|| format!("no `listening` in `{line}`"))?;
        server.url = format!("http://{address}/");
        // A full pipe would stop the server.
        std::thread::spawn(move || std::io::copy(&mut output, &mut std::io::sink()));
        Ok(server)
    }

    fn wait_for_port(&mut self, port: u16) -> Result<()> {
        let started = Instant::now();
        while started.elapsed() < PATIENCE {
            if let Some(status) = self.child.try_wait()? {
                bail!("the server ended at once with {status}");
            }
            if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return Ok(());
            }
            std::thread::sleep(POLL);
        }
        bail!("nothing listens on port {port} after {PATIENCE:?}")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // setpriv and taskset replace themselves by the server, so the child's pid is the server's own.
        if let Some(pid) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            let _ = rustix::process::kill_process(pid, Signal::TERM);
        }
        let started = Instant::now();
        while started.elapsed() < PATIENCE {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(POLL);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Everything nginx writes goes into `folder`; 64 bytes of body, connections kept for ever.
fn nginx_config(folder: &str, port: u16) -> String {
    let body = "0123456789abcdef".repeat(4);
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
        listen 127.0.0.1:{port} backlog=4096;
        default_type text/plain;
        location / {{ return 200 \"{body}\"; }}
    }}
}}
"
    )
}

#[cfg(test)]
mod tests {
    use super::nginx_config;

    #[test]
    fn nginx_keeps_to_its_folder_and_port() {
        let config = nginx_config("/somewhere", 4321);
        assert!(config.contains("listen 127.0.0.1:4321 backlog=4096;"));
        assert!(config.contains("pid /somewhere/nginx.pid;"));
        let (_, rest) = config.split_once("return 200 \"").unwrap();
        assert_eq!(rest.split_once('"').unwrap().0.len(), 64);
    }
}
