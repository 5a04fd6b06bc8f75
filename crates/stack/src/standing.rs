//! Servers that stand by themselves: left to their supervisor, with what others have to know of them.

use crate::layout::Endpoint;
use crate::php_profile::PhpSamples;
use model::{PhpClock, Served};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A server with all its processes, as it was when it was ready.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    /// What it is called; several may have one name.
    pub name: String,
    /// Where it answers.
    pub endpoint: Option<Endpoint>,
    /// Its state directory.
    pub state: PathBuf,
    /// Number of the user that it runs as.
    pub uid: u32,
    /// What was asked for, and the steps to it.
    pub served: Served,
    /// Processes that were started, in their order: name and number.
    pub processes: Vec<(String, i32)>,
    /// URLs of its status pages and of the databases in it.
    pub status: Vec<String>,
    /// Certificate of the endpoint, PEM; none without TLS.
    pub certificate: Option<String>,
    /// A file with `user:password` for who uses it; none where it asks for no password.
    pub credentials: Option<PathBuf>,
    /// What its page has to hold whatever becomes of its content, such as its end; none: any answer of status 200 is one.
    #[serde(default)]
    pub page_holds: Option<String>,
    /// What its PHP functions are sampled by; none where they are not.
    #[serde(default)]
    pub php_profile: Option<PhpClock>,
    /// What has ended by itself since: name and how.
    pub ended: Vec<(String, String)>,
}

impl Standing {
    /// Samples of its PHP functions; none where they are not sampled.
    #[must_use]
    pub fn php_samples(&self) -> Option<PhpSamples> {
        self.php_profile.map(|clock| PhpSamples { state: self.state.clone(), clock })
    }

    /// The URL that is measured; none when it speaks neither HTTP nor FastCGI.
    #[must_use]
    pub fn url(&self) -> Option<&str> {
        match self.endpoint.as_ref()? {
            Endpoint::Http { url } | Endpoint::FastCgi { url, .. } => Some(url),
            Endpoint::Socket { .. } => None,
        }
    }
}
