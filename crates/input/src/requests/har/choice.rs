//! Which requests of a recording are taken: those to one server, as far as they are no redirects and can be sent whole.

use super::super::method;
use super::format::{Entry, Log};
use crate::TargetUrl;
use model::{Recording, Request};
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use url::Url;

/// Redirects that are followed from a request to the page.
const REDIRECTS_MAX: usize = 20;

/// The requests to take.
pub(super) struct Choice<'a> {
    /// The server that they went to.
    pub(super) server: TargetUrl,
    pub(super) taken: Vec<Answered<'a>>,
    /// What was taken and left out, in numbers.
    pub(super) counts: Recording,
}

/// A request that was answered and can be repeated, and where it went.
pub(super) struct Answered<'a> {
    pub(super) place: TargetUrl,
    pub(super) entry: &'a Entry<'a>,
}

/// Why a request is not sent, whatever its server is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unfit {
    Redirect,
    WithoutBody,
}

impl<'a> Choice<'a> {
    /// Chooses among the answered requests, with `url` as the server on the command line.
    pub(super) fn of(log: &'a Log<'a>, url: Option<&TargetUrl>) -> Result<Self, String> {
        let mut asked = HashSet::new();
        let answered: Vec<Answered<'a>> = log.entries.iter().filter_map(Answered::of).collect();
        // A new visitor asks once for what the cache had: again it asks nobody.
        let is_asked = |one: &Answered<'a>| asked.insert(one.place.url.clone()) || one.entry.cache.is_none();
        let answered: Vec<Answered<'a>> = answered.into_iter().filter(is_asked).collect();
        if answered.is_empty() {
            return Err("no answered http or https request is in it".into());
        }
        let links = Links::of(&answered);
        let page = links.page(first_page(log));
        let unfit: Vec<Option<Unfit>> = (0..answered.len()).map(|at| links.unfit(at, page)).collect();
        let fit = answered.iter().zip(&unfit).filter(|(_, unfit)| unfit.is_none()).map(|(one, _)| &one.place);
        let server = server(&fit.collect::<Vec<_>>(), url, page.map(|at| &answered[at].place));
        let (mut taken, mut counts) =
            (Vec::new(), Recording { recorded: answered.len() as u64, ..Recording::default() });
        for (one, unfit) in answered.into_iter().zip(unfit) {
            match unfit {
                _ if server.as_ref().is_some_and(|server| !one.place.is_same_server(server)) => {
                    counts.other_servers += 1
                }
                Some(Unfit::Redirect) => counts.redirects += 1,
                Some(Unfit::WithoutBody) => counts.without_body += 1,
                None => taken.push(one),
            }
        }
        let left_out =
            || format!("no request in it can be sent again: it has {}", counts.left_out().unwrap_or_default());
        let server = server.ok_or_else(left_out)?;
        (counts.origin, counts.taken) = (server.origin(), taken.len() as u64);
        Ok(Self { server, taken, counts })
    }
}

/// The server of `url` if any request that is `fit` to be sent went there, else that of the page, else the one that was asked most
/// often; none if no request is fit.
fn server(fit: &[&TargetUrl], url: Option<&TargetUrl>, page: Option<&TargetUrl>) -> Option<TargetUrl> {
    let is_asked = |server: &&TargetUrl| fit.iter().any(|place| place.is_same_server(server));
    url.filter(is_asked).or_else(|| page.filter(is_asked)).or_else(|| asked_most(fit)).cloned()
}

impl<'a> Answered<'a> {
    /// None when it cannot be repeated: not http, not answered, a tunnel, or with a method that is none, which would become
    /// another request on the wire.
    fn of(entry: &'a Entry<'a>) -> Option<Self> {
        let is_sent = method(&entry.request.method).is_ok();
        let is_answered = (200..600).contains(&entry.response.status);
        // Browsers leave fragments in; they are not sent.
        let url = entry.request.url.split('#').next()?;
        if !is_sent || !is_answered || !url.starts_with("http") {
            return None;
        }
        Some(Self { place: TargetUrl::parse(url).ok()?, entry })
    }

