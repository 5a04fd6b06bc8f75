//! Promises of the readers of foreign files on arbitrary bytes, for the fuzz targets and the tests that fuzz a little.

use crate::php_profile;
use crate::servers::wordpress::import;

/// Takes `data` as a file of samples of PHP.
///
/// # Panics
/// When a promise is broken.
pub fn fuzz_php_samples(data: &[u8]) {
    php_profile::promises::keep(data);
}

/// Takes `data` as an export of WordPress.
///
/// # Panics
/// When a promise is broken.
pub fn fuzz_wxr(data: &[u8]) {
    import::keep_promises(data);
}
