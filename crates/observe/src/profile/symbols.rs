//! Names for addresses, once the load is over: ELF symbols, DWARF with what was inlined, the kernel's own list, and the
//! lists that just-in-time compilers leave in `/tmp/perf-PID.map`.
//!
//! The kernel's list is the kernel's, and is read here. All else was written by whoever runs the programs.

use super::maps::{AllMaps, Map, Maps, What};
use super::perf_map;
use super::program_file::{FileKey, ProgramFile};
use super::reader::{Asking, NameReader};
use super::stacks::{Names, Place};
use blazesym::symbolize::source::{Kernel, Source};
use blazesym::symbolize::{Input, Symbolized, Symbolizer};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;
use std::sync::Arc;

/// Marks that flame graphs colour by: of the kernel, inlined, compiled just in time.
const KERNEL_MARK: &str = "_[k]";
const INLINED_MARK: &str = "_[i]";
const JIT_MARK: &str = "_[j]";
/// In place of a function of the kernel.
const KERNEL: &str = "[kernel]";

/// What an address is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    /// As it stands in a folded stack, outermost of what was inlined first.
    pub(super) names: Vec<String>,
    pub(super) known: Known,
}

/// How much is known of an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// The function.
    Symbol,
    /// The file, which has no name for it.
    Module(String),
    /// That the program has made the code itself, and left no map.
    Generated,
    /// That it is no code: without frame pointers a chain strays through the stack.
    Stray,
    /// Nothing: the process has ended.
    Nothing,
}

/// All addresses of a recording, named.
pub(super) struct Symbols {
    kernel: HashMap<u64, Rc<Frame>>,
    programs: HashMap<ProgramPlace, Rc<Frame>>,
    /// Why functions have no names although a file may have them.
    pub(super) unread: Vec<String>,
}

/// A process and an address in it.
type ProgramPlace = (u32, u64);

impl Symbols {
    /// Names all `places` of all processes; `kept` are the maps of those that may have ended. Program files are read by
    /// `reader`.
    pub(super) fn new(
        places: impl Iterator<Item = (u32, Place)>,
        kept: &AllMaps,
        from: Names,
        reader: &NameReader,
    ) -> Self {
        let (mut kernel, mut programs) = (BTreeSet::new(), BTreeMap::<u32, BTreeSet<u64>>::new());
        for (pid, place) in places {
            match place.is_kernel {
                true => kernel.insert(place.address),
                false => programs.entry(pid).or_default().insert(place.address),
            };
        }
        let mut symbols = Self { kernel: kernel_frames(kernel, from), programs: HashMap::new(), unread: Vec::new() };
        let processes: Vec<Process> =
            programs.into_iter().map(|(pid, addresses)| Process::new(pid, addresses, kept, from)).collect();
        if from != Names::Nowhere {
            symbols.read_files(&processes, reader);
        }
        symbols.read_lists(&processes);
        for process in &processes {
            for address in &process.addresses {
                let unnamed = || Rc::new(process.unnamed(*address));
                symbols.programs.entry((process.pid, *address)).or_insert_with(unnamed);
            }
        }
        symbols
    }

    /// What the address of a stack is.
    pub(super) fn frame(&self, pid: u32, place: Place) -> &Frame {
        match place.is_kernel {
            true => &self.kernel[&place.address],
            false => &self.programs[&(pid, place.address)],
        }
    }

    /// Names what lies in files, each of which is read once, and in the code that the kernel gives to programs.
    fn read_files(&mut self, processes: &[Process], reader: &NameReader) {
        let (files, vdso) = wanted(processes);
        let mut asking = Asking::new(reader);
        for file in files {
            let offsets: Vec<u64> = file.places.keys().copied().collect();
            // Another one may have come into its place, or its process may have ended.
            let found = locate(file.process, file.map, file.path).filter(|found| found.key == file.key);
            if !file.is_of_root {
                asking.goes_beyond_root();
            }
            match found.map(|found| found.open()) {
                Some(Ok(opened)) => {
                    let names = asking.of_file(file.path, &opened, &offsets);
                    self.name(&file.places, names);
                }
                Some(Err(error)) => asking.unread.push(format!("no functions of {} have names: {error}", file.path)),
                None => {}
            }
        }
        if !vdso.is_empty() {
            let names = asking.of_vdso(&vdso.keys().copied().collect::<Vec<_>>());
            self.name(&vdso, names);
        }
        self.unread.append(&mut asking.unread);
    }

    /// Gives `names`, one list for each offset of `places`, to all places with that offset.
    fn name(&mut self, places: &Places, names: Vec<Vec<String>>) {
        for (places, names) in places.values().zip(names).filter(|(_, names)| !names.is_empty()) {
            let names = with_inlined(names.iter().map(String::as_str), "");
            let frame = Rc::new(Frame { names, known: Known::Symbol });
            self.programs.extend(places.iter().map(|place| (*place, Rc::clone(&frame))));
        }
    }

    /// Names the code that programs have made themselves, of which they may have left a list.
    fn read_lists(&mut self, processes: &[Process]) {
        for process in processes.iter().filter(|process| process.is_running) {
            let is_own = |address: &u64| process.find(*address).is_some_and(|map| map.what == What::Own && map.is_code);
            let generated: BTreeSet<u64> = process.addresses.iter().copied().filter(is_own).collect();
            if generated.is_empty() {
                continue;
            }
            match perf_map::names(process.pid, &generated) {
                Ok(names) => self.programs.extend(names.into_iter().map(|(address, name)| {
                    let names = vec![format!("{}{JIT_MARK}", plain(&name))];
                    ((process.pid, address), Rc::new(Frame { names, known: Known::Symbol }))
                })),
                Err(why) => self.unread.push(format!(
                    "the list of functions that process {0} leaves in /tmp/perf-{0}.map is not read: {why}",
                    process.pid
                )),
            }
        }
    }
}

