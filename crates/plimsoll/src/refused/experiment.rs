//! `plimsoll experiment`: files that make no sense.

use super::fails;

/// Two variants of a URL that nothing listens behind, and two loads.
const FILE: &str = include_str!("../../tests/command_line/grid.toml");

#[test]
fn what_is_wrong_is_named_with_line_and_column() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("x.toml");
    let refused = |content: &str, named: &[&str]| {
        std::fs::write(&path, content).expect("our own directory");
        fails(&["experiment"], &[path.to_str().expect("text"), "--dry-run"], named);
    };
    refused("sed = 1", &["x.toml:1:1: unknown key \"sed\"; did you mean \"seed\"?"]);
    refused("seed = ", &["x.toml:1:"]);
    refused(&FILE.replace("duration", "druation"), &["x.toml:6:1: ", "did you mean \"duration\"?"]);
    refused(&FILE.replace("{page}", "{pages}"), &["x.toml:2:7: ", "did you mean \"page\"?"]);
    refused(&FILE.replace("\"5s\"", "\"soon\""), &["x.toml:6:12: ", "soon"]);
    refused(&FILE.replace("\"5s\"", "\"0s\""), &["x.toml:6:12: --duration 0s"]);
    let goal = "verb = \"capacity\"\nurl = \"http://127.0.0.1:1/\"\n[[loads]]\ngoal = \"p50<100ms,p99<50ms\"\n";
    refused(goal, &["x.toml:4:8: --goal", "p50<100ms", "p99<50ms"]);
    refused(&goal.replace("p50<100ms,p99<50ms", "p99<10s"), &["x.toml:4:8: --goal p99<10s", "--timeout 5s"]);
    refused(
        &format!("budget = \"30s\"\n{FILE}"),
        &["x.toml:1:10: the budget is 30.0 s, and 8 steps take about 56.0 s"],
    );
    refused("serve = \"ngnix\"", &["x.toml:1:9: ", "ngnix"]);
    refused("[flags]\nheader = \"Authorization: Bearer s3cret\"", &["x.toml:2:10: ", "holds a credential"]);
    refused("[flags]\nurls = \"nowhere.txt\"", &["x.toml:2:8: ", "nowhere.txt"]);
    fails(&["experiment"], &["nowhere.toml"], &["nowhere.toml", "No such file"]);
    fails(&["experiment"], &["/dev/zero"], &["/dev/zero", "more than 1048576 bytes"]);
    fails(&["experiment"], &[], &["required"]);
}
