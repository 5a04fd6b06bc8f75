//! From the TLS part of a plan to what connections share: roots of the system, time, offers.

use clock::unix_s;
use model::TlsPlan;
use thiserror::Error;
use wire::tls::Settings;
pub use wire::tls::{Config, ConfigError, certificates};

/// Why no TLS connection can be made from this machine.
#[derive(Debug, Error)]
pub enum SetupError {
    /// The system has no trusted certificates.
    #[error("this machine has no trusted certificates{0}; install ca-certificates, name one with --ca-cert, or add -k")]
    NoRoots(String),
    /// The plan does not hold together.
    #[error(transparent)]
    Config(#[from] ConfigError),
}

/// What all connections of a load share. Certificates are judged by the time of this call.
///
/// # Errors
/// If there is nothing to trust, or the server's name is none.
pub fn config(plan: &TlsPlan) -> Result<Config, SetupError> {
    let roots = if plan.verify { Some(roots(plan)?) } else { None };
    Ok(Config::new(&Settings {
        host: &plan.server_name,
        roots: roots.as_deref(),
        alpn: &plan.alpn,
        resumption: plan.resumption,
        now_s: unix_s(),
    })?)
}

fn roots(plan: &TlsPlan) -> Result<Vec<Vec<u8>>, SetupError> {
    let system = rustls_native_certs::load_native_certs();
    let mut roots: Vec<_> = system.certs.iter().map(|der| der.to_vec()).collect();
    roots.extend_from_slice(&plan.extra_roots);
    if roots.is_empty() {
        return Err(SetupError::NoRoots(system.errors.first().map_or_else(String::new, |error| format!(" ({error})"))));
    }
    Ok(roots)
}
