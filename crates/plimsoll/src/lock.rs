//! Locks of values that are whole between any two calls, whoever panicked while holding one.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// The value, once nobody else holds it.
pub(crate) fn hold<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
