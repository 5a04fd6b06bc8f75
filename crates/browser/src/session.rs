//! A running browser: profiles, and loads of pages in them.

use crate::error::BrowserError;
use crate::events::Event;
use crate::launch::{self, BrowserOptions};
use crate::messages::Message;
use crate::page::{Page, Start};
use crate::pipe::{Answer, Pipe};
use model::{CacheState, NS_PER_S, PageFailureKind, PageLoad, Redacted};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Time that the browser has to start; ns.
const START_NS: u64 = 60 * NS_PER_S;
/// Time that it has for a command that waits for no page; ns.
const COMMAND_NS: u64 = 15 * NS_PER_S;
/// Time that a page has to tell when it began; ns.
const TELL_NS: u64 = 5 * NS_PER_S;
/// How long is waited after the load event for a page that still fetches, or has not painted; ns.
const SETTLE_NS: u64 = 5 * NS_PER_S;
/// Frames and workers of a page that are followed.
const SESSIONS_MAX: usize = 500;

/// A browser without a window; ended when this goes.
pub struct Browser {
    pipe: Pipe,
    /// The browser as its record has it.
    pub about: model::Browser,
}

/// A profile of its own, with nothing cached and no cookie, in memory.
#[derive(Debug)]
pub struct Profile {
    context: String,
}

/// A page and those that belong to it, while it is loaded.
struct Tab {
    target: String,
    /// Its own first, then those of frames of other sites and of workers.
    sessions: Vec<String>,
}

impl Browser {
    /// Starts a browser. `stop` is looked at while it is waited for.
    ///
    /// # Errors
    /// If none is installed, or it does not start.
    pub fn start(options: &BrowserOptions, stop: Arc<AtomicBool>) -> Result<Self, BrowserError> {
        let program = launch::find(options)?;
        let mut pipe = Pipe::new(launch::start(&program, options)?, stop);
        let deadline_ns = clock::monotonic_ns() + START_NS;
        let version = match pipe.call(None, "Browser.getVersion", json!({}), deadline_ns)? {
            Answer::Result(version) => text(&version, "product")?.to_owned(),
            Answer::Refused(why) => return Err(BrowserError::Ended(format!("does not tell its version: {why}"))),
            Answer::Late => return Err(BrowserError::Ended(format!("did not start in {} s", START_NS / NS_PER_S))),
        };
        let about = model::Browser { program: program.display().to_string(), version };
        Ok(Self { pipe, about })
    }

    /// A new profile.
    ///
    /// # Errors
    /// If the browser is gone or refuses it.
    pub fn profile(&mut self) -> Result<Profile, BrowserError> {
        let made = self.command(None, "Target.createBrowserContext", json!({ "disposeOnDetach": true }))?;
        let context = text(&made, "browserContextId")?.to_owned();
        // A page that is a download is none.
        let deny = json!({ "behavior": "deny", "browserContextId": context });
        self.command(None, "Browser.setDownloadBehavior", deny)?;
        Ok(Profile { context })
    }

    /// Forgets a profile.
    ///
    /// # Errors
    /// If the browser is gone or refuses it.
    pub fn dispose(&mut self, profile: Profile) -> Result<(), BrowserError> {
        let context = json!({ "browserContextId": profile.context });
        self.command(None, "Target.disposeBrowserContext", context)?;
        self.pipe.forget();
        Ok(())
    }

    /// Loads `url` in a new tab of `profile`, which is closed again; a load may take `timeout_ns`. Its block and page are 0. What
    /// is wrong with the page is told in the load.
    ///
    /// # Errors
    /// If the browser is gone.
    pub fn load(
        &mut self,
        profile: &Profile,
        url: &str,
        cache: CacheState,
        timeout_ns: u64,
    ) -> Result<Redacted<PageLoad>, BrowserError> {
        let mut tab = self.open(profile)?;
        let mut page = Page::new(url, &tab.target);
        let deadline_ns = clock::monotonic_ns().saturating_add(timeout_ns);
        let navigation = self.pipe.send(Some(&tab.sessions[0]), "Page.navigate", json!({ "url": url }), deadline_ns)?;
        self.follow(&mut page, &mut tab, navigation, deadline_ns)?;
        let start = if page.is_loaded() { self.began(&tab)? } else { None };
        self.command(None, "Target.closeTarget", json!({ "targetId": tab.target }))?;
        self.pipe.forget();
        Ok(Redacted::new(page.end(cache, start)))
    }

    /// Ends it in good order.
    pub fn close(self) {
        self.pipe.close();
    }

    /// A tab with an empty page, whose events are sent.
    fn open(&mut self, profile: &Profile) -> Result<Tab, BrowserError> {
        let wanted = json!({ "url": "about:blank", "browserContextId": profile.context });
        let made = self.command(None, "Target.createTarget", wanted)?;
        let target = text(&made, "targetId")?.to_owned();
        let attached = self.command(None, "Target.attachToTarget", json!({ "targetId": target, "flatten": true }))?;
        let session = text(&attached, "sessionId")?.to_owned();
        let paints = json!({ "eventTypes": ["largest-contentful-paint"] });
        for (method, params) in [
            ("Page.enable", json!({})),
            ("Network.enable", no_bodies()),
            ("Performance.enable", json!({})),
            ("PerformanceTimeline.enable", paints),
            ("Page.setLifecycleEventsEnabled", json!({ "enabled": true })),
            ("Target.setAutoAttach", auto_attach()),
        ] {
            self.command(Some(&session), method, params)?;
        }
        Ok(Tab { target, sessions: vec![session] })
    }

