//! Stacks of excimer in the form that flame graphs are drawn of. The lines may hold anything.

use super::{DEPTH_MAX, PhpStacks};
use std::collections::BTreeMap;
use std::io::{self, BufRead, Read};

/// Longest line that is taken for a stack.
const LINE_BYTES_MAX: u64 = 64 << 10;
/// Most samples that a stack of one request may have: some hours.
const COUNT_MAX: u64 = 1_000_000;
/// Different stacks that are kept, their frames and their bytes.
const STACKS_MAX: usize = 200_000;
const KEPT_FRAMES_MAX: usize = 2_000_000;
const KEPT_BYTES_MAX: usize = 32 << 20;
/// Frames of a stack: some paths have separators in them.
const FRAMES_MAX: usize = 2 * DEPTH_MAX;
/// Longest name of a frame: what looks for secrets in it takes the time of its square.
const FRAME_BYTES_MAX: usize = 1 << 10;

/// Stacks, added up.
#[derive(Default)]
pub(super) struct Folding {
    stacks: BTreeMap<String, u64>,
    frames: usize,
    bytes: usize,
    left_out: u64,
}

impl Folding {
    /// Adds the lines of a file. What has no end is no whole line.
    pub(super) fn add(&mut self, mut lines: impl BufRead) -> io::Result<()> {
        let mut line = Vec::new();
        loop {
            line.clear();
            if lines.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line)? == 0 {
                return Ok(());
            }
            if !line.ends_with(b"\n") {
                skip_line(&mut lines)?;
                self.left_out += 1;
            } else if !line.trim_ascii().is_empty() {
                self.add_line(&line);
            }
        }
    }

    fn add_line(&mut self, line: &[u8]) {
        let Some((stack, samples)) = parsed(&String::from_utf8_lossy(line)) else {
            self.left_out += 1;
            return;
        };
        if let Some(sum) = self.stacks.get_mut(&stack) {
            *sum = sum.saturating_add(samples);
        } else if self.has_room(&stack) {
            self.frames += frames(&stack);
            self.bytes += stack.len();
            self.stacks.insert(stack, samples);
        } else {
            self.left_out += 1;
        }
    }

    /// True if one more stack may be kept.
    fn has_room(&self, stack: &str) -> bool {
        self.stacks.len() < STACKS_MAX
            && self.frames + frames(stack) <= KEPT_FRAMES_MAX
            && self.bytes + stack.len() <= KEPT_BYTES_MAX
    }

    pub(super) fn stacks(self, is_full: bool) -> PhpStacks {
        let samples = self.stacks.values().fold(0_u64, |sum, samples| sum.saturating_add(*samples));
        let folded = self.stacks.iter().map(|(stack, samples)| format!("{stack} {samples}\n")).collect();
        PhpStacks { folded, samples, left_out: self.left_out, is_full }
    }
}

fn frames(stack: &str) -> usize {
    stack.split(';').count()
}

/// Stack and samples of a line. The numbers at the end of a line are samples to whoever draws it: no frame has white space.
fn parsed(line: &str) -> Option<(String, u64)> {
    let (stack, samples) = line.trim_end().rsplit_once(' ')?;
    let samples = samples.parse().ok().filter(|samples| (1..=COUNT_MAX).contains(samples))?;
    // Each line of excimer 1.0 but the first begins with a separator.
    let frames: Vec<&str> = stack.split(';').filter(|frame| !frame.is_empty()).collect();
    if frames.is_empty() || frames.len() > FRAMES_MAX || frames.iter().any(|frame| frame.len() > FRAME_BYTES_MAX) {
        return None;
    }
    let plain = |c: char| if c.is_whitespace() || c.is_control() { '_' } else { c };
    Some((frames.join(";").chars().map(plain).collect(), samples))
}

