//! Status page of a web server, asked over HTTP.

use super::deadline::{TIMEOUT, late};
use super::encryption::Encryption;
use super::lookup::Names;
use crate::lock::hold;
use crate::settings::status_source;
use std::io::{self, ErrorKind, Read};
use std::sync::Mutex;
use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{Connector, NextTimeout, TcpConnector};
use ureq::{Agent, Error};
use wire::tls::TlsError;

/// A status page is no longer than this.
const PAGE_MAX_BYTES: u64 = 1 << 20;

/// Asks for one page.
pub(super) struct Page {
    agent: Agent,
    url: String,
}

impl Page {
    pub(super) fn new(page: &status_source::Page) -> Self {
        let encryption = Encryption::new(page.trust.as_ref().map(|trust| trust.plan(&page.host, true)));
        let config = Agent::config_builder().proxy(None).timeout_global(Some(TIMEOUT)).max_redirects(0).build();
        let host = Host(Mutex::new(Names::new(&page.host, page.port)));
        let connector = ().chain(TcpConnector::default()).chain(encryption);
        Self { agent: Agent::with_parts(config, connector, host), url: page.url.clone() }
    }

    /// The text of the page now, or why there is none.
    pub(super) fn fetch(&self) -> Result<String, String> {
        let mut answer = self.agent.get(&self.url).call().map_err(|error| said(&error))?;
        if answer.status().is_redirection() {
            return Err(format!("it redirects elsewhere ({})", answer.status().as_u16()));
        }
        let mut text = String::new();
        let body = answer.body_mut().as_reader();
        body.take(PAGE_MAX_BYTES).read_to_string(&mut text).map_err(|error| said(&Error::from(error)))?;
        Ok(text)
    }
}

/// The host of the page, whose name one thread looks up at a time: ureq starts another one at each question, also for an
/// address, and panics where none can be started.
#[derive(Debug)]
struct Host(Mutex<Names>);

impl Resolver for Host {
    fn resolve(&self, _uri: &Uri, _config: &Config, timeout: NextTimeout) -> Result<ResolvedSocketAddrs, Error> {
        let found = hold(&self.0).addresses(*timeout.after).map_err(|error| match error.kind() {
            ErrorKind::TimedOut => Error::Timeout(timeout.reason),
            _ => Error::Io(error),
        })?;
        let mut addresses = self.empty();
        found.into_iter().for_each(|address| addresses.push(address));
        if addresses.is_empty() { Err(Error::HostNotFound) } else { Ok(addresses) }
    }
}

fn said(error: &Error) -> String {
    match error {
        Error::StatusCode(code @ (401 | 403)) => format!("it is not for everybody ({code}): allow this machine"),
        Error::StatusCode(404) => "there is no such page (404)".into(),
        Error::StatusCode(code) => format!("it answers with status {code}"),
        Error::Timeout(_) => late(),
        Error::Io(error) => of_io(error),
        Error::Other(error) => error.downcast_ref().map_or_else(|| error.to_string(), of_tls),
        other => other.to_string(),
    }
}

fn of_io(error: &io::Error) -> String {
    format!("nothing answers there ({error})")
}

fn of_tls(error: &TlsError) -> String {
    let way_out = match error {
        TlsError::UnknownIssuer => "; trust it with --ca-cert FILE, or ask it all the same with -k",
        error if error.is_certificate() => "; to ask it all the same, add -k",
        _ => "",
    };
    format!("{error}{way_out}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_that_is_not_trusted_is_told_with_the_way_out() {
        let told = |error: TlsError| said(&Error::Other(Box::new(error)));
        assert!(
            told(TlsError::UnknownIssuer).ends_with("; trust it with --ca-cert FILE, or ask it all the same with -k")
        );
        assert_eq!(told(TlsError::Expired), "its certificate has expired; to ask it all the same, add -k");
        assert_eq!(told(TlsError::NotTls), "it does not speak TLS; is this an http:// port?");
    }
}
