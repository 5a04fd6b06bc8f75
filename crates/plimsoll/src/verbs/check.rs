//! `plimsoll check`: what would spoil a measurement, told before it.

use crate::cli::check::CheckArgs;
use crate::cli::{ArrivalsArg, RequestArgs};
use crate::environment;
use crate::exit::{CommandError, Exit};
use crate::interrupt;
use crate::output::printer;
use crate::output::progress::Progress;
use crate::serving;
use crate::session::status::ask_once;
use crate::session::watch::{self, Watched};
use crate::session::{Session, SessionOptions};
use crate::settings::draft::Draft;
use crate::settings::redirects;
use crate::settings::selectors::Selectors;
use crate::settings::status_source::Source;
use crate::settings::target_url::TargetUrl;
use crate::verbs::measured::plain_session;
use crate::verbs::run;
use engine::probe;
use judge::check::{Machine, machine, page, sort, target, worst};
use model::{
    Address, CheckRecord, CheckRow, CheckState, Environment, FORMAT_CHECK, Load, NS_PER_S, Numbering, Plan, Protocol,
    Redacted, Stop, TargetCheck, Warmup,
};
use observe::Backends;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The window and warm-up of a measurement, which matter to nothing that is looked at.
const UNTIL: Stop = Stop::Duration { duration_ns: NS_PER_S };
const WARMUP: Warmup = Warmup::Fixed { duration_ns: 0 };
/// Stands for a server on this machine where none is named.
const HERE: &str = "http://127.0.0.1/";
/// The default of `--timeout`.
const TIMEOUT_NS: u64 = 5 * NS_PER_S;
/// The row about redirects.
const REDIRECT: &str = "redirect";

pub(crate) fn check(args: &CheckArgs) -> Result<Exit, CommandError> {
    let load = run::load(args.connections, args.rate, ArrivalsArg::Poisson, args.request.pipeline)?;
    let stop = interrupt::watch()?;
    let is_named = args.url.is_some() || args.serve.is_some();
    let looked = match is_named || args.request.urls.is_some() || args.request.har.is_some() {
        true => of_target(args, load, &stop)?,
        false => of_machine(args, load)?,
    };
    if stop.load(Ordering::Relaxed) {
        return Err(CommandError::interrupted());
    }
    let Looked { mut rows, target, environment, started } = looked;
    sort(&mut rows);
    let state = worst(&rows);
    let record = CheckRecord { format: FORMAT_CHECK.into(), state, rows, target, environment, started };
    match args.json {
        true => printer::data(&report::json::check(&record))?,
        false => printer::result(&report::terminal::check(&record, &printer::style()))?,
    }
    Ok(if record.state == CheckState::Invalid { Exit::Invalid } else { Exit::Fine })
}

/// What a look has brought.
struct Looked {
    rows: Vec<CheckRow>,
    target: Option<TargetCheck>,
    environment: Environment,
    started: String,
}

fn of_machine(args: &CheckArgs, load: Load) -> Result<Looked, CommandError> {
    only_with_a_target(&args.request, args.observe.has_https_pages())?;
    if args.no_burst {
        return Err(CommandError::usage("--no-burst needs a URL: without one only this machine is looked at"));
    }
    let started = clock::wall_clock();
    let url = TargetUrl::parse(HERE)?;
    let draft = Draft::new(&args.request, &args.generator)?.beside(&args.observe);
    let settings = draft.settings(&url, None)?;
    let address = Address::Tcp(([127, 0, 0, 1], url.port).into());
    let plan = settings.plan(&url, &address, Numbering::default(), load, UNTIL, WARMUP);
    let Selectors { server, observe, status } = Selectors::read(&args.observe, &draft.trust_of_pages()?)?;
    // Nobody is asked for who listens there: it is no server.
    let watched = Watched {
        is_load_here: true,
        keeps_account: true,
        address,
        is_here: false,
        server,
        product: None,
        companions: watch::companions([], &observe),
        backends: Backends::default(),
        neighbours: Vec::new(),
        takes_turns: false,
    };
    let progress = Progress::new(args.quiet);
    progress.say("looking at this machine");
    let samples = watched.idle();
    let fingerprint = watched.fingerprint().fingerprint;
    let asked = pages(&status);
    progress.end();
    let mut rows =
        machine(&Machine { plan: &plan, is_target_here: true, fingerprint: &fingerprint, samples: &samples });
    rows.extend(asked);
    let environment = Environment { fingerprint: Some(fingerprint), ..environment::describe() };
    Ok(Looked { rows, target: None, environment, started })
}

