//! Connections of one worker by token: a token names one connection for all time, also when its place is taken
//! by another.

/// Places with a generation; a token is `generation << 32 | place`.
#[derive(Debug)]
pub(super) struct Slab<T> {
    places: Vec<(u32, Option<Box<T>>)>,
    free: Vec<u32>,
}

impl<T> Slab<T> {
    pub(super) const fn new() -> Self {
        Self { places: Vec::new(), free: Vec::new() }
    }

    /// The token the next [`Slab::put`] of a newcomer has to use.
    pub(super) fn reserve(&mut self) -> u64 {
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push((0, None));
            u32::try_from(self.places.len() - 1).expect("connections are bounded by a u32")
        });
        u64::from(self.places[place as usize].0) << 32 | u64::from(place)
    }

    /// Puts (back) what `token` names.
    pub(super) fn put(&mut self, token: u64, value: Box<T>) {
        self.places[place(token)].1 = Some(value);
    }

    /// Takes out what `token` names, if it is still there, to work with it. It is then put back or forgotten.
    pub(super) fn take(&mut self, token: u64) -> Option<Box<T>> {
        let (generation, value) = self.places.get_mut(place(token))?;
        if u64::from(*generation) == token >> 32 { value.take() } else { None }
    }

    /// Ends a token that was reserved or taken out; its place may be used again.
    pub(super) fn forget(&mut self, token: u64) {
        let (generation, value) = &mut self.places[place(token)];
        *generation = generation.wrapping_add(1);
        *value = None;
        self.free.push(place(token) as u32);
    }
}

const fn place(token: u64) -> usize {
    (token & 0xffff_ffff) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_never_names_the_next_in_its_place() {
        let mut slab = Slab::new();
        let first = slab.reserve();
        slab.put(first, Box::new('a'));
        assert_eq!(slab.take(first), Some(Box::new('a')));
        slab.forget(first);
        let second = slab.reserve();
        slab.put(second, Box::new('b'));
        assert_eq!(first & 0xffff_ffff, second & 0xffff_ffff);
        assert_eq!((slab.take(first), slab.take(second)), (None, Some(Box::new('b'))));
        assert_eq!(slab.take(99), None);
    }
}
