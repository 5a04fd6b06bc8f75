//! `plimsoll run`: one load, judged.

use crate::cli::{ArrivalsArg, RunArgs};
use crate::coordinate::confirm::{self, Confirming};
use crate::exit::{CommandError, Exit};
use crate::interrupt;
use crate::output::deliver::{deliver, deliver_to_ci, exit, with_thresholds};
use crate::profiling::{keep, keep_waits, remove_samples};
use crate::result::{Asked, run_record};
use crate::session::agents::AgentsFrom;
use crate::session::{Session, SessionOptions, check_limits};
use crate::settings;
use crate::settings::clients::{self, Machines};
use crate::settings::draft::Draft;
use crate::settings::target_url::TargetUrl;
use crate::settings::threshold;
use crate::store;
use evidence::factors::of_run_plan;
use model::{Count, Load, Measurement, Rate, Redacted, SessionEvent, Stop, Warmup};
use report::record::AnyRecord;
use stack::Spec;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Connections of a closed loop.
const CONNECTIONS: Count = Count(64);
/// Long enough for a verdict without the rule on short runs.
const DURATION: model::Duration = model::Duration { ns: 30 * model::NS_PER_S };
/// Warm-up before a window of a time; ns.
const WARMUP_NS: u64 = 2 * model::NS_PER_S;
/// Most requests of a count-limited run.
const REQUESTS_MAX: u64 = 1_000_000_000_000;

pub(crate) fn run(args: &RunArgs) -> Result<Exit, CommandError> {
    let checked = Checked::new(args)?;
    measure(args, checked, &interrupt::watch()?)
}

/// What was typed, as far as it can be checked before anything is started.
pub(super) struct Checked {
    load: Load,
    until: Stop,
    warmup: Warmup,
    spec: Option<Spec>,
    pub(super) draft: Draft,
    asked: Asked,
    machines: Machines,
}

impl Checked {
    pub(super) fn new(args: &RunArgs) -> Result<Self, CommandError> {
        let connections = args.connections.or(few_connections(args)?);
        let load = load(connections, args.rate, args.arrivals, args.request.pipeline)?;
        if load.is_closed() {
            settings::no_spin(&args.generator, "add -R")?;
        }
        let until = match args.requests {
            Some(n) => Stop::Count { requests: settings::in_range("--requests", n, 1, REQUESTS_MAX)? },
            None => settings::window(args.duration.unwrap_or(DURATION))?,
        };
        // With a number of requests so many are sent, and no others.
        let warmup = settings::warmup(args.warmup, if args.requests.is_some() { 0 } else { WARMUP_NS })?;
        let machines =
            Machines::new(&args.clients, args.serve.as_slice(), &args.observe, warmup, ("-c", load.connections()))?;
        if machines.clients.is_none() {
            check_limits(load.connections(), 1, needs_ports(args))?;
        }
        let spec = clients::specs(&args.clients, args.serve.as_slice())?.pop();
        let draft = Draft::new(&args.request, &args.generator)?.with_warmup(args.warmup.is_some());
        let draft = clients::direct(&args.clients, args.serve.as_slice(), draft);
        let asked = threshold::read(&args.thresholds, threshold::Kind::Run, !args.no_observe)?;
        Ok(Self { load, until, warmup, spec, draft, asked, machines })
    }

    /// About how long it takes without starting and ending; none for a number of requests; ns.
    pub(super) fn expected_ns(&self) -> Option<u64> {
        Some(self.until.duration_ns()?.saturating_add(settings::expected_warmup_ns(self.warmup)))
    }
}

