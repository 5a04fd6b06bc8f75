//! Route, network cards and the IOMMU: what packets pass through on their way to another machine.

use super::{Machine, fine, row, unavailable};
use model::{CheckRow, CheckState};

/// Cards that are told.
const CARDS_MAX: usize = 4;
const SECTION: &str = "nic/";
const ROUTE: &str = "route";
const LOOPBACK: &str = "lo";
/// Boot parameters by which devices of the host are not translated.
const PASSTHROUGH: [&str; 3] = ["iommu=pt", "intel_iommu=off", "iommu.passthrough=1"];

pub(super) fn rows(machine: &Machine<'_>) -> Vec<CheckRow> {
    // Without a target, or with one on this machine, cards may matter to others that ask it.
    let mut rows: Vec<_> = route(machine).into_iter().collect();
    rows.extend(cards(machine));
    rows.push(iommu(machine));
    rows
}

/// The way to the target that the kernel chooses; none where it cannot but be this machine.
fn route(machine: &Machine<'_>) -> Option<CheckRow> {
    const WHAT: &str = "route";
    let to = machine.plan.target.address.tcp().map(|address| address.ip()).filter(|ip| !ip.is_loopback())?;
    let Some(interface) = machine.fact(ROUTE, "interface") else {
        return Some(unavailable("NE-11", WHAT, machine.why(ROUTE)));
    };
    if interface == LOOPBACK {
        let found = format!("{to} is an address of this machine: packets go through {LOOPBACK}, not through a card");
        return Some(fine("NE-11", WHAT, found));
    }
    let mtu = machine.fact(&format!("{SECTION}{interface}"), "mtu");
    let mtu = mtu.map_or_else(String::new, |mtu| format!(", MTU {mtu}"));
    let source = machine.fact(ROUTE, "source").map_or_else(String::new, |source| format!(", from {source}"));
    let way = format!("{to} through {interface} ({}){mtu}{source}", link(machine, interface));
    Some(match machine.fact(ROUTE, "gateway") {
        None => fine("NE-11", WHAT, way),
        Some(gateway) => {
            let advice = "what it forwards is part of what is measured: a client in the server's own network has none";
            row("NE-11", WHAT, CheckState::Note, format!("{way}, router {gateway}"), Some(advice.to_owned()))
        }
    })
}

/// Driver and speed of an interface, also of one without a card, whose speed nobody knows.
fn link(machine: &Machine<'_>, interface: &str) -> String {
    let fact = |name: &str| machine.fact(&format!("{SECTION}{interface}"), name);
    let speed = fact("speed_mbit_per_s").map_or_else(|| "speed not told".to_owned(), |speed| format!("{speed} Mbit/s"));
    format!("{}, {speed}", fact("driver").unwrap_or("virtual"))
}

fn cards(machine: &Machine<'_>) -> Vec<CheckRow> {
    let sections =
        machine.fingerprint.facts.iter().filter_map(|(name, facts)| Some((name.strip_prefix(SECTION)?, facts)));
    let cards = sections.filter(|(_, facts)| facts.contains_key("driver"));
    let up = cards.filter(|(_, facts)| facts.get("operstate").is_none_or(|state| state != "down"));
    let rows: Vec<_> = up.take(CARDS_MAX).map(|(name, _)| card(machine, name)).collect();
    if rows.is_empty() {
        return vec![unavailable("NE-11", "network card", "no card that is up can be seen, as in most containers")];
    }
    rows
}

fn card(machine: &Machine<'_>, name: &str) -> CheckRow {
    let section = format!("{SECTION}{name}");
    let word = |fact: &str| machine.fact(&section, fact);
    let driver = word("driver").unwrap_or("no driver");
    let queues: u64 = word("receive_queues").and_then(|n| n.parse().ok()).unwrap_or(0);
    let speed = word("speed_mbit_per_s").map_or_else(String::new, |speed| format!(", {speed} Mbit/s"));
    let device = word("device").unwrap_or("not known");
    let what = format!("card {name}");
    let queues_text = model::human::plural(queues, "receive queue");
    let is_virtual = device.starts_with("made up");
    let device = if is_virtual { "virtual network card" } else { device };
    let found = format!("{driver}{speed}, {queues_text}, {device}");
    let cpus = machine.number("cpu", "cpus").unwrap_or(1);
    let advice = if queues == 1 && cpus > 1 {
        "give it more receive queues (ethtool -L), or spread their work (RPS, irqbalance)"
    } else if is_virtual {
        "each packet costs the hypervisor CPU time too; for more packets per second, pass a physical card through"
    } else {
        return fine("NE-11", &what, found);
    };
    row("NE-11", &what, CheckState::Note, found, Some(advice.to_owned()))
}

fn iommu(machine: &Machine<'_>) -> CheckRow {
    const WHAT: &str = "IOMMU";
    let Some(groups) = machine.number("iommu", "groups") else {
        return fine("EN-05", WHAT, machine.why("iommu"));
    };
    let boot = machine.fact("kernel", "boot_parameters").unwrap_or_default();
    let groups = model::human::plural(groups, "group");
    if let Some(word) = boot.split(' ').find(|word| PASSTHROUGH.contains(word)) {
        return fine("EN-05", WHAT, format!("{groups}, not in the way of packets ({word})"));
    }
    let found = format!("{groups}, and devices of this machine may be translated");
    let advice = "the same on all machines that are compared; where the network limits, boot with iommu=pt".to_owned();
    row("EN-05", WHAT, CheckState::Note, found, Some(advice))
}