    /// Where its answer leads: the URL as it was recorded of the request there.
    fn redirect(&self) -> Option<String> {
        let told = self.entry.response.redirect.as_deref().filter(|told| !told.is_empty())?;
        let mut url = Url::parse(&self.place.url).ok()?.join(told).ok()?;
        url.set_fragment(None);
        TargetUrl::parse(url.as_str()).ok().map(|url| url.url)
    }

    /// True if its method changes nothing on the server.
    fn is_safe(&self) -> bool {
        let method = self.entry.request.method.to_ascii_uppercase();
        Request { method, ..Request::get("/") }.is_safe()
    }
}

/// How the requests of a recording lead to each other by redirects.
struct Links<'r, 'a> {
    answered: &'r [Answered<'a>],
    by_url: HashMap<&'r str, usize>,
}

impl<'r, 'a> Links<'r, 'a> {
    fn of(answered: &'r [Answered<'a>]) -> Self {
        let mut by_url = HashMap::new();
        for (at, one) in answered.iter().enumerate() {
            let found = by_url.entry(one.place.url.as_str()).or_insert(at);
            // A page may redirect to itself, with a cookie for example: the answer comes with the last of them.
            if answered[*found].entry.response.is_redirect() {
                *found = at;
            }
        }
        Self { answered, by_url }
    }

    /// Where the redirects end that begin at a request: at itself if it has an answer; none where that was not recorded.
    fn end(&self, from: usize) -> Option<usize> {
        let mut at = from;
        for _ in 0..REDIRECTS_MAX {
            if !self.answered[at].entry.response.is_redirect() {
                return Some(at);
            }
            at = *self.by_url.get(self.answered[at].redirect()?.as_str())?;
        }
        None
    }

    /// The page: what the first request of `page` that is for one has led to, or else the first request at all.
    fn page(&self, page: Option<&str>) -> Option<usize> {
        let ends = |is_of: &dyn Fn(&Entry<'_>) -> bool| {
            let all = (0..self.answered.len()).filter(|at| is_of(self.answered[*at].entry));
            all.filter_map(|at| self.end(at)).find(|end| self.answered[*end].entry.response.is_page())
        };
        let of_page = page.and_then(|id| ends(&|entry| entry.page.as_deref() == Some(id)));
        of_page.or_else(|| ends(&|_| true))
    }

    /// Why a request is not to be sent. A redirect has an answer that is fast and empty: it is measured where changing something
    /// on the server is answered by one, but neither in place of the page nor of anything else that was only asked for.
    fn unfit(&self, at: usize, page: Option<usize>) -> Option<Unfit> {
        let one = &self.answered[at];
        if one.entry.response.is_redirect() && (one.is_safe() || page.is_some() && self.end(at) == page) {
            return Some(Unfit::Redirect);
        }
        one.entry.request.lacks_body().then_some(Unfit::WithoutBody)
    }
}

/// Id of the first page of a recording, if any request is a part of it.
fn first_page<'a>(log: &'a Log<'_>) -> Option<&'a str> {
    log.pages.as_ref()?.first().map(|page| page.id.as_ref())
}

/// The server that was asked most often; of several the one that was asked first.
fn asked_most<'r>(places: &[&'r TargetUrl]) -> Option<&'r TargetUrl> {
    let mut counts: HashMap<String, (usize, usize, &TargetUrl)> = HashMap::new();
    for (at, place) in places.iter().copied().enumerate() {
        counts.entry(place.origin().to_ascii_lowercase()).or_insert((0, at, place)).0 += 1;
    }
    counts.into_values().max_by_key(|(count, first, _)| (*count, Reverse(*first))).map(|(.., place)| place)
}
