//! `plimsoll run`: one load, judged.

use crate::cli::RunArgs;
use crate::deliver::{deliver, exit};
use crate::exit::{Exit, Trouble};
use crate::measure::{Subject, measure};
use crate::progress::Progress;
use crate::settings::{self, Settings};
use crate::{environment, interrupt, store};
use model::{Count, Stop};
use report::record::AnyRecord;
use std::sync::atomic::Ordering;

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
    let until = match args.requests {
        Some(n) => Stop::Count { requests: settings::in_range("--requests", n, 1, REQUESTS_MAX)? },
        None => settings::window(args.duration.unwrap_or(DURATION))?,
    };
    let warmup = settings::warmup(args.warmup)?;
    engine::limits::prepare(load.connections(), 1).map_err(Trouble::usage)?;
    let stop = interrupt::watch()?;
    let subject = Subject::new(args.url.as_deref())?;
    let mut settings = Settings::new(&args.request, &args.generator, &subject.url)?;
    subject.divide_cpus(&mut settings);
    let started = engine::clock::wall_clock();
    let (address, probe, contract) = subject.probe(&settings, &stop)?;
    let directory = store::create(args.output.output.as_deref(), "run", &started)?;

    let plan = settings.plan(&subject.url, address, contract, load, until, warmup);
    let mut progress = Progress::new(args.output.quiet);
    progress.line(report::terminal::probe(&probe, &subject.url.url).trim_end());
    progress.begin("", &plan);
    let gathered = measure(&plan, &probe, &directory, &stop, &mut progress);
    progress.end();
    let gather = gathered?;

    let mut evidence = gather.evidence();
    evidence.plan = store::storable(&evidence.plan);
    let verdict = judge::judge_run(&evidence);
    let record = report::record::run_record(&evidence, verdict, gather.goodput(), environment::describe(), started);
    deliver(&directory, AnyRecord::Run(&record), args.output.json)?;
    Ok(exit(record.verdict.state, stop.load(Ordering::Relaxed)))
}
