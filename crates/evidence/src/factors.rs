//! What has to be equal for figures of two results to be compared (CP-01): the work, the load, the machine.
//!
//! What a change may be meant to change is no factor: programs, their configuration, and the size of responses. Where a
//! server was started for the measurement, its name stands in the place of the address, whose port differs each time.
//!
//! Of one server before and after a change all factors are the same ([`differences`]); variants of a comparison may be
//! other servers, on other machines ([`unlike`]).

use model::human::{count, rate, time};
use model::{
    Arrivals, CapacityRecord, CompareLoad, Environment, Factor, Load, Plan, RenderRecord, Request, RunRecord, Stop,
    SweepRecord, TlsPlan, Warmup,
};

/// Factors in which variants of a comparison may differ: which server, where, and how long and with how many threads it
/// was measured.
const OF_VARIANTS: [&str; 5] = ["target", "host", "CPU", "load threads", WINDOW];
const WINDOW: &str = "measured window";
const WARM_UP: &str = "warm-up";
/// Requests of a mix that are named; of others there is a checksum.
const NAMED_MAX: usize = 3;

/// The factors of `other` that are not as in `one`: the name, and both values; a factor that one has not is `-` there.
#[must_use]
pub fn differences(one: &[Factor], other: &[Factor]) -> Vec<(String, String, String)> {
    let value = |factors: &[Factor], name: &str| {
        factors.iter().find(|factor| factor.name == name).map_or_else(|| "-".to_owned(), |factor| factor.value.clone())
    };
    let mut names: Vec<&str> = one.iter().map(|factor| factor.name.as_str()).collect();
    names
        .extend(other.iter().map(|factor| factor.name.as_str()).filter(|name| one.iter().all(|own| own.name != *name)));
    let values = names.into_iter().map(|name| (name.to_owned(), value(one, name), value(other, name)));
    values.filter(|(_, one, other)| one != other).collect()
}

/// The first of the [`differences`] for which the results of two variants may not be held against each other.
#[must_use]
pub fn unlike(one: &[Factor], other: &[Factor]) -> Option<(String, String, String)> {
    differences(one, other).into_iter().find(|(name, ..)| !OF_VARIANTS.contains(&name.as_str()))
}

/// Those of one load before it is measured.
#[must_use]
pub fn of_run_plan(plan: &Plan, environment: &Environment) -> Vec<Factor> {
    let mut factors = vec![factor("kind", "run")];
    factors.extend(of_plan(plan, environment));
    factors.insert(2, factor("load", load(plan.load)));
    factors
}

/// Those of a sweep over `connections` or `rate` before it is measured; `plan` is that of its first load.
#[must_use]
pub fn of_sweep_plan(over: &str, plan: &Plan, environment: &Environment) -> Vec<Factor> {
    let mut factors = vec![factor("kind", format!("sweep over {over}"))];
    factors.extend(of_plan(plan, environment));
    factors.extend(of_open_loop(plan.load));
    factors
}

/// Those of one variant of a comparison, whose loads have factors of their own; `plan` is that of any trial of it.
#[must_use]
pub fn of_compared_plan(plan: &Plan, load: CompareLoad, environment: &Environment) -> Vec<Factor> {
    let mut factors = of_plan(plan, environment);
    // Of a search, whichever trial was its lower end has chosen these.
    factors.retain(|factor| load != CompareLoad::Capacity || ![WINDOW, WARM_UP].contains(&factor.name.as_str()));
    factors
}

/// Those of a search for a capacity before it begins; `plan` is that of any trial.
#[must_use]
pub fn of_capacity_plan(goal: &str, plan: &Plan, environment: &Environment) -> Vec<Factor> {
    let mut factors = vec![factor("kind", "capacity")];
    factors.extend(of_plan(plan, environment));
    factors.insert(2, factor("goal", goal));
    // The first trials have shorter windows.
    factors.retain(|factor| factor.name != WINDOW);
    factors.extend(of_open_loop(plan.load));
    factors
}

/// Those of a run.
#[must_use]
pub fn of_run(record: &RunRecord) -> Vec<Factor> {
    of_run_plan(&record.plan, &record.environment)
}

/// Those of a sweep.
#[must_use]
pub fn of_sweep(record: &SweepRecord) -> Vec<Factor> {
    let Some(point) = record.points.first() else { return vec![factor("kind", format!("sweep over {}", record.over))] };
    let mut factors = of_sweep_plan(&record.over, &point.plan, &record.environment);
    factors.push(factor("iterations", point.iterations.to_string()));
    factors
}

/// Those of a capacity.
#[must_use]
pub fn of_capacity(record: &CapacityRecord) -> Vec<Factor> {
    let Some(trial) = record.trials.last() else {
        return vec![factor("kind", "capacity"), factor("goal", &record.goal)];
    };
    of_capacity_plan(&record.goal, &trial.plan, &record.environment)
}

