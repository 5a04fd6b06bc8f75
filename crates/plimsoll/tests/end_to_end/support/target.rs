//! `plimsoll target` as a child process.

use super::wait_for;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

/// A target that listens. Ends with this value.
pub(crate) struct Target {
    child: Child,
    /// Its first line.
    said: Value,
    /// Kept open: the target may write to it.
    _stdout: BufReader<ChildStdout>,
}

impl Target {
    /// Starts it on a free port of loopback.
    #[track_caller]
    pub(crate) fn start(args: &[&str]) -> Self {
        Self::start_as(Path::new(env!("CARGO_BIN_EXE_plimsoll")), args)
    }

    /// The same by another path, after which its processes are called.
    #[track_caller]
    pub(crate) fn start_as(program: &Path, args: &[&str]) -> Self {
        let mut child = Command::new(program)
            .args(["target", "--die-with-parent"])
            .args(args)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the binary is built");
        let mut stdout = BufReader::new(child.stdout.take().expect("it is piped"));
        let mut line = String::new();
        stdout.read_line(&mut line).expect("the target says where it listens");
        let said: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"));
        Self { child, said, _stdout: stdout }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        let base = self.said["url"].as_str().expect("a URL");
        format!("{}{path}", base.trim_end_matches('/'))
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> &str {
        self.said["listening"].as_str().expect("an address")
    }

    /// The certificate that it shows, PEM.
    pub(crate) fn certificate(&self) -> &str {
        self.said["certificate"].as_str().expect("it speaks TLS")
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What it has counted: connections and requests of all workers, before the connection that asks.
    #[track_caller]
    pub(crate) fn seen(&self) -> (u64, u64) {
        // What asks is itself a connection with a request, and so is the next.
        (self.sum("connections") - 1, self.sum("requests") - 2)
    }

    /// One of its counters, all workers together.
    #[track_caller]
    pub(crate) fn sum(&self, counter: &str) -> u64 {
        let stats: Value = serde_json::from_str(&self.get("/stats")).expect("JSON");
        let workers = stats["workers"].as_array().expect("a list").iter();
        workers.map(|worker| worker[counter].as_u64().expect("a number")).sum()
    }

    /// Ends it in good order, so that its log is complete.
    #[track_caller]
    pub(crate) fn stop(mut self) {
        kill_process(Pid::from_child(&self.child), Signal::TERM).expect("the target runs");
        let status = wait_for(Duration::from_secs(10), || self.child.try_wait().expect("our own child"));
        assert!(status.is_some_and(|status| status.success()), "{status:?}");
    }

    fn get(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(self.address()).expect("the target listens");
        stream.set_read_timeout(Some(Duration::from_secs(5))).expect("a socket option");
        write!(stream, "GET {path} HTTP/1.1\r\nHost: target\r\nConnection: close\r\n\r\n").expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        answer.split_once("\r\n\r\n").expect("a head").1.into()
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        // Both do nothing when it has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
