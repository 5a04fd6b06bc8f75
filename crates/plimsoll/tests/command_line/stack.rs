//! `plimsoll stack` where nothing is up, and what cannot be. Nothing is started.

use crate::support::{Ended, Program};

/// With a folder for temporary files in which nothing is up.
fn stack(args: &[&str]) -> Ended {
    let script = "mkdir temp && TMPDIR=$PWD/temp exec \"$PLIMSOLL\" stack \"$@\"";
    Program::new("bash", ["-c", script, "bash"].iter().chain(args)).run()
}

#[test]
fn where_nothing_is_up_it_is_said() {
    let status = stack(&["status"]);
    assert_eq!((status.exits(0).stdout.as_str(), status.stderr.as_str()), ("", "no stack is up\n"));
    assert_eq!(stack(&["status", "--json"]).exits(0).stdout, "{\"stacks\":[]}\n");
    assert_eq!(stack(&["down", "--all"]).exits(0).stderr, "no stack is up\n");
    for args in [&["down"][..], &["logs"], &["logs", "wordpress"], &["down", "wordpress"], &["status", "wordpress"]] {
        stack(args).fails(2, &["no stack is up"]);
    }
}

#[test]
fn what_cannot_be_up_is_refused_before_anything_is_made() {
    for (args, named) in [
        (&["up", "wordpres"][..], &["there is no server \"wordpres\"", "wordpress"][..]),
        (&["up", "wordpress", "children=0"], &["children is a number from 1 to 1000"]),
        (&["up", "wordpress", "page_cache=varnish"], &["page_cache is off or nginx or apache or php"]),
        (&["up", "wordpress", "posts=9999"], &["posts is a number from 0 to 5000"]),
        (&["up", "wordpress", "root=/srv"], &["wordpress has no setting root; it has front"]),
        (&["up", "nginx", "root=/srv", "file-size=1KiB"], &["file-size is of the generated file: leave it out"]),
        (&["up", "wordpress", "fast"], &["\"fast\" is not KEY=VALUE"]),
        (&["up", "nginx", "--name", "a b"], &["a name has letters"]),
        (&["up", "@no-such.toml"], &["no-such.toml: "]),
        (&["up", "@no-such.toml", "port=8080"], &["@no-such.toml has the settings of its server; write port into it"]),
        (&["up", "@no-such.toml", "--import", "a.xml"], &["write import into it, or name the server"]),
    ] {
        let ended = stack(args);
        ended.fails(2, named);
        assert!(!ended.path("temp").read_dir().is_ok_and(|mut made| made.next().is_some()), "{args:?}");
    }
}
