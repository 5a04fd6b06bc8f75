//! Files that are refused, with their places, and combinations of those that are not.

use super::*;
use crate::testing::vocabulary;

fn parsed(text: &str) -> Experiment {
    Experiment::parse("x.toml", text, &vocabulary()).unwrap_or_else(|error| panic!("{error}"))
}

/// Each text with its whole message.
#[track_caller]
fn refused(cases: &[(&str, &str)]) {
    for (text, message) in cases {
        let error = Experiment::parse("x.toml", text, &vocabulary()).expect_err(text);
        assert_eq!(error.message, *message, "{text}");
    }
}

#[test]
fn what_is_no_toml_is_told_with_its_place() {
    refused(&[
        ("seed = \n", "x.toml:1:8: no TOML: string values must be quoted, expected literal string"),
        ("a = 1\na = 2\n", "x.toml:2:1: no TOML: duplicate key"),
        ("[[loads]]\nrate = 1 2\n", "x.toml:2:8: no TOML: string values must be quoted, expected literal string"),
        ("[[loads]\n", "x.toml:1:9: no TOML: unclosed array table, expected `]`"),
    ]);
}

#[test]
fn unknown_keys_are_told_with_what_was_meant() {
    refused(&[
        ("sed = 1", "x.toml:1:1: unknown key \"sed\"; did you mean \"seed\"?"),
        (
            "zzz = 1",
            "x.toml:1:1: unknown key \"zzz\"; there are name, seed, repetitions, budget, verb, serve, url, variants, \
             flags, loads",
        ),
        ("[variants.gird]\na = [1]", "x.toml:1:11: unknown key \"gird\" in variants; did you mean \"grid\"?"),
        (
            "[flags]\ndurration = \"1s\"",
            "x.toml:2:1: \"durration\" is no flag of plimsoll run; did you mean \"duration\"?",
        ),
        ("\n[[loads]]\n  R = 5", "x.toml:3:3: \"R\" is no flag of plimsoll run; did you mean \"rate\"?"),
        ("[flags]\nbogus = 5", "x.toml:2:1: \"bogus\" is no flag of plimsoll run; plimsoll run --help lists them"),
        (
            "[flags]\nserve = \"nginx\"",
            "x.toml:2:1: \"serve\" is no flag of plimsoll run; it stands at the top of the file, before all tables",
        ),
        ("[flags]\njson = true", "x.toml:2:1: \"json\" is no flag of plimsoll run; give it on the command line"),
        ("verb = \"swep\"", "x.toml:1:8: no verb \"swep\" that measures; did you mean \"sweep\"?"),
        (
            "[[loads]]\nrate = 5\n[[loads]]\nverb = \"sweep\"\nrate = 5",
            "x.toml:5:1: \"rate\" is no flag of plimsoll sweep; plimsoll sweep --help lists them",
        ),
    ]);
}

#[test]
fn values_of_the_wrong_kind_are_told() {
    refused(&[
        ("seed = -1", "x.toml:1:8: \"seed\" is a whole number, at least 0"),
        ("seed = 1.5", "x.toml:1:8: \"seed\" is a whole number, at least 0"),
        ("repetitions = 0", "x.toml:1:15: \"repetitions\" is a whole number, at least 1"),
        ("budget = \"soon\"", "x.toml:1:10: budget \"soon\" is not a duration; write for example 500ms, 30s or 5m"),
        ("name = []", "x.toml:1:8: \"name\" is a list, and takes text or a number"),
        ("name = \" \"", "x.toml:1:8: \"name\" is empty"),
        ("loads = 5", "x.toml:1:9: loads are tables: write [[loads]] before each, then connections = 64 and the like"),
        ("[[loads]]\nrate = 1979-05-27", "x.toml:2:8: \"rate\" is a date, and takes text or a number"),
        ("[[loads]]\nrate = true", "x.toml:2:1: \"rate\" takes a value, as --rate of plimsoll run"),
        ("[[loads]]\nno-keepalive = 1", "x.toml:2:1: \"no-keepalive\" is true or false"),
        (
            "[[loads]]\nrate = [1, 2]",
            "x.toml:2:1: \"rate\" takes one value; to compare several, make them [variants] or [[loads]]",
        ),
        ("[flags]\nheader = []", "x.toml:2:10: \"header\" is empty; leave it out"),
        (
            "[[loads]]\nrate = 1e5",
            "x.toml:2:8: \"rate\" is a number with an exponent, inf or nan, and takes text or a number",
        ),
    ]);
}

