//! A command line, read word by word: which programs it has named, and what they make of the words that follow.

use super::programs::{ANY_PROGRAM, Program, Told, Value};

/// What the words so far say of those to come.
#[derive(Default)]
pub(super) struct Call {
    /// All of them, as one may start the next, and the name of a user may be that of a program.
    programs: Vec<Named>,
    due: Vec<Due>,
}

struct Named {
    program: &'static Program,
    /// True if what is known of its flags and words holds from here on.
    is_begun: bool,
}

/// A word to come that has a secret.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Due {
    /// The next one.
    Value(Value),
    /// The one behind so many others that are no flags.
    Behind(usize),
}

/// A value with a secret in it.
#[derive(Clone, Copy)]
pub(super) struct Found {
    /// Where it begins in its word.
    pub(super) from: usize,
    pub(super) value: Value,
}

impl Call {
    /// Takes the next word, and says which values it has.
    pub(super) fn read(&mut self, word: &str) -> Vec<Found> {
        let mut found = self.arrived(word);
        self.name(word);
        // As most words of a text are.
        if self.programs.is_empty() && !word.starts_with('-') {
            return found;
        }
        let known = self.programs.iter().filter(|named| named.is_begun).map(|named| named.program);
        for told in [&ANY_PROGRAM].into_iter().chain(known).flat_map(|program| program.told(word)) {
            let due = match told {
                Told::Here { from, value } => {
                    found.push(Found { from, value });
                    continue;
                }
                Told::Next { value } => Due::Value(value),
                Told::Word { place } => Due::Behind(place - 1),
            };
            if !self.due.contains(&due) {
                self.due.push(due);
            }
        }
        found
    }

    /// The values that earlier words said are in this one.
    fn arrived(&mut self, word: &str) -> Vec<Found> {
        let is_flag = word.starts_with('-');
        let mut found = Vec::new();
        self.due.retain_mut(|due| {
            let value = match due {
                Due::Value(_) if word.starts_with("--") => return false,
                Due::Value(value) => *value,
                Due::Behind(_) if is_flag => return true,
                Due::Behind(0) => Value::Whole,
                Due::Behind(others) => {
                    *others -= 1;
                    return true;
                }
            };
            found.push(Found { from: 0, value });
            false
        });
        found
    }

    /// Takes up the programs that have the name in a word.
    fn name(&mut self, word: &str) {
        for named in &mut self.programs {
            named.is_begun |= named.program.is_command(word);
        }
        for program in Program::named(word) {
            if !self.programs.iter().any(|named| std::ptr::eq(named.program, program)) {
                self.programs.push(Named { program, is_begun: program.is_whole() });
            }
        }
    }
}
