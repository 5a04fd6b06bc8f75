//! Loads of a page by a browser: one without fault, and one with the fault of each rule about page renders.

use model::{CacheState, PageFailure, PageFailureKind, PageLoad};

/// The load with the fault of rule `id`, and no other; none where nobody has made one up.
#[must_use]
pub fn page_fault(id: &str) -> Option<PageLoad> {
    let mut load = clean_page();
    match id {
        "RE-01" => fail_page(&mut load, PageFailureKind::Network, "net::ERR_CONNECTION_REFUSED"),
        "RE-02" => fail_page(&mut load, PageFailureKind::Status, "the document has HTTP status 503"),
        "RE-03" => fail_page(&mut load, PageFailureKind::OtherHost, "the document came from https://login.example/"),
        "RE-04" => fail_page(&mut load, PageFailureKind::Blank, "no text and no image was painted"),
        "RE-05" => load.failed_requests = 1,
        "RE-06" => load.is_settled = false,
        // That is where the server runs, which no load tells.
        "RE-07" => {}
        _ => return None,
    }
    Some(load)
}

/// Lets the load fail.
pub fn fail_page(load: &mut PageLoad, kind: PageFailureKind, message: &str) {
    load.failure = Some(PageFailure { kind, message: message.to_owned() });
}

/// A load without fault.
#[must_use]
pub fn clean_page() -> PageLoad {
    PageLoad {
        block: 0,
        arm: 0,
        cache: CacheState::Cold,
        url: Some("https://shop.example/".to_owned()),
        status: Some(200),
        redirects: 0,
        ttfb_ns: Some(50_000_000),
        fcp_ns: Some(200_000_000),
        lcp_ns: Some(300_000_000),
        load_ns: Some(350_000_000),
        transferred_bytes: 100_000,
        requests: 12,
        cached_requests: 0,
        failed_requests: 0,
        is_settled: true,
        failure: None,
    }
}
