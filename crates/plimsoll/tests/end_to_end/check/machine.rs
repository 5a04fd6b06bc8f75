//! This machine alone, and what `run` and `sweep` say of it before the first load.

use super::{check, row, rows};
use crate::support::{Ended, plimsoll, shell, text};
use serde_json::Value;

/// Everything that is looked at on any machine.
const LOOKED_AT: [&str; 15] = [
    "open files",
    "local ports",
    "somaxconn",
    "SYN queue",
    "conntrack",
    "governor",
    "turbo",
    "SMT",
    "huge pages",
    "CPU quota",
    "hypervisor",
    "steal",
    "other programs",
    "IOMMU",
    "card",
];

/// A script in a network of its own, whose settings are like those of a small container.
fn in_small_network(script: &str) -> Ended {
    let prepare = "set -e; ip link set lo up
        echo 16 >/proc/sys/net/core/somaxconn
        echo 32768 33767 >/proc/sys/net/ipv4/ip_local_port_range
        echo 0 >/proc/sys/net/ipv4/tcp_tw_reuse
        echo 0 >/proc/sys/net/ipv4/tcp_syncookies
        echo 16 >/proc/sys/net/ipv4/tcp_max_syn_backlog";
    let inner = format!("{prepare}\nset +e\n{script}");
    // Root needs no user namespace, in which servers could not become another user.
    let unshare = "how=-n; unshare $how true 2>/dev/null || how=-rn; unshare $how bash";
    shell(&format!("{unshare} <<'END'\n{inner}\nEND")).run()
}

#[test]
fn every_part_of_this_machine_has_a_row_and_a_reason_where_it_is_not_known() {
    let record = check(&[]);
    assert_eq!(record["target"], Value::Null);
    for what in LOOKED_AT {
        let row =
            rows(&record).find(|row| text(row, "what").starts_with(what) || what == "card" && row["rule"] == "NE-11");
        let row = row.unwrap_or_else(|| panic!("nobody looked at {what}: {record:#}"));
        assert!(!text(row, "found").is_empty(), "{row:#}");
    }
    assert_eq!(row(&record, "open files").1, "fine");
    assert_eq!(row(&record, "local ports").1, "fine");
    assert!(!record["environment"]["fingerprint"]["facts"]["sysctl"].is_null());
}

#[test]
fn too_few_descriptors_are_told_with_the_number_to_set() {
    let ended = shell(r#"ulimit -n 100; "$PLIMSOLL" check -c 200 -t 1 --json"#).run();
    let record = ended.exits(4).json();
    let (rule, state, found) = row(&record, "open files");
    assert_eq!((rule, state), ("CL-06", "invalid"));
    assert!(text(found, "found").contains("265 descriptors, and 100 may be open"), "{found:#}");
    assert!(text(found, "remedy").contains("ulimit -n 265"), "{found:#}");
}

#[test]
fn more_connections_than_ports_cannot_be() {
    let record = check(&["-c", "100k"]);
    let (rule, state, found) = row(&record, "local ports");
    assert_eq!((rule, state), ("CL-07", "invalid"), "{found:#}");
    assert!(text(found, "remedy").contains("ip_local_port_range"), "{found:#}");
}

#[test]
fn ports_and_queues_are_held_against_the_planned_rate() {
    let rate = |rate: &str| {
        let ended = in_small_network(&format!("\"$PLIMSOLL\" check -R {rate} -c 32 --no-keepalive --json"));
        let record = ended.json();
        let states = ["local ports", "somaxconn", "SYN queue"].map(|what| {
            let (rule, state, _) = row(&record, what);
            format!("{rule} {state}")
        });
        states.join(", ")
    };
    // 80 % of 1,000 ports that are held for 60 s each.
    assert_eq!(rate("13"), "CL-07 fine, NE-01 warning, NE-02 warning");
    assert_eq!(rate("14"), "CL-07 warning, NE-01 warning, NE-02 warning");
}

#[test]
fn a_run_tells_beforehand_and_keeps_it() {
    let run = |flags: &str| in_small_network(&format!("\"$PLIMSOLL\" run -n 100 --warmup 0s --json {flags}"));
    let ended = run("-c 32");
    // Whether 100 requests are enough is for their spread to say.
    let check = ended.json()["environment"]["check"].clone();
    let rules: Vec<_> = check.as_array().expect("a list").iter().map(|row| text(row, "rule")).collect();
    assert!(rules.contains(&"NE-01") && rules.contains(&"NE-02"), "{check:#}");
    let told =
        |ended: &Ended| ended.stderr.lines().filter(|line| line.starts_with("WARNING NE-01  somaxconn: ")).count();
    assert_eq!(told(&ended), 1, "{ended:#?}");
    assert_eq!(told(&run("-c 32 -q")), 0);
    let sweep = "sweep --from 32 --to 32 --points 1 --iterations 1 -d 200ms --warmup 0s --json";
    let ended = in_small_network(&format!("\"$PLIMSOLL\" {sweep}"));
    assert_eq!(told(&ended), 1, "{ended:#?}");
    assert_eq!(ended.json()["environment"]["check"], check);
    let ended = run("-c 4");
    let check = ended.json()["environment"]["check"].clone();
    let rows = check.as_array().into_iter().flatten();
    assert!(rows.into_iter().all(|row| !text(row, "rule").starts_with("NE-")), "{check:#}");
}

/// As beside keepalived or HAProxy.
#[test]
fn an_address_of_another_machine_is_not_local_where_any_may_be_bound() {
    let nonlocal = "echo 1 >/proc/sys/net/ipv4/ip_nonlocal_bind";
    let observe = |url: &str| in_small_network(&format!("{nonlocal}; \"$PLIMSOLL\" observe {url} -d 1s"));
    observe("http://192.0.2.1/").fails(3, &["is not on this machine"]);
    observe("http://0.0.0.0/").fails(3, &["no process in this network namespace listens"]);
}

#[test]
fn flags_about_a_request_need_a_target() {
    for (flag, more) in [("--header", "-H"), ("--expect", "--expect"), ("--connect-to", "--connect-to")] {
        plimsoll(["check", more, "X: y"]).run().fails(2, &[flag, "needs a URL"]);
    }
    plimsoll(["check", "-k"]).run().fails(2, &["--insecure", "needs a URL"]);
    plimsoll(["check", "-c", "0"]).run().fails(2, &["--connections 0"]);
    plimsoll(["check", "-R", "10", "--pipeline", "4"]).run().fails(2, &["--pipeline"]);
}
