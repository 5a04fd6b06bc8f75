//! Layers of a response: the CPU time of each program, and what is left of the response time.

use model::{Estimate, Layer, Observed, ProgramCpu, StepResult, known_program};
use std::collections::BTreeMap;

/// Share of failed requests above which a mean response time says nothing of responses.
const FAILED_MAX: f64 = 0.001;

/// Share of a response time to which its CPU time is known: so much more of it means that nothing is left.
const CPU_KNOWN_TO: f64 = 0.1;

/// CPU time per response of the programs of the server and of its companions, the most first.
pub(super) fn programs(observed: Option<&Observed>) -> Vec<ProgramCpu> {
    let Some(observed) = observed else { return Vec::new() };
    let mut by_name: BTreeMap<&str, f64> = BTreeMap::new();
    for process in observed.groups().flat_map(|group| &group.processes) {
        let name = known_program(&process.name).map_or(process.name.as_str(), |program| program.name);
        *by_name.entry(name).or_default() += process.cpu_ns_per_request.unwrap_or_default();
    }
    let mut programs: Vec<ProgramCpu> = by_name
        .into_iter()
        .map(|(name, cpu_ns_per_request)| ProgramCpu { name: name.to_owned(), cpu_ns_per_request })
        .collect();
    programs.sort_by(|a, b| b.cpu_ns_per_request.total_cmp(&a.cpu_ns_per_request));
    programs
}

/// Mean response time over repetitions; none if too many requests of any have failed.
pub(super) fn response_mean_ns(results: &[&StepResult]) -> Option<Estimate> {
    let is_of_responses = |result: &&StepResult| result.response_ns.n > 0 && result.failed_share <= FAILED_MAX;
    let is_known = !results.is_empty() && results.iter().all(is_of_responses);
    is_known.then(|| mean(results, |result| result.response_ns.mean))
}

/// The parts of that mean: each program, the most CPU time first, and then what is left. What is left is not known where the
/// programs used much more CPU time than the response took, as for work that goes on after it.
pub(super) fn layers(results: &[&StepResult]) -> Vec<Layer> {
    let Some(response) = response_mean_ns(results) else { return Vec::new() };
    if results.iter().any(|result| result.programs.is_empty()) {
        return Vec::new();
    }
    let mut names: Vec<&str> = Vec::new();
    for program in results.iter().flat_map(|result| &result.programs) {
        if !names.contains(&program.name.as_str()) {
            names.push(&program.name);
        }
    }
    let layer = |name: &str| Layer {
        program: Some(name.to_owned()),
        ns_per_response: mean(results, |result| cpu_ns(result, |program| program.name == name)),
    };
    let mut layers: Vec<Layer> = names.into_iter().map(layer).collect();
    layers.sort_by(|a, b| b.ns_per_response.value.total_cmp(&a.ns_per_response.value));
    let left = mean(results, |result| result.response_ns.mean - cpu_ns(result, |_| true));
    if left.value > -CPU_KNOWN_TO * response.value {
        layers.push(Layer { program: None, ns_per_response: not_below_zero(left) });
    }
    layers
}

fn not_below_zero(Estimate { value, low, high, n }: Estimate) -> Estimate {
    let cut = |end: f64| end.max(0.0);
    Estimate { value: cut(value), low: low.map(cut), high: high.map(cut), n }
}

/// CPU time of some programs; of one that was not seen it is none.
fn cpu_ns(result: &StepResult, of: impl Fn(&ProgramCpu) -> bool) -> f64 {
    result.programs.iter().filter(|program| of(program)).map(|program| program.cpu_ns_per_request).sum()
}

