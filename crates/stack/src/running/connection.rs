//! The line to a supervisor.

use crate::error::StackError;
use crate::supervisor::{Order, Report};
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, TryRecvError, channel};

pub(super) struct Connection {
    supervisor: Child,
    /// Closed, it tells the supervisor to end.
    orders: Option<ChildStdin>,
    reports: Receiver<Report>,
    closed: bool,
    /// Name and number of the processes that were started, in their order.
    pub(super) started: Vec<(String, i32)>,
}

impl Connection {
    /// Starts the supervisor of the state directory `dir`.
    pub(super) fn open(command: &[OsString], dir: &Path) -> Result<Self, StackError> {
        let wrong = |reason: String| StackError::Machine { doing: "start the supervisor of the server".into(), reason };
        let (program, args) = command.split_first().ok_or_else(|| wrong("it has no command".into()))?;
        let mut command = Command::new(program);
        command.args(args).arg(dir).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut supervisor = command.spawn().map_err(|error| wrong(error.to_string()))?;
        let (orders, stdout) = (supervisor.stdin.take(), supervisor.stdout.take());
        let (sender, reports) = channel();
        std::thread::spawn(move || {
            let Some(stdout) = stdout else { return };
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let Ok(report) = serde_json::from_str(&line) else { return };
                if sender.send(report).is_err() {
                    return;
                }
            }
        });
        Ok(Self { supervisor, orders, reports, closed: false, started: Vec::new() })
    }

    /// Gives an order. One that does not arrive is noticed by the silence that follows.
    pub(super) fn tell(&mut self, order: &Order) {
        let line = serde_json::to_string(order).unwrap_or_default();
        if let Some(orders) = &mut self.orders {
            let _ = writeln!(orders, "{line}");
        }
    }

    /// A report that has come.
    pub(super) fn try_next(&mut self) -> Option<Report> {
        match self.reports.try_recv() {
            Ok(report) => Some(report),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => {
                self.closed = true;
                None
            }
        }
    }

    /// The next report, whenever it comes; none when the supervisor is gone.
    pub(super) fn next(&mut self) -> Option<Report> {
        let report = self.reports.recv().ok();
        self.closed = report.is_none();
        report
    }

    pub(super) const fn is_closed(&self) -> bool {
        self.closed
    }

    /// Lets the supervisor end all, and waits until it has. Returns its last words.
    pub(super) fn close(&mut self) -> Vec<Report> {
        self.orders = None;
        let last = self.reports.iter().collect();
        let _ = self.supervisor.wait();
        last
    }
}
