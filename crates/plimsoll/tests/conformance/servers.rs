//! The two servers. Each ends with its value, by pid.

use crate::shared::{Endpoint, address, exchange, serve};
use stack::{Running, Spec};
use std::fs::read_to_string;
use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};

pub(crate) trait Server {
    fn name(&self) -> &'static str;
    fn endpoint(&self) -> &Endpoint;
    /// Who works, by number of process or thread; one that dies and is replaced gets another.
    fn workers(&self) -> Vec<String>;
}

/// `plimsoll target` with two workers.
pub(crate) struct Builtin {
    child: Child,
    endpoint: Endpoint,
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
        let endpoint = match said["certificate"].as_str() {
            Some(certificate) => Endpoint::tls(address, certificate),
            None => Endpoint::plain(address),
        };
        assert_eq!(said["url"], format!("{}://{address}/", endpoint.scheme()), "{said}");
        Self { child, endpoint, _stdout: stdout }
    }
}

impl Server for Builtin {
    fn name(&self) -> &'static str {
        "the built-in target"
    }

    fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Its threads, and the workers `/stats` knows.
    fn workers(&self) -> Vec<String> {
        let request = b"GET /stats HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n";
        let stats = exchange(&self.endpoint, request).body;
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

/// nginx with our handlers in Lua, as `plimsoll serve nginx-lua` starts it: a master and one worker.
pub(crate) struct Nginx {
    server: Running,
    endpoint: Endpoint,
}

impl Nginx {
    #[track_caller]
    pub(crate) fn start() -> Self {
        let server = serve(&Spec::parse("nginx-lua").expect("it is known"));
        let endpoint = Endpoint::plain(address(&server));
        Self { server, endpoint }
    }
}

impl Server for Nginx {
    fn name(&self) -> &'static str {
        "nginx"
    }

    fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    fn workers(&self) -> Vec<String> {
        let (_, master) = self.server.processes().next().expect("it runs");
        let children = read_to_string(format!("/proc/{master}/task/{master}/children")).unwrap_or_default();
        children.split_whitespace().map(Into::into).collect()
    }
}