/// Passes over the rest of a line.
pub(super) fn skip_line(lines: &mut impl BufRead) -> io::Result<()> {
    loop {
        let buffer = lines.fill_buf()?;
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let (passed, is_over) = (end.map_or(buffer.len(), |at| at + 1), end.is_some() || buffer.is_empty());
        lines.consume(passed);
        if is_over {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn folded(bytes: &[u8]) -> PhpStacks {
        let mut folding = Folding::default();
        folding.add(bytes).expect("bytes");
        folding.stacks(false)
    }

    #[test]
    fn what_excimer_writes_is_added_up() {
        let text = "index.php;wp;WP::main 20\n;index.php;wp;{closure:a.php(3)} 4\n\nindex.php;wp;WP::main 1\n";
        let stacks = folded(text.as_bytes());
        assert_eq!(stacks.folded, "index.php;wp;WP::main 21\nindex.php;wp;{closure:a.php(3)} 4\n");
        assert_eq!((stacks.samples, stacks.left_out), (25, 0));
    }

    #[test]
    fn what_is_no_stack_is_left_out() {
        let deep = format!("{} 1", vec!["a"; FRAMES_MAX + 1].join(";"));
        let long = format!("{} 1", "a;".repeat(LINE_BYTES_MAX as usize / 2));
        let name = format!("a;{} 1", "b".repeat(FRAME_BYTES_MAX + 1));
        for line in ["a", "a b", "a 0", "a -1", "a 1.5", "a 99999999999999999999", ";;; 1", " 1", &deep, &long, &name] {
            let stacks = folded(format!("{line}\nb 2\n").as_bytes());
            assert_eq!((stacks.folded.as_str(), stacks.left_out), ("b 2\n", 1), "{line:.40}");
        }
    }

    #[test]
    fn a_line_that_a_full_disk_has_cut_costs_no_other_line() {
        assert_eq!(folded(b"a;b 2\na;b;very_lo\na;b 1\n").folded, "a;b 3\n");
    }

    #[test]
    fn a_line_that_has_not_ended_is_not_taken_for_a_whole_one() {
        for cut in ["a;b", "a;b 1", "a;b 12"] {
            let stacks = folded(format!("a;b 1\n{cut}").as_bytes());
            assert_eq!((stacks.folded.as_str(), stacks.left_out), ("a;b 1\n", 1), "{cut}");
        }
    }

    #[test]
    fn no_more_different_stacks_are_kept_than_their_frames_and_bytes_allow() {
        let kept = |stack: &dyn Fn(usize) -> String, lines: usize| {
            let mut folding = Folding::default();
            let text: String = (0..lines).map(|index| format!("{} 1\n", stack(index))).collect();
            folding.add(text.as_bytes()).expect("bytes");
            // One that is known already is added up.
            folding.add(format!("{} 1\n", stack(0)).as_bytes()).expect("bytes");
            let (kept, stacks) = ([folding.stacks.len(), folding.frames, folding.bytes], folding.stacks(false));
            assert_eq!(stacks.samples + stacks.left_out, lines as u64 + 1);
            kept
        };
        let deep = format!(";a{}", ";b".repeat(FRAMES_MAX - 2));
        let [stacks, frames, _] = kept(&|index| format!("{index}{deep}"), 5_000);
        assert!(stacks < 5_000 && (KEPT_FRAMES_MAX - FRAMES_MAX..=KEPT_FRAMES_MAX).contains(&frames), "{frames}");
        let long = vec!["x".repeat(FRAME_BYTES_MAX); 60].join(";");
        let [stacks, _, bytes] = kept(&|index| format!("{index};{long}"), 600);
        assert!(stacks < 600 && (KEPT_BYTES_MAX - (64 << 10)..=KEPT_BYTES_MAX).contains(&bytes), "{bytes}");
    }

    #[test]
    fn numbers_in_names_are_no_samples() {
        let stacks = folded(b"a b 7;c\t8 9\n\xff\xfe;\x1b[2J 1\n");
        assert_eq!(stacks.folded, "a_b_7;c_8 9\n\u{fffd}\u{fffd};_[2J 1\n");
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn whatever_a_file_holds_lines_stay_lines(
            lines in prop::collection::vec(prop_oneof![".{0,40}", "[a-c;]{1,6} [0-9]{1,4}", "(a;){0,600}b 1"], 0..20),
            bytes in prop::collection::vec(any::<u8>(), 0..40),
        ) {
            crate::php_profile::promises::keep(&[lines.join("\n").as_bytes(), &bytes].concat());
        }
    }
}
