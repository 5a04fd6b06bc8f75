//! Where CPU time goes: samples of what runs on every CPU, at 99 Hz, with call chains of kernel and programs.
//!
//! `sampler` takes them through perf_event while it is switched on, `stacks` counts equal ones, `tree` knows which
//! process is whose child, `maps` what lies where in it, `symbols` names the addresses afterwards, and `fold` turns all into folded stacks and shares.
//! Names stand in files that whoever runs a process has written: `program_file` finds them, `reader` has them read by a process
//! without rights, and `perf_map` reads the lists of just-in-time compilers.
//! `journal` hands over what is new for it to be written down, so that a kill loses little, and `past` reads that again.
//! `switches` samples threads that leave a CPU, and `waits` makes time spent waiting of them.
//! The event is the timer `cpu-clock`: it is there with and without a PMU and measures time, not cycles, which cost less
//! time at a higher clock. A sample stands for 1/99 s of one CPU.
//!
//! All CPUs are sampled, idle ones too, as interrupts that find a CPU idle are a cost of the load. Names are looked
//! up after the window; of each new process the maps are kept, so that those that end have names as well.

mod debian;
mod fold;
mod journal;
mod maps;
mod past;
mod perf_map;
mod program_file;
mod reader;
mod sampler;
mod stacks;
mod switches;
mod symbols;
mod tree;
mod waits;

pub use fold::{Profile, Scope};
pub use journal::Take;
pub use past::{Past, SAMPLES_LINE_MAX_BYTES, SAMPLES_MAX_BYTES, SamplesError};
pub(crate) use perf_map::find as find_generated;
pub(crate) use reader::check_answer;
pub use reader::{NameReader, read_names};
pub use sampler::{FREQUENCY_HZ, Profiler, Unprofiled, boot_id};
pub use stacks::Recorded;
pub use tree::{Missing, behind_address, behind_port, running};
