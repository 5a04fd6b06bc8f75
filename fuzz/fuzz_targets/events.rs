//! The promises of a replay on arbitrary bytes: events read back, the evidence of them, and what is made of it.

#![no_main]

use model::{Environment, LimiterContext, SweepEvidence, SweepPoint};
use report::record::{peak, point_summary, run_record};
use report::stored::Record;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Some(builder) = evidence::testing::fuzz_events(data) else { return };
    let evidence = builder.evidence();
    let verdict = judge::judge_run(&evidence);
    let limiter = judge::limiter::limiter_of_run(&evidence, &verdict, &LimiterContext::default());
    let mut record = run_record(&evidence, verdict, builder.goodput(), Environment::default(), String::new());
    record.limiter = Some(limiter);
    let _ = peak(&[point_summary(2.0, builder.iterations_per_s(), &record)]);
    let json = report::json::run(&record);
    // Sums may be larger than what a single event may say; nothing else of a record of our own is refused.
    if let Err(error) = Record::parse(&json) {
        assert!(error.contains("no measurement has the number") || error.contains("invalid type: null"), "{error}");
    }
    let point = |load| SweepPoint {
        load,
        goodput_per_s: builder.goodput().value,
        iterations_per_s: builder.iterations_per_s(),
        evidence: evidence.clone(),
    };
    let points = [1.0, 2.0, 4.0].map(point).into();
    let _ = judge::judge_sweep(&SweepEvidence { points, limit: 4.0, over_rate: false });
});
