//! What is asked of a cluster: `k8s://NAMESPACE?replicas=N`.

use crate::exit::CommandError;
use model::{AGENTS_MAX, Duration, Redacted};
use std::collections::BTreeSet;
use std::path::PathBuf;
use url::Url;

/// Begin of the names of its agents.
pub(crate) const SCHEME: &str = "k8s://";
/// The image of a release of this version, as its archive names it.
const IMAGE: &str = concat!("localhost/plimsoll:", env!("CARGO_PKG_VERSION"));
/// CPUs of each agent.
const CPUS: u32 = 1;
const CPUS_MAX: u32 = 1024;
/// Longest name of a namespace, which is a label of DNS (RFC 1123).
const NAMESPACE_MAX: usize = 63;
/// Longest reference to an image that is taken.
const IMAGE_MAX: usize = 512;
const KEYS: &str = "replicas, image, cpus, context and patch";

/// How a cluster is asked for agents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KubernetesOptions {
    pub(crate) namespace: String,
    pub(crate) agents: usize,
    /// Image with this program.
    pub(crate) image: String,
    /// CPUs that each agent has to itself as far as the cluster can give them.
    pub(crate) cpus: u32,
    /// Context of the kubeconfig; none: the current one.
    pub(crate) context: Option<String>,
    /// File with what the cluster needs, merged into the Job.
    pub(crate) patch: Option<PathBuf>,
    /// All agents are there within this time.
    pub(crate) wait: Duration,
}

impl KubernetesOptions {
    /// Those of an address that a flag has, and that begins with [`SCHEME`].
    pub(crate) fn parse(flag: &str, text: &str, wait: Duration) -> Result<Self, CommandError> {
        let wrong = |why: &str| {
            let shown = Redacted::url(text);
            CommandError::usage(format!("{flag} {shown} {why}; write for example {SCHEME}NAMESPACE?replicas=2"))
        };
        if !text.starts_with(SCHEME) {
            return Err(wrong("is no address of a cluster"));
        }
        let url = Url::parse(text).map_err(|error| wrong(&format!("is no address: {error}")))?;
        let namespace = url.host_str().unwrap_or_default();
        if !is_label(namespace) {
            return Err(wrong("names no namespace of Kubernetes"));
        }
        let has_more = !["", "/"].contains(&url.path()) || url.port().is_some() || !url.username().is_empty();
        if has_more || url.password().is_some() || url.fragment().is_some() {
            return Err(wrong("has more than a namespace and what follows ?"));
        }
        let mut options = Self {
            namespace: namespace.to_owned(),
            agents: 0,
            image: IMAGE.to_owned(),
            cpus: CPUS,
            context: None,
            patch: None,
            wait,
        };
        let mut told = BTreeSet::new();
        for (key, value) in url.query_pairs() {
            options.set(&key, &value).map_err(|why| wrong(&why))?;
            if !told.insert(key.to_string()) {
                return Err(wrong(&format!("has {key} twice")));
            }
        }
        if options.agents == 0 {
            return Err(wrong(&format!("needs a number of agents, replicas, from 1 to {AGENTS_MAX}")));
        }
        Ok(options)
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        let is_plain = |c: char| !c.is_control() && !c.is_whitespace();
        match key {
            "replicas" => self.agents = number(key, value, AGENTS_MAX as u32)? as usize,
            "cpus" => self.cpus = number(key, value, CPUS_MAX)?,
            "image" if !value.is_empty() && value.len() <= IMAGE_MAX && value.chars().all(is_plain) => {
                self.image = value.to_owned();
            }
            "image" => return Err("has no valid image".to_owned()),
            "patch" if value.is_empty() => return Err("names no file for patch".to_owned()),
            "patch" => self.patch = Some(PathBuf::from(value)),
            "context" => self.context = Some(value.to_owned()).filter(|name| !name.is_empty()),
            _ => return Err(format!("has {key:?}, and what is known is {KEYS}")),
        }
        Ok(())
    }

    /// Names of the agents, in their order.
    #[cfg(feature = "kubernetes")]
    pub(super) fn names(&self) -> Vec<String> {
        (1..=self.agents).map(|number| format!("{SCHEME}{}/{number}", self.namespace)).collect()
    }
}

fn number(key: &str, value: &str, max: u32) -> Result<u32, String> {
    let number = value.parse().ok().filter(|number| (1..=max).contains(number));
    number.ok_or_else(|| format!("needs a number from 1 to {max} for {key}"))
}

/// True for a label of DNS.
fn is_label(text: &str) -> bool {
    let is_inside = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let has_ends = !text.starts_with('-') && !text.ends_with('-');
    (1..=NAMESPACE_MAX).contains(&text.len()) && has_ends && text.chars().all(is_inside)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<KubernetesOptions, String> {
        KubernetesOptions::parse("--client", text, Duration { ns: 1 }).map_err(|error| error.message)
    }

    #[test]
    fn an_address_says_how_many_agents_of_what() {
        let plain = parsed("k8s://load?replicas=2").unwrap();
        assert_eq!((plain.namespace.as_str(), plain.agents, plain.cpus), ("load", 2, 1));
        assert_eq!((plain.image.as_str(), plain.context, plain.patch), (IMAGE, None, None));
        let patched = parsed("k8s://load?replicas=2&patch=my%20pods/a%2Bb%2Cc.yaml").unwrap();
        assert_eq!(patched.patch, Some(PathBuf::from("my pods/a+b,c.yaml")), "escapes are those of URLs");
        let full = parsed("k8s://load-1/?replicas=128&image=r.example%2Fplimsoll:1&cpus=8&context=lab").unwrap();
        assert_eq!((full.agents, full.cpus, full.image.as_str()), (128, 8, "r.example/plimsoll:1"));
        assert_eq!(full.context.as_deref(), Some("lab"));
        assert_eq!(
            parsed("k8s://load?replicas=2&image=r.example/a/b@sha256:0a").unwrap().image,
            "r.example/a/b@sha256:0a"
        );
    }

    #[test]
    fn what_a_cluster_could_not_be_asked_for_is_refused() {
        let long = format!("k8s://{}?replicas=1", "a".repeat(64));
        for (text, named) in [
            ("k8s://?replicas=2", "no namespace"),
            ("k8s://Load?replicas=2", "no namespace"),
            ("k8s://-load?replicas=2", "no namespace"),
            (long.as_str(), "no namespace"),
            ("k8s://load", "replicas, from 1 to 128"),
            ("k8s://load?replicas=0", "from 1 to 128 for replicas"),
            ("k8s://load?replicas=129", "from 1 to 128 for replicas"),
            ("k8s://load?replicas=2&cpus=0", "for cpus"),
            ("k8s://load?replicas=2&image=", "no valid image"),
            ("k8s://load?replicas=2&image=a%0Ab", "no valid image"),
            ("k8s://load?replicas=2&patch=", "names no file"),
            ("k8s://load?replicas=2&patch=a&patch=b", "has patch twice"),
            ("ssh://load", "no address of a cluster"),
            ("k8s://load?replica=2", "\"replica\", and what is known is replicas"),
            ("k8s://load/pods?replicas=2", "more than a namespace"),
            ("k8s://load:1?replicas=2", "more than a namespace"),
        ] {
            let message = parsed(text).expect_err(text);
            assert!(message.contains(named) && message.contains("k8s://NAMESPACE?replicas=2"), "{text}: {message}");
        }
        let message = parsed("k8s://u:secret@load?replicas=2").unwrap_err();
        assert!(!message.contains("secret"), "{message}");
    }
}
