//! The manual and the completions, as a packager makes them.

use crate::support::{list, plimsoll, shell};

#[test]
fn manual_pages_are_written_into_a_directory() {
    let ended = plimsoll(["man", "new/pages"]).run();
    assert_eq!(ended.exits(0).stdout, "");
    let page = ended.file("new/pages/plimsoll-run.1");
    assert!(page.contains(".TH PLIMSOLL-RUN 1") && page.contains("\\-\\-connections"), "{page}");
    let all = plimsoll(["man"]).run();
    assert_eq!(all.exits(0).stdout.matches("\n.TH ").count(), list(&ended.path("new/pages")).len());
    plimsoll(["man", "/dev/null/x"]).run().fails(2, &["cannot write", "/dev/null/x"]);
}

#[test]
fn bash_takes_the_completions_and_they_complete() {
    // As bash calls it: the words of the line, the index of the last, then a look at the proposals.
    let script = r#"
        set -e
        "$PLIMSOLL" completions bash >completions
        bash -n completions
        source completions
        propose() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _plimsoll plimsoll "${@: -1}" "${@: -2:1}"; echo "${COMPREPLY[@]}"; }
        propose plimsoll sw
        propose plimsoll run --connecti
        propose plimsoll run --arrivals ''
        propose plimsoll run --serve ngi
        propose plimsoll rules ER-0 | grep -o ER-02
    "#;
    assert_eq!(shell(script).run().exits(0).stdout, "sweep\n--connections\npoisson constant\nnginx nginx-lua\nER-02\n");
}

#[test]
fn every_shell_has_completions_that_name_each_verb() {
    for name in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let ended = plimsoll(["completions", name]).run();
        for word in ["run", "sweep", "target", "man", "completions", "connections"] {
            assert!(ended.exits(0).stdout.contains(word), "{word} for {name}");
        }
    }
    plimsoll(["completions", "cmd"]).run().fails(2, &["cmd"]);
}
