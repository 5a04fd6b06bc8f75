//! Network interfaces and disks.

use super::Figured;
use crate::files::{Files, Missing};
use procfs::net::InterfaceDeviceStatus;
use procfs::{DiskStats, FromRead};
use std::collections::BTreeMap;

/// Sectors of `/proc/diskstats`, whatever the disk has.
const SECTOR_BYTES: u64 = 512;
const NS_PER_MS: u64 = 1_000_000;

/// Every interface that has ever sent or received.
pub(super) fn interfaces(files: &Files) -> Result<BTreeMap<String, Figured>, Missing> {
    let file = "/proc/net/dev";
    let text = files.text(file)?;
    let all = InterfaceDeviceStatus::from_read(text.as_bytes()).map_err(|_| Missing::Malformed(file.into()))?;
    let used = all.0.into_values().filter(|nic| nic.recv_packets > 0 || nic.sent_packets > 0);
    let figured = used.map(|nic| {
        let counters = Figured::counters([
            ("received_bytes", nic.recv_bytes),
            ("received_packets", nic.recv_packets),
            ("received_errors", nic.recv_errs),
            ("received_dropped", nic.recv_drop),
            ("received_fifo_errors", nic.recv_fifo),
            ("sent_bytes", nic.sent_bytes),
            ("sent_packets", nic.sent_packets),
            ("sent_errors", nic.sent_errs),
            ("sent_dropped", nic.sent_drop),
        ]);
        (nic.name.trim_end_matches(':').to_owned(), counters)
    });
    Ok(figured.collect())
}

/// Every whole disk that has ever been used; its partitions are parts of it.
pub(super) fn disks(files: &Files) -> Result<BTreeMap<String, Figured>, Missing> {
    let file = "/proc/diskstats";
    let text = files.text(file)?;
    let all = DiskStats::from_read(text.as_bytes()).map_err(|_| Missing::Malformed(file.into()))?;
    // Without it disks and their partitions are all alike.
    let folder = "/sys/block";
    if !files.exists(folder) {
        return Err(Missing::NoFile(folder.into()));
    }
    let used = all.0.into_iter().filter(|disk| disk.reads > 0 || disk.writes > 0);
    let whole = used.filter(|disk| files.exists(&format!("{folder}/{}", disk.name.replace('/', "!"))));
    let figured = whole.map(|disk| {
        let counters = Figured::counters([
            ("reads", disk.reads),
            ("writes", disk.writes),
            ("read_bytes", disk.sectors_read.saturating_mul(SECTOR_BYTES)),
            ("written_bytes", disk.sectors_written.saturating_mul(SECTOR_BYTES)),
            ("busy_ns", disk.time_in_progress.saturating_mul(NS_PER_MS)),
            ("waiting_ns", disk.weighted_time_in_progress.saturating_mul(NS_PER_MS)),
        ]);
        let gauges = super::named([("in_progress", disk.in_progress)]);
        (disk.name, Figured { gauges, ..counters })
    });
    Ok(figured.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(path: &str, text: &str) -> (tempfile::TempDir, Files) {
        let root = tempfile::tempdir().unwrap();
        let place = root.path().join(path);
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        std::fs::write(place, text).unwrap();
        let files = Files::below(root.path());
        (root, files)
    }

    #[test]
    fn interfaces_without_traffic_are_left_out() {
        let text = "Inter-|   Receive |  Transmit\n face |bytes packets errs drop|bytes\n\
                    lo: 100 3 0 2 0 0 0 0 200 4 0 1 0 0 0 0\nifb0: 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n";
        let (_root, files) = files("proc/net/dev", text);
        let all = interfaces(&files).unwrap();
        assert_eq!(all.keys().collect::<Vec<_>>(), ["lo"]);
        let lo = &all["lo"].counters;
        assert_eq!(
            (lo["received_bytes"], lo["received_dropped"], lo["sent_packets"], lo["sent_dropped"]),
            (100, 2, 4, 1)
        );
    }

    #[test]
    fn a_disk_is_told_whole_and_in_bytes_and_ns() {
        let text = "254 0 vda 10 0 20 5 30 0 40 7 1 99 12 0 0 0 0 0 0\n254 1 vda1 10 0 20 5 30 0 40 7 1 99 12 0 0 0 0 0 0\n\
                    7 0 loop0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n";
        let (root, files) = files("proc/diskstats", text);
        for disk in ["vda", "loop0"] {
            std::fs::create_dir_all(root.path().join("sys/block").join(disk)).unwrap();
        }
        let all = disks(&files).unwrap();
        assert_eq!(all.keys().collect::<Vec<_>>(), ["vda"]);
        let vda = &all["vda"];
        assert_eq!((vda.counters["written_bytes"], vda.counters["busy_ns"]), (40 * 512, 99_000_000));
        assert_eq!(vda.gauges["in_progress"], 1);
    }
}
