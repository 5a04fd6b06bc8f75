//! The descriptors that a thread waits for in `poll` and `select`, which stand in its own memory.

use super::call::Call;
use std::fs::File;
use std::os::unix::fs::FileExt;

/// Descriptors of one `poll` that are looked at.
const POLLED_MAX: u64 = 64;
/// Descriptors that `select` can wait for.
const SELECTED_MAX: u64 = 1024;

/// The descriptors; none when the memory is not shown.
pub(super) fn polled(pid: i32, call: &Call) -> Option<Vec<i32>> {
    let [first, second, third, ..] = call.arguments;
    if matches!(call.name, "poll" | "ppoll") {
        let bytes = read(pid, first, second.min(POLLED_MAX) * 8)?;
        // A descriptor and twice sixteen bits of what is asked and told; negative ones are passed over.
        let fds = bytes.as_chunks::<8>().0.iter().map(|[a, b, c, d, ..]| i32::from_ne_bytes([*a, *b, *c, *d]));
        return Some(fds.filter(|fd| *fd >= 0).collect());
    }
    // Of `select` those to be read from and written to, a bit each in whole words.
    let count = first.min(SELECTED_MAX);
    let length = count.div_ceil(64) * 8;
    let sets = [second, third].into_iter().filter(|address| *address != 0);
    let sets = sets.map(|address| read(pid, address, length)).collect::<Option<Vec<_>>>()?;
    let is_set = |set: &Vec<u8>, fd: u64| set[(fd / 8) as usize] >> (fd % 8) & 1 == 1;
    Some((0..count).filter(|fd| sets.iter().any(|set| is_set(set, *fd))).map(|fd| fd as i32).collect())
}

fn read(pid: i32, address: u64, length: u64) -> Option<Vec<u8>> {
    let mut bytes = vec![0; length as usize];
    if length > 0 {
        File::open(format!("/proc/{pid}/mem")).ok()?.read_exact_at(&mut bytes, address).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_own(name: &'static str, arguments: [u64; 3]) -> Option<Vec<i32>> {
        let [a, b, c] = arguments;
        polled(std::process::id().cast_signed(), &Call { name, arguments: [a, b, c, 0, 0, 0], stack: 0 })
    }

    #[test]
    fn descriptors_are_read_where_the_call_says() {
        let polled: [(i32, u32); 3] = [(5, 1), (-1, 1), (9, 1)];
        let bytes: Vec<u8> =
            polled.iter().flat_map(|(fd, asked)| [fd.to_ne_bytes(), asked.to_ne_bytes()].concat()).collect();
        let at = |bytes: &[u8]| bytes.as_ptr() as u64;
        assert_eq!(of_own("poll", [at(&bytes), 3, 0]), Some(vec![5, 9]));
        assert_eq!(of_own("ppoll", [0, 0, 0]), Some(Vec::new()), "a time is all it waits for");
        let (mut reads, mut writes) = ([0_u8; 16], [0_u8; 16]);
        (reads[0], writes[8]) = (1 << 3, 1 << 1);
        assert_eq!(of_own("select", [66, at(&reads), at(&writes)]), Some(vec![3, 65]));
        assert_eq!(of_own("pselect6", [66, at(&reads), 0]), Some(vec![3]));
        assert_eq!(of_own("poll", [8, 1, 0]), None, "nothing is there");
    }
}
