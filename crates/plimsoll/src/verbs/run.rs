//! `plimsoll run`: one load, judged.

use crate::cli::{ArrivalsArg, RequestArgs, RunArgs};
use crate::deliver::{deliver, exit};
use crate::exit::{Exit, Trouble};
use crate::measure::{Prepared, Wanted, check_limits};
use crate::profiling::{keep, keep_waits};
use crate::{interrupt, serving, settings, store};
use model::{Count, Load, Rate, Stop};
use report::record::AnyRecord;

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
    let wanted = Wanted {
        url: args.url.as_deref(),
        serve: spec.as_ref(),
        request: &args.request,
        generator: &args.generator,
        observe: &args.observe.observe,
        quiet: args.output.quiet,
        stop: interrupt::watch()?,
    };
    let mut prepared = Prepared::new(wanted, |started| store::create(args.output.output.as_deref(), "run", started))?;
    let plan = prepared.plan(load, until, warmup);
    prepared.foresee(&plan);
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
    let mut record = report::record::run_record(&evidence, verdict, goodput, environment, started);
    record.profile_unavailable = profile_unavailable;
    keep_waits(&directory, report::off_cpu::of_run(&record));
    deliver(&directory, AnyRecord::Run(&record), &args.output)?;
    // A server of ours that ended under the load is told after what was measured until then.
    prepared.check()?;
    Ok(exit(record.verdict.state, prepared.is_interrupted()))
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