fn mean(results: &[&StepResult], value: impl Fn(&StepResult) -> f64) -> Estimate {
    stats::mean_of_runs(&results.iter().map(|result| value(result)).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{ProcessObserved, Quantiles, ServerObserved, VerdictState};

    /// A step that has found nothing out.
    fn nothing() -> StepResult {
        StepResult {
            verdict: VerdictState::Valid,
            rules: Vec::new(),
            unchecked: Vec::new(),
            interrupted: false,
            url: "http://h/".to_owned(),
            load: 1.0,
            load_unit: "connections".to_owned(),
            goodput_per_s: Estimate::default(),
            throughput_per_s: 0.0,
            response_ns: Quantiles::default(),
            response_p99_ns: None,
            failed_share: 0.0,
            generator_busy_max: 0.0,
            measured_ns: 1,
            server_cpu_cores: None,
            server_cpu_ns_per_request: None,
            server_rss_bytes_max: None,
            capacity: None,
            effects: Vec::new(),
            limiter: None,
            programs: Vec::new(),
            bounds: [].into(),
        }
    }

    fn group(processes: &[(&str, f64)]) -> ServerObserved {
        let process = |(name, cpu_ns): &(&str, f64)| ProcessObserved {
            name: (*name).to_owned(),
            cpu_ns_per_request: Some(*cpu_ns),
            ..Default::default()
        };
        ServerObserved { processes: processes.iter().map(process).collect(), ..Default::default() }
    }

    /// A step whose responses took so long in the mean, with the CPU time of its programs.
    fn step(mean_ns: f64, programs: &[(&str, f64)]) -> StepResult {
        let observed = Observed { server: Some(group(programs)), ..Default::default() };
        let response_ns = Quantiles { n: 100, mean: mean_ns, ..Default::default() };
        StepResult { response_ns, programs: super::programs(Some(&observed)), ..nothing() }
    }

    /// Name, mean and ends of the interval, in ms.
    fn shown(steps: &[StepResult]) -> Vec<String> {
        let layers = layers(&steps.iter().collect::<Vec<_>>());
        let ms = |ns: f64| format!("{:.1}", ns / 1e6);
        let shown = |layer: &Layer| {
            let Estimate { value, low, high, .. } = layer.ns_per_response;
            let ends = low.zip(high).map_or_else(String::new, |(low, high)| format!(" {}..{}", ms(low), ms(high)));
            format!("{} {}{ends}", layer.program.as_deref().unwrap_or("left"), ms(value))
        };
        layers.iter().map(shown).collect()
    }

    #[test]
    fn programs_are_those_of_the_server_and_of_its_companions_without_versions() {
        let companions = [("php-fpm", group(&[("php-fpm8.2", 5.0)])), ("database", group(&[("mariadbd", 2.0)]))];
        let observed = Observed {
            server: Some(group(&[("nginx", 1.0), ("php-fpm8.4", 2.0)])),
            companions: companions.map(|(label, group)| (label.to_owned(), group)).into(),
            ..Default::default()
        };
        let programs = programs(Some(&observed));
        let shown: Vec<_> = programs.iter().map(|one| (one.name.as_str(), one.cpu_ns_per_request)).collect();
        assert_eq!(shown, [("php-fpm", 7.0), ("mariadbd", 2.0), ("nginx", 1.0)]);
        assert!(super::programs(None).is_empty());
    }

    #[test]
    fn layers_add_up_to_the_mean_response_time() {
        let step = step(30e6, &[("nginx", 1e6), ("php-fpm8.2", 20e6), ("mariadbd", 3e6)]);
        assert_eq!(shown(&[step]), ["php-fpm 20.0", "mariadbd 3.0", "nginx 1.0", "left 6.0"]);
    }

    #[test]
    fn intervals_are_over_repetitions() {
        let steps: Vec<StepResult> =
            (0..6).map(|i| step(30e6, &[("php-fpm8.2", 20e6 + 1e6 * f64::from(i % 2))])).collect();
        // Half a millisecond about the mean: the standard error is 0.22 ms, and t of 5 degrees of freedom 2.57.
        assert_eq!(shown(&steps), ["php-fpm 20.5 19.9..21.1", "left 9.5 8.9..10.1"]);
    }

    #[test]
    fn what_is_left_is_not_known_where_work_goes_on_after_the_response() {
        assert_eq!(shown(&[step(1e6, &[("nginx", 2e6)])]), ["nginx 2.0"]);
        assert_eq!(shown(&[step(10e6, &[("nginx", 10.2e6)])]), ["nginx 10.2", "left 0.0"], "as exact as CPU time is");
    }

    #[test]
    fn of_failures_and_of_what_nobody_saw_there_are_none() {
        let whole = step(30e6, &[("nginx", 1e6)]);
        let failing = StepResult { failed_share: 0.01, ..whole.clone() };
        assert_eq!(response_mean_ns(&[&whole, &failing]), None);
        assert!(shown(&[whole.clone(), failing]).is_empty());
        let unseen = StepResult { programs: Vec::new(), ..whole.clone() };
        assert!(shown(&[whole, unseen.clone()]).is_empty() && response_mean_ns(&[&unseen]).is_some());
        assert!(shown(&[]).is_empty() && response_mean_ns(&[]).is_none());
    }
}
