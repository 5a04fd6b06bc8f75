//! Names for addresses, once the load is over: ELF symbols, DWARF with what was inlined, the kernel's own list, and the
//! maps that just-in-time compilers leave in `/tmp/perf-PID.map`.

use super::stacks::Place;
use blazesym::Pid;
use blazesym::symbolize::source::{Kernel, Process, Source};
use blazesym::symbolize::{Input, Sym, Symbolized, Symbolizer};
use procfs::process::{MMPermissions, MMapPath};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

/// Marks that flame graphs colour by: of the kernel, inlined, compiled just in time.
const KERNEL_MARK: &str = "_[k]";
const INLINED_MARK: &str = "_[i]";
const JIT_MARK: &str = "_[j]";

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
    /// Names all `places` of all processes.
    pub(super) fn new(places: impl Iterator<Item = (u32, Place)>) -> Self {
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
        let found = frames(&symbolizer, &Source::Kernel(Kernel::default()), &addresses, Some("[kernel]"));
        symbols.kernel.extend(addresses.into_iter().zip(found));
        for (pid, addresses) in programs {
            let addresses: Vec<u64> = addresses.into_iter().collect();
            let mut found = frames(&symbolizer, &Source::Process(process(pid)), &addresses, None);
            name_files(pid, &addresses, &mut found);
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
fn frames(symbolizer: &Symbolizer, source: &Source<'_>, addresses: &[u64], kernel: Option<&str>) -> Vec<Rc<Frame>> {
    // A source that cannot be read at all, such as a process that has ended, knows none.
    let found = symbolizer.symbolize(source, Input::AbsAddr(addresses)).unwrap_or_default();
    let mut named: Vec<Rc<Frame>> = found
        .into_iter()
        .map(|found| match found {
            Symbolized::Sym(symbol) => Rc::new(Frame { names: names(&symbol, kernel), known: Known::Symbol }),
            Symbolized::Unknown(_) => unknown(kernel),
        })
        .collect();
    named.resize_with(addresses.len(), || unknown(kernel));
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
    let is_jit = symbol.module.as_ref().is_some_and(|module| module.to_string_lossy().ends_with(".map"));
    let mark = match (kernel, is_jit) {
        (Some(_), _) => KERNEL_MARK,
        (None, true) => JIT_MARK,
        (None, false) => "",
    };
    let inlined = symbol.inlined.iter().map(|inlined| format!("{}{INLINED_MARK}", plain(&inlined.name)));
    std::iter::once(format!("{}{mark}", plain(&symbol.name))).chain(inlined).collect()
}

/// A name that does not break a folded line.
fn plain(name: &str) -> String {
    name.replace(';', ":").replace(['\n', '\r'], " ")
}

/// Names the files of what has no symbol.
fn name_files(pid: u32, addresses: &[u64], frames: &mut [Rc<Frame>]) {
    if frames.iter().all(|frame| frame.known == Known::Symbol) {
        return;
    }
    let process = procfs::process::Process::new(pid.cast_signed());
    let Ok(maps) = process.and_then(|process| process.maps()) else { return };
    for (address, frame) in addresses.iter().zip(frames).filter(|(_, frame)| frame.known == Known::Nothing) {
        let Some(map) = maps.iter().find(|map| (map.address.0..map.address.1).contains(address)) else {
            *frame = Rc::new(Frame { names: Vec::new(), known: Known::Stray });
            continue;
        };
        if !map.perms.contains(MMPermissions::EXECUTE) {
            *frame = Rc::new(Frame { names: Vec::new(), known: Known::Stray });
            continue;
        }
        let (name, known) = match &map.pathname {
            MMapPath::Path(path) => {
                let file = path.file_name().unwrap_or_default().to_string_lossy();
                (plain(&file), Known::Module(path.to_string_lossy().into_owned()))
            }
            MMapPath::Vdso | MMapPath::Vsyscall => ("vdso".into(), Known::Module("[vdso]".into())),
            _ => ("generated".into(), Known::Generated),
        };
        *frame = Rc::new(Frame { names: vec![format!("[{name}]")], known });
    }
}