#[test]
fn variants_and_placeholders_belong_together() {
    refused(&[
        ("serve = \"nginx workers={w}\"", "x.toml:1:9: {w} has no value: there are no [variants]"),
        (
            "serve = \"nginx workers={worker}\"\n[variants.grid]\nworkers = [1]",
            "x.toml:1:9: no variant has a value {worker}; did you mean \"workers\"?",
        ),
        (
            "serve = \"nginx\"\n[variants.grid]\nworkers = [1]",
            "x.toml:3:1: \"workers\" stands nowhere as {workers}: its values would change nothing",
        ),
        ("url = \"{a}\"\n[variants.grid]\na = 1", "x.toml:3:5: \"a\" of a grid takes a list, such as a = [1, 2]"),
        ("url = \"{a}\"\n[variants.grid]\na = [1, 2, 1]", "x.toml:3:12: \"a\" has \"1\" twice"),
        ("url = \"{a}\"\n[variants.grid]\na = []", "x.toml:3:5: \"a\" has no value"),
        ("[variants.grid]\n", "x.toml:1:2: there is no variant in it; leave variants out to measure one server"),
        ("[variants]\ngrid = { a = [1] }\nlist = []", "x.toml:3:1: variants are a grid or a list, not both"),
        (
            "[variants.grid]\n\"a b\" = [1]",
            "x.toml:2:1: \"a b\" cannot be a placeholder: letters, digits, - and _, a letter first",
        ),
        (
            "url = \"{a}\"\n[[variants.list]]\nname = \"x\"\na = 1\n[[variants.list]]\nname = \"y\"",
            "x.toml:1:7: {a} has no value in the variant \"y\"",
        ),
        (
            "url = \"{a}\"\n[[variants.list]]\nname = \"x\"\na = 1\n[[variants.list]]\nname = \"x\"\na = 2",
            "x.toml:5:1: a variant is called \"x\" already",
        ),
        (
            "serve = \"a {port}\"\n[variants.grid]\nport = [1]",
            "x.toml:3:1: {port} is a placeholder of servers; name it otherwise",
        ),
        (
            "serve = \"nginx\"\nurl = \"http://h/\"",
            "x.toml:2:1: \"url\" beside \"serve\": a server is started or has a URL",
        ),
        (
            "[[loads]]\nrate = 5\n[[loads]]\nrate = 5",
            "x.toml:3:1: there is a load \"rate=5\" already; give one of them a name",
        ),
    ]);
}

#[test]
fn credentials_are_refused_where_they_stand() {
    let stored = "which would be stored with the result; use auth = \"bearer:env:VAR\" or \"basic:file:PATH\", or \
                  password-file=PATH of a server";
    refused(&[
        ("url = \"http://u:s3cret@h/\"", &format!("x.toml:1:7: \"url\" holds a credential, {stored}")),
        (
            "[flags]\nheader = [\"X: y\", \"Authorization: Bearer s3cret\"]",
            &format!("x.toml:2:19: \"header\" holds a credential, {stored}"),
        ),
        (
            "serve = \"command env=DB_PASSWORD={p} -- ./s\"\n[variants.grid]\np = [\"s3cret\"]",
            &format!("x.toml:1:9: \"serve\" holds a credential, {stored}"),
        ),
        (
            "[flags]\nbody = \"a=1\"",
            "x.toml:2:8: \"body\" would be stored with the result, and may hold anything; name a file: body = \"@FILE\"",
        ),
        ("name = \"token=s3cret\"", "x.toml:1:8: \"name\" holds a credential, which would be stored with the result"),
    ]);
    parsed("url = \"http://h/\"\n[flags]\nauth = \"bearer:env:TOKEN\"\nbody = \"@body.json\"");
}

#[test]
fn too_many_measurements_are_refused_before_they_are_made() {
    refused(&[
        ("repetitions = 1001", "x.toml:1:15: 1001 measurements (variants x loads x repetitions); at most 1000"),
        (
            "repetitions = 9223372036854775807\n[[loads]]\nrate = 1\n[[loads]]\nrate = 2\n[[loads]]\nrate = 3",
            "x.toml:1:15: 18446744073709551615 measurements (variants x loads x repetitions); at most 1000",
        ),
    ]);
    let list = (0..40).map(|i| i.to_string()).collect::<Vec<_>>().join(",");
    let text = format!("url = \"{{a}}{{b}}\"\n[variants.grid]\na = [{list}]\nb = [{list}]");
    refused(&[(&text, "x.toml:4:1: the grid has more than 1000 variants")]);
}

