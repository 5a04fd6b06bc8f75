//! The two servers. Each ends with its value, by pid.

use crate::shared::{PrivateServer, exchange, wait_for};
use std::fs::{create_dir, read_to_string, write};
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

const MODULES: &str = "/usr/lib/nginx/modules";

pub(crate) trait Server {
    fn name(&self) -> &'static str;
    fn address(&self) -> SocketAddr;
    /// Who works, by number of process or thread; one that dies and is replaced gets another.
    fn workers(&self) -> Vec<String>;
}

/// `plimsoll target` with two workers.
pub(crate) struct Builtin {
    child: Child,
    address: SocketAddr,
    /// Kept open: the target may write to it.
    _stdout: BufReader<ChildStdout>,
}

impl Builtin {
    #[track_caller]
    pub(crate) fn start() -> Self {
        Self::start_with(&[])
    }

    #[track_caller]
    pub(crate) fn start_with(flags: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_plimsoll"))
            .args(["target", "--die-with-parent", "--workers", "2"])
            .args(flags)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the binary is built");
        let mut stdout = BufReader::new(child.stdout.take().expect("it is piped"));
        let mut line = String::new();
        stdout.read_line(&mut line).expect("it says where it listens");
        let said: serde_json::Value = serde_json::from_str(&line).expect("JSON");
        let address = said["listening"].as_str().and_then(|text| text.parse().ok()).expect("an address");
        Self { child, address, _stdout: stdout }
    }
}

impl Server for Builtin {
    fn name(&self) -> &'static str {
        "the built-in target"
    }

    fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its threads, and the workers `/stats` knows.
    fn workers(&self) -> Vec<String> {
        let request = b"GET /stats HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n";
        let stats = exchange(self.address, request).body;
        let stats: serde_json::Value = serde_json::from_slice(&stats).expect("JSON");
        assert_eq!(stats["workers"].as_array().map(Vec::len), Some(2), "{stats}");
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.child.id())).expect("it runs");
        let mut tasks: Vec<String> =
            tasks.flatten().map(|task| task.file_name().to_string_lossy().into_owned()).collect();
        tasks.sort();
        tasks
    }
}

impl Drop for Builtin {
    fn drop(&mut self) {
        // Both do nothing when it has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// nginx with its Lua module and our handlers: a master and one worker.
pub(crate) struct Nginx(PrivateServer);

impl Nginx {
    #[track_caller]
    pub(crate) fn start() -> Self {
        let module = Path::new(MODULES).join("ngx_http_lua_module.so");
        assert!(module.is_file(), "nginx has no Lua; install the package libnginx-mod-http-lua");
        let server = Self(PrivateServer::start("nginx", "nginx-light", |root, address| {
            create_dir(root.join("temp")).expect("a directory");
            let configuration = include_str!("nginx.conf")
                .replace("MODULES", MODULES)
                .replace("DIRECTORY", &root.display().to_string())
                .replace("PORT", &address.port().to_string());
            write(root.join("nginx.conf"), configuration).expect("a file");
            write(root.join("site.lua"), include_str!("site.lua")).expect("a file");
            ["-p", ".", "-c", "nginx.conf", "-e", "error.log"].map(Into::into).into()
        }));
        // The master listens before it has a worker.
        let up = wait_for(Duration::from_secs(10), || (!server.workers().is_empty()).then_some(()));
        let log = || read_to_string(server.0.path("error.log")).unwrap_or_default();
        assert!(up.is_some(), "nginx has no worker: {}", log());
        server
    }
}

impl Server for Nginx {
    fn name(&self) -> &'static str {
        "nginx"
    }

    fn address(&self) -> SocketAddr {
        self.0.address()
    }

    fn workers(&self) -> Vec<String> {
        let master = read_to_string(self.0.path("nginx.pid")).unwrap_or_default();
        let master = master.trim();
        let children = read_to_string(format!("/proc/{master}/task/{master}/children")).unwrap_or_default();
        children.split_whitespace().map(Into::into).collect()
    }
}
