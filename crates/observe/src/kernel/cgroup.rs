//! CPU quotas and throttling: control groups, version 1 and 2.

use super::Figured;
use crate::files::{Files, Missing};
use std::collections::BTreeMap;

const MOUNT: &str = "/sys/fs/cgroup";
/// Limits of version 1 that mean none: the largest number of whole pages.
const UNLIMITED_BYTES: u64 = 1 << 62;
const NS_PER_US: u64 = 1000;
/// Name of the counter of the time in which a group was stopped.
const THROTTLED: &str = "throttled_ns";

/// The group whose quota holds for a process, or its own where none has a quota.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CpuGroup {
    /// Its directory.
    pub(crate) place: String,
    /// CPU time that it may use each second; none without a quota.
    pub(crate) quota_ns_per_s: Option<u64>,
    counters: BTreeMap<String, u64>,
}

impl CpuGroup {
    /// That of process `of`: a number, or `self`. None where it is not known.
    pub(crate) fn of(files: &Files, of: &str) -> Option<Self> {
        Self::among(files, &files.text(&format!("/proc/{of}/cgroup")).ok()?)
    }

    /// Time for which it was stopped since it is there; ns.
    pub(crate) fn throttled_ns(&self) -> u64 {
        self.counters.get(THROTTLED).copied().unwrap_or(0)
    }

    fn among(files: &Files, groups: &str) -> Option<Self> {
        let places = places(files, groups, "cpu")?;
        // A quota of a group holds for all below it: the tightest is told, with the stops it has caused.
        let quotas = places.iter().filter_map(|place| Some((quota(files, place)?, place)));
        let tightest = quotas.min_by_key(|(ns_per_s, _)| *ns_per_s);
        let Some((quota_ns_per_s, place)) = tightest else {
            // A group without the controller counts no stops; the one above it counts them for both.
            let counting = places.iter().find(|place| !throttled(files, place).is_empty());
            let place = counting.or_else(|| places.first())?;
            return Some(Self { place: place.clone(), quota_ns_per_s: None, counters: throttled(files, place) });
        };
        Some(Self { place: place.clone(), quota_ns_per_s: Some(quota_ns_per_s), counters: throttled(files, place) })
    }
}

/// The quota and memory of the groups of a process. `of` is a process number, or `self`.
pub(crate) fn cgroup(files: &Files, of: &str) -> Result<Figured, Missing> {
    let groups = files.text(&format!("/proc/{of}/cgroup"))?;
    let mut figured = Figured::default();
    if let Some(group) = CpuGroup::among(files, &groups) {
        figured.gauges.extend(group.quota_ns_per_s.map(|ns_per_s| ("cpu_quota_ns_per_s".to_owned(), ns_per_s)));
        // Only the first version of control groups has it, and by it is known which file the quota is in.
        let first_version = files.number(&format!("{}/cpu.cfs_quota_us", group.place)).ok();
        figured.gauges.extend(first_version.map(|us| ("cfs_quota_us".to_owned(), us)));
        (figured.counters, figured.place) = (group.counters, group.place);
    }
    let first =
        |place: &str, names: [&str; 2]| names.iter().find_map(|name| files.number(&format!("{place}/{name}")).ok());
    let used = |place: &str| first(place, ["memory.current", "memory.usage_in_bytes"]);
    // A group without the controller counts no memory; the one above it does, as that of the servers started here.
    let counting = places(files, &groups, "memory").and_then(|all| all.into_iter().find(|place| used(place).is_some()));
    if let Some(place) = counting {
        let used = used(&place).map(|bytes| ("memory_bytes", bytes));
        let limit = first(&place, ["memory.max", "memory.limit_in_bytes"]).filter(|bytes| *bytes < UNLIMITED_BYTES);
        let known = used.into_iter().chain(limit.map(|bytes| ("memory_limit_bytes", bytes)));
        figured.gauges.extend(super::named(known));
    }
    if figured == Figured::default() {
        return Err(Missing::Because("the process is in no control group that counts or limits CPU or memory"));
    }
    Ok(figured)
}