fn of_target(args: &CheckArgs, load: Load, stop: &Arc<AtomicBool>) -> Result<Looked, CommandError> {
    if let Some(url) = &args.url
        && TargetUrl::parse(url)?.protocol() != Protocol::Http1
    {
        return Err(CommandError::usage("check is for http:// and https:// URLs"));
    }
    let spec = serving::specs(args.serve.as_slice())?.pop();
    let draft = Draft::new(&args.request, &args.generator)?.beside(&args.observe).taking_redirects();
    let selectors = Selectors::read(&args.observe, &draft.trust_of_pages()?)?;
    let status = selectors.status.clone();
    let options = SessionOptions {
        url: args.url.as_deref(),
        serve: spec.as_ref(),
        selectors,
        quiet: args.quiet,
        is_known: false,
        ..plain_session(&draft, stop)
    };
    // Nothing is recorded.
    let mut session = Session::new(options, |_| Ok(PathBuf::new()))?;
    let plan = session.plan(load, UNTIL, WARMUP);
    session.progress.say("looking at this machine");
    let samples = session.idle();
    session.progress.say("looking at the target");
    let looked = look(&plan, &session, draft.detour.is_some(), args.no_burst, stop);
    let asked = pages(&status);
    session.progress.end();
    let (looked, unasked) = looked?;
    let looked = Redacted::new(looked);
    session.check()?;
    let seen = session.machine(&plan, &samples);
    let mut rows = target(&looked, &seen);
    if let Some(why) = unasked {
        let why = format!(" ({why})");
        rows.iter_mut().filter(|row| row.what == REDIRECT).for_each(|row| row.found.push_str(&why));
    }
    rows.extend(asked);
    rows.extend(machine(&seen));
    let environment = Environment { changes: Some(session.changes()), ..session.environment() };
    Ok(Looked { rows, target: Some(looked.into_inner()), environment, started: session.started.clone() })
}

/// What the target does, and why the place that a redirect leads to was not asked, if it was not.
fn look(
    plan: &Plan,
    session: &Session,
    is_overridden: bool,
    is_without_burst: bool,
    stop: &AtomicBool,
) -> Result<(TargetCheck, Option<String>), CommandError> {
    let tls = plan.tls.as_ref().map(engine::tls::config).transpose().map_err(CommandError::usage)?;
    let base = TargetUrl::parse(&plan.target.url)?;
    let url = TargetUrl::parse(&(base.origin() + &plan.requests[0].path))?;
    let http_traits = probe::http_traits(plan, tls.as_ref()).map_err(CommandError::target)?;
    let way = redirects::follow(plan, &url, session.probe(), is_overridden);
    let unsent = plan.requests.iter().find(|request| !request.is_safe());
    let burst_unavailable = match unsent {
        Some(request) => Some(format!("{} may change something, so it is not sent many times", request.method)),
        None => is_without_burst.then(|| "no burst was sent (--no-burst)".to_owned()),
    };
    let burst = match burst_unavailable {
        None => Some(probe::burst(plan, tls.as_ref(), stop).map_err(CommandError::usage)?),
        Some(_) => None,
    };
    let probe = session.probe().clone();
    let in_burst = burst.as_ref().map_or(0, |burst| u64::from(burst.sent));
    let requests_sent = probe.sent.unwrap_or(0) + http_traits.requests_sent + way.requests_sent + in_burst;
    let looked = TargetCheck {
        url: url.url,
        address: plan.target.address.clone(),
        canonical_url: way.end,
        redirects: way.hops,
        probe,
        http_traits,
        burst,
        burst_unavailable,
        requests_sent,
    };
    Ok((looked, way.unasked))
}

/// What the pages of `--status` tell.
fn pages(sources: &[Source]) -> Vec<CheckRow> {
    let looks = ask_once(sources).into_iter().map(Redacted::new);
    looks.map(|look| page(&look)).collect()
}

/// Flags about a request say nothing of this machine; those about certificates may be about status pages.
fn only_with_a_target(request: &RequestArgs, has_https_pages: bool) -> Result<(), CommandError> {
    let tls = &request.tls;
    let given = [
        ("--method", request.method.as_ref().is_some_and(|method| !method.eq_ignore_ascii_case("GET"))),
        ("--header", !request.headers.is_empty()),
        ("--auth", request.auth.is_some()),
        ("--body", request.body.is_some()),
        ("--template", request.template),
        ("--pipeline", request.pipeline.0 != 1),
        ("--timeout", request.timeout.ns != TIMEOUT_NS),
        ("--expect", request.expect.is_some()),
        ("--unix-socket", request.unix_socket.is_some()),
        ("--connect-to", request.connect_to.is_some()),
        ("--tls", tls.tls),
        ("--insecure", tls.insecure && !has_https_pages),
        ("--ca-cert", tls.ca_cert.is_some() && !has_https_pages),
        ("--no-resumption", tls.no_resumption),
    ];
    match given.into_iter().find(|(_, given)| *given) {
        Some((flag, _)) => {
            Err(CommandError::usage(format!("{flag} needs a URL: without one only this machine is looked at")))
        }
        None => Ok(()),
    }
}
