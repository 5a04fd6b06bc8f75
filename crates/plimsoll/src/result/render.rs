//! Loads of pages into the record of a page render.

use evidence::factors::{differences, of_render};
use judge::{RenderClaim, judge_render};
use model::{
    Browser, CacheState, EffectMethod, Environment, FORMAT_RENDER, Finding, FindingState, PageLoad, Redacted,
    RenderArm, RenderEffect, RenderFigure, RenderMetric, RenderRecord, RenderSettings, Verdict, VerdictState,
};
use stats::CONFIDENCE;
use std::cmp::Reverse;
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

/// Two stored results of one page each, held against each other, with the names of their directories; the baseline first.
///
/// # Errors
/// One line, when they may not be compared.
pub(crate) fn stored_pair(results: [(&str, &RenderRecord); 2], margin: f64) -> Result<RenderRecord, String> {
    for (name, record) in results {
        if record.verdict.state == VerdictState::Invalid {
            return Err(format!(
                "{name}: it is INVALID, and nothing may be compared with it (CP-10); see plimsoll report"
            ));
        }
        if record.arms.len() != 1 {
            let why = "it has two pages, which are compared in it; name results of one page each";
            return Err(format!("{name}: {why}"));
        }
    }
    let [(first, before), (second, after)] = results;
    let apart = differences(&of_render(before, 0), &of_render(after, 0));
    // Another page is what two URLs of one render are.
    if let Some((factor, one, other)) = apart.into_iter().find(|(factor, ..)| factor != "page") {
        return Err(format!(
            "{second} may not be compared with {first} (CP-01): {factor}: {other}, not {one}; measure both alike"
        ));
    }
    let of_second = after.loads.iter().map(|load| PageLoad { arm: 1, ..load.clone() });
    let loads: Vec<PageLoad> = before.loads.iter().cloned().chain(of_second).collect();
    Ok(RenderRecord {
        format: FORMAT_RENDER.to_owned(),
        verdict: both(results),
        arms: [before, after].iter().flat_map(|record| record.arms.iter().cloned()).collect(),
        effects: each(|metric, cache| unpaired(&loads, metric, cache, margin)),
        browser: after.browser.clone(),
        settings: RenderSettings { margin, ..after.settings },
        spent_ns: before.spent_ns + after.spent_ns,
        environment: after.environment.clone(),
        started: after.started.clone(),
        interrupted: before.interrupted || after.interrupted,
        loads,
    })
}

/// What was found of each, and what is not alike in both.
fn both(results: [(&str, &RenderRecord); 2]) -> Verdict {
    let [(_, before), (_, after)] = results;
    let of = |(name, record): (&str, &RenderRecord)| {
        let findings = record.verdict.findings.iter().cloned();
        let name = name.to_owned();
        findings
            .map(move |finding| Finding { message: format!("{name}: {}", finding.message), ..finding })
            .collect::<Vec<_>>()
    };
    let mut findings: Vec<Finding> = results.into_iter().flat_map(of).collect();
    if before.browser.version != after.browser.version {
        findings.push(Finding {
            rule: "CP-01".to_owned(),
            state: FindingState::Warning,
            message: format!(
                "the browser is {} in one and {} in the other: part of the change may be the browser's",
                before.browser.version, after.browser.version
            ),
            remedy: "measure both with the same browser (--browser PATH)".to_owned(),
            evidence: Default::default(),
        });
    }
    findings.sort_by_key(|finding| Reverse(finding.state));
    Verdict { findings, ..after.verdict.clone() }
}

/// Second page over first, of loads that were not made in the same blocks.
fn unpaired(loads: &[PageLoad], metric: RenderMetric, cache: CacheState, margin: f64) -> Option<RenderEffect> {
    let of_arm = |arm: u64| -> Vec<f64> {
        let loads = loads.iter().filter(|load| load.arm == arm && load.cache == cache);
        loads.filter_map(|load| load.value(metric)).collect()
    };
    let ratio = stats::unpaired_ratio(&of_arm(0), &of_arm(1), CONFIDENCE)?;
    Some(RenderEffect {
        metric,
        cache,
        primary: metric == RenderMetric::PRIMARY && cache == CacheState::Cold,
        ratio,
        call: stats::call(&ratio, RenderMetric::WANTED, margin),
        method: EffectMethod::RankSum,
        p_value: None,
        sd_log: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Call, Estimate, PageFailure, PageFailureKind};

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

    fn stored(factor: u64) -> RenderRecord {
        let loads = halved().into_iter().filter(|load| load.arm == 0);
        let scaled = |load: PageLoad| PageLoad { lcp_ns: load.lcp_ns.map(|ns| ns * factor / 10), ..load };
        made(loads.map(scaled).collect(), &two()[..1])
    }

    #[test]
    fn two_stored_results_have_a_change_between_all_of_their_loads() {
        let (before, after) = (stored(10), stored(4));
        let pair = stored_pair([("before", &before), ("after", &after)], 0.02).unwrap();
        assert_eq!((pair.arms.len(), pair.loads.len()), (2, before.loads.len() + after.loads.len()));
        assert_eq!((pair.arms[0].clone(), pair.arms[1].clone()), (before.arms[0].clone(), after.arms[0].clone()));
        let primary: Vec<_> = pair.effects.iter().filter(|effect| effect.primary).collect();
        assert_eq!((primary.len(), primary[0].method, primary[0].call), (1, EffectMethod::RankSum, Call::Better));
        let Estimate { value, low, high, n } = primary[0].ratio;
        assert!((value - 0.4).abs() < 0.02 && n == 8, "{primary:#?}");
        // Levels of the blocks do not cancel here, so that it is wide.
        assert!(low.is_some_and(|low| low < 0.33) && high.is_some_and(|high| high > 0.48), "{primary:#?}");
    }

    #[test]
    fn results_that_were_not_measured_alike_are_not_compared() {
        let before = stored(10);
        let refused = |after: &RenderRecord| stored_pair([("before", &before), ("after", after)], 0.02).unwrap_err();
        let mut narrow = stored(10);
        narrow.settings.width_px = 400;
        let why = "after may not be compared with before (CP-01): window: 400 x 1 pixels, not 1 x 1 pixels";
        assert!(refused(&narrow).starts_with(why), "{}", refused(&narrow));
        assert!(refused(&made(halved(), &two())).contains("it has two pages"));
        let mut failed = halved();
        failed.iter_mut().for_each(|load| {
            load.failure = Some(PageFailure { kind: PageFailureKind::Status, message: "503".to_owned() });
        });
        assert!(refused(&made(failed, &two()[..1])).contains("it is INVALID"));
        let mut newer = stored(10);
        newer.browser.version = "Chrome/157".to_owned();
        let pair = stored_pair([("before", &before), ("after", &newer)], 0.02).unwrap();
        let rules: Vec<_> =
            pair.verdict.findings.iter().map(|finding| (finding.rule.as_str(), finding.state)).collect();
        assert_eq!(rules, [("CP-01", FindingState::Warning)]);
    }
}
