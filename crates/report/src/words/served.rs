//! The server that was started to be measured, in words.

use crate::sums::sum;
use crate::words::fact::{About, Fact};
use model::{Served, human};

/// The server: what it is, where it runs, and how long it took to get there.
pub(crate) fn fact(served: Option<&Served>) -> Option<Fact> {
    Fact::known(About::Target, "server", served.map(line))
}

/// The same in a line.
pub(crate) fn line(served: &Served) -> String {
    let cpus = served.cpus.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
    let on = match served.cpus.len() {
        0 => "on all CPUs".to_owned(),
        1 => format!("on CPU {cpus}"),
        _ => format!("on CPUs {cpus}"),
    };
    let ready_ns = sum(served.steps.iter().map(|step| step.ns));
    format!("{} {on}, ready after {}", served.label, human::time(ready_ns as f64))
}

/// Each step with its time: `start nginx 12 ms`.
pub(crate) fn steps(served: &Served) -> String {
    let step = |step: &model::Step| format!("{} {}", step.name, human::time(step.ns as f64));
    served.steps.iter().map(step).collect::<Vec<_>>().join(", ")
}

/// The program and the first digits of its hash.
pub(crate) fn program(served: &Served) -> String {
    match served.program_sha256.get(..12) {
        Some(digits) => format!("{} (SHA-256 {digits}...)", served.program),
        None => served.program.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{NS_PER_S, Step};

    #[test]
    fn a_server_is_told_in_a_line() {
        let step = |name: &str, ns| Step { name: name.into(), ns };
        let served = Served {
            label: "nginx workers=2".into(),
            program: "/usr/sbin/nginx".into(),
            program_sha256: "62b20544dc6f509184ab".into(),
            cpus: vec![0, 1],
            steps: vec![step("build", NS_PER_S), step("start nginx", NS_PER_S / 2)],
            ..Served::default()
        };
        assert_eq!(line(&served), "nginx workers=2 on CPUs 0,1, ready after 1.50 s");
        assert_eq!(steps(&served), "build 1.00 s, start nginx 500 ms");
        assert_eq!(program(&served), "/usr/sbin/nginx (SHA-256 62b20544dc6f...)");
        assert_eq!(line(&Served { label: "x".into(), ..Served::default() }), "x on all CPUs, ready after 0 ns");
    }
}
