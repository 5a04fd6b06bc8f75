//! `plimsoll run`: one load, judged.

use crate::cli::{ArrivalsArg, RunArgs};
use crate::exit::{CommandError, Exit};
use crate::interrupt;
use crate::profiling::{keep, keep_waits, remove_samples};
use crate::result::Asked;
use crate::session::{Beside, Session, SessionOptions, check_limits};
use crate::settings;
use crate::settings::clients;
use crate::settings::draft::Draft;
use crate::settings::target_url::TargetUrl;
use crate::settings::threshold;
use crate::store;
use crate::verbs::conclude::conclude;
use crate::verbs::confirm::{self, Confirming};
use crate::verbs::measured::CheckedTarget;
use evidence::factors::of_run_plan;
use judge::threshold::Threshold;
use model::{Count, Load, MeasurementKind, Rate, Redacted, SessionEvent, Stop, Warmup};
use stack::Spec;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

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
    pub(super) target: CheckedTarget,
    asked: Asked,
    abort_if: Vec<Threshold>,
}

impl Checked {
    pub(super) fn new(args: &RunArgs) -> Result<Self, CommandError> {
        let connections = args.connections.or(few_connections(args)?);
        let load = load(connections, args.rate, args.arrivals, args.measured.request.pipeline)?;
        if load.is_closed() {
            settings::no_spin(&args.measured.generator, "add -R")?;
        }
        let until = match args.requests {
            Some(n) => Stop::Count { requests: settings::in_range("--requests", n, 1, REQUESTS_MAX)? },
            None => settings::window(args.duration.unwrap_or(DURATION))?,
        };
        // With a number of requests so many are sent, and no others.
        let warmup = settings::warmup(args.warmup, if args.requests.is_some() { 0 } else { WARMUP_NS })?;
        let smallest = ("-c", load.connections());
        let typed_warmup = (warmup, args.warmup.is_some());
        let asked = threshold::read(&args.thresholds, threshold::Kind::Run, &args.measured)?;
        let abort_if = threshold::abort_if(args, load, until)?;
        let target =
            CheckedTarget::new(&args.measured, args.serve.as_slice(), typed_warmup, smallest, asked.quantiles())?;
        if target.machines.clients.is_none() {
            check_limits(load.connections(), 1, needs_ports(args))?;
        }
        Ok(Self { load, until, warmup, target, asked, abort_if })
    }

    /// Why its result can only be invalid, if that is known before the load.
    pub(super) fn warning(&self) -> Option<String> {
        judge::planned_too_short(self.until.duration_ns()?, 1)
    }

    /// About how long it takes without starting and ending; none for a number of requests; ns.
    pub(super) fn expected_ns(&self) -> Option<u64> {
        Some(self.until.duration_ns()?.saturating_add(settings::expected_warmup_ns(self.warmup)))
    }
}

/// Measures it, until its end or until `stop` is set.
pub(super) fn measure(args: &RunArgs, checked: Checked, stop: &Arc<AtomicBool>) -> Result<Exit, CommandError> {
    // An experiment has said it of all its steps.
    let warning = checked.warning().filter(|_| !args.output.is_step);
    let Checked { load, until, warmup, target, asked, abort_if } = checked;
    let options = SessionOptions {
        url: args.url.as_deref(),
        serve: target.specs.first(),
        quiet: args.output.quiet,
        ..target.session_options(&args.measured, stop)?
    };
    let mut session = Session::new(options, |session| {
        let plan = Redacted::new(session.plan(load, until, warmup));
        asked.may_compare(&of_run_plan(&plan, &Redacted::new(session.environment())))?;
        store::create(args.output.output.as_deref(), "run", &session.started)
    })?;
    warning.iter().for_each(|warning| session.progress.line(warning));
    let plan = session.plan(load, until, warmup);
    let measurement = MeasurementKind::Run { wants_limiter: args.confirm, wants_profile: args.profile };
    let mut journal = session.begin(measurement, &plan)?;
    asked.event().into_iter().for_each(|event| journal.tell(event));
    // A number of requests has no length, and is not prolonged.
    let half_ns = until.duration_ns().unwrap_or(0) / 2;
    session.abort_if = abort_if;
    session.budget_ns = args.budget.map_or(half_ns, |budget| budget.ns);
    let directory = session.directory.clone();
    let beside = if args.profile { Beside::Sampling } else { Beside::Nothing };
    let measured = session.measure(&plan, "", &mut journal.only_load(), beside);
    let aborted = measured.as_ref().ok().and_then(|measured| measured.aborted.clone());
    let is_aborted = aborted.is_some();
    aborted.into_iter().for_each(|aborted| journal.tell(SessionEvent::Aborted(Box::new(aborted))));
    let sampled = measured.map(|measured| measured.sampling.map(|sampling| session.name(sampling, &journal)));
    session.progress.end();
    if let Some(sampled) = sampled? {
        let goodput_per_s = journal.measurement().only_load().map(|load| load.goodput().value);
        journal.tell(keep(&directory, sampled, goodput_per_s, &Redacted::url(&plan.target.url)));
        remove_samples(&directory);
    }
    journal.tell(SessionEvent::Changed { changes: session.changes() });
    // A server of ours that ended under the load is told after what was measured until then.
    let mut ended = session.check();
    let (is_interrupted, spec) = (session.is_interrupted(), session.spec().cloned());
    let agents = session.check_agents();
    session.agent_lost().into_iter().for_each(|event| journal.tell(event));
    // Its server ends here, and leaves its port to those that come.
    drop(session);
    let record = journal.measurement().run_record();
    keep_waits(&directory, record.as_ref().and_then(report::off_cpu::of_run));
    let may_confirm = args.confirm && ended.is_ok() && !is_interrupted && !is_aborted;
    let limiter = record.and_then(|record| record.limiter).filter(|_| may_confirm);
    if let (Some(spec), Some(limiter)) = (spec, limiter) {
        match confirm::confirm(&limiter, &confirming(args, &target.draft, spec, load, &directory, stop)?) {
            Ok(confirmed) => journal.tell(confirmed),
            Err(error) => ended = Err(error),
        }
    }
    conclude(journal, ended.and(agents), stop, &args.output, Some(&args.thresholds.files))
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
    let least = clients::agents(&args.measured.clients)? as u64;
    let requests = args.requests.filter(|requests| args.rate.is_none() && (1..CONNECTIONS.0).contains(&requests.0));
    Ok(requests.map(|requests| Count(requests.0.max(least))))
}

/// True if each connection needs a local port, as far as it is known before anything is started: to a Unix socket none does.
fn needs_ports(args: &RunArgs) -> bool {
    let names_socket = |url: &str| TargetUrl::parse(url).is_ok_and(|url| url.socket.is_some());
    args.measured.request.unix_socket.is_none() && !args.url.as_deref().is_some_and(names_socket)
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