/// The directories of a process's group with a controller and of those above it, from the inside out.
fn places<'a>(files: &Files, groups: &'a str, controller: &str) -> Option<Vec<String>> {
    let fields = |line: &'a str| -> Option<(&'a str, &'a str)> {
        let mut fields = line.splitn(3, ':').skip(1);
        Some((fields.next()?, fields.next()?))
    };
    // The names become a part of a path.
    let lines = || groups.lines().filter_map(fields).filter(|(names, _)| !names.contains('/'));
    let v1 = lines().find(|(names, _)| names.split(',').any(|name| name == controller));
    let (mounts, path) = match v1 {
        Some((names, path)) => (vec![format!("{MOUNT}/{names}"), format!("{MOUNT}/{controller}")], path),
        None => {
            let (_, path) = lines().find(|(names, _)| names.is_empty())?;
            (vec![MOUNT.to_owned(), format!("{MOUNT}/unified")], path)
        }
    };
    let mount = mounts.into_iter().find(|mount| files.exists(&format!("{mount}/cgroup.procs")))?;
    let inside = path.trim_matches('/');
    let is_below = inside.split('/').all(|part| part != "..") && files.exists(&format!("{mount}/{inside}"));
    let inside = match is_below {
        true => inside,
        // In a container the path may be that of the host, and the container's own group is the mount itself. Of another
        // container's process it is not.
        false if is_own(files, groups, controller) => "",
        false => return None,
    };
    let mut places = Vec::new();
    let mut rest = inside;
    while !rest.is_empty() {
        places.push(format!("{mount}/{rest}"));
        rest = rest.rsplit_once('/').map_or("", |(above, _)| above);
    }
    places.push(mount);
    Some(places)
}

/// True if a process, whose control groups these lines name, is in the group of this one as far as a controller goes. One of
/// version 2 below ours is no other to a controller of version 1.
fn is_own(files: &Files, groups: &str, controller: &str) -> bool {
    let Ok(own) = files.text("/proc/self/cgroup") else { return false };
    let line = |groups: &str| groups.lines().find(|line| is_of(line, controller)).map(str::to_owned);
    own.trim() == groups.trim() || line(groups).is_some_and(|theirs| line(&own) == Some(theirs))
}

/// True of the line of a `/proc/PID/cgroup` that is about a controller of version 1.
fn is_of(line: &str, controller: &str) -> bool {
    line.split(':').nth(1).is_some_and(|names| names.split(',').any(|name| name == controller))
}

/// CPU time that a group may use each second; none when that is not limited.
fn quota(files: &Files, place: &str) -> Option<u64> {
    let (quota, period): (u64, u64) = match files.word(&format!("{place}/cpu.max")) {
        // `max 100000`, or `50000 100000`.
        Ok(text) => {
            let (quota, period) = text.split_once(' ')?;
            (quota.parse().ok()?, period.parse().ok()?)
        }
        // -1 when there is none.
        Err(_) => {
            let number = |name| files.number(&format!("{place}/cpu.cfs_{name}_us")).ok();
            (number("quota")?, number("period")?)
        }
    };
    quota.saturating_mul(model::NS_PER_S).checked_div(period)
}

