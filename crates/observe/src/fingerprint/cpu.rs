//! CPUs: model, topology, caches, mitigations, how they are clocked, and the clock of the kernel.

use super::{Facts, of_files, some_or};
use crate::files::{Files, Missing};
use std::collections::BTreeSet;

const CPUS: &str = "/sys/devices/system/cpu";

pub(super) fn cpu(files: &Files) -> Result<Facts, Missing> {
    let text = files.text("/proc/cpuinfo")?;
    let field = |name: &str| {
        let of = |line: &str| {
            line.split_once(':').filter(|(theirs, _)| theirs.trim() == name).map(|(_, v)| v.trim().to_owned())
        };
        text.lines().find_map(of)
    };
    let mut facts = Facts::new();
    for (name, theirs) in [("model", "model name"), ("microcode", "microcode"), ("vendor", "vendor_id")] {
        facts.extend(field(theirs).map(|value| (name.to_owned(), value)));
    }
    let cpus = names_of_cpus(files);
    let places = |file: &str| -> BTreeSet<String> {
        cpus.iter().filter_map(|cpu| files.word(&format!("{CPUS}/{cpu}/topology/{file}")).ok()).collect()
    };
    let nodes = files.names("/sys/devices/system/node").into_iter().filter(|name| is_numbered(name, "node")).count();
    let counts = [
        ("cpus", cpus.len()),
        ("packages", places("physical_package_id").len()),
        ("cores", places("thread_siblings_list").len()),
        ("numa_nodes", nodes),
    ];
    facts.extend(counts.into_iter().filter(|(_, n)| *n > 0).map(|(name, n)| (name.to_owned(), n.to_string())));
    facts.extend(of_files(files, CPUS, ["online", "isolated"]).into_iter().filter(|(_, list)| !list.is_empty()));
    facts.extend(files.word(&format!("{CPUS}/smt/control")).ok().map(|smt| ("smt".to_owned(), smt)));
    some_or(facts, "this kernel tells nothing of its CPUs")
}

/// Size and sharers of each cache of the first CPU.
pub(super) fn caches(files: &Files) -> Result<Facts, Missing> {
    let directory = format!("{CPUS}/cpu0/cache");
    let caches = files.names(&directory).into_iter().filter(|name| is_numbered(name, "index"));
    let facts = caches.filter_map(|index| {
        let word = |file: &str| files.word(&format!("{directory}/{index}/{file}")).ok();
        let name = format!("L{} {}", word("level")?, word("type")?.to_lowercase());
        Some((name, format!("{}, of CPUs {}", word("size")?, word("shared_cpu_list")?)))
    });
    some_or(facts.collect(), "the CPUs do not tell their caches, as in some virtual machines")
}

pub(super) fn mitigations(files: &Files) -> Result<Facts, Missing> {
    let directory = format!("{CPUS}/vulnerabilities");
    some_or(of_files(files, &directory, files.names(&directory)), "this kernel does not tell its mitigations")
}

/// Governor and limits of the first CPU, and whether all have the same.
pub(super) fn frequency(files: &Files) -> Result<Facts, Missing> {
    let names =
        ["scaling_driver", "scaling_governor", "scaling_min_freq", "scaling_max_freq", "energy_performance_preference"];
    let mut facts = of_files(files, &format!("{CPUS}/cpu0/cpufreq"), names);
    let governor = |cpu: &String| files.word(&format!("{CPUS}/{cpu}/cpufreq/scaling_governor")).ok();
    let governors: BTreeSet<String> = names_of_cpus(files).iter().filter_map(governor).collect();
    if governors.len() > 1 {
        facts.insert("scaling_governor".into(), governors.into_iter().collect::<Vec<_>>().join(", "));
    }
    facts.extend(of_files(files, &format!("{CPUS}/cpufreq"), ["boost"]));
    facts.extend(of_files(files, &format!("{CPUS}/intel_pstate"), ["no_turbo", "status"]));
    facts.extend(of_files(files, &format!("{CPUS}/cpuidle"), ["current_driver", "current_governor"]));
    some_or(facts, "the CPUs do not tell how they are clocked, as in most virtual machines")
}

pub(super) fn clock(files: &Files) -> Result<Facts, Missing> {
    let names = ["current_clocksource", "available_clocksource"];
    let facts = of_files(files, "/sys/devices/system/clocksource/clocksource0", names);
    some_or(facts, "this kernel does not tell its clock source")
}

fn names_of_cpus(files: &Files) -> Vec<String> {
    files.names(CPUS).into_iter().filter(|name| is_numbered(name, "cpu")).collect()
}

/// `cpu0` is, `cpufreq` and `cpu` are not.
fn is_numbered(name: &str, kind: &str) -> bool {
    name.strip_prefix(kind).is_some_and(|n| !n.is_empty() && n.bytes().all(|digit| digit.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_and_their_threads_are_counted_apart() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let place = root.path().join(path);
            std::fs::create_dir_all(place.parent().unwrap()).unwrap();
            std::fs::write(place, text).unwrap();
        };
        write("proc/cpuinfo", "processor\t: 0\nmodel name\t: Fast CPU\nmicrocode\t: 0x1\n\nmodel name\t: Other\n");
        for (cpu, siblings) in [(0, "0,2"), (1, "1,3"), (2, "0,2"), (3, "1,3")] {
            write(&format!("sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"), siblings);
            write(&format!("sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id"), "0\n");
            let governor = if cpu == 3 { "powersave" } else { "performance" };
            write(&format!("sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor"), governor);
        }
        for (file, text) in [("level", "1\n"), ("type", "Data\n"), ("size", "32K\n"), ("shared_cpu_list", "0,2\n")] {
            write(&format!("sys/devices/system/cpu/cpu0/cache/index0/{file}"), text);
        }
        let files = Files::below(root.path());
        let seen = cpu(&files).unwrap();
        let fact = |name: &str| seen[name].as_str();
        assert_eq!([fact("model"), fact("cpus"), fact("cores"), fact("packages")], ["Fast CPU", "4", "2", "1"]);
        assert_eq!(caches(&files).unwrap()["L1 data"], "32K, of CPUs 0,2");
        assert_eq!(frequency(&files).unwrap()["scaling_governor"], "performance, powersave");
    }

    #[test]
    fn the_model_is_the_one_that_the_machine_shows() {
        let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap();
        let seen = cpu(&Files::default()).unwrap();
        assert!(cpuinfo.contains(&seen["model"]), "{seen:?}");
        // A sandbox may have no /sys, which has the number.
        let Some(cpus) = seen.get("cpus") else {
            return assert!(!std::path::Path::new("/sys/devices/system/cpu").exists());
        };
        assert_eq!(*cpus, cpuinfo.lines().filter(|line| line.starts_with("processor")).count().to_string());
    }
}
