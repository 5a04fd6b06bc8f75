//! Samples that were written down, read again: of a recording whose program was killed. They may come from anywhere.

use super::sampler::boot_id;
use super::stacks::{ADDRESSES_MAX, Count, Kind, Names, Recorded, Stacks};
use model::{FORMAT_SAMPLES, SampledProcess, SampledStack, SamplesAdded, SamplesBegun};
use std::collections::HashMap;
use std::io::{self, BufRead, Read as _};
use thiserror::Error;

/// Most that is written down of a recording, and read of one; bytes.
pub const SAMPLES_MAX_BYTES: u64 = 256 << 20;
/// Longest line; bytes.
pub const SAMPLES_LINE_MAX_BYTES: u64 = 16 << 20;
/// Longest chain: a record of the kernel has 64 KiB.
const CHAIN_MAX: usize = 8 << 10;
/// Most names and parents of processes: as many as there is room for.
const PROCESSES_MAX: usize = 4 << 20;
/// Pieces of code in all processes: more than a run of hours has.
const CODE_MAX: usize = 4 << 20;

/// Why samples cannot be read.
#[derive(Debug, Error)]
pub enum SamplesError {
    /// The file.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The first line.
    #[error("it is no {FORMAT_SAMPLES}")]
    Format,
    /// Any other line.
    #[error("line {line}: {why}")]
    Line {
        /// From 1.
        line: u64,
        /// In words.
        why: String,
    },
}

/// Samples as they were written down.
#[derive(Debug)]
pub struct Past {
    /// Who took them, and what is wanted of them.
    pub begun: SamplesBegun,
    /// What was sampled, up to where it breaks off.
    pub recorded: Recorded,
}

impl Past {
    /// Reads what was written down, up to a last line that was not written to its end.
    ///
    /// # Errors
    /// When it is none of ours, is damaged, or has more than is kept of a recording.
    pub fn read(log: impl BufRead) -> Result<Self, SamplesError> {
        let (mut log, mut line) = (log.take(SAMPLES_MAX_BYTES), Vec::new());
        let mut lines = 1;
        let begun: Option<SamplesBegun> =
            next(&mut log, &mut line)?.then(|| serde_json::from_slice(&line).ok()).flatten();
        let begun = begun.filter(|begun| begun.format == FORMAT_SAMPLES).ok_or(SamplesError::Format)?;
        let mut reading = Reading::new();
        while next(&mut log, &mut line)? {
            lines += 1;
            let added = serde_json::from_slice(&line).map_err(|_| "it is no such line");
            let wrong = |why: &str| SamplesError::Line { line: lines, why: why.to_owned() };
            added.and_then(|added| reading.add(added)).map_err(wrong)?;
        }
        let here = boot_id();
        let names = if !here.is_empty() && begun.boot_id == here { Names::Files } else { Names::Nowhere };
        let Reading { mut stacks, keys, counted, sampled_ns, .. } = reading;
        stacks.counts = counts(keys, counted);
        let recorded =
            Recorded { stacks, no_waits: begun.no_waits.clone(), sampled_ns, cpus: begun.cpus, own: begun.pid, names };
        Ok(Self { begun, recorded })
    }
}

/// A stack, by kind, process and chain.
type Key = (Kind, u32, Box<[u64]>);

/// What has been read so far.
struct Reading {
    stacks: Stacks,
    /// By number.
    keys: Vec<Key>,
    counted: Vec<u64>,
    /// Of all stacks together, so that no sum of some overflows.
    total: u64,
    addresses: usize,
    processes: usize,
    code: usize,
    sampled_ns: u64,
}

impl Reading {
    fn new() -> Self {
        let (stacks, keys, counted) = (Stacks::past(), Vec::new(), Vec::new());
        Self { stacks, keys, counted, total: 0, addresses: 0, processes: 0, code: 0, sampled_ns: 0 }
    }