/// Measures it, until its end or until `stop` is set.
pub(super) fn measure(args: &RunArgs, checked: Checked, stop: &Arc<AtomicBool>) -> Result<Exit, CommandError> {
    let Checked { load, until, warmup, spec, draft, asked, machines } = checked;
    let options = SessionOptions {
        url: args.url.as_deref(),
        serve: spec.as_ref(),
        agents: AgentsFrom::Start(&machines),
        cpus: None,
        draft: &draft,
        selectors: clients::selectors(&args.clients, &args.observe)?,
        is_observed: !args.no_observe,
        quiet: args.output.quiet,
        is_known: false,
        stop: Arc::clone(stop),
    };
    let mut session = Session::new(options, |session| {
        let plan = Redacted::new(session.plan(load, until, warmup));
        asked.may_compare(&of_run_plan(&plan, &Redacted::new(session.environment())))?;
        store::create(args.output.output.as_deref(), "run", &session.started)
    })?;
    let plan = session.plan(load, until, warmup);
    let measurement = Measurement::Run { wants_limiter: args.confirm, wants_profile: args.profile };
    let mut log = session.begin(measurement, &plan)?;
    asked.event().into_iter().for_each(|event| log.tell(event));
    // A number of requests has no length, and is not prolonged.
    let half_ns = until.duration_ns().unwrap_or(0) / 2;
    session.budget_ns = args.budget.map_or(half_ns, |budget| budget.ns);
    let directory = session.directory.clone();
    let gathered = match args.profile {
        true => session.measure_profiled(&plan, "", log.recorder()).map(|(builder, sampled)| (builder, Some(sampled))),
        false => session.measure(&plan, "", log.recorder()).map(|builder| (builder, None)),
    };
    session.progress.end();
    let (builder, sampled) = gathered?;

    if let Some(sampled) = sampled {
        log.tell(keep(&directory, sampled, Some(builder.goodput().value), &Redacted::url(&plan.target.url)));
        remove_samples(&directory);
    }
    log.tell(SessionEvent::Changed { changes: session.changes() });
    // A server of ours that ended under the load is told after what was measured until then.
    let mut checked = session.check();
    let (interrupted, spec) = (session.is_interrupted(), session.spec().cloned());
    let agents = session.check_agents();
    session.agent_lost().into_iter().for_each(|event| log.tell(event));
    // Its server ends here, and leaves its port to those that come.
    drop(session);
    let mut record = run_record(&log.facts, &builder);
    keep_waits(&directory, report::off_cpu::of_run(&record));
    let may_confirm = args.confirm && checked.is_ok() && !interrupted;
    if let (true, Some(spec), Some(limiter)) = (may_confirm, spec, &record.limiter) {
        match confirm::confirm(limiter, &confirming(args, &draft, spec, load, &directory, stop)?) {
            Ok(confirmed) => {
                log.tell(confirmed);
                record = run_record(&log.facts, &builder);
            }
            Err(error) => checked = Err(error),
        }
    }
    log.tell(SessionEvent::Finished { interrupted: stop.load(Ordering::Relaxed) });
    deliver(&directory, AnyRecord::Run(&record), Some(&builder.histograms()), &args.output)?;
    deliver_to_ci(&directory, AnyRecord::Run(&record), &args.thresholds)?;
    checked.and(agents)?;
    Ok(with_thresholds(exit(record.verdict.state, stop.load(Ordering::Relaxed)), AnyRecord::Run(&record)))
}

/// The load of the run once more, in a closed loop.
fn confirming<'a>(
    args: &'a RunArgs,
    draft: &'a Draft,
    spec: Spec,
    load: Load,
    directory: &'a Path,
    stop: &'a Arc<AtomicBool>,
) -> Result<Confirming<'a>, CommandError> {
    Ok(Confirming {
        spec,
        draft,
        connections: load.connections(),
        may_open_more: false,
        // A number of requests says nothing about how long more workers take for them.
        window: settings::window(args.duration.unwrap_or(DURATION))?,
        warmup: settings::warmup(args.warmup, WARMUP_NS)?,
        directory,
        quiet: args.output.quiet,
        stop,
    })
}

/// Connections of a closed loop of which fewer are needed than there are by default, as it has fewer requests.
fn few_connections(args: &RunArgs) -> Result<Option<Count>, CommandError> {
    // Each agent needs one.
    let least = clients::agents(&args.clients)? as u64;
    let requests = args.requests.filter(|requests| args.rate.is_none() && (1..CONNECTIONS.0).contains(&requests.0));
    Ok(requests.map(|requests| Count(requests.0.max(least))))
}

/// True if each connection needs a local port, as far as it is known before anything is started: to a Unix socket none does.
fn needs_ports(args: &RunArgs) -> bool {
    let names_socket = |url: &str| TargetUrl::parse(url).is_ok_and(|url| url.socket.is_some());
    args.request.unix_socket.is_none() && !args.url.as_deref().is_some_and(names_socket)
}

/// The load of a run: closed without a rate, open with one.
pub(super) fn load(
    connections: Option<Count>,
    rate: Option<Rate>,
    arrivals: ArrivalsArg,
    pipeline: Count,
) -> Result<Load, CommandError> {
    if rate.is_some() {
        settings::no_pipeline(pipeline)?;
    }
    let default = if rate.is_some() { settings::OPEN_CONNECTIONS } else { CONNECTIONS };
    settings::load(connections.unwrap_or(default), rate.map(|rate| rate.per_s), arrivals)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Verb};
    use clap::Parser;

    fn args(words: &[&str]) -> RunArgs {
        let words = ["plimsoll", "run"].iter().chain(words);
        let Verb::Run(args) = Cli::try_parse_from(words).unwrap().verb else { panic!("another verb") };
        args
    }

    /// More connections than this machine has ports were refused to a socket that the URL names.
    #[test]
    fn connections_to_a_unix_socket_need_no_ports() {
        let needs = |words: &[&str]| needs_ports(&args(words));
        assert!(needs(&[]) && needs(&["http://127.0.0.1/"]) && needs(&["fastcgi://127.0.0.1:9000/srv/index.php"]));
        assert!(!needs(&["fastcgi+unix:/run/app.sock:/srv/index.php"]));
        assert!(!needs(&["http://shop.example/", "--unix-socket", "/run/app.sock"]));
        assert!(needs(&["fastcgi+unix:nowhere"]), "it is refused as it is no URL");
    }
}
