//! Random numbers for secrets, of the kernel.

use rustls::crypto::ring::default_provider;

/// So many bytes; else why there are none.
pub(crate) fn bytes<const N: usize>() -> Result<[u8; N], &'static str> {
    let mut bytes = [0; N];
    let filled = default_provider().secure_random.fill(&mut bytes);
    filled.map(|()| bytes).map_err(|_| "the system gives no random numbers")
}