    fn add(&mut self, added: SamplesAdded) -> Result<(), &'static str> {
        let SamplesAdded { sampled_ns, lost, lost_waits, reader_cpu_ns, processes, stacks, counts } = added;
        self.sampled_ns = sampled_ns;
        self.stacks.lost = lost;
        self.stacks.lost_waits = lost_waits;
        self.stacks.reader_cpu_ns = reader_cpu_ns;
        for SampledProcess { pid, name, parent, code } in processes {
            self.processes += 1;
            self.code += code.len();
            if self.processes > PROCESSES_MAX || self.code > CODE_MAX {
                return Err("more processes than are kept");
            }
            self.stacks.tree.restore(pid, name, parent);
            if !code.is_empty() {
                self.stacks.maps.restore(pid, code)?;
            }
        }
        for SampledStack { is_waiting, pid, chain } in stacks {
            self.addresses += chain.len();
            if chain.len() > CHAIN_MAX || self.addresses > ADDRESSES_MAX || self.keys.len() >= ADDRESSES_MAX {
                return Err("more addresses than are kept");
            }
            self.keys.push((if is_waiting { Kind::Waiting } else { Kind::Running }, pid, chain.into()));
            self.counted.push(0);
        }
        for (number, n) in counts {
            let counted = self.counted.get_mut(number as usize).ok_or("it counts a stack that was not told")?;
            self.total = self.total.checked_add(n).ok_or("it counts more than there can be")?;
            *counted += n;
        }
        Ok(())
    }
}

/// Counts by stack. Of ours no two are equal.
fn counts(keys: Vec<Key>, counted: Vec<u64>) -> HashMap<Key, Count> {
    let mut all: HashMap<Key, Count> = HashMap::with_capacity(keys.len());
    for (number, (key, n)) in keys.into_iter().zip(counted).enumerate() {
        all.entry(key).or_insert(Count { n: 0, number: number as u32 }).n += n;
    }
    all
}