/// The functions of the kernel.
fn kernel_frames(addresses: BTreeSet<u64>, from: Names) -> HashMap<u64, Rc<Frame>> {
    let addresses: Vec<u64> = addresses.into_iter().collect();
    let symbolizer = Symbolizer::new();
    let found = match from {
        Names::Nowhere => None,
        _ => symbolizer.symbolize(&Source::Kernel(Kernel::default()), Input::AbsAddr(&addresses)).ok(),
    };
    let mut found = found.unwrap_or_default().into_iter();
    let frame = |found: Option<Symbolized<'_>>| match found {
        Some(Symbolized::Sym(symbol)) => {
            let inlined = symbol.inlined.iter().map(|inlined| &*inlined.name);
            let names = with_inlined(std::iter::once(&*symbol.name).chain(inlined), KERNEL_MARK);
            Frame { names, known: Known::Symbol }
        }
        _ => Frame { names: vec![format!("{KERNEL}{KERNEL_MARK}")], known: Known::Module("the kernel".into()) },
    };
    addresses.into_iter().map(|address| (address, Rc::new(frame(found.next())))).collect()
}

/// A function with its mark, and the ones inlined into it.
fn with_inlined<'a>(names: impl Iterator<Item = &'a str>, mark: &str) -> Vec<String> {
    let mark_of = |index| if index == 0 { mark } else { INLINED_MARK };
    names.enumerate().map(|(index, name)| format!("{}{}", plain(name), mark_of(index))).collect()
}

/// A name that does not break a folded line.
fn plain(name: &str) -> String {
    name.replace(';', ":").replace(['\n', '\r'], " ")
}

/// The addresses of one process, and what lies where in it.
struct Process {
    pid: u32,
    addresses: BTreeSet<u64>,
    maps: Option<Arc<Maps>>,
    /// False when it has ended, so that only the paths of its files are known.
    is_running: bool,
}

impl Process {
    fn new(pid: u32, addresses: BTreeSet<u64>, kept: &AllMaps, from: Names) -> Self {
        let now = if from == Names::Running { Maps::read(pid).map(Arc::new) } else { None };
        let is_running = now.is_some();
        Self { pid, addresses, maps: now.or_else(|| kept.of(pid).cloned()), is_running }
    }

    /// The piece of its memory that an address is in.
    fn find(&self, address: u64) -> Option<&Map> {
        self.maps.as_ref()?.find(address)
    }

    /// What an address is that no file and no list has a name for.
    fn unnamed(&self, address: u64) -> Frame {
        if self.maps.is_none() {
            return Frame { names: vec!["[unknown]".into()], known: Known::Nothing };
        }
        let (name, known) = match self.find(address).filter(|map| map.is_code).map(|map| &map.what) {
            Some(What::File(path)) => {
                let file = path.rsplit('/').next().unwrap_or(path);
                (Some(format!("[{}]", plain(file))), Known::Module(path.clone()))
            }
            Some(What::Vdso) => (Some("[vdso]".into()), Known::Module("[vdso]".into())),
            Some(What::Own) => (Some("[generated]".into()), Known::Generated),
            None => (None, Known::Stray),
        };
        Frame { names: name.into_iter().collect(), known }
    }
}

/// By offset, all the places that have the code at it.
type Places = BTreeMap<u64, Vec<ProgramPlace>>;

/// A file whose functions are wanted.
struct WantedFile<'a> {
    key: FileKey,
    /// Where it was found first.
    process: &'a Process,
    map: &'a Map,
    path: &'a str,
    is_of_root: bool,
    places: Places,
}

/// The file behind a piece of code.
fn locate(process: &Process, map: &Map, path: &str) -> Option<ProgramFile> {
    if process.is_running { ProgramFile::of_running(process.pid, map, path) } else { ProgramFile::of_path(path) }
}

/// The files that the addresses of all processes lie in, and what lies in the kernel's code for programs. Files of root come
/// first: what other users have written may use up the time.
fn wanted(processes: &[Process]) -> (Vec<WantedFile<'_>>, Places) {
    let (mut files, mut vdso) = (BTreeMap::<FileKey, WantedFile<'_>>::new(), Places::new());
    for process in processes {
        let mut keys: HashMap<u64, Option<FileKey>> = HashMap::new();
        for address in &process.addresses {
            let Some(map) = process.find(*address) else { continue };
            let (offset, place) = (map.file_offset(*address), (process.pid, *address));
            let path = match &map.what {
                What::File(path) => path,
                What::Vdso => {
                    vdso.entry(offset).or_default().push(place);
                    continue;
                }
                What::Own => continue,
            };
            let find = || {
                let found = locate(process, map, path)?;
                let (key, is_of_root) = (found.key, found.is_of_root);
                let new = WantedFile { key, process, map, path, is_of_root, places: Places::new() };
                files.entry(key).or_insert(new);
                Some(key)
            };
            if let Some(key) = *keys.entry(map.begin).or_insert_with(find) {
                let file = files.get_mut(&key);
                file.into_iter().for_each(|file| file.places.entry(offset).or_default().push(place));
            }
        }
    }
    let mut files: Vec<WantedFile<'_>> = files.into_values().collect();
    files.sort_by_key(|file| !file.is_of_root);
    (files, vdso)
}
