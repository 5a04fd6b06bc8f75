//! Maps whose names come from another machine: one that makes them up takes no memory beyond a bound.

use std::borrow::Borrow;
use std::collections::BTreeMap;

/// What stands under a name, which is new with `none`; nothing of a new name where there are `max`.
pub(super) fn kept<'a, K, Q, V>(of: &'a mut BTreeMap<K, V>, name: &Q, max: usize, none: V) -> Option<&'a mut V>
where
    K: Borrow<Q> + Ord,
    Q: ToOwned<Owned = K> + Ord + ?Sized,
{
    if of.len() >= max && !of.contains_key(name) {
        return None;
    }
    Some(of.entry(name.to_owned()).or_insert(none))
}