/// How often, and for how long, a group was stopped because its quota was used up.
fn throttled(files: &Files, place: &str) -> BTreeMap<String, u64> {
    let text = files.text(&format!("{place}/cpu.stat")).unwrap_or_default();
    let known = text.lines().filter_map(|line| {
        let (name, n) = line.split_once(' ')?;
        let n: u64 = n.trim().parse().ok()?;
        match name {
            "nr_periods" => Some(("periods", n)),
            "nr_throttled" => Some(("throttled_periods", n)),
            "throttled_usec" => Some((THROTTLED, n.saturating_mul(NS_PER_US))),
            "throttled_time" => Some((THROTTLED, n)),
            _ => None,
        }
    });
    super::named(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(texts: &[(&str, &str)]) -> (tempfile::TempDir, Files) {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in texts {
            let place = root.path().join(path);
            std::fs::create_dir_all(place.parent().unwrap()).unwrap();
            std::fs::write(place, text).unwrap();
        }
        let files = Files::below(root.path());
        (root, files)
    }

    #[test]
    fn the_tightest_quota_above_a_process_is_told_version_2() {
        let (_root, files) = tree(&[
            ("proc/7/cgroup", "0::/web.slice/nginx.service\n"),
            ("sys/fs/cgroup/cgroup.procs", ""),
            ("sys/fs/cgroup/web.slice/cpu.max", "50000 100000\n"),
            ("sys/fs/cgroup/web.slice/cpu.stat", "usage_usec 9\nnr_periods 8\nnr_throttled 3\nthrottled_usec 20\n"),
            ("sys/fs/cgroup/web.slice/nginx.service/cpu.max", "max 100000\n"),
            ("sys/fs/cgroup/web.slice/nginx.service/memory.current", "4096\n"),
            ("sys/fs/cgroup/web.slice/nginx.service/memory.max", "max\n"),
        ]);
        let seen = cgroup(&files, "7").unwrap();
        assert_eq!(seen.gauges, super::super::named([("cpu_quota_ns_per_s", 500_000_000), ("memory_bytes", 4096)]));
        let stops = [("periods", 8), ("throttled_periods", 3), ("throttled_ns", 20_000)];
        assert_eq!(seen.counters, super::super::named(stops));
    }

    /// Servers that plimsoll starts are in a group of their own without controllers, below its own.
    #[test]
    fn a_group_without_controllers_is_under_what_holds_above_it() {
        let (_root, files) = tree(&[
            ("proc/7/cgroup", "0::/run.scope/plimsoll-nginx-1\n"),
            ("sys/fs/cgroup/cgroup.procs", ""),
            ("sys/fs/cgroup/run.scope/cpu.max", "max 100000\n"),
            ("sys/fs/cgroup/run.scope/cpu.stat", "usage_usec 9\nnr_periods 8\nnr_throttled 3\nthrottled_usec 20\n"),
            ("sys/fs/cgroup/run.scope/memory.current", "4096\n"),
            ("sys/fs/cgroup/run.scope/memory.max", "8192\n"),
            ("sys/fs/cgroup/run.scope/plimsoll-nginx-1/cpu.stat", "usage_usec 5\n"),
        ]);
        let seen = cgroup(&files, "7").unwrap();
        assert_eq!(seen.gauges, super::super::named([("memory_bytes", 4096), ("memory_limit_bytes", 8192)]));
        assert_eq!((seen.counters["periods"], seen.counters["throttled_ns"]), (8, 20_000));
    }

    /// The group of version 1 is that of the container, which the path of the host does not name.
    #[test]
    fn a_group_of_version_2_below_our_own_changes_none_of_version_1() {
        let (_root, files) = tree(&[
            ("proc/self/cgroup", "4:memory:/box\n0::/\n"),
            ("proc/7/cgroup", "4:memory:/box\n0::/plimsoll-nginx-1\n"),
            ("proc/8/cgroup", "4:memory:/other\n0::/\n"),
            ("sys/fs/cgroup/memory/cgroup.procs", ""),
            ("sys/fs/cgroup/memory/memory.usage_in_bytes", "8192\n"),
        ]);
        assert_eq!(cgroup(&files, "7").unwrap().gauges, super::super::named([("memory_bytes", 8192)]));
        assert!(cgroup(&files, "8").is_err(), "another container's");
    }

    #[test]
    fn version_1_has_a_tree_for_each_controller() {
        let (_root, files) = tree(&[
            ("proc/self/cgroup", "4:memory:/box\n3:cpu,cpuacct:/box\n0::/\n"),
            ("sys/fs/cgroup/cpu,cpuacct/cgroup.procs", ""),
            ("sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_quota_us", "200000\n"),
            ("sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_period_us", "100000\n"),
            ("sys/fs/cgroup/cpu,cpuacct/box/cpu.stat", "nr_periods 5\nnr_throttled 0\nthrottled_time 7\n"),
            ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n"),
            ("sys/fs/cgroup/memory/cgroup.procs", ""),
            ("sys/fs/cgroup/memory/memory.usage_in_bytes", "8192\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
        ]);
        let seen = cgroup(&files, "self").unwrap();
        // The memory group of the host is not there, so the container's own is the mount.
        let gauges = [("cfs_quota_us", 200_000), ("cpu_quota_ns_per_s", 2_000_000_000), ("memory_bytes", 8192)];
        assert_eq!(seen.gauges, super::super::named(gauges));
        assert_eq!((seen.counters["periods"], seen.counters["throttled_ns"]), (5, 7));
    }

    /// A file that is laid over that of the kernel could name them.
    #[test]
    fn no_group_lies_elsewhere_than_all_groups_do() {
        let texts = [
            ("proc/7/cgroup", "3:../elsewhere,cpu:/\n"),
            ("proc/8/cgroup", "0::/../../elsewhere\n"),
            ("sys/fs/cgroup/../elsewhere,cpu/cgroup.procs", ""),
            ("sys/fs/cgroup/cgroup.procs", ""),
            ("elsewhere/cpu.max", "50000 100000\n"),
            ("sys/fs/cgroup/../elsewhere,cpu/cpu.cfs_quota_us", "50000\n"),
            ("sys/fs/cgroup/../elsewhere,cpu/cpu.cfs_period_us", "100000\n"),
        ];
        let (_root, files) = tree(&texts);
        assert_eq!((CpuGroup::of(&files, "7"), CpuGroup::of(&files, "8")), (None, None));
    }

    #[test]
    fn a_machine_without_groups_says_so() {
        let (_root, files) = tree(&[("proc/self/cgroup", "")]);
        assert!(cgroup(&files, "self").unwrap_err().to_string().contains("no control group"));
        assert_eq!(cgroup(&files, "7"), Err(Missing::NoFile("/proc/7/cgroup".into())));
    }
}
