//! `plimsoll observe`: processes and the machine, once a second, without a load.

mod metrics;
mod total;
mod view;

use crate::cli::observe::ObserveArgs;
use crate::exit::{CommandError, Exit};
use crate::interrupt;
use crate::output::printer;
use crate::session::watch;
use crate::settings;
use crate::settings::selectors;
use clock::{Clock, thread_cpu_ns, wall_clock};
use metrics::Metrics;
use model::{FORMAT_OBSERVE, GroupObservation, NS_PER_S, Observation, Phase, ProcessFigures, Sample, ServerUse, human};
use observe::{Observer, ProcessSelector};
use report::terminal::Style;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use total::Total;
use view::View;

/// Shortest and longest `--interval`; ns. CPU times come in steps of 10 ms.
const INTERVAL_NS: std::ops::RangeInclusive<u64> = 100_000_000..=3600 * NS_PER_S;
/// How often it looks for ^C.
const LOOK_UP: Duration = Duration::from_millis(20);

pub(crate) fn observe(args: &ObserveArgs) -> Result<Exit, CommandError> {
    if !INTERVAL_NS.contains(&args.interval.ns) {
        return Err(CommandError::usage(format!("--interval {} is not between 100ms and 1h", args.interval)));
    }
    args.duration.map(settings::window).transpose()?;
    let wanted = args.targets.iter().map(|text| selectors::found("observe", text)).collect::<Result<Vec<_>, _>>()?;
    let wanted = watch::distinct(wanted.into_iter());
    let metrics = args.prometheus.map(Metrics::serve).transpose()?;
    let stop = interrupt::watch()?;
    let mut view = View::new(args);
    let total = look_until_the_end(args, &wanted, metrics.as_ref(), &stop, &mut view)?;
    view.end();
    // As a note it has no colours.
    let style = Style { colour: printer::style().colour && !args.json, ..printer::style() };
    let summary = summary(&total, &style);
    if args.json {
        // Its lines are for programs, and so is all of stdout then.
        if !args.quiet {
            printer::note(summary.trim_end());
        }
    } else {
        printer::result(&summary)?;
    }
    Ok(Exit::Fine)
}

fn look_until_the_end(
    args: &ObserveArgs,
    wanted: &[ProcessSelector],
    metrics: Option<&Metrics>,
    stop: &AtomicBool,
    view: &mut View,
) -> Result<Total, CommandError> {
    let mut observer = Observer::without_load(wanted);
    observer.start(0);
    let clock = Clock::start();
    let end_ns = args.duration.map_or(u64::MAX, |duration| duration.ns);
    let by_number = !wanted.is_empty() && wanted.iter().all(|wanted| matches!(wanted, ProcessSelector::Process(_)));
    let mut total = Total::default();
    let mut due_ns = 0;
    loop {
        // A sample that was late is not made up for.
        due_ns = (due_ns + args.interval.ns).max(clock.now_ns()).min(end_ns);
        wait(due_ns, &clock, stop);
        let seen = look(&mut observer, &clock, wanted);
        total.add(&seen);
        if let Some(metrics) = metrics {
            metrics.set(report::exposition(total.sum(), &seen));
        }
        let is_read = view.show(&seen)?;
        let is_over = stop.load(Ordering::Relaxed) || clock.now_ns() >= end_ns;
        if is_over || !is_read || (by_number && seen.groups.is_empty()) {
            return Ok(total);
        }
    }
}

/// Until an instant, or ^C.
fn wait(due_ns: u64, clock: &Clock, stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        let left_ns = due_ns.saturating_sub(clock.now_ns());
        if left_ns == 0 {
            return;
        }
        std::thread::sleep(LOOK_UP.min(Duration::from_nanos(left_ns)));
    }
}

fn look(observer: &mut Observer, clock: &Clock, wanted: &[ProcessSelector]) -> Observation {
    let before_ns = thread_cpu_ns();
    let mut sample = observer.sample(clock.now_ns(), Phase::Measure);
    let look_cpu_ns = thread_cpu_ns() - before_ns;
    let groups = wanted.iter().filter_map(|wanted| group(&wanted.label(), &mut sample)).collect();
    // What they are called here.
    let named = |(part, why): (String, String)| (part.replacen("companion", "group", 1), why);
    Observation {
        format: FORMAT_OBSERVE.into(),
        at: wall_clock(),
        from_ns: sample.from_ns,
        to_ns: sample.to_ns,
        machine: sample.machine,
        groups,
        others: sample.others,
        kernel: sample.kernel,
        look_cpu_ns,
        unavailable: sample.unavailable.into_iter().map(named).collect(),
    }
}

/// What was asked for as `target`; none when it is not there now.
fn group(target: &str, sample: &mut Sample) -> Option<GroupObservation> {
    let ServerUse { processes, ended_unaccounted, ended: _, threads } = sample.companions.remove(target)?;
    let length_ns = |from_ns: u64| (sample.to_ns - from_ns).max(1) as f64;
    let waited = threads.filter(|used| !used.threads.is_empty()).map(|used| {
        let ns: Option<u64> = used.threads.iter().map(|thread| thread.wait_ns).sum();
        ns.map(|ns| ns as f64 / length_ns(used.from_ns))
    });
    let figures = ProcessFigures::of(&processes);
    Some(GroupObservation {
        target: target.to_owned(),
        figures,
        cpu_cores: figures.cpu_ns as f64 / length_ns(sample.from_ns),
        run_queue_wait: waited.flatten(),
        ended_unaccounted,
        sockets: sample.companion_sockets.remove(target),
        processes,
    })
}

fn summary(total: &Total, style: &Style) -> String {
    let sum = total.sum();
    let samples = human::plural(total.looks(), "sample");
    let mut text = format!(
        "{} in {samples}: CPU, run-queue wait and rates are means, all other columns are maxima\n",
        human::time((sum.to_ns - sum.from_ns) as f64)
    );
    text.push_str(&report::terminal::observation(sum, style));
    let cost = sum.look_cpu_ns as f64 / total.looks().max(1) as f64;
    text.push_str(&format!("{:<13}{} of CPU a sample\n", "cost", human::time(cost)));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{ServerThread, ThreadsUse};

    /// Of very many threads a look in several has none, and nobody knows how long they waited.
    #[test]
    fn a_look_that_leaves_threads_out_tells_no_wait() {
        let wait = |threads: Vec<ServerThread>| {
            let mut sample = Sample::empty(Phase::Measure, 0, NS_PER_S);
            let threads = Some(ThreadsUse { from_ns: 0, threads, cpus: vec![0] });
            sample.companions.insert("db".into(), ServerUse { threads, ..ServerUse::default() });
            group("db", &mut sample).expect("it is there").run_queue_wait
        };
        let thread = ServerThread { wait_ns: Some(NS_PER_S / 4), ..ServerThread::default() };
        assert_eq!((wait(vec![thread.clone(), thread]), wait(Vec::new())), (Some(0.5), None));
    }
}
