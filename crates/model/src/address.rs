//! Where a server listens.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;
use thiserror::Error;

/// What stands before the path of a Unix socket.
const UNIX: &str = "unix:";

/// An address that a connection can be opened to. Written `127.0.0.1:80`, `[::1]:80` or `unix:/run/server.sock`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Address {
    /// An IP address and a port.
    Tcp(SocketAddr),
    /// The path of a Unix socket.
    Unix(PathBuf),
}

/// A text that is no address.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0:?} is not an address; write for example 127.0.0.1:8080 or unix:/run/server.sock")]
pub struct ParseAddressError(String);

impl Address {
    /// True if it means another place on each machine: loopback, or a Unix socket.
    #[must_use]
    pub fn is_each_machines_own(&self) -> bool {
        self.tcp().is_none_or(|address| address.ip().is_loopback())
    }

    /// True if no other machine has a part in it, or what answers there trusts whoever is on the same link: a Unix socket, or an
    /// address of the link such as 169.254.169.254, where machines in a cloud are told their credentials.
    #[must_use]
    pub fn is_private_to_its_machine(&self) -> bool {
        self.tcp().is_none_or(|address| match address.ip().to_canonical() {
            IpAddr::V4(address) => address.is_link_local(),
            IpAddr::V6(address) => address.is_unicast_link_local(),
        })
    }

    /// IP address and port, unless it is a Unix socket.
    #[must_use]
    pub const fn tcp(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(address) => Some(*address),
            Self::Unix(_) => None,
        }
    }
}

impl From<SocketAddr> for Address {
    fn from(address: SocketAddr) -> Self {
        Self::Tcp(address)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => write!(f, "{address}"),
            Self::Unix(path) => write!(f, "{UNIX}{}", path.display()),
        }
    }
}

impl FromStr for Address {
    type Err = ParseAddressError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || ParseAddressError(text.into());
        match text.strip_prefix(UNIX) {
            Some("") => Err(wrong()),
            Some(path) => Ok(Self::Unix(path.into())),
            None => text.parse().map(Self::Tcp).map_err(|_| wrong()),
        }
    }
}

impl From<Address> for String {
    fn from(address: Address) -> Self {
        address.to_string()
    }
}

impl TryFrom<String> for Address {
    type Error = ParseAddressError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_written_as_one_string_and_read_back() {
        for text in ["127.0.0.1:80", "[::1]:8080", "unix:/run/server.sock", "unix:relative"] {
            let address: Address = text.parse().unwrap();
            let json = serde_json::to_string(&address).unwrap();
            assert_eq!(json, format!("\"{text}\""));
            assert_eq!(serde_json::from_str::<Address>(&json).unwrap(), address);
        }
    }

    #[test]
    fn what_is_no_address_is_named_with_an_example() {
        for text in ["", "nowhere", "127.0.0.1", "unix:", "localhost:80"] {
            let message = text.parse::<Address>().unwrap_err().to_string();
            assert!(message.contains(&format!("{text:?}")) && message.contains("unix:/"), "{message}");
        }
    }
}