/// Reads the next whole line, without its end. False where there is none.
fn next(log: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    log.by_ref().take(SAMPLES_LINE_MAX_BYTES).read_until(b'\n', line)?;
    if line.pop_if(|last| *last == b'\n').is_some() {
        return Ok(true);
    }
    match (line.len() as u64) < SAMPLES_LINE_MAX_BYTES {
        true => Ok(false),
        false => Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("a line has more than {SAMPLES_LINE_MAX_BYTES} bytes"),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{NameReader, Scope};
    use std::collections::BTreeSet;

    /// What is written down of samples of process 10.
    fn log(lines: &[SamplesAdded]) -> String {
        let begun = SamplesBegun {
            format: FORMAT_SAMPLES.into(),
            boot_id: "another".into(),
            pid: 4,
            cpus: 2,
            ..SamplesBegun::default()
        };
        let lines = lines.iter().map(|added| serde_json::to_string(added).unwrap() + "\n");
        serde_json::to_string(&begun).unwrap() + "\n" + &lines.collect::<String>()
    }

    fn process(pid: u32, name: &str, parent: u32) -> SampledProcess {
        SampledProcess { pid, name: Some(name.into()), parent: Some(parent), code: Vec::new() }
    }

    /// Of the process 10, a child of 9, which runs, and waits in the same place; told in two parts.
    fn sampled() -> [SamplesAdded; 2] {
        let mut stacks = Stacks::written_down();
        stacks.add(Kind::Running, 10, &[0x40], 3);
        stacks.add(Kind::Running, 4, &[0x40], 1);
        let processes = vec![process(9, "master", 1), process(10, "new;\nworker", 9)];
        let first = SamplesAdded { sampled_ns: 5, processes, ..stacks.take_new() };
        stacks.add(Kind::Running, 10, &[0x40], 4);
        stacks.add(Kind::Waiting, 10, &[0x40, 0x50], 1000);
        let then = SamplesAdded { sampled_ns: 9, reader_cpu_ns: 6, lost: 1, ..stacks.take_new() };
        [first, then]
    }

    #[test]
    fn what_was_written_down_is_the_same_recording() {
        let Past { begun, recorded } = Past::read(log(&sampled()).as_bytes()).unwrap();
        assert_eq!((begun.pid, recorded.sampled_ns(), recorded.names), (4, 9, Names::Nowhere));
        let scope = Scope { server: BTreeSet::from([9]), own_name: "own", ..Scope::default() };
        let profile = recorded.resolve(&scope, &NameReader::default());
        assert_eq!(profile.folded, "new__worker;[unknown] 7\nown;[unknown] 1\n");
        assert_eq!(profile.waits, "new__worker;[unknown] 1000\n");
        let profiled = &profile.profiled;
        assert_eq!((profiled.samples, profiled.lost_samples, profiled.cpus, profiled.sampled_ns), (8, 1, 2, 9));
        assert!((profiled.reader_share - 6.0 / 18.0).abs() < 1e-9, "{profiled:?}");
    }

    #[test]
    fn a_line_that_was_not_written_to_its_end_is_left_out() {
        let whole = log(&sampled());
        let Past { recorded, .. } = Past::read(&whole.as_bytes()[..whole.len() - 5]).unwrap();
        assert_eq!(recorded.sampled_ns(), 5);
        assert!(matches!(Past::read(&whole.as_bytes()[..30]), Err(SamplesError::Format)));
    }

    #[test]
    fn files_are_named_and_no_file_is_read_where_the_machine_was_started_again() {
        let mut processes = vec![process(10, "nginx", 1)];
        let file = std::env::current_exe().unwrap().to_string_lossy().into_owned();
        processes[0].code = vec![model::SampledCode { begin: 0x40, end: 0x80, offset: 0, file: Some(file.clone()) }];
        let stacks = vec![SampledStack { is_waiting: false, pid: 10, chain: vec![0x44] }];
        let added = SamplesAdded { processes, stacks, counts: vec![(0, 2)], ..SamplesAdded::default() };
        let recorded = Past::read(log(&[added]).as_bytes()).unwrap().recorded;
        let name = file.rsplit('/').next().unwrap();
        assert_eq!(recorded.resolve(&Scope::default(), &NameReader::default()).folded, format!("nginx;[{name}] 2\n"));
    }

    #[test]
    fn what_no_recording_has_is_refused_with_its_line() {
        let stack = |pid| SampledStack { is_waiting: false, pid, chain: vec![1] };
        let of = |stacks: Vec<SampledStack>, counts: &[(u32, u64)]| SamplesAdded {
            stacks,
            counts: counts.to_vec(),
            ..SamplesAdded::default()
        };
        let long = SampledStack { chain: vec![1; CHAIN_MAX + 1], ..stack(1) };
        let code = |begin, end, offset| SamplesAdded {
            processes: vec![SampledProcess {
                code: vec![model::SampledCode { begin, end, offset, file: None }],
                ..SampledProcess::default()
            }],
            ..SamplesAdded::default()
        };
        for (added, why) in [
            (of(vec![stack(1)], &[(1, 1)]), "a stack that was not told"),
            (of(vec![stack(1), stack(2)], &[(0, u64::MAX), (1, 1)]), "more than there can be"),
            (of(vec![long], &[]), "more addresses than are kept"),
            (code(2, 2, 0), "one behind the other"),
            (code(1, 3, u64::MAX), "one behind the other"),
        ] {
            let error = Past::read(log(&[SamplesAdded::default(), added]).as_bytes()).unwrap_err().to_string();
            assert!(error.starts_with("line 3: ") && error.contains(why), "{error}");
        }
        let error = Past::read((log(&[]) + "{}\n").as_bytes()).unwrap_err();
        assert_eq!(error.to_string(), "line 2: it is no such line");
    }

    #[test]
    fn a_line_without_an_end_is_not_read_into_memory() {
        let endless = io::BufReader::new(io::repeat(b' '));
        assert!(matches!(Past::read(endless), Err(SamplesError::Io(_))));
    }
}
