//! Why a target cannot be measured.

use crate::source::TemplateError;
use model::Address;
use thiserror::Error;
use wire::http1::ClientError;
use wire::tls::TlsError;

/// Why the target cannot be measured.
#[derive(Debug, Error)]
pub enum ProbeError {
    /// There is nothing to connect to.
    #[error("the host has no address")]
    NoAddress,
    /// No address accepts a connection.
    #[error("cannot connect to {tried}")]
    Connect {
        /// The addresses that were tried, each with the reason; those that have the same reason stand together.
        tried: String,
    },
    /// TLS does not work.
    #[error("{address} cannot be measured with TLS: {error}{tip}")]
    Tls {
        /// The address.
        address: Address,
        /// Why not.
        error: TlsError,
        /// What can be done about it.
        tip: &'static str,
    },
    /// A field of a template cannot be filled in.
    #[error(transparent)]
    Template(#[from] TemplateError),
    /// The connection broke or stayed silent.
    #[error("{address} accepted the connection but {reason}")]
    Silent {
        /// The address.
        address: Address,
        /// What happened instead of an answer.
        reason: String,
        /// True if the peer has ended the connection: another one may fare better.
        is_dropped: bool,
    },
    /// Something else than HTTP/1 answers.
    #[error("{address} does not answer in HTTP/1 ({guess}); its first bytes are {shown}")]
    NotHttp {
        /// The address.
        address: Address,
        /// What it may be.
        guess: &'static str,
        /// The first bytes, printable.
        shown: String,
    },
    /// The server has answered only to say that it must be spoken to in another way.
    #[error("{address} cannot be measured this way: {reason}")]
    Wants {
        /// The address.
        address: Address,
        /// What it wants, and what to do.
        reason: &'static str,
    },
    /// The answer breaks HTTP.
    #[error("{address} sent a broken response: {error}{detail}")]
    Broken {
        /// The address.
        address: Address,
        /// How.
        error: ClientError,
        /// What to do about it, if anything.
        detail: String,
    },
}

impl ProbeError {
    /// No address accepts a connection; each of `refusals` is an address and why it does not.
    pub(super) fn no_connection(refusals: &[(&Address, String)]) -> Self {
        let mut told: Vec<(String, &str)> = Vec::new();
        for (address, reason) in refusals {
            match told.iter_mut().find(|(_, other)| other == reason) {
                Some((addresses, _)) => *addresses += &format!(" or {address}"),
                None => told.push((address.to_string(), reason)),
            }
        }
        let told: Vec<_> = told.into_iter().map(|(addresses, reason)| format!("{addresses}: {reason}")).collect();
        Self::Connect { tried: told.join("; nor to ") }
    }

    /// True if another connection may fare better.
    pub(super) const fn is_worth_another_try(&self) -> bool {
        matches!(self, Self::Connect { .. } | Self::Silent { is_dropped: true, .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of a dead server at `localhost` only the last of its two addresses was named.
    #[test]
    fn every_address_that_was_tried_is_named() {
        let [four, six] = ["127.0.0.1:80", "[::1]:80"].map(|it| Address::Tcp(it.parse().expect("an address")));
        let told = |reasons: [&str; 2]| {
            let [of_four, of_six] = reasons.map(str::to_owned);
            ProbeError::no_connection(&[(&four, of_four), (&six, of_six)]).to_string()
        };
        assert_eq!(told(["refused", "refused"]), "cannot connect to 127.0.0.1:80 or [::1]:80: refused");
        assert_eq!(told(["refused", "no route"]), "cannot connect to 127.0.0.1:80: refused; nor to [::1]:80: no route");
    }
}
