//! Connections of one worker by token: a token names one connection for all time, also when its place is taken
//! by another.

use super::deadlines::Due;

/// Places with a generation; a token is `generation << 32 | place`.
#[derive(Debug)]
pub(super) struct Slab<T> {
    places: Vec<Place<T>>,
    free: Vec<u32>,
}

/// Room for one. When it is due stands beside it and not in it, so that a look at all of them reads memory in a row.
#[derive(Debug)]
struct Place<T> {
    generation: u32,
    due: Due,
    value: Option<Box<T>>,
}

impl<T> Slab<T> {
    pub(super) const fn new() -> Self {
        Self { places: Vec::new(), free: Vec::new() }
    }

    /// The token the next [`Slab::put`] of a newcomer has to use.
    pub(super) fn reserve(&mut self) -> u64 {
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push(Place { generation: 0, due: Due::NEVER, value: None });
            u32::try_from(self.places.len() - 1).expect("connections are bounded by a u32")
        });
        u64::from(self.places[place as usize].generation) << 32 | u64::from(place)
    }

    /// Puts (back) what `token` names.
    pub(super) fn put(&mut self, token: u64, value: Box<T>, due: Due) {
        let place = &mut self.places[place(token)];
        (place.value, place.due) = (Some(value), due);
    }

    /// Takes out what `token` names, if it is still there, to work with it. It is then put back or forgotten.
    pub(super) fn take(&mut self, token: u64) -> Option<Box<T>> {
        let place = self.places.get_mut(place(token))?;
        if u64::from(place.generation) == token >> 32 { place.value.take() } else { None }
    }

    /// Tokens of all that are there and due.
    pub(super) fn overdue(&self, now_ns: u64, crowded: bool) -> impl Iterator<Item = u64> {
        let places = self.places.iter().zip(0u64..);
        let over = places.filter(move |(place, _)| place.value.is_some() && place.due.is_over(now_ns, crowded));
        over.map(|(place, index)| u64::from(place.generation) << 32 | index)
    }

    /// Ends a token that was reserved or taken out; its place may be used again.
    pub(super) fn forget(&mut self, token: u64) {
        let freed = &mut self.places[place(token)];
        freed.generation = freed.generation.wrapping_add(1);
        freed.value = None;
        self.free.push(place(token) as u32);
    }
}

const fn place(token: u64) -> usize {
    (token & 0xffff_ffff) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deadlines::{Deadlines, Waits};

    #[test]
    fn a_token_never_names_the_next_in_its_place() {
        let mut slab = Slab::new();
        let first = slab.reserve();
        slab.put(first, Box::new('a'), Due::NEVER);
        assert_eq!(slab.take(first), Some(Box::new('a')));
        slab.forget(first);
        let second = slab.reserve();
        slab.put(second, Box::new('b'), Due::NEVER);
        assert_eq!(first & 0xffff_ffff, second & 0xffff_ffff);
        assert_eq!((slab.take(first), slab.take(second)), (None, Some(Box::new('b'))));
        assert_eq!(slab.take(99), None);
    }

    #[test]
    fn only_what_is_there_is_overdue_and_by_its_own_token() {
        let deadlines = Deadlines { idle_ns: 100, crowded_ns: 10, ..Deadlines::default() };
        let due = |since_ns| deadlines.due(Waits::Idle { since_ns });
        let mut slab = Slab::new();
        let gone = slab.reserve();
        slab.put(gone, Box::new('x'), due(0));
        slab.forget(gone);
        let [early, late, taken] = [5, 50, 5].map(|since_ns| {
            let token = slab.reserve();
            slab.put(token, Box::new('a'), due(since_ns));
            token
        });
        assert_eq!(slab.take(taken), Some(Box::new('a')));
        let overdue = |now_ns, crowded| slab.overdue(now_ns, crowded).collect::<Vec<_>>();
        assert!(overdue(104, false).is_empty());
        assert_eq!((overdue(105, false), overdue(150, false)), (vec![early], vec![early, late]));
        assert_eq!((overdue(15, true), overdue(60, true)), (vec![early], vec![early, late]));
    }
}
