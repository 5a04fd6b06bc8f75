//! `plimsoll capacity`: targets that do not answer, and its help. Nothing is put on a server.

use crate::support::{plimsoll, text};

#[test]
fn a_goal_about_a_server_that_cannot_be_seen_or_reached_is_told_as_such() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let url = format!("http://{port}/");
    plimsoll(["capacity", &url, "--goal", "cpu<80%"]).run().fails(3, &[&port, "refused"]);
}

#[test]
fn help_says_what_a_goal_is_and_rules_explain_the_bracket() {
    let help = plimsoll(["capacity", "--help"]).run();
    for part in ["p99<100ms", "errors<0.1%", "send-rate>99%", "cpu<80%", "rss<512MiB", "--budget", "--width"] {
        assert!(help.exits(0).stdout.contains(part), "{part} is not in {}", help.stdout);
    }
    let rule = plimsoll(["rules", "SA-02", "--json"]).run().exits(0).json();
    let bound = (text(&rule, "rules.0.own.fires.1.state"), text(&rule, "rules.0.own.fires.1.when"));
    assert!(bound.0 == "bound" && bound.1.contains("fresh trials did not confirm"), "{rule:#}");
}
