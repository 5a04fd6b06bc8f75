//! PH-02: utilisation law.

use crate::facts::kernel::is_one_machine;
use crate::facts::{observed, seconds, server_cpus};
use crate::{Applies, Check, Fires, Need, Outcome, Rule, Whose};
use model::{Evidence, FindingState};

const SLACK: f64 = 1.05;
/// CPU time comes in steps of 10 ms for each process.
const SECONDS_MIN: f64 = 2.0;

pub(crate) const RULE: Rule = Rule {
    id: "PH-02",
    title: "utilisation law",
    detects: "More CPU time was used than the CPUs can provide.",
    fires: &[Fires::invalid(
        "The server used more than 1.05 times the CPUs that it may use; or server, companions and client \
             together used more than 1.05 times those of the machine.",
    )],
    remarks: "",
    applies: Applies::Always,
    needs: &[Need::Window, Need::Server, Need::Machine(Whose::Observed)],
    conditions: "a window of 2 s or more",
    check: Check::Run(check),
};

fn check(evidence: &Evidence) -> Outcome {
    let seen = observed(evidence).and_then(|seen| Some((seen, seen.server.as_ref()?, seen.machine.as_ref()?)));
    let Some((seen, server, machine)) = seen.filter(|_| seconds(evidence) >= SECONDS_MIN) else {
        return Outcome::Unchecked("window shorter than 2 s");
    };
    // The CPUs of a client on another machine are none of these.
    let own = seen.generator.as_ref().filter(|_| is_one_machine(evidence)).map(|generator| generator.cpu_cores);
    let beside: f64 = seen.companions.values().map(|companion| companion.cpu_cores).sum();
    let all = server.cpu_cores + own.unwrap_or(0.0) + beside;
    let of_server = match server_cpus(evidence).len() {
        0 => f64::from(machine.cpus),
        n => n as f64,
    };
    let (who, used, cpus) = if server.cpu_cores > SLACK * of_server {
        ("the server", server.cpu_cores, of_server)
    } else if all > SLACK * f64::from(machine.cpus) {
        let who = if own.is_some() { "server, companions and client" } else { "server and companions" };
        (who, all, f64::from(machine.cpus))
    } else {
        return Outcome::Pass;
    };
    let message = format!("{who} used {used:.2} CPUs of {cpus:.0}: physically impossible, so the CPU times are wrong");
    let remedy = "disregard CPU times and bottlenecks of this run; check this machine's clock (PH-08)".to_owned();
    let figures = [("cores", used), ("cpus", cpus)];
    Outcome::fired(RULE.id, FindingState::Invalid, message, remedy, figures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_run, finding, generator, judged, seen_there, server};
    use model::ServerObserved;

    #[test]
    fn more_cpu_time_than_cpus_is_impossible() {
        let mut evidence = clean_run();
        server(&mut evidence).cpu_cores = 1.2;
        let found = finding(judged(&RULE, &evidence));
        assert_eq!(found.state, FindingState::Invalid);
        assert!(found.message.starts_with("the server used 1.20 CPUs of 1: physically"), "{}", found.message);
        server(&mut evidence).cpu_cores = 1.0;
        generator(&mut evidence).cpu_cores = 1.5;
        assert!(
            finding(judged(&RULE, &evidence)).message.starts_with("server, companions and client used 2.50 CPUs of 2")
        );
    }

    #[test]
    fn a_client_on_another_machine_uses_none_of_the_servers_cpus() {
        let mut evidence = clean_run();
        server(&mut evidence).cpu_cores = 1.0;
        generator(&mut evidence).cpu_cores = 1.5;
        seen_there(&mut evidence);
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass);
        let beside = ServerObserved { cpu_cores: 1.2, ..ServerObserved::default() };
        evidence.observed.as_mut().expect("seen").companions.insert("db".into(), beside);
        assert!(finding(judged(&RULE, &evidence)).message.starts_with("server and companions used 2.20 CPUs of 2"));
    }

    #[test]
    fn all_of_the_cpus_pass_and_nobody_looking_is_unchecked() {
        let mut evidence = clean_run();
        server(&mut evidence).cpu_cores = 1.04;
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass);
        evidence.observed = None;
        assert!(matches!(judged(&RULE, &evidence), Outcome::Unchecked(_)));
    }
}
