//! nginx: one process without a master, unless told otherwise.

use super::{Certificate, Kind, Logged, Server, Site};
use std::path::Path;

/// nginx where its own ways do not matter.
pub(crate) struct Nginx(Server);

impl Nginx {
    /// Serves `files` (name, content); `.txt` is compressed for who asks.
    #[track_caller]
    pub(crate) fn start(files: &[(&str, &[u8])]) -> Self {
        Self(Server::start(Kind::Nginx, Site::of(files)))
    }

    /// The same with a master and this many workers.
    #[track_caller]
    pub(crate) fn with_workers(files: &[(&str, &[u8])], nginx_workers: u32) -> Self {
        Self(Server::start(Kind::Nginx, Site { nginx_workers, ..Site::of(files) }))
    }

    /// The same with TLS: `protocols` as nginx names them, such as `TLSv1.3`.
    #[track_caller]
    pub(crate) fn secure(files: &[(&str, &[u8])], protocols: &str, certificate: &Certificate) -> Self {
        Self::secure_with(files, protocols, certificate, "")
    }

    /// The same with further directives.
    #[track_caller]
    pub(crate) fn secure_with(files: &[(&str, &[u8])], protocols: &str, certificate: &Certificate, more: &str) -> Self {
        let tls = Some((protocols, certificate));
        Self(Server::start(Kind::Nginx, Site { tls, nginx_directives: more, ..Site::of(files) }))
    }

    pub(crate) fn url(&self, path: &str) -> String {
        self.0.url(path)
    }

    /// Ends it, and returns what its access log says of all but the start.
    #[track_caller]
    pub(crate) fn log(self) -> Vec<Logged> {
        self.0.log()
    }

    /// The first process.
    pub(crate) fn pid(&self) -> i32 {
        self.0.pid()
    }

    pub(crate) fn port(&self) -> u16 {
        self.0.address().port()
    }
}

/// Where it listens too, in its directory.
pub(crate) const SOCKET: &str = "app.sock";

/// What WordPress would create under `/wp-json/` is answered 201.
pub(super) fn configuration(root: &Path, site: Site<'_>) -> String {
    let (root, limit) = (root.display(), site.requests_per_connection);
    let processes = match site.nginx_workers {
        0 => "master_process off;".to_owned(),
        n => format!("worker_processes {n};"),
    };
    let (ssl, tls) = site.tls.map_or_else(
        || ("", site.nginx_directives.to_owned()),
        |(protocols, _)| {
            let tls = format!(
                "ssl_certificate {root}/cert.pem; ssl_certificate_key {root}/key.pem; ssl_protocols {protocols}; \
             ssl_session_cache shared:s:1m; {}",
                site.nginx_directives
            );
            (" ssl", tls)
        },
    );
    format!(
        "daemon off;\n\
         {processes}\n\
         pid {{state}}/run/nginx.pid;\n\
         error_log {{state}}/log/error.log;\n\
         events {{ worker_connections 4096; }}\n\
         http {{\n\
           log_format common '$remote_addr - - [$time_local] \"$request\" $status $body_bytes_sent';\n\
           access_log {root}/access.log common;\n\
           keepalive_requests {limit};\n\
           gzip on;\n\
           gzip_types text/plain;\n\
           gzip_min_length 256;\n\
           default_type application/octet-stream;\n\
           types {{ text/plain txt; }}\n\
           client_body_temp_path {{state}}/tmp/client_body;\n\
           proxy_temp_path {{state}}/tmp/proxy;\n\
           fastcgi_temp_path {{state}}/tmp/fastcgi;\n\
           uwsgi_temp_path {{state}}/tmp/uwsgi;\n\
           scgi_temp_path {{state}}/tmp/scgi;\n\
           server {{\n\
             listen 127.0.0.1:{{port}}{ssl} backlog=4096;\n\
             listen unix:{root}/{SOCKET};\n\
             {tls}\n\
             root {root}/www;\n\
             location = /empty {{ return 204; }}\n\
             location /wp-json/ {{ return 201 created; }}\n\
           }}\n\
         }}\n"
    )
}