    /// Takes in events until the page is complete, or its time is over.
    fn follow(
        &mut self,
        page: &mut Page,
        tab: &mut Tab,
        navigation: u64,
        deadline_ns: u64,
    ) -> Result<(), BrowserError> {
        let mut until_ns = deadline_ns;
        let mut was_loaded = false;
        while !page.is_complete() {
            let Some(message) = self.pipe.next(until_ns)? else { return Ok(()) };
            let is_own = message.session.as_ref().is_some_and(|session| tab.sessions.contains(session));
            match message {
                Message { id: Some(id), result, error, .. } if id == navigation => {
                    let refused = error.map(|error| error.message);
                    let why = refused.as_deref().or_else(|| result["errorText"].as_str());
                    page.on_navigation(why, result["isDownload"].as_bool() == Some(true));
                }
                Message { id: None, .. } if is_own => match Event::read(message) {
                    Ok(event) => self.take(page, tab, &event, deadline_ns)?,
                    Err(why) => page.fail(PageFailureKind::Browser, &format!("the browser {why}")),
                },
                _ => {}
            }
            if page.is_loaded() && !std::mem::replace(&mut was_loaded, page.is_loaded()) {
                until_ns = deadline_ns.min(clock::monotonic_ns() + SETTLE_NS);
            }
        }
        Ok(())
    }

    /// Takes in an event, and does by the deadline of the page what follows of it.
    fn take(&mut self, page: &mut Page, tab: &mut Tab, event: &Event, deadline_ns: u64) -> Result<(), BrowserError> {
        page.on_event(event);
        match event {
            // It waits until it is told to go on, so that no request of it is missed.
            Event::Attached(attached) if tab.sessions.len() < SESSIONS_MAX => {
                let session = Some(attached.session_id.as_str());
                self.pipe.send(session, "Network.enable", no_bodies(), deadline_ns)?;
                self.pipe.send(session, "Target.setAutoAttach", auto_attach(), deadline_ns)?;
                self.pipe.send(session, "Runtime.runIfWaitingForDebugger", json!({}), deadline_ns)?;
                tab.sessions.push(attached.session_id.clone());
            }
            Event::Attached(_) => {
                let why = format!("the page has more than {SESSIONS_MAX} frames and workers");
                page.fail(PageFailureKind::TooLarge, &why);
            }
            Event::DialogOpened => {
                let session = Some(tab.sessions[0].as_str());
                self.pipe.send(session, "Page.handleJavaScriptDialog", json!({ "accept": false }), deadline_ns)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// When the navigation began; none where the page is gone or too busy to tell.
    fn began(&mut self, tab: &Tab) -> Result<Option<Start>, BrowserError> {
        let Some(metrics) = self.ask(tab, "Performance.getMetrics", json!({}))? else { return Ok(None) };
        let mut all = metrics["metrics"].as_array().into_iter().flatten();
        let Some(monotonic_s) =
            all.find(|metric| metric["name"] == "NavigationStart").and_then(|metric| metric["value"].as_f64())
        else {
            return Ok(None);
        };
        // In a world of its own, where no script of the page can answer in its place.
        let world = self.ask(tab, "Page.createIsolatedWorld", json!({ "frameId": tab.target }))?;
        let wall_ms = match world.and_then(|world| world["executionContextId"].as_i64()) {
            Some(context) => {
                let origin =
                    json!({ "expression": "performance.timeOrigin", "contextId": context, "returnByValue": true });
                self.ask(tab, "Runtime.evaluate", origin)?.and_then(|told| told["result"]["value"].as_f64())
            }
            None => None,
        };
        Ok(Some(Start { monotonic_s, wall_s: wall_ms.map(|ms| ms / 1e3) }))
    }

    /// The answer of a page; none where it does not give one.
    fn ask(&mut self, tab: &Tab, method: &str, params: Value) -> Result<Option<Value>, BrowserError> {
        match self.pipe.call(Some(&tab.sessions[0]), method, params, clock::monotonic_ns() + TELL_NS)? {
            Answer::Result(result) => Ok(Some(result)),
            Answer::Refused(_) | Answer::Late => Ok(None),
        }
    }

    /// The answer to a command that the browser cannot but answer.
    fn command(&mut self, session: Option<&str>, method: &str, params: Value) -> Result<Value, BrowserError> {
        match self.pipe.call(session, method, params, clock::monotonic_ns() + COMMAND_NS)? {
            Answer::Result(result) => Ok(result),
            Answer::Refused(why) => Err(BrowserError::Ended(format!("refuses {method}: {why}"))),
            Answer::Late => Err(BrowserError::Ended(format!("did not answer to {method}"))),
        }
    }
}

/// Parameters of `Network.enable`: no body is kept for us.
fn no_bodies() -> Value {
    json!({ "maxTotalBufferSize": 0, "maxResourceBufferSize": 0, "maxPostDataSize": 0 })
}

/// Parameters of `Target.setAutoAttach`: frames of other sites and workers have sessions of their own.
fn auto_attach() -> Value {
    json!({ "autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true })
}

fn text<'a>(answer: &'a Value, key: &str) -> Result<&'a str, BrowserError> {
    answer[key].as_str().ok_or_else(|| BrowserError::Ended(format!("answered without {key}")))
}
