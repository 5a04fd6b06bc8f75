//! Promises of the samples of PHP on arbitrary bytes.

use super::fold::Folding;
use super::{PhpStacks, add_part};
use std::io::Cursor;

/// Takes `data` as a file of samples: no panic; each line of the result is frames and a count; read again it is the same; and
/// wherever a window begins at the end of a line, what is before it and what is in it are together all that there is.
pub(crate) fn keep(data: &[u8]) {
    let all = part(data, 0, data.len());
    check(&all);
    let again = part(all.folded.as_bytes(), 0, all.folded.len());
    assert_eq!((&again.folded, again.samples, again.left_out), (&all.folded, all.samples, 0));
    let ends = data.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1);
    for end in ends {
        let (before, inside) = (part(data, 0, end), part(data, end, data.len()));
        assert_eq!(before.samples.saturating_add(inside.samples), all.samples, "a window from byte {end} on");
        assert_eq!(before.left_out + inside.left_out, all.left_out, "a window from byte {end} on");
    }
    if let Some(middle) = data.len().checked_div(2) {
        // A line that crosses the begin of a window is in no part.
        assert!(part(data, 0, middle).samples.saturating_add(part(data, middle, data.len()).samples) <= all.samples);
    }
}

/// What is written between two places of a file.
fn part(data: &[u8], begin: usize, end: usize) -> PhpStacks {
    let mut folding = Folding::default();
    if begin < end {
        add_part(&mut folding, Cursor::new(data), begin as u64, end as u64).expect("memory can be read");
    }
    folding.stacks(false)
}

fn check(stacks: &PhpStacks) {
    let mut samples = 0_u64;
    for line in stacks.folded.lines() {
        let (stack, count) = line.rsplit_once(' ').expect("a stack and its samples");
        assert!(!stack.contains(|c: char| c.is_whitespace() || c.is_control()), "{line:?}");
        assert!(stack.split(';').all(|frame| !frame.is_empty()), "{line:?}");
        samples = samples.saturating_add(count.parse().expect("a number"));
    }
    assert_eq!(samples, stacks.samples);
}
