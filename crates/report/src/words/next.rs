//! The command that most readers of a result type next, with what it is good for.

use crate::words::fact::{About, Fact};
use crate::words::over::Over;
use crate::words::shape::NoKnee;
use model::{CapacityRecord, Environment, FindingState, Limiter, Plan, RunRecord, SweepRecord, Verdict};

const LABEL: &str = "next";
/// Arguments that name a server which plimsoll starts.
const SERVE: &str = "--serve";
/// How much further a sweep should go that has not reached the limit of the server.
const FURTHER: f64 = 4.0;

/// After a run: why its result is invalid, else a sweep.
pub(crate) fn after_run(record: &RunRecord) -> Option<Fact> {
    explanation(&record.verdict).or_else(|| {
        let target = target(&record.environment, &record.plan)?;
        Some(told(&format!("plimsoll sweep{target}"), "raises the load until the server gives no more"))
    })
}

/// After a sweep: why its result is invalid, else further up, else what the limit is made of, else a goal.
pub(crate) fn after_sweep(record: &SweepRecord) -> Option<Fact> {
    if let Some(fact) = explanation(&record.verdict) {
        return Some(fact);
    }
    let environment = &record.environment;
    if let Some(last) = record.curve.last().filter(|_| NoKnee::is_beyond(record)) {
        let to = Over::of(record).number((last.load * FURTHER).round()).replace([',', '/', 's'], "");
        return Some(told(&with_flag(environment, &format!("--to {to}")), "goes on to higher loads"));
    }
    let limiter = record.limiter.as_ref();
    let can_confirm = environment.served.is_some()
        && limiter.is_some_and(|it| it.prediction.as_ref().is_some_and(|change| change.setting.is_some()));
    if can_confirm && limiter.is_some_and(|limiter| limiter.confirmation.is_none()) {
        return Some(told(&with_flag(environment, "--confirm"), "tries the change that is predicted"));
    }
    if limiter.is_some_and(is_of_cpu) && record.profile.is_none() {
        return Some(told(&with_flag(environment, "--profile"), "shows the functions that use the CPU time"));
    }
    let target = target(environment, &record.points.first()?.plan)?;
    let command = format!("plimsoll capacity{target} --goal 'p99<100ms'");
    Some(told(&command, "finds the rate up to which responses stay so fast"))
}

/// After a search for a capacity: why its result is invalid, else whether the rate is sustained for longer.
pub(crate) fn after_capacity(record: &CapacityRecord) -> Option<Fact> {
    explanation(&record.verdict).or_else(|| {
        let rate_per_s = record.capacity.low?.floor();
        let target = target(&record.environment, &record.trials.first()?.plan)?;
        let command = format!("plimsoll run{target} -R {rate_per_s} -d 5m");
        Some(told(&command, "shows whether the server sustains that for longer"))
    })
}

/// What explains the finding that makes a result invalid.
fn explanation(verdict: &Verdict) -> Option<Fact> {
    let first = verdict.findings.iter().find(|finding| finding.state == FindingState::Invalid)?;
    Some(told(&format!("plimsoll rules {}", first.rule), "explains the check that failed"))
}

fn told(command: &str, why: &str) -> Fact {
    Fact::new(About::Next, LABEL, format!("{command} ({why})"))
}

fn is_of_cpu(limiter: &Limiter) -> bool {
    limiter.name.contains("cpu") || limiter.name.contains("thread")
}

/// The command as it was typed, with one more flag.
fn with_flag(environment: &Environment, flag: &str) -> String {
    let typed = environment.command.iter().skip(1);
    let name = flag.split(' ').next().unwrap_or(flag);
    // A flag that is typed already is replaced, and a list of loads has no place beside the highest one.
    let replaced = [Some(name), (name == "--to").then_some("--loads")];
    let is_replaced = |part: &str| replaced.into_iter().flatten().any(|name| part == name);
    let mut kept: Vec<&str> = Vec::new();
    let mut is_value = false;
    for part in typed {
        if !is_value && !is_replaced(part.split('=').next().unwrap_or(part)) {
            kept.push(part);
        }
        is_value = is_replaced(part) && flag.contains(' ');
    }
    format!("plimsoll {} {flag}", quoted(&kept))
}

/// The arguments that name the target of a load, with a space before them: none of the built-in server. `None` where the load is
/// more than a URL says.
fn target(environment: &Environment, plan: &Plan) -> Option<String> {
    let is_plain = plan.keepalive && plan.target.connect_to.is_none() && plan.tls.as_ref().is_none_or(|tls| tls.verify);
    let [request] = plan.requests.as_slice() else { return None };
    if !is_plain || request.method != "GET" || !request.headers.is_empty() || request.template {
        return None;
    }
    if environment.served.is_none() {
        return Some(format!(" {}", quoted(&[&plan.target.url])));
    }
    let typed = &environment.command;
    let at = typed.iter().position(|part| part == SERVE);
    let served = at.and_then(|at| typed.get(at + 1)).map(String::as_str);
    let served = served.or_else(|| typed.iter().find_map(|part| part.strip_prefix("--serve=")));
    Some(served.map_or_else(String::new, |served| format!(" {SERVE} {}", quoted(&[served]))))
}

/// The words of a command, each as a shell takes it.
fn quoted(words: &[&str]) -> String {
    // A word that no shell can be given is not one that was typed.
    shlex::try_join(words.iter().copied()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_that_was_typed_is_not_typed_twice() {
        let typed = ["/opt/plimsoll", "sweep", "http://h/a b", "--to", "8", "-q"].map(str::to_owned).to_vec();
        let environment = Environment { command: typed, ..Environment::default() };
        assert_eq!(with_flag(&environment, "--to 32"), "plimsoll sweep 'http://h/a b' -q --to 32");
        let listed = ["/opt/plimsoll", "sweep", "--loads", "4,8", "-q", "--to=8"].map(str::to_owned).to_vec();
        let listed = Environment { command: listed, ..Environment::default() };
        assert_eq!(with_flag(&listed, "--to 32"), "plimsoll sweep -q --to 32");
        assert_eq!(with_flag(&environment, "--profile"), "plimsoll sweep 'http://h/a b' --to 8 -q --profile");
    }
}
