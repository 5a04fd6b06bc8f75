//! Memory maps of processes, kept for when they have ended.

use model::SampledCode;
use procfs::process::{MMPermissions, MMapPath, Process};
use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;

/// Processes whose maps are kept. Of more, those that have ended stay without names.
const PROCESSES_MAX: usize = 4096;

/// The maps of one process, in rising order.
#[derive(Debug)]
pub(super) struct Maps(Vec<Map>);

/// One piece of its memory.
#[derive(Debug)]
pub(super) struct Map {
    pub(super) begin: u64,
    end: u64,
    offset: u64,
    pub(super) is_code: bool,
    pub(super) what: What,
}

/// What a piece is from.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum What {
    /// A file.
    File(String),
    /// The kernel's page of code for programs.
    Vdso,
    /// The program itself.
    Own,
}

impl Maps {
    /// As they are now; none when the process has ended or does not show them.
    pub(super) fn read(pid: u32) -> Option<Self> {
        let maps = Process::new(pid.cast_signed()).and_then(|process| process.maps()).ok()?;
        let each = maps.into_iter().map(|map| Map {
            begin: map.address.0,
            end: map.address.1,
            offset: map.offset,
            is_code: map.perms.contains(MMPermissions::EXECUTE),
            what: match map.pathname {
                MMapPath::Path(path) if !is_memory(&path) => What::File(path.to_string_lossy().into_owned()),
                MMapPath::Vdso | MMapPath::Vsyscall => What::Vdso,
                _ => What::Own,
            },
        });
        let maps: Vec<Map> = each.collect();
        // One that waits to be waited for has none left.
        (!maps.is_empty()).then_some(Self(maps))
    }

    /// The pieces with code.
    fn code(&self) -> Vec<SampledCode> {
        let piece = |map: &Map| SampledCode {
            begin: map.begin,
            end: map.end,
            offset: map.offset,
            file: match &map.what {
                What::File(path) => Some(path.clone()),
                What::Vdso => Some(String::new()),
                What::Own => None,
            },
        };
        self.0.iter().filter(|map| map.is_code).map(piece).collect()
    }

    fn restored(code: Vec<SampledCode>) -> Result<Self, &'static str> {
        let mut maps = Vec::with_capacity(code.len());
        let mut last = 0;
        for SampledCode { begin, end, offset, file } in code {
            if begin < last || end <= begin || offset.checked_add(end - begin).is_none() {
                return Err("pieces of code that do not lie one behind the other");
            }
            last = end;
            let what = match file {
                Some(path) if path.is_empty() => What::Vdso,
                Some(path) => What::File(path),
                None => What::Own,
            };
            maps.push(Map { begin, end, offset, is_code: true, what });
        }
        Ok(Self(maps))
    }

    /// The piece that an address is in.
    pub(super) fn find(&self, address: u64) -> Option<&Map> {
        let after = self.0.partition_point(|map| map.begin <= address);
        self.0[..after].last().filter(|map| address < map.end)
    }
}

/// True of memory that processes share, which the kernel shows as a file: PHP and .NET keep what they compile in it.
fn is_memory(path: &Path) -> bool {
    path == "/dev/zero (deleted)" || path.to_string_lossy().starts_with("/memfd:")
}

impl Map {
    /// As the kernel calls it in `/proc/PID/map_files`.
    pub(super) fn range(&self) -> String {
        format!("{:x}-{:x}", self.begin, self.end)
    }

    /// Where in its file an address of it is.
    pub(super) fn file_offset(&self, address: u64) -> u64 {
        address - self.begin + self.offset
    }
}

/// The maps of all processes that ran, as they were when each was seen first.
#[derive(Debug, Default)]
pub(super) struct AllMaps {
    of: HashMap<u32, Option<Arc<Maps>>>,
    /// Processes whose maps are new.
    changed: BTreeSet<u32>,
}

impl AllMaps {
    /// Reads those of a process unless that was done. One that has ended already had those of its parent, unless it was
    /// another program.
    pub(super) fn see(&mut self, pid: u32, parent: Option<u32>) {
        if self.of.contains_key(&pid) || self.of.len() >= PROCESSES_MAX {
            return;
        }
        let of_parent = || parent.and_then(|parent| self.of(parent).cloned());
        let maps = Maps::read(pid).map(Arc::new).or_else(of_parent);
        self.keep(pid, maps);
    }

    fn keep(&mut self, pid: u32, maps: Option<Arc<Maps>>) {
        self.of.insert(pid, maps);
        self.changed.insert(pid);
    }

    /// The process has become another program.
    pub(super) fn forget(&mut self, pid: u32) {
        self.of.remove(&pid);
    }

    /// Processes whose maps are new since this was asked last.
    pub(super) fn take_changed(&mut self) -> BTreeSet<u32> {
        std::mem::take(&mut self.changed)
    }

    /// Where the code of a process lies, as far as that was seen.
    pub(super) fn code(&self, pid: u32) -> Vec<SampledCode> {
        self.of(pid).map_or_else(Vec::new, |maps| maps.code())
    }

    /// What was written down of a process. The pieces are in rising order.
    pub(super) fn restore(&mut self, pid: u32, code: Vec<SampledCode>) -> Result<(), &'static str> {
        if !self.of.contains_key(&pid) && self.of.len() >= PROCESSES_MAX {
            return Err("more processes with maps than are kept");
        }
        self.of.insert(pid, Some(Arc::new(Maps::restored(code)?)));
        Ok(())
    }

    /// Those of a process, if they were seen.
    pub(super) fn of(&self, pid: u32) -> Option<&Arc<Maps>> {
        self.of.get(&pid)?.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_code_is_found_in_its_file() {
        let maps = Maps::read(std::process::id()).unwrap();
        let address = Maps::read as fn(u32) -> Option<Maps> as usize as u64;
        let map = maps.find(address).unwrap();
        let own = std::env::current_exe().unwrap().to_string_lossy().into_owned();
        assert!(map.is_code && map.what == What::File(own), "{map:?}");
        assert!(map.file_offset(address) >= map.offset);
        assert!(maps.find(1).is_none() && Maps::read(5_000_000).is_none());
    }

    #[test]
    fn a_child_that_has_ended_has_the_maps_of_its_parent() {
        let (own, gone, mut all) = (std::process::id(), 5_000_000, AllMaps::default());
        all.see(gone, Some(own));
        assert!(all.of(gone).is_none());
        all.forget(gone);
        all.see(own, None);
        all.see(gone, Some(own));
        assert!(all.of(gone).is_some());
    }
}
