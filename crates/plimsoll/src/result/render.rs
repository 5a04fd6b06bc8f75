//! Loads of pages into the record of a page render.

use judge::{RenderClaim, judge_render};
use model::{
    Browser, CacheState, Environment, FORMAT_RENDER, PageLoad, Redacted, RenderArm, RenderEffect, RenderFigure,
    RenderMetric, RenderRecord, RenderSettings,
};
use stats::CONFIDENCE;
use std::collections::BTreeSet;

/// What was measured, and with what.
pub(crate) struct Measured<'a> {
    /// URLs of the pages as they were asked for, the baseline first.
    pub(crate) urls: &'a [String],
    pub(crate) settings: RenderSettings,
    /// In the order made.
    pub(crate) loads: Vec<Redacted<PageLoad>>,
    pub(crate) browser: Browser,
    pub(crate) spent_ns: u64,
    /// True if a server of the pages runs on this machine.
    pub(crate) is_server_here: bool,
    pub(crate) environment: Redacted<Environment>,
    pub(crate) started: String,
    pub(crate) interrupted: bool,
}

/// The record, judged.
pub(crate) fn record(measured: Measured<'_>) -> RenderRecord {
    let loads: Vec<PageLoad> = measured.loads.into_iter().map(Redacted::into_inner).collect();
    let blocks = loads.iter().filter(|load| load.failure.is_none()).map(|load| load.block).collect::<BTreeSet<_>>();
    let claim = RenderClaim { loads: &loads, blocks: blocks.len() as u64, is_server_here: measured.is_server_here };
    let verdict = judge_render(&claim);
    let pages = measured.urls.iter().enumerate();
    let arm = |(arm, url): (usize, &String)| RenderArm {
        url: Redacted::url(url).into_inner(),
        figures: each(|metric, cache| figure(&loads, arm as u64, metric, cache)),
    };
    let effects = match measured.urls {
        [_, _] => each(|metric, cache| effect(&loads, metric, cache, measured.settings.margin)),
        _ => Vec::new(),
    };
    RenderRecord {
        format: FORMAT_RENDER.to_owned(),
        verdict,
        arms: pages.map(arm).collect(),
        effects,
        browser: measured.browser,
        settings: measured.settings,
        spent_ns: measured.spent_ns,
        environment: measured.environment.into_inner(),
        started: measured.started,
        interrupted: measured.interrupted,
        loads,
    }
}

/// What there is of each quantity, cold and warm.
fn each<T>(of: impl Fn(RenderMetric, CacheState) -> Option<T>) -> Vec<T> {
    let of = &of;
    CacheState::ALL
        .iter()
        .flat_map(|cache| RenderMetric::ALL.iter().filter_map(move |metric| of(*metric, *cache)))
        .collect()
}

/// Median over the loads that count; none where no load has a value.
fn figure(loads: &[PageLoad], arm: u64, metric: RenderMetric, cache: CacheState) -> Option<RenderFigure> {
    let of_arm = loads.iter().filter(|load| load.arm == arm && load.cache == cache);
    let values: Vec<f64> = of_arm.filter_map(|load| load.value(metric)).collect();
    (!values.is_empty()).then(|| RenderFigure { metric, cache, median: stats::median_interval(&values) })
}

