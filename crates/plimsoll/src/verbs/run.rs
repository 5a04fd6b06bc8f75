//! `plimsoll run`: one load, judged.

use crate::cli::{ArrivalsArg, RequestArgs, RunArgs};
use crate::confirm::{self, Confirming};
use crate::deliver::{deliver, exit};
use crate::exit::{Exit, Trouble};
use crate::measure::{Prepared, Wanted, check_limits};
use crate::profiling::{keep, keep_waits};
use crate::{interrupt, serving, settings, store};
use judge::limiter::{limiter_of_run, names_a_limit};
use model::{Count, Load, Rate, Stop, Warmup};
use report::record::AnyRecord;
use stack::Spec;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Connections of a closed loop.
const CONNECTIONS: Count = Count(64);
/// Connections of an open loop: enough that a short stall is not mistaken for the limit of the server.
const OPEN_CONNECTIONS: Count = Count(256);
/// Long enough for a verdict without the rule on short runs.
const DURATION: model::Duration = model::Duration { ns: 30 * model::NS_PER_S };
/// Most requests of a count-limited run.
const REQUESTS_MAX: u64 = 1_000_000_000_000;

pub(crate) fn run(args: &RunArgs) -> Result<Exit, Trouble> {
    let load = load(args.connections, args.rate, args.arrivals, &args.request)?;
    let until = match args.requests {
        Some(n) => Stop::Count { requests: settings::in_range("--requests", n, 1, REQUESTS_MAX)? },
        None => settings::window(args.duration.unwrap_or(DURATION))?,
    };
    let warmup = settings::warmup(args.warmup)?;
    check_limits(load.connections(), 1, args.request.unix_socket.is_none())?;
    let spec = serving::specs(args.serve.as_slice())?.pop();
    let stop = interrupt::watch()?;
    let wanted = Wanted {
        url: args.url.as_deref(),
        serve: spec.as_ref(),
        request: &args.request,
        generator: &args.generator,
        beside: &args.observe,
        is_observed: !args.no_observe,
        quiet: args.output.quiet,
        is_known: false,
        stop: Arc::clone(&stop),
    };
    let mut prepared = Prepared::new(wanted, |started| store::create(args.output.output.as_deref(), "run", started))?;
    let plan = prepared.plan(load, until, warmup);
    prepared.foresee(&plan);
    // A number of requests has no length, and is not prolonged.
    let half_ns = until.duration_ns().unwrap_or(0) / 2;
    prepared.budget_ns = args.budget.map_or(half_ns, |budget| budget.ns);
    let directory = prepared.directory.clone();
    let gathered = match args.profile {
        true => prepared.measure_profiled(&plan, "", &directory).map(|(gather, sampled)| (gather, Some(sampled))),
        false => prepared.measure(&plan, "", &directory).map(|gather| (gather, None)),
    };
    prepared.progress.end();
    let (gather, sampled) = gathered?;

    let mut evidence = gather.evidence();
    evidence.plan = store::storable(&evidence.plan);
    let goodput = gather.goodput();
    let kept = sampled.map(|sampled| keep(&directory, sampled, goodput.value, &plan.target.url));
    let (profile, profile_unavailable) = kept.map_or((None, None), |kept| (kept.as_deref().ok().cloned(), kept.err()));
    evidence.profile = profile;
    let environment = prepared.environment();
    evidence.fingerprint.clone_from(&environment.fingerprint);
    evidence.changes.clone_from(&environment.changes);
    let verdict = judge::judge_run(&evidence);
    let started = prepared.started.clone();
    let mut limiter = limiter_of_run(&evidence, &verdict, &prepared.limits());
    let mut record = report::record::run_record(&evidence, verdict, goodput, environment, started);
    record.profile_unavailable = profile_unavailable;
    keep_waits(&directory, report::off_cpu::of_run(&record));
    // A server of ours that ended under the load is told after what was measured until then.
    let mut checked = prepared.check();
    let (interrupted, spec) = (prepared.is_interrupted(), prepared.spec().cloned());
    // Its server ends here, and leaves its port to those that come.
    drop(prepared);
    if args.confirm && checked.is_ok() && !interrupted {
        checked = confirm::confirm(&mut limiter, &confirming(args, spec, load, warmup, &directory, &stop)?);
    }
    record.limiter = (args.confirm || names_a_limit(&limiter)).then_some(limiter);
    deliver(&directory, AnyRecord::Run(&record), &args.output)?;
    checked?;
    Ok(exit(record.verdict.state, stop.load(Ordering::Relaxed)))
}

/// The load of the run once more, in a closed loop.
fn confirming<'a>(
    args: &'a RunArgs,
    spec: Option<Spec>,
    load: Load,
    warmup: Warmup,
    directory: &'a Path,
    stop: &'a Arc<AtomicBool>,
) -> Result<Confirming<'a>, Trouble> {
    Ok(Confirming {
        spec,
        request: &args.request,
        generator: &args.generator,
        connections: load.connections(),
        may_open_more: false,
        // A number of requests says nothing about how long more workers take for them.
        window: settings::window(args.duration.unwrap_or(DURATION))?,
        warmup,
        directory,
        quiet: args.output.quiet,
        stop,
    })
}

/// The load of a run: closed without a rate, open with one.
pub(super) fn load(
    connections: Option<Count>,
    rate: Option<Rate>,
    arrivals: ArrivalsArg,
    request: &RequestArgs,
) -> Result<Load, Trouble> {
    if rate.is_some() {
        settings::no_pipeline(request)?;
    }
    let default = if rate.is_some() { OPEN_CONNECTIONS } else { CONNECTIONS };
    settings::load(connections.unwrap_or(default), rate.map(|rate| rate.per_s), arrivals)
}
