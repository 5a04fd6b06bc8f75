//! `plimsoll render`: a page in a browser, cold and warm; two pages against each other.

use crate::cli::render::RenderArgs;
use crate::environment;
use crate::environment::is_local;
use crate::exit::{CommandError, Exit};
use crate::interrupt;
use crate::output::progress::Progress;
use crate::result::render::{Measured, record};
use crate::serving;
use crate::settings;
use crate::settings::compare::share;
use crate::settings::target_url::{TargetUrl, resolve};
use crate::store;
use crate::verbs::deliver::deliver;
use crate::verbs::exit_code::exit_code;
use browser::{Browser, BrowserError, BrowserOptions, HEIGHT_PX, WIDTH_PX};
use clock::Clock;
use model::{CacheState, NS_PER_S, PageLoad, Protocol, Redacted, RenderSettings};
use report::record::AnyRecord;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Most blocks.
const BLOCKS_MAX: u64 = 1_000;
/// Shortest and longest `--timeout`; ns.
const TIMEOUT_NS: std::ops::RangeInclusive<u64> = NS_PER_S..=600 * NS_PER_S;
/// Seed of the order in the blocks: the same for all, as it is to be no choice.
const SEED: u64 = 1;
/// Failed loads after which no more are made: the result is invalid already, and each may take the whole timeout.
const FAILED_MAX: usize = 3;

pub(crate) fn render(args: &RenderArgs) -> Result<Exit, CommandError> {
    let checked = Checked::new(args)?;
    let stop = interrupt::watch()?;
    let is_server_here = checked.is_server_here()?;
    let started = clock::wall_clock();
    let progress = Progress::new(args.output.quiet);
    progress.say("starting the browser");
    // Whatever is wrong with the place of the result is told before the loads, which take minutes.
    let create = || store::create(args.output.output.as_deref(), "render", &started);
    let measured = measure(&checked, create, &stop, &progress);
    progress.end();
    let Blocks { loads, browser, directory, spent_ns, interrupted } = measured?;
    let measured = Measured {
        urls: &checked.urls,
        settings: checked.settings,
        loads,
        browser,
        spent_ns,
        is_server_here,
        environment: Redacted::new(environment::describe()),
        started: started.clone(),
        interrupted,
    };
    let record = record(measured);
    deliver(&directory, AnyRecord::Render(&record), None, &args.output)?;
    Ok(exit_code(AnyRecord::Render(&record)))
}

/// What was asked for, checked before a browser is started.
struct Checked {
    urls: Vec<String>,
    settings: RenderSettings,
    options: BrowserOptions,
}

impl Checked {
    fn new(args: &RenderArgs) -> Result<Self, CommandError> {
        let url = |text: &String| {
            let url = TargetUrl::parse(text)?;
            match url.protocol() {
                Protocol::Http1 => Ok(url.url),
                _ => Err(CommandError::usage("render is for http:// and https:// URLs")),
            }
        };
        let urls = args.urls.iter().map(url).collect::<Result<Vec<_>, _>>()?;
        if !TIMEOUT_NS.contains(&args.timeout.ns) {
            return Err(CommandError::usage(format!("--timeout {} is not between 1s and 10m", args.timeout)));
        }
        let settings = RenderSettings {
            blocks: settings::in_range("--blocks", args.blocks, 1, BLOCKS_MAX)?,
            timeout_ns: args.timeout.ns,
            margin: share("--margin", &args.margin)?,
            seed: SEED,
            width_px: WIDTH_PX,
            height_px: HEIGHT_PX,
            sandbox: !args.no_sandbox,
        };
        let options = BrowserOptions {
            supervisor: serving::supervisor(&serving::own_program()?),
            program: args.browser.clone(),
            no_sandbox: args.no_sandbox,
            insecure: args.insecure,
        };
        Ok(Self { urls, settings, options })
    }

    /// True if a server of the pages is on this machine.
    fn is_server_here(&self) -> Result<bool, CommandError> {
        let mut is_here = false;
        for url in &self.urls {
            let TargetUrl { host, port, .. } = TargetUrl::parse(url)?;
            is_here |= resolve(&host, port)?.iter().any(is_local);
        }
        Ok(is_here)
    }
}

/// What was measured in the blocks.
struct Blocks {
    loads: Vec<Redacted<PageLoad>>,
    browser: model::Browser,
    /// Where the result goes.
    directory: PathBuf,
    spent_ns: u64,
    interrupted: bool,
}

fn measure(
    checked: &Checked,
    create: impl FnOnce() -> Result<PathBuf, CommandError>,
    stop: &Arc<AtomicBool>,
    progress: &Progress,
) -> Result<Blocks, CommandError> {
    let mut browser = Browser::start(&checked.options, Arc::clone(stop)).map_err(command_error)?;
    let directory = match create() {
        Ok(directory) => directory,
        Err(error) => {
            browser.close();
            return Err(error);
        }
    };
    let clock = Clock::start();
    let mut loads = Vec::new();
    let walked = walk(checked, &mut browser, progress, &mut loads);
    let (about, spent_ns) = (browser.about.clone(), clock.now_ns());
    browser.close();
    let interrupted = match walked {
        Ok(()) => false,
        Err(BrowserError::Interrupted) if !loads.is_empty() => true,
        Err(error) => return Err(command_error(error)),
    };
    Ok(Blocks { loads, browser: about, directory, spent_ns, interrupted })
}

/// Measures block after block; only whole blocks are in `loads`.
fn walk(
    checked: &Checked,
    browser: &mut Browser,
    progress: &Progress,
    loads: &mut Vec<Redacted<PageLoad>>,
) -> Result<(), BrowserError> {
    let pages: Vec<usize> = (0..checked.urls.len()).collect();
    // What a browser does for the first time, and a server, belongs to no page. One that fails here is the result.
    for page in &pages {
        progress.say("first load, not counted");
        let first = visit(checked, browser, 0, *page, &[CacheState::Cold])?;
        loads.extend(first.into_iter().filter(|load| load.failure.is_some()));
    }
    if !loads.is_empty() {
        return Ok(());
    }
    let orders = stats::shuffled_blocks(&pages, checked.settings.blocks as usize, checked.settings.seed);
    for (block, order) in orders.into_iter().enumerate() {
        let mut of_block = Vec::new();
        for page in order {
            progress.say(&format!("block {} of {}, page {}", block + 1, checked.settings.blocks, page + 1));
            of_block.extend(visit(checked, browser, block as u64, page, &CacheState::ALL)?);
        }
        loads.extend(of_block);
        if loads.iter().filter(|load| load.failure.is_some()).count() >= FAILED_MAX {
            break;
        }
    }
    Ok(())
}

/// Loads a page in a new profile, once for each state of the cache.
fn visit(
    checked: &Checked,
    browser: &mut Browser,
    block: u64,
    page: usize,
    caches: &[CacheState],
) -> Result<Vec<Redacted<PageLoad>>, BrowserError> {
    let profile = browser.profile()?;
    let mut loads = Vec::new();
    for cache in caches {
        let load = browser.load(&profile, &checked.urls[page], *cache, checked.settings.timeout_ns)?.into_inner();
        loads.push(Redacted::new(PageLoad { block, arm: page as u64, ..load }));
    }
    browser.dispose(profile)?;
    Ok(loads)
}

fn command_error(error: BrowserError) -> CommandError {
    match error {
        BrowserError::Interrupted => CommandError::interrupted(),
        error => CommandError::usage(Redacted::text(&error.to_string())),
    }
}
