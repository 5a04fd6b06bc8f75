//! nginx: one process, without a master.

use super::{Certificate, Kind, Server, Site};
use std::net::SocketAddr;

/// nginx where its own ways do not matter.
pub(crate) struct Nginx(Server);

impl Nginx {
    /// Serves `files` (name, content); `.txt` is compressed for who asks.
    #[track_caller]
    pub(crate) fn start(files: &[(&str, &[u8])]) -> Self {
        Self(Server::start(Kind::Nginx, Site::of(files)))
    }

    /// The same with TLS: `protocols` as nginx names them, such as `TLSv1.3`.
    #[track_caller]
    pub(crate) fn secure(files: &[(&str, &[u8])], protocols: &str, certificate: &Certificate) -> Self {
        Self(Server::start(Kind::Nginx, Site { tls: Some((protocols, certificate)), ..Site::of(files) }))
    }

    pub(crate) fn url(&self, path: &str) -> String {
        self.0.url(path)
    }

    pub(crate) fn port(&self) -> u16 {
        self.0.address().port()
    }
}

/// What WordPress would create under `/wp-json/` is answered 201.
pub(super) fn configuration(address: SocketAddr, site: Site<'_>) -> String {
    let limit = site.requests_per_connection;
    let (ssl, tls) = site.tls.map_or_else(Default::default, |(protocols, _)| {
        let tls = format!(
            "ssl_certificate cert.pem; ssl_certificate_key key.pem; ssl_protocols {protocols}; \
             ssl_session_cache shared:s:1m;"
        );
        (" ssl", tls)
    });
    format!(
        "daemon off;\n\
         master_process off;\n\
         pid nginx.pid;\n\
         error_log error.log;\n\
         events {{ worker_connections 4096; }}\n\
         http {{\n\
           log_format common '$remote_addr - - [$time_local] \"$request\" $status $body_bytes_sent';\n\
           access_log access.log common;\n\
           keepalive_requests {limit};\n\
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
           server {{\n\
             listen {address}{ssl} backlog=4096;\n\
             {tls}\n\
             root www;\n\
             location = /empty {{ return 204; }}\n\
             location /wp-json/ {{ return 201 created; }}\n\
           }}\n\
         }}\n"
    )
}
