//! A fixed record of a page render.

use crate::fixtures::valid_run;
use model::{
    Browser, CacheState, Call, EffectMethod, Estimate, FORMAT_RENDER, Finding, FindingState, PageFailure,
    PageFailureKind, PageLoad, RenderArm, RenderEffect, RenderFigure, RenderMetric, RenderRecord, RenderSettings,
    Verdict, VerdictState,
};

const BLOCKS: u64 = 6;

/// Two pages, of which the second has half of the bytes, and one load that failed.
pub(crate) fn render() -> RenderRecord {
    let mut loads: Vec<PageLoad> = (0..BLOCKS)
        .flat_map(|block| (0..2).flat_map(move |arm| CacheState::ALL.map(|cache| load(block, arm, cache))))
        .collect();
    let message = "the document has HTTP status 503".to_owned();
    loads[5].failure = Some(PageFailure { kind: PageFailureKind::Status, message });
    let of = |metric: RenderMetric, cache: CacheState, arm: u64| {
        let value = load(0, arm, cache).value(metric).expect("it counts");
        let median = Estimate { value, low: Some(0.9 * value), high: Some(1.1 * value), n: BLOCKS };
        RenderFigure { metric, cache, median }
    };
    let each = || CacheState::ALL.into_iter().flat_map(|cache| RenderMetric::ALL.map(|metric| (metric, cache)));
    let arm = |arm: u64| RenderArm {
        url: format!("http://127.0.0.1:808{arm}/"),
        figures: each().map(|(metric, cache)| of(metric, cache, arm)).collect(),
    };
    let effect = |(metric, cache): (RenderMetric, CacheState)| {
        let [before, after] = [0, 1].map(|arm| of(metric, cache, arm).median.value);
        let value = after / before;
        RenderEffect {
            metric,
            cache,
            primary: metric == RenderMetric::PRIMARY && cache == CacheState::Cold,
            ratio: Estimate { value, low: Some(0.97 * value), high: Some(1.02 * value), n: BLOCKS },
            call: if value < 0.9 { Call::Better } else { Call::CannotTell },
            method: EffectMethod::PairedT,
            p_value: Some(0.01),
            sd_log: Some(0.02),
        }
    };
    let finding = Finding {
        rule: "RE-05".to_owned(),
        state: FindingState::Warning,
        message: "1 request of the page failed in 1 of 24 loads: what is missing takes no time".to_owned(),
        remedy: "look at the page with the network panel of a browser, and mend what it asks for".to_owned(),
        evidence: Default::default(),
    };
    let findings = vec![finding.clone(), Finding { rule: "RE-07".to_owned(), state: FindingState::Note, ..finding }];
    RenderRecord {
        format: FORMAT_RENDER.to_owned(),
        verdict: Verdict {
            state: VerdictState::Valid,
            findings,
            unchecked: Vec::new(),
            unchecked_why: Default::default(),
        },
        arms: vec![arm(0), arm(1)],
        effects: each().map(effect).collect(),
        browser: Browser { program: "/usr/bin/chromium".to_owned(), version: "Chrome/156.0.8078.79".to_owned() },
        settings: RenderSettings {
            blocks: BLOCKS,
            timeout_ns: 30_000_000_000,
            margin: 0.02,
            seed: 1,
            width_px: 1350,
            height_px: 940,
            sandbox: true,
        },
        loads,
        spent_ns: 32_000_000_000,
        environment: valid_run().environment,
        started: "2026-01-02T03:04:05Z".to_owned(),
        interrupted: false,
    }
}

fn load(block: u64, arm: u64, cache: CacheState) -> PageLoad {
    let (is_cold, is_second) = (cache == CacheState::Cold, arm == 1);
    let ms = |cold: u64, warm: u64| Some((if is_cold { cold } else { warm } + block) * 1_000_000);
    PageLoad {
        block,
        arm,
        cache,
        url: Some(format!("http://127.0.0.1:808{arm}/")),
        status: Some(200),
        redirects: 0,
        ttfb_ns: ms(40, 35),
        fcp_ns: ms(180, 110),
        lcp_ns: if is_second { ms(200, 150) } else { ms(260, 150) },
        load_ns: ms(300, 200),
        transferred_bytes: if is_second { 320_000 } else { 682_000 } / if is_cold { 1 } else { 20 },
        requests: if is_cold { 16 } else { 2 },
        cached_requests: if is_cold { 0 } else { 14 },
        failed_requests: 0,
        is_settled: true,
        failure: None,
    }
}