/// Those of a page of a render: what was loaded, in which window, on which machine. The browser's version may change with the
/// machine's packages, and is no factor.
#[must_use]
pub fn of_render(record: &RenderRecord, arm: usize) -> Vec<Factor> {
    let (settings, environment) = (&record.settings, &record.environment);
    let page = record.arms.get(arm).map_or_else(|| "-".to_owned(), |arm| arm.url.clone());
    // Two pages at a time on the same machine are loaded in turn, and what one leaves there may bear on the other.
    let beside = record.arms.iter().enumerate().filter(|(at, _)| *at != arm).map(|(_, other)| other.url.as_str());
    let beside = beside.collect::<Vec<_>>().join(" ");
    vec![
        factor("kind", "page render"),
        factor("page", page),
        factor("in turn with", if beside.is_empty() { "no other page" } else { &beside }),
        factor("window", format!("{} x {} pixels", settings.width_px, settings.height_px)),
        factor("sandbox", if settings.sandbox { "on" } else { "off" }),
        factor("host", environment.host.clone()),
        factor("CPU", format!("{} ({} usable)", environment.cpu_model, environment.cpus)),
    ]
}

/// How long and how a load is put on, in words.
#[must_use]
pub fn conditions(plan: &Plan) -> [(&'static str, String); 5] {
    let window = match plan.stop {
        Stop::Duration { duration_ns } => time(duration_ns as f64),
        Stop::Count { requests } => format!("{} requests", count(requests)),
    };
    let warmup = match plan.warmup {
        Warmup::Fixed { duration_ns } => time(duration_ns as f64),
        Warmup::Auto => "until goodput is settled".to_owned(),
    };
    [
        (WINDOW, window),
        (WARM_UP, warmup),
        ("timeout", time(plan.timeout_ns as f64)),
        ("connections", if plan.keepalive { "kept alive" } else { "a new one for each request" }.to_owned()),
        ("requests out on each", plan.pipeline.to_string()),
    ]
}

/// What all loads of an open loop have in common; nothing of a closed one.
fn of_open_loop(load: Load) -> Vec<Factor> {
    match load {
        Load::Closed { .. } => Vec::new(),
        Load::Open { arrivals, connections, .. } => {
            vec![factor("arrivals", arrivals_word(arrivals)), factor("connections at most", count(connections.into()))]
        }
    }
}

/// Target, requests, how long and how, client and machine; not the load.
///
/// The plan is taken apart whole: a field more does not compile until it stands here, in [`conditions`], or among those in
/// which two results may differ.
fn of_plan(plan: &Plan, environment: &Environment) -> Vec<Factor> {
    let Plan {
        target: _,
        requests,
        tls,
        threads,
        // These are conditions.
        stop: _,
        warmup: _,
        timeout_ns: _,
        keepalive: _,
        pipeline: _,
        // A run has the load among its factors, and other results vary it.
        load: _,
        // Its requests are what has to be alike.
        recording: _,
        // Loads of one comparison have them, and no result of their own.
        turns: _,
        // Two results may differ in these.
        numbering: _,
        warmup_requests: _,
        cpus: _,
        spin_ns: _,
        slo_ns: _,
        quantiles: _,
        seed: _,
    } = plan;
    let mut factors = vec![factor("target", target(plan, environment)), factor("requests", self::requests(requests))];
    factors.extend(conditions(plan).map(|(name, value)| factor(name, value)));
    factors.extend([
        factor("TLS", tls.as_ref().map_or_else(|| "none".to_owned(), encryption)),
        factor("load threads", threads.to_string()),
        factor("host", environment.host.clone()),
        factor("CPU", format!("{} ({} usable)", environment.cpu_model, environment.cpus)),
    ]);
    factors
}

fn factor(name: &str, value: impl Into<String>) -> Factor {
    Factor { name: name.to_owned(), value: value.into() }
}

fn target(plan: &Plan, environment: &Environment) -> String {
    match &environment.served {
        Some(served) => served.label.clone(),
        None => plan.target.to_string(),
    }
}

fn encryption(tls: &TlsPlan) -> String {
    // Two results may differ in what a certificate is checked against.
    let TlsPlan { alpn, resumption, verify: _, server_name: _, extra_roots: _ } = tls;
    let alpn = if alpn.is_empty() { "no ALPN".to_owned() } else { alpn.join(" ") };
    format!("{alpn}, {}", if *resumption { "sessions resumed" } else { "no resumption" })
}

fn load(load: Load) -> String {
    match load {
        Load::Closed { connections } => format!("closed loop, {} connections", count(connections.into())),
        Load::Open { rate_per_s, arrivals, connections } => {
            format!(
                "open loop, {}, {} arrivals, at most {} connections",
                rate(rate_per_s),
                arrivals_word(arrivals),
                count(connections.into())
            )
        }
    }
}

const fn arrivals_word(arrivals: Arrivals) -> &'static str {
    match arrivals {
        Arrivals::Poisson => "random",
        Arrivals::Constant => "even",
    }
}

