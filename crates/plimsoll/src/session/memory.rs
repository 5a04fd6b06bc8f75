//! Memory for a load, asked for before it begins: during the load what is refused ends the program without a result, as Rust and
//! the crates that compress and encrypt do.

use crate::exit::CommandError;
use model::human::plural;
use std::hint::black_box;

/// What a load takes beside its threads: histograms, logs, their compression; bytes.
const LOAD_BYTES: usize = 24 << 20;
/// What one more load thread takes: its stack and its buffers; bytes.
const THREAD_BYTES: usize = 2 << 20;

/// Fails in one line if this process may not have the memory of a load by so many threads.
pub(super) fn check(threads: u32) -> Result<(), CommandError> {
    let bytes = LOAD_BYTES.saturating_add(THREAD_BYTES.saturating_mul(threads as usize));
    let mut memory: Vec<u8> = Vec::new();
    // It is reserved, and given back without being used.
    black_box(&mut memory).try_reserve_exact(bytes).map_err(|_| {
        CommandError::usage(format!(
            "a load by {} needs {} MiB more memory than this process may have; raise its limit (ulimit -v, the limit of its \
             container) or use fewer --threads",
            plural(u64::from(threads), "thread"),
            bytes >> 20
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn a_load_whose_threads_no_memory_holds_is_refused_in_one_line() {
        assert!(check(1).is_ok());
        let message = check(u32::MAX).expect_err("no machine has that much").message;
        assert!(message.contains("MiB") && message.contains("--threads") && !message.contains('\n'), "{message}");
    }
}
