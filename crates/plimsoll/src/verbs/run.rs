//! `plimsoll run`: one load, judged.

use crate::cli::RunArgs;
use crate::deliver::{deliver, exit};
use crate::exit::{Exit, Trouble};
use crate::measure::{Prepared, Wanted, check_limits};
use crate::profiling::keep;
use crate::{interrupt, serving, settings, store};
use model::{Count, Stop};
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
    let default = if args.rate.is_some() { OPEN_CONNECTIONS } else { CONNECTIONS };
    let load = settings::load(args.connections.unwrap_or(default), args.rate.map(|r| r.per_s), args.arrivals)?;
    if args.rate.is_some() {
        settings::no_pipeline(&args.request)?;
    }
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
        beside: &args.observe,
        quiet: args.output.quiet,
        stop: interrupt::watch()?,
    };
    let mut prepared = Prepared::new(wanted, |started| store::create(args.output.output.as_deref(), "run", started))?;
    let plan = prepared.plan(load, until, warmup);
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
    let verdict = judge::judge_run(&evidence);
    let started = prepared.started.clone();
    let mut record = report::record::run_record(&evidence, verdict, goodput, prepared.environment(), started);
    record.profile_unavailable = profile_unavailable;
    deliver(&directory, AnyRecord::Run(&record), args.output.json)?;
    // A server of ours that ended under the load is told after what was measured until then.
    prepared.check()?;
    Ok(exit(record.verdict.state, prepared.is_interrupted()))
}
