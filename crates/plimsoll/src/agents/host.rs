//! Hosts of `--client` and `--server-host`: `ssh://[USER@]HOST[:PORT]`.

use crate::exit::CommandError;
use model::{AGENTS_MAX, Redacted};
use std::fmt;

const SCHEME: &str = "ssh://";

/// A machine that is reached through ssh.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Host {
    /// `[USER@]HOST`, as ssh takes it.
    pub(crate) destination: String,
    pub(crate) port: Option<u16>,
}

impl Host {
    /// Those of the list of `--client`.
    pub(crate) fn list(texts: &[String]) -> Result<Vec<Self>, CommandError> {
        if texts.len() > AGENTS_MAX {
            return Err(CommandError::usage(format!("--client names {} agents; at most {AGENTS_MAX}", texts.len())));
        }
        texts.iter().map(|text| Self::parse("--client", text)).collect()
    }

    /// The one that `flag` names.
    pub(crate) fn parse(flag: &str, text: &str) -> Result<Self, CommandError> {
        let wrong = |why: &str| {
            let shown = Redacted::url(text);
            CommandError::usage(format!(
                "{flag} {shown:?} {why}; write for example ssh://load1 or ssh://user@10.0.0.2:22"
            ))
        };
        let rest = text.strip_prefix(SCHEME).ok_or_else(|| wrong("does not begin with ssh://"))?;
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        let (user, host) = rest.rsplit_once('@').map_or((None, rest), |(user, host)| (Some(user), host));
        if user.is_some_and(|user| user.contains(':')) {
            return Err(wrong("has a password, which ssh takes from nobody's command line"));
        }
        let (name, port) = split_port(host).ok_or_else(|| wrong("has no valid port"))?;
        let is_plain = |word: &str| {
            let is_allowed = |c: char| c.is_ascii_alphanumeric() || "._-:%".contains(c);
            !word.is_empty() && !word.starts_with('-') && word.chars().all(is_allowed)
        };
        if !is_plain(name) || !user.is_none_or(is_plain) {
            return Err(wrong("has no valid host or user"));
        }
        let destination = user.map_or_else(|| name.to_owned(), |user| format!("{user}@{name}"));
        Ok(Self { destination, port })
    }
}

/// Host and port; the host in brackets if it has colons.
fn split_port(text: &str) -> Option<(&str, Option<u16>)> {
    let (name, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (name, rest) = rest.split_once(']')?;
            (name, if rest.is_empty() { None } else { Some(rest.strip_prefix(':')?) })
        }
        None => text.split_once(':').map_or((text, None), |(name, port)| (name, Some(port))),
    };
    match port {
        None => Some((name, None)),
        Some(port) => port.parse().ok().filter(|port| *port > 0).map(|port| (name, Some(port))),
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SCHEME}{}", self.destination)?;
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_read_as_ssh_takes_them() {
        let read = |text: &str| Host::parse("--client", text).map(|host| (host.destination, host.port));
        assert_eq!(read("ssh://b").unwrap(), ("b".into(), None));
        assert_eq!(read("ssh://u@10.0.0.1:2222/").unwrap(), ("u@10.0.0.1".into(), Some(2222)));
        assert_eq!(read("ssh://[fe80::1%eth0]:22").unwrap(), ("fe80::1%eth0".into(), Some(22)));
        assert_eq!(Host::parse("--client", "ssh://u@b:22").unwrap().to_string(), "ssh://u@b:22");
    }

    #[test]
    fn what_could_be_an_option_or_a_command_is_refused() {
        for text in
            ["b", "ssh://", "ssh://-oProxyCommand=x", "ssh://a b", "ssh://a;b", "ssh://a:0", "ssh://a:x", "ssh://@a"]
        {
            assert!(Host::parse("--client", text).is_err(), "{text}");
        }
        let message = Host::parse("--client", "ssh://u:secret@a").unwrap_err().message;
        assert!(message.contains("password") && !message.contains("secret"), "{message}");
    }
}