/// The requests by method and path; of those with headers, bodies or assertions of their own, and of long mixes, a checksum
/// of everything says whether they are the same.
fn requests(requests: &[Request]) -> String {
    let names = requests.iter().take(NAMED_MAX).map(|request| format!("{} {}", request.method, request.path));
    let names = names.collect::<Vec<_>>().join(", ");
    let is_told = |request: &Request| {
        // The body has its length.
        let Request { method: _, path: _, headers, body_bytes, body: _, weight, template, contract } = request;
        let asserts = contract.declared || contract.body_text.is_some() || contract.body_hash.is_some();
        headers.is_empty() && *body_bytes == 0 && *weight == 1 && !template && !asserts
    };
    if requests.len() <= NAMED_MAX && requests.iter().all(is_told) {
        return names;
    }
    let more =
        if requests.len() > NAMED_MAX { format!(" and {} more", requests.len() - NAMED_MAX) } else { String::new() };
    format!("{names}{more} (checksum {:08x})", checksum(requests))
}

/// FNV-1a over everything that is stored of the requests but the size of responses that a probe found.
fn checksum(requests: &[Request]) -> u32 {
    let mut hash = 0x811c_9dc5_u32;
    for request in requests {
        let mut request = request.clone();
        if !request.contract.declared {
            request.contract.size_bytes = None;
        }
        for byte in serde_json::to_vec(&request).unwrap_or_default() {
            hash = (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
        }
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Address, Served, Stop, Target};

    fn plan() -> Plan {
        let target = Target::at(Address::Tcp(([127, 0, 0, 1], 8080).into()));
        Plan::new(target, Load::Closed { connections: 8 }, Stop::Duration { duration_ns: 1_000_000_000 })
    }

    #[test]
    fn a_server_started_for_it_stands_for_its_address() {
        let mut environment = Environment::default();
        assert_eq!(target(&plan(), &environment), "http://127.0.0.1:8080/");
        environment.served = Some(Served { label: "nginx workers=2".into(), ..Served::default() });
        assert_eq!(target(&plan(), &environment), "nginx workers=2");
    }

    #[test]
    fn requests_are_named_or_told_apart_by_a_checksum() {
        let mut one = Request::get("/a");
        assert_eq!(requests(&[one.clone(), Request::get("/b")]), "GET /a, GET /b");
        one.headers.push(("accept".into(), "x".into()));
        let with_header = requests(&[one.clone()]);
        assert!(with_header.starts_with("GET /a (checksum "), "{with_header}");
        one.contract.size_bytes = Some(model::SizeBand { min: 1, max: 2 });
        assert_eq!(requests(&[one.clone()]), with_header, "what a probe found is not asked for");
        one.contract.declared = true;
        assert_ne!(requests(&[one]), with_header);
        let many: Vec<Request> = (0..5).map(|i| Request::get(&format!("/{i}"))).collect();
        assert!(requests(&many).starts_with("GET /0, GET /1, GET /2 and 2 more (checksum "));
    }

    #[test]
    fn variants_may_be_other_servers_for_other_times_under_the_same_load() {
        let of =
            |plan: &Plan, host: &str| of_run_plan(plan, &Environment { host: host.into(), ..Environment::default() });
        let one = of(&plan(), "a");
        let mut other = plan();
        (other.target, other.threads) = (Target::at(Address::Tcp(([127, 0, 0, 1], 8081).into())), 7);
        other.stop = Stop::Duration { duration_ns: 9_000_000_000 };
        assert_eq!((unlike(&one, &of(&other, "b")), differences(&one, &of(&other, "b")).len()), (None, 4));
        other.load = Load::Closed { connections: 9 };
        let (name, ours, theirs) = unlike(&one, &of(&other, "b")).expect("another load");
        assert_eq!((&*name, &*ours, &*theirs), ("load", "closed loop, 8 connections", "closed loop, 9 connections"));
    }

    #[test]
    fn differences_name_both_values_and_what_only_one_has() {
        let one = [factor("load", "a"), factor("goal", "p99<1s"), factor("host", "h")];
        let other = [factor("load", "b"), factor("host", "h"), factor("iterations", "2")];
        let told: Vec<String> =
            differences(&one, &other).into_iter().map(|(name, a, b)| format!("{name}: {a}, {b}")).collect();
        assert_eq!(told, ["load: a, b", "goal: p99<1s, -", "iterations: -, 2"]);
    }
}
