//! Caddy: one process.

use super::Site;
use std::path::Path;

/// The site has no name: Caddy would hold what is said of TLS for clients only that name it in the handshake, and an
/// address is not named there.
pub(super) fn configuration(root: &Path, site: Site<'_>) -> String {
    let root = root.display();
    let (scheme, tls) = site.tls.map_or_else(
        || ("http", String::new()),
        |(protocols, _)| {
            let version = protocols.to_lowercase().replace('v', "");
            let tls = format!("tls {root}/cert.pem {root}/key.pem {{\nprotocols {version} {version}\n}}");
            ("https", tls)
        },
    );
    format!(
        "{{\n\
           admin off\n\
           auto_https off\n\
           storage file_system {{state}}/tmp\n\
         }}\n\
         {scheme}://:{{port}} {{\n\
           bind 127.0.0.1\n\
           {tls}\n\
           root * {root}/www\n\
           encode {{\n\
             gzip\n\
             minimum_length 256\n\
           }}\n\
           respond /empty 204\n\
           log {{\n\
             output file {root}/access.log\n\
           }}\n\
           file_server\n\
         }}\n"
    )
}
