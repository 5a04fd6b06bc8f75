//! Apache httpd with the event MPM: one parent and one process of threads.

use super::Site;
use std::path::Path;

const MODULES: &str = "/usr/lib/apache2/modules";

/// `.cgi` are programs, and `/old/` is answered as a server of HTTP/1.0 would.
pub(super) fn configuration(root: &Path, site: Site<'_>) -> String {
    let root = root.display();
    let limit = site.requests_per_connection;
    let names =
        ["mpm_event", "authz_core", "mime", "setenvif", "rewrite", "filter", "deflate", "socache_shmcb", "ssl", "cgid"];
    let modules: String =
        names.iter().map(|name| format!("LoadModule {name}_module {MODULES}/mod_{name}.so\n")).collect();
    let tls = site.tls.map_or_else(String::new, |(protocols, _)| {
        format!(
            "SSLEngine on\n\
             SSLProtocol -all +{protocols}\n\
             SSLSessionCache shmcb:{{state}}/run/sessions(512000)\n\
             SSLCertificateFile {root}/cert.pem\n\
             SSLCertificateKeyFile {root}/key.pem\n"
        )
    });
    format!(
        "ServerRoot {{state}}\n\
         ServerName 127.0.0.1\n\
         Listen 127.0.0.1:{{port}}\n\
         PidFile {{state}}/run/apache.pid\n\
         ErrorLog {{state}}/log/error.log\n\
         DefaultRuntimeDir {{state}}/run\n\
         Mutex pthread default\n\
         {modules}\
         StartServers 1\n\
         ServerLimit 1\n\
         ThreadsPerChild 64\n\
         MaxRequestWorkers 64\n\
         MaxKeepAliveRequests {limit}\n\
         KeepAliveTimeout 60\n\
         LogFormat \"%h - - %t \\\"%r\\\" %>s %B\" common\n\
         CustomLog {root}/access.log common\n\
         TypesConfig /dev/null\n\
         AddType text/plain .txt\n\
         AddOutputFilterByType DEFLATE text/plain\n\
         SetEnvIf Request_URI \"^/old/\" downgrade-1.0 force-response-1.0\n\
         RewriteEngine on\n\
         RewriteRule ^/empty$ - [R=204]\n\
         DocumentRoot {root}/www\n\
         ScriptSock {{state}}/run/cgi\n\
         Options +ExecCGI\n\
         AddHandler cgi-script .cgi\n\
         {tls}"
    )
}