/// Second page over first, by the blocks that have both; none where no block has, or one of both is always 0.
fn effect(loads: &[PageLoad], metric: RenderMetric, cache: CacheState, margin: f64) -> Option<RenderEffect> {
    let of_arm = |arm: u64| loads.iter().filter(move |load| load.arm == arm && load.cache == cache);
    let partner = |load: &PageLoad| of_arm(1).find(|other| other.block == load.block)?.value(metric);
    let pairs: Vec<(f64, f64)> = of_arm(0).filter_map(|load| Some((load.value(metric)?, partner(load)?))).collect();
    let effect = stats::effect(&pairs, CONFIDENCE)?;
    Some(RenderEffect {
        metric,
        cache,
        primary: metric == RenderMetric::PRIMARY && cache == CacheState::Cold,
        ratio: effect.ratio,
        call: stats::call(&effect.ratio, RenderMetric::WANTED, margin),
        method: effect.method,
        p_value: effect.p_value,
        sd_log: effect.sd_log,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Call, PageFailure, PageFailureKind, VerdictState};

    fn load(block: u64, arm: u64, cache: CacheState, lcp_ms: u64) -> PageLoad {
        PageLoad {
            block,
            arm,
            cache,
            url: Some("http://a.example/?token=abcdefghij".to_owned()),
            status: Some(200),
            redirects: 0,
            ttfb_ns: Some(10_000_000),
            fcp_ns: Some(90_000_000),
            lcp_ns: Some(lcp_ms * 1_000_000),
            load_ns: None,
            transferred_bytes: if cache == CacheState::Cold { 1_000 } else { 0 },
            requests: 3,
            cached_requests: 0,
            failed_requests: 0,
            is_settled: true,
            failure: None,
        }
    }

    fn made(loads: Vec<PageLoad>, urls: &[String]) -> RenderRecord {
        let settings = RenderSettings {
            blocks: 8,
            timeout_ns: 1,
            margin: 0.02,
            seed: 1,
            width_px: 1,
            height_px: 1,
            sandbox: true,
        };
        record(Measured {
            urls,
            settings,
            loads: loads.into_iter().map(Redacted::new).collect(),
            browser: Browser { program: String::new(), version: String::new() },
            spent_ns: 1,
            is_server_here: false,
            environment: Redacted::new(Environment::default()),
            started: String::new(),
            interrupted: false,
        })
    }

    /// Eight blocks in which the second page takes half the time, each block at a level of its own.
    fn halved() -> Vec<PageLoad> {
        let block = |block: u64| {
            let level = 100 + 20 * block;
            CacheState::ALL.map(|cache| [load(block, 0, cache, 2 * level), load(block, 1, cache, level)]).concat()
        };
        (0..8).flat_map(block).collect()
    }

    fn two() -> [String; 2] {
        ["http://a.example/?token=abcdefghij", "http://b.example/"].map(str::to_owned)
    }

    #[test]
    fn medians_and_effects_are_those_of_the_blocks() {
        let record = made(halved(), &two());
        assert_eq!(record.verdict.state, VerdictState::Valid, "{:#?}", record.verdict);
        let lcp = record.arms[1].figures.iter().find(|figure| figure.metric == RenderMetric::LcpNs).unwrap();
        assert_eq!((lcp.cache, lcp.median.value, lcp.median.n), (CacheState::Cold, 170e6, 8));
        assert_eq!((lcp.median.low, lcp.median.high), (Some(100e6), Some(240e6)));
        let primary: Vec<_> = record.effects.iter().filter(|effect| effect.primary).collect();
        assert_eq!((primary.len(), primary[0].call), (1, Call::Better));
        assert!((primary[0].ratio.value - 0.5).abs() < 1e-9, "the level of the blocks cancels: {primary:#?}");
        let requests = record.effects.iter().find(|effect| effect.metric == RenderMetric::Requests).unwrap();
        assert_eq!(requests.call, Call::Same);
        let has = |metric, cache| record.effects.iter().any(|effect| (effect.metric, effect.cache) == (metric, cache));
        assert!(has(RenderMetric::TransferredBytes, CacheState::Cold) && !has(RenderMetric::LoadNs, CacheState::Cold));
        assert!(!has(RenderMetric::TransferredBytes, CacheState::Warm), "there is no ratio to nothing");
    }

    #[test]
    fn a_load_that_failed_is_in_no_figure_and_the_result_invalid() {
        let mut loads = halved();
        loads[0].failure = Some(PageFailure { kind: PageFailureKind::Status, message: "503".to_owned() });
        let record = made(loads, &two());
        assert_eq!(record.verdict.state, VerdictState::Invalid);
        let lcp =
            |arm: usize| record.arms[arm].figures.iter().find(|figure| figure.metric == RenderMetric::LcpNs).unwrap();
        assert_eq!((lcp(0).median.n, lcp(1).median.n), (7, 8));
        assert_eq!(record.effects.iter().find(|effect| effect.primary).unwrap().ratio.n, 7);
    }

    #[test]
    fn one_page_has_no_effects_and_no_secret_of_a_url_is_kept() {
        let record = made(halved().into_iter().filter(|load| load.arm == 0).collect(), &two()[..1]);
        assert!(record.effects.is_empty() && record.arms.len() == 1);
        let json = report::json::render(&record);
        assert!(!json.contains("abcdefghij") && json.contains("http://a.example/?token="), "{json}");
    }
}
