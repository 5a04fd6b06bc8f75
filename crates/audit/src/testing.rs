//! Promises of the readers on arbitrary bytes, for the fuzz target and the tests that fuzz a little.

use super::{Context, audit};

/// Reads `data` as an output and as context: no panic, no figure that is no number, no secret, in either case.
///
/// # Panics
/// When a promise is broken.
pub fn fuzz_audit(data: &[u8]) {
    let _ = super::Text::decode(data).map(|text| {
        if let Ok(processes) = super::Processes::read(&text) {
            let rate = Some(100.0);
            let context = Context {
                processes: Some(processes),
                processes_rate_per_s: rate,
                cores: Some(4),
                ..Context::default()
            };
            let limiter = super::limiter::limiter(&context).expect("all of it was given");
            assert!(limiter.ceiling_per_s.is_none_or(f64::is_finite), "{limiter:?}");
        }
        let _ = super::Sockets::read(&text);
        let _ = super::compare(&[], Some(&text));
    });
    let context = Context { expect_size_bytes: Some(2048), nofile: Some(1024), cores: Some(4), ..Context::default() };
    match audit("-", data, &context) {
        Ok(audited) => {
            let record = &audited.record;
            assert!(record.claims.iter().all(|claim| claim.value.is_finite() && claim.value >= 0.0), "{record:?}");
            assert!(record.goodput_per_s.is_none_or(|goodput| goodput.value.is_finite()), "{record:?}");
            for text in [&record.command, &record.url].into_iter().flatten() {
                assert_eq!(model::count_secrets(text), 0, "a secret: {text}");
            }
            let several = super::compare(&[audited.clone(), audited], None);
            assert_eq!(several.audits.len(), 2);
        }
        Err(error) => assert!(!error.to_string().contains('\n'), "{error}"),
    }
}
