//! The built-in target: `plimsoll target`, with what it can be told.

use super::{CERTIFICATE, KEY, Server};
use crate::error::StackError;
use crate::extra::{Extra, Takes};
use crate::layout::{Endpoint, Layout, Process, Ready, Stop};
use crate::limits::setting;
use crate::place::Place;
use crate::spec::Spec;
use model::Setting;

/// As it is asked for.
pub(super) const NAME: &str = "target";

pub(super) const TARGET: Server = Server {
    name: NAME,
    about: "the built-in target: exact sizes, exact delays, faults; with pool, / stands for /pool",
    knows: &["workers", "tls", "backlog"],
    extras: EXTRAS,
    programs: &["plimsoll"],
    limits,
    layout,
};

fn limits(spec: &Spec) -> Vec<Setting> {
    let pool = setting("pool", "pool", "target", spec.extras.number("pool"), 1_000_000);
    (pool.value > 0).then_some(pool).into_iter().chain([spec.workers("workers", "target-")]).collect()
}

/// Flags of `plimsoll target` under their own names; it checks the values that are texts here. Empty: not given.
const EXTRAS: &[Extra] = &[
    Extra {
        name: "pool",
        default: "",
        takes: Takes::Number(1, 1_000_000),
        meaning: "workers of the pool behind /pool",
    },
    Extra {
        name: "pool-time",
        default: "",
        takes: Takes::Time,
        meaning: "service time of each of them, 5ms unless given",
    },
    Extra {
        name: "pool-queue",
        default: "",
        takes: Takes::Number(0, 1_000_000),
        meaning: "requests that may wait for them",
    },
    Extra { name: "max-connections", default: "", takes: Takes::Number(1, 1_000_000), meaning: "connections, at most" },
    Extra {
        name: "stall",
        default: "",
        takes: Takes::Text,
        meaning: "LENGTH/PERIOD: all stops for LENGTH every PERIOD",
    },
    Extra { name: "error-share", default: "", takes: Takes::Text, meaning: "share of the requests answered with 500" },
    Extra { name: "fault", default: "", takes: Takes::Text, meaning: "KIND=SHARE: reset, half, drop or wrong-size" },
    Extra { name: "first-byte", default: "", takes: Takes::Time, meaning: "everything is answered this much later" },
    Extra { name: "body-rate", default: "", takes: Takes::Size, meaning: "bytes a second of bodies" },
    Extra {
        name: "growth",
        default: "",
        takes: Takes::Time,
        meaning: "each answer comes this much later than the last",
    },
    Extra { name: "ramp", default: "", takes: Takes::Text, meaning: "EXTRA/LENGTH: cold at first" },
    Extra { name: "limit", default: "", takes: Takes::Text, meaning: "RATE/BURST: 429 beyond it" },
    Extra {
        name: "redirect",
        default: "",
        takes: Takes::Text,
        meaning: "/ is answered with a redirect to this location",
    },
];

fn layout(spec: &Spec, place: &Place) -> Result<Layout, StackError> {
    let settings = &spec.settings;
    let given = |name: &str| !spec.extras.text(name).is_empty();
    if settings.config.is_some() || settings.binary.is_some() {
        return Err(StackError::Wrong("the built-in target is plimsoll itself: leave out config and binary".into()));
    }
    if !given("pool") && (given("pool-time") || given("pool-queue")) {
        return Err(StackError::Wrong("pool-time and pool-queue are of a pool: add one, such as pool=4".into()));
    }
    let mut args: Vec<String> =
        vec![NAME.into(), "--listen".into(), format!("{}:{}", settings.address, place.ports[0])];
    args.extend(["--workers".into(), settings.workers.to_string(), "--backlog".into(), settings.backlog.to_string()]);
    if settings.tls {
        args.extend(["--tls".into(), "--cert".into(), place.text(CERTIFICATE), "--key".into(), place.text(KEY)]);
    }
    if !place.cpus.is_empty() {
        let cpus: Vec<String> = place.cpus.iter().map(u32::to_string).collect();
        args.extend(["--cpus".into(), cpus.join(",")]);
    }
    for extra in EXTRAS.iter().filter(|extra| given(extra.name)) {
        args.extend([format!("--{}", extra.name), spec.extras.text(extra.name).to_owned()]);
    }
    let mut url = place.url(&spec.settings);
    // No fault is put on its counters, so that a broken target can be told from none.
    let counters = format!("{}/stats", url.trim_end_matches(&settings.path));
    if given("pool") && settings.path == "/" {
        url.push_str("pool");
    }
    let process = Process { as_caller: true, ..Process::new(NAME, place.own_program.clone()).args(args) };
    Ok(Layout {
        services: vec![process.service(Ready::Page(counters), Stop::TERM)],
        endpoint: Some(Endpoint::Http { url }),
        ..Layout::default()
    }
    .status_page("/stats", given("pool")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<Layout, StackError> {
        let spec = Spec::parse(text).expect("known");
        layout(&spec, &Place::example(&spec.settings, "/usr/bin/plimsoll".into()).expect("a place"))
    }

    #[test]
    fn flags_are_passed_on_and_a_pool_is_measured() {
        let layout = of("target port=80 pool=4 pool-time=2ms fault=reset=0.1 cpus=0-1").expect("fine");
        let args = layout.services[0].process.args.join(" ");
        assert!(args.starts_with("target --listen 127.0.0.1:80 --workers 1 "), "{args}");
        assert!(args.ends_with("--cpus 0,1 --pool 4 --pool-time 2ms --fault reset=0.1"), "{args}");
        assert_eq!(layout.endpoint, Some(Endpoint::Http { url: "http://127.0.0.1:80/pool".into() }));
    }

    #[test]
    fn it_is_up_when_its_counters_answer() {
        let layout = of("target port=80 tls=on path=/bytes?size=10").expect("fine");
        assert_eq!(layout.services[0].ready, Ready::Page("https://127.0.0.1:80/stats".into()));
        assert_eq!(layout.endpoint, Some(Endpoint::Http { url: "https://127.0.0.1:80/bytes?size=10".into() }));
    }

    #[test]
    fn what_it_cannot_be_told_is_refused() {
        assert!(of("target pool-time=2ms").expect_err("no pool").to_string().contains("pool=4"));
        assert!(of("target binary=/bin/true").expect_err("it is us").to_string().contains("plimsoll itself"));
    }
}
