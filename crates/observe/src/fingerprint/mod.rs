//! Fingerprint of machine and server: everything that may make the same load give another result. Texts by section and name,
//! so that two fingerprints can be compared without knowing what is in them.
//!
//! The second fingerprint hashes only what has changed: files are told by number, length and time of change.

mod again;
mod cpu;
mod devices;
mod memory;
mod program;
mod route;
mod system;

pub use again::TakenFingerprint;
pub use program::sha256;

use crate::files::{Files, Missing};
use crate::observer::Observer;
use model::Fingerprint;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// Words by name.
type Facts = BTreeMap<String, String>;
/// Begin of the names of sections about programs.
const PROGRAM: &str = "program/";
/// Section about the way to the target.
const ROUTE: &str = "route";

/// A section and how it is read.
type Section = (&'static str, fn(&Files) -> Result<Facts, Missing>);

const SECTIONS: [Section; 12] = [
    ("cpu", cpu::cpu),
    ("caches", cpu::caches),
    ("mitigations", cpu::mitigations),
    ("frequency", cpu::frequency),
    ("clock", cpu::clock),
    ("memory", memory::memory),
    ("hugepages", memory::hugepages),
    ("kernel", system::kernel),
    ("hypervisor", system::hypervisor),
    ("sysctl", system::sysctl),
    ("limits", system::limits),
    ("iommu", devices::iommu),
];

/// Of this machine, its network interfaces, the route to the target, and the programs of the server and its companions that
/// `observer` has found.
#[must_use]
pub fn fingerprint(observer: &Observer) -> Fingerprint {
    let mut fingerprint = of_machine(&Files::default());
    fingerprint.facts.extend(program::programs(&Files::default(), &observer.asked_pids()));
    if let Some(ip) = observer.target_ip() {
        put(&mut fingerprint, ROUTE, route::route(ip));
    }
    fingerprint
}

/// Interface through which packets to `ip` leave this machine, and the largest packet of it in bytes; none if that is not known.
#[must_use]
pub fn link_to(ip: IpAddr) -> Option<(String, Option<u32>)> {
    let interface = route::route(ip).ok()?.remove("interface")?;
    let mtu = Files::default().word(&format!("{}/{interface}/mtu", devices::NICS)).ok();
    Some((interface, mtu.and_then(|mtu| mtu.parse().ok())))
}

/// True if `ip` is an address of this machine, by the route that the kernel chooses.
#[must_use]
pub fn is_own_address(ip: IpAddr) -> bool {
    route::ends_here(ip)
}

fn of_machine(files: &Files) -> Fingerprint {
    let mut fingerprint = Fingerprint::default();
    for (name, read) in SECTIONS {
        put(&mut fingerprint, name, read(files));
    }
    let interfaces = devices::interfaces(files);
    fingerprint.facts.extend(interfaces.into_iter().map(|(name, facts)| (format!("nic/{name}"), facts)));
    fingerprint
}

/// Puts a section into `fingerprint`, or why there is none.
fn put(fingerprint: &mut Fingerprint, name: &str, read: Result<Facts, impl ToString>) {
    match read {
        Ok(facts) => drop(fingerprint.facts.insert(name.to_owned(), facts)),
        Err(why) => drop(fingerprint.unavailable.insert(name.to_owned(), why.to_string())),
    }
}

/// Facts of those files in a directory that there are, by name.
fn of_files(files: &Files, directory: &str, names: impl IntoIterator<Item = impl AsRef<str>>) -> Facts {
    let known = names.into_iter().filter_map(|name| {
        let text = files.word(&format!("{directory}/{}", name.as_ref())).ok()?;
        Some((name.as_ref().to_owned(), text.split_whitespace().collect::<Vec<_>>().join(" ")))
    });
    known.collect()
}

/// Facts, or the reason when there are none.
fn some_or(facts: Facts, why: &'static str) -> Result<Facts, Missing> {
    if facts.is_empty() { Err(Missing::Because(why)) } else { Ok(facts) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_reached_through_itself() {
        let (interface, mtu) = link_to([127, 0, 0, 1].into()).expect("a route");
        // A sandbox may have no /sys.
        let is_told = mtu.map_or_else(|| !std::path::Path::new("/sys/class/net").exists(), |mtu| mtu >= 1500);
        assert!(interface == "lo" && is_told, "{interface} {mtu:?}");
    }

    #[test]
    fn each_section_of_this_machine_has_facts_or_a_reason() {
        let seen = of_machine(&Files::default());
        for (name, _) in SECTIONS {
            let known = seen.facts.get(name).is_some_and(|facts| !facts.is_empty());
            assert!(known != seen.unavailable.contains_key(name), "{name}: {seen:?}");
        }
        let nowhere = tempfile::tempdir().unwrap();
        let bare = of_machine(&Files::below(nowhere.path()));
        assert!(bare.facts.is_empty(), "{:?}", bare.facts);
        assert_eq!(bare.unavailable.len(), SECTIONS.len());
        assert_eq!(bare, of_machine(&Files::below(nowhere.path())), "nothing in it changes by itself");
    }
}
