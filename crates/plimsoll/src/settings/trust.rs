//! Certificates that are trusted: `--ca-cert` and `--insecure`, for the load and for the status pages beside it.

use crate::exit::CommandError;
use input::read_at_most;
use model::TlsPlan;
use std::path::Path;
use std::sync::Arc;

/// Largest `--ca-cert`: all that a system trusts has a fifth of a megabyte.
const CA_CERT_MAX_BYTES: u64 = 16 << 20;

/// Which servers a TLS connection may be made to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Trust {
    /// Those whose certificate the system vouches for, or one of these, DER.
    Checked(Arc<[Vec<u8>]>),
    /// Any: no certificate is checked.
    Any,
}

impl Trust {
    /// That of `--ca-cert`, if it was given.
    pub(crate) fn read(ca_cert: Option<&Path>) -> Result<Self, CommandError> {
        let Some(path) = ca_cert else { return Ok(Self::default()) };
        let wrong = |why: String| CommandError::usage(format!("--ca-cert {}: {why}", path.display()));
        let pem = read_at_most(path, CA_CERT_MAX_BYTES).map_err(|e| wrong(e.to_string()))?;
        let roots = engine::tls::certificates(&pem).map_err(|e| wrong(e.to_string()))?;
        Ok(Self::Checked(roots.into()))
    }

    /// How to speak TLS to the server of this name.
    pub(crate) fn plan(&self, server_name: &str, resumption: bool) -> TlsPlan {
        TlsPlan {
            verify: *self != Self::Any,
            alpn: vec!["http/1.1".into()],
            resumption,
            server_name: server_name.to_owned(),
            extra_roots: match self {
                Self::Checked(roots) => roots.to_vec(),
                Self::Any => Vec::new(),
            },
        }
    }
}

impl Default for Trust {
    /// Those that the system trusts.
    fn default() -> Self {
        Self::Checked(Arc::default())
    }
}
