//! FastCGI applications, spoken to without a web server before them: a real php-fpm, and one that multiplexes.

use crate::support::{Target, count, decide, installed, number, plimsoll, text, wait_for};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;
use tempfile::TempDir;

const PHP: &str = "php-fpm8.2";

/// php-fpm with four children behind a Unix socket; ends with this value.
struct Pool {
    child: Child,
    directory: TempDir,
}

impl Pool {
    fn start() -> Self {
        installed(PHP, "php8.2-fpm");
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path();
        let config = format!(
            "[global]\nerror_log = {0}/log\n[www]\nlisten = {0}/fpm.sock\nuser = root\ngroup = root\npm = static\n\
             pm.max_children = 4\n",
            path.display()
        );
        std::fs::write(path.join("conf"), config).expect("a file");
        let page = "<?php usleep((int) ($_GET['us'] ?? 0)); echo str_repeat('x', 100), $_SERVER['REQUEST_METHOD'], file_get_contents('php://input');";
        std::fs::write(path.join("page.php"), page).expect("a file");
        let child = Command::new(PHP)
            .args(["--nodaemonize", "--allow-to-run-as-root", "--fpm-config"])
            .arg(path.join("conf"))
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("php-fpm starts");
        let pool = Self { child, directory };
        wait_for(Duration::from_secs(10), || pool.socket().exists().then_some(())).expect("it listens");
        pool
    }

    fn socket(&self) -> PathBuf {
        self.path().join("fpm.sock")
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn url(&self, page: &str) -> String {
        format!("fastcgi+unix:{}:{}/{page}", self.socket().display(), self.path().display())
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        // A master that is killed leaves its children behind.
        let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
        let _ = self.child.wait();
    }
}

#[test]
fn four_children_of_20_ms_answer_200_requests_a_second() {
    let pool = Pool::start();
    let url = pool.url("page.php?us=20000");
    let measure = || {
        let ended = plimsoll(["run", &url, "-c", "4", "-d", "3s", "--json"]).run();
        (ended.json(), ended)
    };
    decide(measure, |(record, _)| {
        let goodput = number(record, "goodput_per_s.value");
        assert!((160.0..=200.5).contains(&goodput), "{goodput}");
        let p50_ms = number(record, "latency_ns.response.p50") / 1e6;
        assert!((20.0..25.0).contains(&p50_ms), "{p50_ms}");
        assert_eq!(text(record, "plan.target.protocol"), "fastcgi");
        assert_eq!(count(record, "connections.reconnects"), 0, "connections are kept");
        let processes = record["observed"]["server"]["processes"].as_array().expect("the server was seen");
        assert!(processes.iter().any(|process| text(process, "name").starts_with("php-fpm")), "{processes:#?}");
    });
}

#[test]
fn requests_have_their_method_and_body_and_connections_may_be_new() {
    let pool = Pool::start();
    for keep in [&[][..], &["--no-keepalive"]] {
        let url = pool.url("page.php");
        let args = ["run", &url, "-c", "2", "-n", "100", "-m", "POST", "-b", "hello", "--json", "-q"];
        let args =
            args.into_iter().chain(["--expect", "status=200,size=109,body~\"POSThello\""]).chain(keep.iter().copied());
        let record = plimsoll(args).run().measured().json();
        assert_eq!((count(&record, "requests.good"), count(&record, "requests.completed")), (100, 100), "{record:#}");
    }
}

#[test]
fn a_script_that_is_not_there_and_what_is_no_application_are_told() {
    let pool = Pool::start();
    plimsoll(["run", &pool.url("nowhere.php"), "-q"]).run().fails(3, &["404"]);
    let target = Target::start(&[]);
    let http = target.url("/").replace("http://", "fastcgi://");
    plimsoll(["run", &http, "-q"]).run().fails(3, &["FastCGI"]);
    plimsoll(["check", &pool.url("page.php")]).run().fails(2, &["check is for http://"]);
    plimsoll(["run", &pool.url("page.php"), "--template"]).run().fails(2, &["--template", "FastCGI"]);
}

/// Address of an application that takes several requests at a time on a connection, and 20 ms for each.
fn multiplexing_application() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("it is bound").to_string();
    thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            thread::spawn(|| multiplex(connection));
        }
    });
    address
}

fn multiplex(mut connection: TcpStream) -> Option<()> {
    const STDIN: u8 = 5;
    const GET_VALUES: u8 = 9;
    let answers = Arc::new(Mutex::new(connection.try_clone().ok()?));
    loop {
        let mut header = [0; 8];
        connection.read_exact(&mut header).ok()?;
        let [_, kind, _, id, high, low, padding, _] = header;
        let length = usize::from(u16::from_be_bytes([high, low]));
        connection.read_exact(&mut vec![0; length + usize::from(padding)]).ok()?;
        if kind == GET_VALUES {
            let answer = b"\x01\x0a\0\0\0\x12\0\0\x0f\x01FCGI_MPXS_CONNS1";
            answers.lock().ok()?.write_all(answer).ok()?;
        } else if (kind, length) == (STDIN, 0) {
            let answers = Arc::clone(&answers);
            thread::spawn(move || {
                thread::sleep(Duration::from_millis(20));
                let document = [&[1, 6, 0, id, 0, 8, 0, 0][..], b"A: b\n\nok"].concat();
                let end = [1, 3, 0, id, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
                answers.lock().ok()?.write_all(&[&document[..], &end].concat()).ok()
            });
        }
    }
}

#[test]
fn an_application_that_multiplexes_answers_four_requests_at_a_time_on_one_connection() {
    let url = format!("fastcgi://{}/", multiplexing_application());
    let measure = || {
        let ended = plimsoll(["run", &url, "-c", "1", "--pipeline", "4", "-d", "3s", "--json"]).run();
        (ended.json(), ended)
    };
    decide(measure, |(record, _)| {
        let goodput = number(record, "goodput_per_s.value");
        assert!((160.0..=200.5).contains(&goodput), "{goodput}");
        assert_eq!(count(record, "requests.good"), count(record, "requests.completed"));
        assert_eq!(count(record, "connections.reconnects"), 0);
    });
    let pool = Pool::start();
    let one_at_a_time = ["one request at a time", "leave out --pipeline"];
    plimsoll(["run", &pool.url("page.php"), "--pipeline", "4", "-q"]).run().fails(3, &one_at_a_time);
}
