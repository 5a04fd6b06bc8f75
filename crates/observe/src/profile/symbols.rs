//! Names for addresses, once the load is over: ELF symbols, DWARF with what was inlined, the kernel's own list, and the
//! maps that just-in-time compilers leave in `/tmp/perf-PID.map`.

use super::maps::{AllMaps, Maps, What};
use super::stacks::{Names, Place};
use blazesym::Pid;
use blazesym::symbolize::source::{Elf, Kernel, Process, Source};
use blazesym::symbolize::{Input, Sym, Symbolized, Symbolizer};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::rc::Rc;

/// Marks that flame graphs colour by: of the kernel, inlined, compiled just in time.
const KERNEL_MARK: &str = "_[k]";
const INLINED_MARK: &str = "_[i]";
const JIT_MARK: &str = "_[j]";
/// In place of a function of the kernel.
const KERNEL: Option<&str> = Some("[kernel]");

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
    programs: HashMap<(u32, u64), Rc<Frame>>,
}

impl Symbols {
    /// Names all `places` of all processes; `kept` are the maps of those that may have ended.
    pub(super) fn new(places: impl Iterator<Item = (u32, Place)>, kept: &AllMaps, from: Names) -> Self {
        let symbolizer = Symbolizer::new();
        let (mut kernel, mut programs) = (BTreeSet::new(), BTreeMap::<u32, BTreeSet<u64>>::new());
        for (pid, place) in places {
            match place.is_kernel {
                true => kernel.insert(place.address),
                false => programs.entry(pid).or_default().insert(place.address),
            };
        }
        let mut symbols = Self { kernel: HashMap::new(), programs: HashMap::new() };
        let addresses: Vec<u64> = kernel.into_iter().collect();
        let found = match from {
            Names::Nowhere => vec![unknown(KERNEL); addresses.len()],
            _ => frames(&symbolizer, &Source::Kernel(Kernel::default()), Input::AbsAddr(&addresses), KERNEL),
        };
        symbols.kernel.extend(addresses.into_iter().zip(found));
        for (pid, addresses) in programs {
            let addresses: Vec<u64> = addresses.into_iter().collect();
            let found = match from {
                Names::Running => of_program(&symbolizer, pid, &addresses, kept),
                _ => of_ended(&symbolizer, pid, &addresses, kept, from == Names::Files),
            };
            symbols.programs.extend(addresses.into_iter().map(|address| (pid, address)).zip(found));
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
}

fn process(pid: u32) -> Process {
    let mut process = Process::new(Pid::from(pid));
    // Needs CAP_SYS_ADMIN; a server in a container of its own is read through it.
    process.map_files = rustix::process::geteuid().is_root();
    process
}

/// What each address is, as far as the source knows.
fn frames(
    symbolizer: &Symbolizer,
    source: &Source<'_>,
    addresses: Input<&[u64]>,
    kernel: Option<&str>,
) -> Vec<Rc<Frame>> {
    let found = symbolizer.symbolize(source, addresses).unwrap_or_default();
    let mut named: Vec<Rc<Frame>> = found
        .into_iter()
        .map(|found| match found {
            Symbolized::Sym(symbol) => Rc::new(Frame { names: names(&symbol, kernel), known: Known::Symbol }),
            Symbolized::Unknown(_) => unknown(kernel),
        })
        .collect();
    named.resize_with(addresses.as_inner_ref().len(), || unknown(kernel));
    named
}

fn unknown(kernel: Option<&str>) -> Rc<Frame> {
    Rc::new(match kernel {
        Some(name) => Frame { names: vec![format!("{name}{KERNEL_MARK}")], known: Known::Module("the kernel".into()) },
        None => Frame { names: vec!["[unknown]".into()], known: Known::Nothing },
    })
}

/// The function, and the ones inlined into it.
fn names(symbol: &Sym<'_>, kernel: Option<&str>) -> Vec<String> {
    let mark = kernel.map_or("", |_| KERNEL_MARK);
    let inlined = symbol.inlined.iter().map(|inlined| format!("{}{INLINED_MARK}", plain(&inlined.name)));
    std::iter::once(format!("{}{mark}", plain(&symbol.name))).chain(inlined).collect()
}

/// A name that does not break a folded line.
fn plain(name: &str) -> String {
    name.replace(';', ":").replace(['\n', '\r'], " ")
}

/// What each address of a process is: by its own maps, or when it has ended by those that were kept.
fn of_program(symbolizer: &Symbolizer, pid: u32, addresses: &[u64], kept: &AllMaps) -> Vec<Rc<Frame>> {
    if let Some(maps) = Maps::read(pid) {
        let mut found = frames(symbolizer, &Source::Process(process(pid)), Input::AbsAddr(addresses), None);
        mark_generated(&maps, addresses, &mut found);
        name_files(&maps, addresses, &mut found);
        return found;
    }
    of_ended(symbolizer, pid, addresses, kept, true)
}

/// The same of a process that has ended: its files are read if they may be.
fn of_ended(symbolizer: &Symbolizer, pid: u32, addresses: &[u64], kept: &AllMaps, reads_files: bool) -> Vec<Rc<Frame>> {
    let mut found = vec![unknown(None); addresses.len()];
    let Some(maps) = kept.of(pid) else { return found };
    let mut files: BTreeMap<&str, (Vec<usize>, Vec<u64>)> = BTreeMap::new();
    for (index, address) in addresses.iter().enumerate() {
        if let Some((map, What::File(file))) = maps.find(*address).map(|map| (map, &map.what)) {
            let (indices, offsets) = files.entry(file).or_default();
            indices.push(index);
            offsets.push(map.file_offset(*address));
        }
    }
    // A pipe that has taken the place of a program may have no writer.
    for (file, (indices, offsets)) in files.into_iter().filter(|(file, _)| reads_files && Path::new(file).is_file()) {
        let named = frames(symbolizer, &Source::Elf(Elf::new(file)), Input::FileOffset(&offsets), None);
        indices.into_iter().zip(named).for_each(|(index, frame)| found[index] = frame);
    }
    name_files(maps, addresses, &mut found);
    found
}

/// Marks the functions in code that the program has made itself, whose names it has left in its own map.
fn mark_generated(maps: &Maps, addresses: &[u64], frames: &mut [Rc<Frame>]) {
    for (address, frame) in addresses.iter().zip(frames).filter(|(_, frame)| frame.known == Known::Symbol) {
        if maps.find(*address).is_some_and(|map| map.what == What::Own) {
            let names = frame.names.iter().map(|name| format!("{name}{JIT_MARK}")).collect();
            *frame = Rc::new(Frame { names, known: Known::Symbol });
        }
    }
}

/// Names the files of what has no symbol.
fn name_files(maps: &Maps, addresses: &[u64], frames: &mut [Rc<Frame>]) {
    for (address, frame) in addresses.iter().zip(frames).filter(|(_, frame)| frame.known == Known::Nothing) {
        let (name, known) = match maps.find(*address).filter(|map| map.is_code).map(|map| &map.what) {
            Some(What::File(path)) => {
                let file = path.rsplit('/').next().unwrap_or(path);
                (Some(format!("[{}]", plain(file))), Known::Module(path.clone()))
            }
            Some(What::Vdso) => (Some("[vdso]".into()), Known::Module("[vdso]".into())),
            Some(What::Own) => (Some("[generated]".into()), Known::Generated),
            None => (None, Known::Stray),
        };
        *frame = Rc::new(Frame { names: name.into_iter().collect(), known });
    }
}
