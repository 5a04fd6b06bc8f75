//! A private nginx: own configuration, own directory, one process or a master with workers, stopped by its pid.

use super::{installed, wait_for};
use rustix::process::{Pid, Signal, kill_process};
use std::fs::{create_dir_all, read_to_string, write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// A listening nginx. Ends with this value.
pub(crate) struct Nginx {
    child: Child,
    port: u16,
    tls: bool,
    _directory: TempDir,
}

impl Nginx {
    /// Serves `files` (name, content) from a directory of its own; `.txt` is compressed for who asks.
    #[track_caller]
    pub(crate) fn start(files: &[(&str, &[u8])]) -> Self {
        Self::launch(files, None, 0)
    }

    /// The same with a master and this many workers.
    #[track_caller]
    pub(crate) fn with_workers(files: &[(&str, &[u8])], workers: u32) -> Self {
        Self::launch(files, None, workers)
    }

    /// The same with TLS: `protocols` as nginx names them, such as `TLSv1.3`.
    #[track_caller]
    pub(crate) fn secure(files: &[(&str, &[u8])], protocols: &str, certificate: &Certificate) -> Self {
        Self::launch(files, Some((protocols, certificate)), 0)
    }

    #[track_caller]
    fn launch(files: &[(&str, &[u8])], tls: Option<(&str, &Certificate)>, workers: u32) -> Self {
        let program = installed("nginx", "nginx-light");
        let directory = tempfile::tempdir().expect("a temporary directory");
        let root = directory.path();
        create_dir_all(root.join("www")).expect("a directory");
        create_dir_all(root.join("temp")).expect("a directory");
        for (name, content) in files {
            write(root.join("www").join(name), content).expect("a file");
        }
        let port = free_port();
        let listen = tls.map_or_else(String::new, |(protocols, certificate)| {
            write(root.join("cert.pem"), &certificate.pem).expect("a file");
            write(root.join("key.pem"), &certificate.key_pem).expect("a file");
            format!(
                "ssl_certificate cert.pem; ssl_certificate_key key.pem; ssl_protocols {protocols}; \
                 ssl_session_cache shared:s:1m;"
            )
        });
        write(root.join("nginx.conf"), configuration(port, &listen, workers)).expect("a file");
        let log = root.join("error.log");
        let mut child = Command::new(program)
            .arg("-p")
            .arg(root)
            .args(["-c", "nginx.conf", "-e", "error.log"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("nginx starts");
        let up = wait_for(Duration::from_secs(10), || TcpStream::connect(("127.0.0.1", port)).ok());
        if up.is_none() {
            let _ = child.kill();
            let _ = child.wait();
            panic!("nginx does not listen: {}", read_to_string(log).unwrap_or_default());
        }
        Self { child, port, tls: tls.is_some(), _directory: directory }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}://127.0.0.1:{}{path}", if self.tls { "https" } else { "http" }, self.port)
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // A master that is asked to end takes its workers along; killed it would leave them.
        let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
        if wait_for(Duration::from_secs(5), || self.child.try_wait().ok().flatten()).is_none() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// A self-signed certificate and its key, PEM.
pub(crate) struct Certificate {
    pub(crate) pem: String,
    key_pem: String,
}

impl Certificate {
    /// For `name`, from 2020 to the begin of `until_year`.
    pub(crate) fn new(name: &str, until_year: i32) -> Self {
        let mut params = rcgen::CertificateParams::new(vec![name.to_owned()]).expect("a name");
        params.distinguished_name.push(rcgen::DnType::CommonName, name);
        params.not_before = rcgen::date_time_ymd(2020, 1, 1);
        params.not_after = rcgen::date_time_ymd(until_year, 1, 1);
        let key = rcgen::KeyPair::generate().expect("a key");
        let certificate = params.self_signed(&key).expect("a certificate");
        Self { pem: certificate.pem(), key_pem: key.serialize_pem() }
    }
}

/// nginx cannot be given port 0 and say which it took.
fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("it is bound").port()
}

fn configuration(port: u16, tls: &str, workers: u32) -> String {
    // Workers of another user could not read the temporary directory.
    let processes = match workers {
        0 => "master_process off;".to_owned(),
        n => format!("worker_processes {n}; user root root;"),
    };
    let ssl = if tls.is_empty() { "" } else { " ssl" };
    format!(
        "daemon off;\n\
         {processes}\n\
         pid nginx.pid;\n\
         error_log error.log;\n\
         events {{ worker_connections 1024; }}\n\
         http {{\n\
           access_log off;\n\
           keepalive_requests 1000000;\n\
           gzip on;\n\
           gzip_types text/plain;\n\
           gzip_min_length 256;\n\
           default_type application/octet-stream;\n\
           types {{ text/plain txt; }}\n\
           client_body_temp_path temp;\n\
           proxy_temp_path temp;\n\
           fastcgi_temp_path temp;\n\
           uwsgi_temp_path temp;\n\
           scgi_temp_path temp;\n\
           server {{ listen 127.0.0.1:{port}{ssl} backlog=1024; {tls} root www; }}\n\
         }}\n"
    )
}
