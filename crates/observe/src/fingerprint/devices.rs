//! Network interfaces and the IOMMU.

use super::system::is_virtual;
use super::{Facts, of_files};
use crate::files::{Files, Missing};
use std::collections::BTreeMap;

pub(super) const NICS: &str = "/sys/class/net";
/// Drivers of interfaces that a hypervisor makes up.
const PARAVIRTUAL: [&str; 8] =
    ["virtio_net", "vmxnet3", "ena", "gve", "hv_netvsc", "xen_netfront", "vif", "virtio_user"];

/// Interfaces below interfaces, such as a card below a bond below a VLAN below a bridge.
const LAYERS_MAX: u32 = 4;

/// Every interface with its driver and speed; those without a device are virtual.
pub(super) fn interfaces(files: &Files) -> BTreeMap<String, Facts> {
    let is_vm = files.text("/proc/cpuinfo").is_ok_and(|text| is_virtual(&text));
    let of = |name: String| {
        let directory = format!("{NICS}/{name}");
        let mut facts = of_files(files, &directory, ["mtu", "operstate", "duplex", "tx_queue_len"]);
        // -1 where the device does not tell it.
        let speed = files.word(&format!("{directory}/speed")).ok().filter(|speed| !speed.starts_with('-'));
        let speed = speed.filter(|_| has_link(files, &name, LAYERS_MAX));
        facts.extend(speed.map(|speed| ("speed_mbit_per_s".to_owned(), speed)));
        let queues = files.names(&format!("{directory}/queues"));
        for (kind, fact) in [("rx-", "receive_queues"), ("tx-", "send_queues")] {
            let n = queues.iter().filter(|queue| queue.starts_with(kind)).count();
            facts.insert(fact.into(), n.to_string());
        }
        let driver = files.link(&format!("{directory}/device/driver"));
        let group = files.link(&format!("{directory}/device/iommu_group"));
        let device = match &driver {
            None => "virtual, without a device",
            Some(driver) if PARAVIRTUAL.contains(&driver.as_str()) => "made up by the hypervisor",
            Some(_) if is_vm => "passed through to this virtual machine",
            Some(_) => "of this machine",
        };
        facts.insert("device".into(), device.into());
        facts.extend(driver.map(|driver| ("driver".to_owned(), driver)));
        facts.extend(group.map(|group| ("iommu_group".to_owned(), group)));
        (name, facts)
    };
    files.names(NICS).into_iter().map(of).collect()
}

/// True if packets of the interface go over a link with a speed of its own: it has a device, or one below it has. The speed
/// that others tell is made up (veth and tun say 10 Gbit/s), and they carry more or less than that.
fn has_link(files: &Files, name: &str, layers: u32) -> bool {
    let directory = format!("{NICS}/{name}");
    let below = || files.names(&directory).into_iter().filter_map(|name| Some(name.strip_prefix("lower_")?.to_owned()));
    files.exists(&format!("{directory}/device"))
        || layers > 0 && below().any(|lower| has_link(files, &lower, layers - 1))
}

pub(super) fn iommu(files: &Files) -> Result<Facts, Missing> {
    match files.names("/sys/kernel/iommu_groups").len() {
        0 => Err(Missing::Because("no IOMMU is in use")),
        n => Ok([("groups".to_owned(), n.to_string())].into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_real_card_in_a_virtual_machine_is_passed_through() {
        let root = tempfile::tempdir().unwrap();
        let at = |path: &str| root.path().join(path);
        std::fs::create_dir_all(at("proc")).unwrap();
        std::fs::write(at("proc/cpuinfo"), "flags : fpu hypervisor\n").unwrap();
        for (nic, driver) in [("eth0", Some("virtio_net")), ("eth1", Some("mlx5_core")), ("lo", None)] {
            std::fs::create_dir_all(at(&format!("sys/class/net/{nic}/device"))).unwrap();
            std::fs::create_dir_all(at(&format!("sys/class/net/{nic}/queues/rx-0"))).unwrap();
            std::fs::write(at(&format!("sys/class/net/{nic}/speed")), if nic == "eth1" { "25000\n" } else { "-1\n" })
                .unwrap();
            if let Some(driver) = driver {
                symlink(format!("../../drivers/{driver}"), at(&format!("sys/class/net/{nic}/device/driver"))).unwrap();
            }
        }
        let files = Files::below(root.path());
        let told = |nic: &str, fact: &str| interfaces(&files)[nic].get(fact).cloned();
        assert_eq!(told("eth1", "device").unwrap(), "passed through to this virtual machine");
        assert_eq!(told("eth1", "speed_mbit_per_s").unwrap(), "25000");
        assert_eq!(told("eth0", "device").unwrap(), "made up by the hypervisor");
        assert_eq!((told("eth0", "speed_mbit_per_s"), told("lo", "driver")), (None, None));
        assert_eq!(told("lo", "receive_queues").unwrap(), "1");
        std::fs::write(at("proc/cpuinfo"), "flags : fpu\n").unwrap();
        assert_eq!(told("eth1", "device").unwrap(), "of this machine");
    }

    #[test]
    fn a_speed_that_no_device_has_is_made_up() {
        let root = tempfile::tempdir().unwrap();
        let make = |path: &str| std::fs::create_dir_all(root.path().join(format!("sys/class/net/{path}"))).unwrap();
        let made =
            ["eth0/device", "bond0/lower_eth0", "vlan5/lower_bond0", "veth0", "br0/lower_veth0", "loop0/lower_loop0"];
        made.into_iter().for_each(make);
        for nic in ["eth0", "bond0", "vlan5", "veth0", "br0", "loop0"] {
            std::fs::write(root.path().join(format!("sys/class/net/{nic}/speed")), "10000\n").unwrap();
        }
        let told = interfaces(&Files::below(root.path()));
        let has_speed = |nic: &str| told[nic].contains_key("speed_mbit_per_s");
        assert_eq!(["eth0", "bond0", "vlan5"].map(has_speed), [true; 3], "a card, and what is made of it");
        assert_eq!(["veth0", "br0", "loop0"].map(has_speed), [false; 3], "nothing but memory");
    }
}
