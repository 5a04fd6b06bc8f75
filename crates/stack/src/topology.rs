//! Who gets which CPUs: server and client on physical cores of their own, and two servers at once on a half of them each.

use model::DuetSet;
use rustix::thread::{CpuSet, sched_getaffinity};
use std::fs::read_to_string;
use std::path::Path;

/// CPUs of the server and of the load; empty lists when there is one CPU only.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Division {
    /// For the server.
    pub server: Vec<u32>,
    /// For the load.
    pub load: Vec<u32>,
    /// Both are threads of one physical core.
    pub one_core: bool,
}

impl Division {
    /// What is wrong with it, if anything, for people.
    #[must_use]
    pub const fn warning(&self) -> Option<&'static str> {
        match (self.server.is_empty(), self.one_core) {
            (true, _) => {
                Some("this machine has one CPU: server and load take it from each other, and so do the numbers")
            }
            (_, true) => {
                Some("this machine has one physical core: server and load run on its threads and slow each other down")
            }
            _ => None,
        }
    }
}

/// Divides the usable CPUs by physical cores, as the kernel describes them below `/sys`: the first half is the
/// server's.
#[must_use]
pub fn divide(usable: &[u32]) -> Division {
    split(&cores(usable, Path::new("/sys/devices/system/cpu")))
}

/// CPUs that this process may use, and so its servers, in rising order; none where the kernel does not tell.
#[must_use]
pub fn usable_cpus() -> Option<Vec<u32>> {
    let usable = sched_getaffinity(None).ok()?;
    Some((0..CpuSet::MAX_CPU).filter(|cpu| usable.is_set(*cpu)).map(|cpu| cpu as u32).collect())
}

/// Two sets of the usable CPUs for two servers at the same time, each with its load: half of the physical cores each.
///
/// # Errors
/// Why there are no two sets, in half a sentence.
pub fn duet(usable: &[u32]) -> Result<[DuetSet; 2], &'static str> {
    halves(&cores(usable, Path::new("/sys/devices/system/cpu")))
}

fn halves(cores: &[Vec<u32>]) -> Result<[DuetSet; 2], &'static str> {
    match cores {
        [] => Err("no CPU is known"),
        [threads] if threads.len() < 2 => Err("this process may use one CPU only"),
        [_] => Err("the CPUs that this process may use are threads of one physical core"),
        _ => {
            let half = cores.len() / 2;
            Ok([set(&cores[..half]), set(&cores[half..2 * half])])
        }
    }
}

/// Server and load on cores of their own, else on threads of one core, else on one CPU.
fn set(cores: &[Vec<u32>]) -> DuetSet {
    let Division { server, load, one_core } = split(cores);
    match server.is_empty() {
        true => DuetSet { server: cores.concat(), load: cores.concat(), one_core: true },
        false => DuetSet { server, load, one_core },
    }
}

/// Usable CPUs by core: threads of one core stand together. Without a description each CPU is a core.
fn cores(usable: &[u32], cpus: &Path) -> Vec<Vec<u32>> {
    let mut cores: Vec<(String, Vec<u32>)> = Vec::new();
    for cpu in usable {
        let siblings = read_to_string(cpus.join(format!("cpu{cpu}/topology/thread_siblings_list")));
        let key = siblings.map_or_else(|_| cpu.to_string(), |text| text.trim().to_owned());
        match cores.iter_mut().find(|(known, _)| *known == key) {
            Some((_, threads)) => threads.push(*cpu),
            None => cores.push((key, vec![*cpu])),
        }
    }
    cores.into_iter().map(|(_, threads)| threads).collect()
}

fn split(cores: &[Vec<u32>]) -> Division {
    let threads: Vec<Vec<u32>> = cores.concat().into_iter().map(|cpu| vec![cpu]).collect();
    let (parts, one_core) = if cores.len() < 2 { (&threads[..], true) } else { (cores, false) };
    if parts.len() < 2 {
        return Division::default();
    }
    let (server, load) = parts.split_at(parts.len() / 2);
    Division { server: server.concat(), load: load.concat(), one_core }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_of_a_core_stay_together() {
        let sys = tempfile::tempdir().expect("a directory");
        for (cpu, siblings) in [(0, "0,4"), (1, "1,5"), (4, "0,4"), (5, "1,5")] {
            let topology = sys.path().join(format!("cpu{cpu}/topology"));
            std::fs::create_dir_all(&topology).expect("a directory");
            std::fs::write(topology.join("thread_siblings_list"), format!("{siblings}\n")).expect("a file");
        }
        let cores = cores(&[0, 1, 4, 5], sys.path());
        assert_eq!(cores, vec![vec![0, 4], vec![1, 5]]);
        assert_eq!(split(&cores), Division { server: vec![0, 4], load: vec![1, 5], one_core: false });
    }

    #[test]
    fn cpus_are_divided_without_overlap() {
        let none = Path::new("/nonexistent");
        let split = |cpus: &[u32]| split(&cores(cpus, none));
        assert_eq!(split(&[0, 1]), Division { server: vec![0], load: vec![1], one_core: false });
        assert_eq!(split(&[0, 1, 2, 3, 4]), Division { server: vec![0, 1], load: vec![2, 3, 4], one_core: false });
        assert_eq!(split(&[5]), Division::default());
        assert!(split(&[5]).warning().is_some());
    }

    #[test]
    fn two_servers_at_once_have_no_core_in_common() {
        let none = Path::new("/nonexistent");
        let duet = |cpus: &[u32]| halves(&cores(cpus, none));
        let set = |server: &[u32], load: &[u32]| DuetSet {
            server: server.to_vec(),
            load: load.to_vec(),
            one_core: server == load,
        };
        assert_eq!(duet(&[0, 1]), Ok([set(&[0], &[0]), set(&[1], &[1])]));
        assert_eq!(duet(&[0, 1, 2, 3]), Ok([set(&[0], &[1]), set(&[2], &[3])]));
        assert_eq!(duet(&[0, 1, 2, 3, 4]), Ok([set(&[0], &[1]), set(&[2], &[3])]), "alike, so one core stays free");
        let threads = halves(&[vec![0, 4], vec![1, 5]]).expect("two cores");
        assert!(threads.iter().all(|set| set.one_core && set.server != set.load), "{threads:?}");
        assert!(duet(&[3]).is_err_and(|why| why.contains("one CPU")));
        assert!(halves(&[vec![0, 1]]).is_err_and(|why| why.contains("one physical core")));
    }

    #[test]
    fn two_threads_of_one_core_are_divided_with_a_warning() {
        let division = split(&[vec![0, 1]]);
        assert_eq!((&division.server[..], &division.load[..]), (&[0][..], &[1][..]));
        assert!(division.warning().is_some_and(|text| text.contains("one physical core")));
    }
}