#[test]
fn a_grid_is_combined_in_the_order_of_the_file() {
    let text = "
        name = \"both\"
        seed = 9
        repetitions = 3
        budget = \"1h\"
        serve = \"nginx workers={workers} gzip={gzip}\"
        [variants.grid]
        workers = [1, 2]
        gzip = [\"on\", \"off\"]
        [flags]
        duration = \"10s\"
        no-keepalive = true
        [[loads]]
        name = \"steady\"
        rate = 1_000
        [[loads]]
        connections = 0x10
        duration = \"5s\"
        no-keepalive = false
        header = [\"X: {workers}\", \"-Y: 1\"]
    ";
    let experiment = parsed(text);
    assert_eq!((experiment.name.as_str(), experiment.seed, experiment.repetitions), ("both", 9, 3));
    assert_eq!(experiment.budget.unwrap().to_string(), "3600s");
    let variants: Vec<&str> = experiment.combinations.iter().step_by(2).map(|one| one.variant.as_str()).collect();
    assert_eq!(variants, ["workers=1 gzip=on", "workers=1 gzip=off", "workers=2 gzip=on", "workers=2 gzip=off"]);
    let words = |combination: &Combination| {
        combination.arguments.iter().flat_map(|argument| argument.words.clone()).collect::<Vec<_>>()
    };
    let [steady, closed] = &experiment.combinations[..2] else { panic!("two loads") };
    assert_eq!(
        (steady.load.as_str(), closed.load.as_str()),
        ("steady", "connections=16 duration=5s header=X: 1 header=-Y: 1")
    );
    let serve = ["--serve", "nginx workers=1 gzip=on"];
    assert_eq!(words(steady), [&serve[..], &["--rate", "1000", "--duration", "10s", "--no-keepalive"]].concat());
    let own = ["--connections", "16", "--duration", "5s", "--header", "X: 1", "--header=-Y: 1"];
    assert_eq!(words(closed), [&serve[..], &own].concat());
    assert_eq!(steady.values, [("gzip".to_owned(), "on".to_owned()), ("workers".to_owned(), "1".to_owned())].into());
}

#[test]
fn a_list_names_its_variants_and_servers_keep_their_placeholders() {
    let text = "
        verb = \"sweep\"
        serve = \"{server}\"
        [[variants.list]]
        name = \"old\"
        server = \"command -- ./old --port {port}\"
        [[variants.list]]
        server = \"nginx workers=2\"
    ";
    let experiment = parsed(text);
    let labels: Vec<_> = experiment
        .combinations
        .iter()
        .map(|one| (one.variant.as_str(), one.load.as_str(), one.verb.as_str()))
        .collect();
    assert_eq!(labels, [("old", "sweep", "sweep"), ("server=nginx workers=2", "sweep", "sweep")]);
    assert_eq!(experiment.combinations[0].arguments[0].words[1], "command -- ./old --port {port}");
}

#[test]
fn all_variants_are_one_step_of_a_comparison() {
    let text = "
        serve = \"nginx workers={workers}\"
        [variants.grid]
        workers = [1, 2, 4]
        [[loads]]
        connections = 8
        [[loads]]
        name = \"side by side\"
        verb = \"compare\"
        blocks = 6
    ";
    let experiment = parsed(text);
    let steps: Vec<_> = experiment.combinations.iter().map(|one| (one.variant.as_str(), one.verb.as_str())).collect();
    let (one, all) = (|n| (n, "run"), ("2 variants against workers=1", "compare"));
    assert_eq!(steps, [one("workers=1"), one("workers=2"), one("workers=4"), all]);
    let compared = &experiment.combinations[3];
    let words: Vec<&str> = compared.arguments.iter().flat_map(|argument| &argument.words).map(String::as_str).collect();
    let serve = |n: &'static str| ["--serve", n];
    let name = |n: &'static str| ["--name", n];
    let serves = [serve("nginx workers=1"), serve("nginx workers=2"), serve("nginx workers=4")].concat();
    let names = [name("workers=1"), name("workers=2"), name("workers=4")].concat();
    assert_eq!(words, [serves, vec!["--blocks", "6"], names].concat());
    assert!(compared.values.is_empty());
    let urls = parsed("verb = \"compare\"\nurl = \"http://{h}/\"\n[variants.grid]\nh = [\"a\", \"b\"]");
    let [only] = urls.combinations.as_slice() else { panic!("one step") };
    assert_eq!((only.variant.as_str(), only.load.as_str()), ("h=b against h=a", "compare"));
    let last: Vec<&str> = only.arguments.iter().rev().take(2).map(|argument| argument.words[0].as_str()).collect();
    assert_eq!(last, ["http://b/", "http://a/"]);
}

#[test]
fn variants_of_a_comparison_differ_in_their_servers_only() {
    refused(&[(
        "verb = \"compare\"\nserve = \"nginx workers={n}\"\n[variants.grid]\nn = [1, 2]\n[flags]\nconnections = \"{n}\"",
        "x.toml:6:15: \"connections\" is another for \"n=2\" than for \"n=1\": all variants of plimsoll compare have the \
         same flags, and differ in serve or url",
    )]);
}

#[test]
fn an_empty_file_is_a_run_of_the_built_in_server() {
    let experiment = parsed("");
    assert_eq!((experiment.name.as_str(), experiment.seed, experiment.repetitions), ("x.toml", 1, 1));
    let [only] = experiment.combinations.as_slice() else { panic!("one") };
    assert_eq!((only.variant.as_str(), only.load.as_str(), only.verb.as_str()), ("built-in server", "run", "run"));
    assert!(only.arguments.is_empty());
    let url = parsed("url = \"http://h/{{counter}}\"");
    assert_eq!(
        (url.combinations[0].variant.as_str(), url.combinations[0].arguments[0].words.len()),
        ("http://h/{{counter}}", 1)
    );
}

#[test]
fn refusals_of_a_verb_stand_at_the_flag_they_name() {
    let experiment = parsed("[flags]\nduration = \"0s\"\n[[loads]]\nrate = 5\n");
    let at = |message: &str| experiment.refusal(&experiment.combinations[0], message).message;
    assert_eq!(at("--duration 0s is not above 0\nmore"), "x.toml:2:12: --duration 0s is not above 0");
    assert_eq!(at("invalid value for '--rate <PER_SECOND>'"), "x.toml:4:8: invalid value for '--rate <PER_SECOND>'");
    assert_eq!(at("no such thing"), "x.toml:3:1: no such thing");
}

const LIST: &str = "serve = \"{s}\"\n[[variants.list]]\nname = \"one\"\ns = \"nginx\"\n\
    [[variants.list]]\nname = \"two\"\ns = \"apache\"\nafter = \"one\"\noptional = true\n";

#[test]
fn a_load_may_be_for_some_variants_only() {
    let experiment = parsed(&format!(
        "{LIST}[[loads]]\nname = \"all\"\nrate = 5\n[[loads]]\nname = \"some\"\nrate = 9\nvariants = [\"two\"]\n\
         [[loads]]\nname = \"side by side\"\nverb = \"compare\"\nvariants = [\"one\", \"two\"]\n"
    ));
    let made: Vec<_> = experiment.combinations.iter().map(|one| (one.variant.as_str(), one.load.as_str())).collect();
    assert_eq!(made, [("one", "all"), ("two", "all"), ("two", "some"), ("two against one", "side by side")]);
    refused(&[
        (
            &format!("{LIST}[[loads]]\nvariants = [\"tow\"]\n"),
            "x.toml:11:13: there is no variant \"tow\"; did you mean \"two\"?",
        ),
        (
            &format!("{LIST}[[loads]]\nvariants = [\"two\"]\n"),
            "x.toml:10:1: the variant \"one\" has no load: add it to the variants of one",
        ),
        (
            &format!("{LIST}[[loads]]\nvariants = \"two\"\n"),
            "x.toml:11:12: variants of a load are a list of their names, such as [\"one\", \"two\"]",
        ),
    ]);
}

#[test]
fn a_variant_may_be_left_out_and_follows_one_before_it() {
    let combinations = parsed(LIST).combinations;
    assert_eq!((combinations[0].after.as_deref(), combinations[0].is_optional), (None, false));
    assert_eq!((combinations[1].after.as_deref(), combinations[1].is_optional), (Some("one"), true));
    assert_eq!(combinations[1].values.len(), 2, "neither is a value: {:?}", combinations[1].values);
    refused(&[
        (
            &LIST.replace("after = \"one\"", "after = \"own\""),
            "x.toml:8:9: no variant \"own\" stands before it; there are one",
        ),
        (&LIST.replace("optional = true", "optional = 1"), "x.toml:9:12: \"optional\" is true or false"),
    ]);
}

#[test]
fn a_load_may_have_fewer_repetitions_than_the_experiment() {
    let text = "repetitions = 6\n[[loads]]\nrate = 5\n[[loads]]\nverb = \"sweep\"\nrepetitions = 1\n";
    let of = |experiment: &Experiment| -> Vec<u64> {
        experiment.combinations.iter().map(|combination| combination.repetitions).collect()
    };
    assert_eq!(of(&parsed(text)), [6, 1]);
    refused(&[
        (
            &text.replace("repetitions = 1", "repetitions = 7"),
            "x.toml:6:15: 7 repetitions of a load, and the experiment has 6: raise those",
        ),
        (
            &text.replace("repetitions = 1", "repetitions = 0"),
            "x.toml:6:15: \"repetitions\" is a whole number, at least 1",
        ),
        (
            "repetitions = 999\n[[loads]]\nrepetitions = 2\n[[loads]]\nname = \"x\"\n[[loads]]\nname = \"y\"\n",
            "x.toml:1:15: 2000 measurements (variants x loads x repetitions); at most 1000",
        ),
    ]);
}
