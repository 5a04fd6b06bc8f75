//! Memory and its pages.

use super::{Facts, of_files, some_or};
use crate::files::{Files, Missing};

pub(super) fn memory(files: &Files) -> Result<Facts, Missing> {
    Ok(fields(&files.text("/proc/meminfo")?, &["MemTotal", "SwapTotal"]))
}

/// Transparent huge pages, and those that are set apart.
pub(super) fn hugepages(files: &Files) -> Result<Facts, Missing> {
    let transparent = of_files(files, "/sys/kernel/mm/transparent_hugepage", ["enabled", "defrag", "shmem_enabled"]);
    let mut facts: Facts = transparent.into_iter().map(|(name, text)| (format!("transparent_{name}"), text)).collect();
    let meminfo = files.text("/proc/meminfo").unwrap_or_default();
    facts.extend(fields(&meminfo, &["HugePages_Total", "Hugepagesize"]));
    some_or(facts, "this kernel tells nothing of huge pages")
}

/// Lines of `Name: value`.
fn fields(text: &str, wanted: &[&str]) -> Facts {
    let pairs = text.lines().filter_map(|line| line.split_once(':'));
    let known = pairs.filter(|(name, _)| wanted.contains(name));
    known.map(|(name, value)| (name.to_owned(), value.trim().to_owned())).collect()
}
