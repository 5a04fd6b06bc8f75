//! lighttpd: one process.

use super::Site;
use std::path::Path;

/// `/empty` and `.cgi` are shell scripts; what they write goes out as it comes, in chunks.
pub(super) fn configuration(root: &Path, site: Site<'_>) -> String {
    let root = root.display();
    let limit = site.requests_per_connection.min(u16::MAX.into());
    let tls = site.tls.map_or_else(String::new, |(protocols, _)| {
        format!(
            "server.modules += (\"mod_openssl\")\n\
             ssl.engine = \"enable\"\n\
             ssl.pemfile = \"{root}/cert.pem\"\n\
             ssl.privkey = \"{root}/key.pem\"\n\
             ssl.openssl.ssl-conf-cmd = (\"MinProtocol\" => \"{protocols}\", \"MaxProtocol\" => \"{protocols}\")\n"
        )
    });
    format!(
        "server.modules = (\"mod_accesslog\", \"mod_deflate\", \"mod_cgi\")\n\
         server.bind = \"127.0.0.1\"\n\
         server.port = {{port}}\n\
         server.document-root = \"{root}/www\"\n\
         server.errorlog = \"{{state}}/log/error.log\"\n\
         server.upload-dirs = (\"{{state}}/tmp\")\n\
         server.max-keep-alive-requests = {limit}\n\
         server.stream-response-body = 1\n\
         accesslog.filename = \"{root}/access.log\"\n\
         accesslog.format = \"%h - - %t \\\"%r\\\" %>s %B\"\n\
         mimetype.assign = (\".txt\" => \"text/plain\", \"\" => \"application/octet-stream\")\n\
         deflate.mimetypes = (\"text/plain\")\n\
         deflate.allowed-encodings = (\"gzip\")\n\
         cgi.assign = (\"/empty\" => \"/bin/sh\", \".cgi\" => \"/bin/sh\")\n\
         {tls}"
    )
}
