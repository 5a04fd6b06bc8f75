//! Environment variables that the program reads.

use std::fmt::Write;

/// A variable, and what it does.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Variable {
    pub(crate) name: &'static str,
    /// What stands in the sources where it is read: the name, or what of a library reads it.
    #[cfg_attr(not(test), expect(dead_code, reason = "a test looks for it in the sources"))]
    pub(crate) reader: &'static str,
    pub(crate) meaning: &'static str,
}

const fn own(name: &'static str, meaning: &'static str) -> Variable {
    Variable { name, reader: name, meaning }
}

const fn of_library(name: &'static str, reader: &'static str, meaning: &'static str) -> Variable {
    Variable { name, reader, meaning }
}

/// All of them.
pub(crate) const VARIABLES: [Variable; 20] = [
    of_library("NO_COLOR", "anstream::", "no colours, if it is not empty"),
    of_library("CLICOLOR", "anstream::", "0: no colours on a terminal"),
    of_library("CLICOLOR_FORCE", "anstream::", "1: colours in files and pipes too"),
    of_library("TERM", "anstream::", "dumb: no colours"),
    own("COLUMNS", "width of the text where it does not go to a terminal"),
    own("LC_ALL", "locale: the text is pure ASCII if it names another character set than UTF-8"),
    own("LC_CTYPE", "the same, without LC_ALL"),
    own("LANG", "the same, without LC_ALL and LC_CTYPE; none of the three counts as UTF-8"),
    own("PLIMSOLL_TOKEN", "secret of agents that connect, unless --token-file is given"),
    own("PLIMSOLL_SSH", "command in the place of ssh, unless --ssh is given"),
    own("PLIMSOLL_MYSQL_PASSWORD", "password of --status mysql://"),
    own("PLIMSOLL_REDIS_PASSWORD", "password of --status redis://"),
    own("PATH", "where server programs, ssh and srun are found"),
    of_library("TMPDIR", "env::temp_dir()", "where directories of servers are made [default: /tmp]"),
    of_library("SSL_CERT_FILE", "rustls_native_certs::", "trusted certificates, in the place of those of the system"),
    of_library("SSL_CERT_DIR", "rustls_native_certs::", "the same, as a directory"),
    of_library("KUBECONFIG", "kube::config", "kubeconfig of --client k8s:// [default: ~/.kube/config]"),
    of_library(
        "KUBERNETES_SERVICE_HOST",
        "kube::config",
        "in a pod: the API server of --client k8s://, without a kubeconfig",
    ),
    own("XDG_CACHE_HOME", "on machines of --client: where the copy of plimsoll is kept [default: ~/.cache]"),
    own("HOME", "on machines of --client: the same, without XDG_CACHE_HOME"),
];

/// The list, as a section of the help.
pub(crate) fn section() -> String {
    VARIABLES.iter().fold("Environment:\n".to_owned(), |mut text, variable| {
        let _ = writeln!(text, "  {}\n      {}", variable.name, variable.meaning);
        text
    }) + "\nCommands that are measured (--serve 'command ...') get PATH, LANG, LANGUAGE, LC_ALL, LC_CTYPE, TZ, \
        LD_LIBRARY_PATH, PYTHONPATH, VIRTUAL_ENV, NODE_PATH and JAVA_HOME of the caller, and no other variables."
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::{Path, PathBuf};

    /// Crates whose code is part of the program.
    const CRATES: [&str; 9] =
        ["plimsoll", "stack", "engine", "observe", "report", "target", "browser", "agent", "input"];
    /// Calls that read a variable whose name is no literal and no constant of the same file: it is the user who names
    /// it, or it
    /// stands in a list that the section has.
    const NAMED_ELSEWHERE: [&str; 4] = [
        "plimsoll/src/verbs/target.rs",
        "plimsoll/src/settings/auth.rs",
        "plimsoll/src/output/printer.rs",
        "stack/src/environment.rs",
    ];

    fn sources(folder: &Path, found: &mut Vec<(PathBuf, String)>) {
        for entry in std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
            if entry.is_dir() {
                sources(&entry, found);
            } else if entry.extension().is_some_and(|kind| kind == "rs") && !entry.ends_with("cli/variables.rs") {
                let text = std::fs::read_to_string(&entry).expect("text");
                found.push((entry, text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default().to_owned()));
            }
        }
    }

    fn program() -> Vec<(PathBuf, String)> {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crates");
        let mut found = Vec::new();
        CRATES.iter().for_each(|name| sources(&crates.join(name).join("src"), &mut found));
        found
    }

    /// Arguments of calls that read a variable.
    fn arguments(text: &str) -> impl Iterator<Item = &str> {
        let calls = ["env::var(", "env::var_os("].into_iter();
        calls.flat_map(|call| text.split(call).skip(1)).filter_map(|rest| rest.split(')').next())
    }

    #[test]
    fn each_variable_that_is_read_is_listed() {
        let mut seen = 0;
        for (path, text) in program() {
            for argument in arguments(&text) {
                let constant = text.split(&format!("const {argument}: &str = ")).nth(1);
                let literal = constant.and_then(|rest| rest.split(';').next()).unwrap_or(argument);
                let is_elsewhere = NAMED_ELSEWHERE.iter().any(|file| path.ends_with(file));
                let listed = VARIABLES.iter().any(|variable| literal == format!("{:?}", variable.name));
                let in_table = text.contains("PLIMSOLL_MYSQL_PASSWORD") && argument == "variable";
                assert!(listed || is_elsewhere || in_table, "{}: {argument} is read, and not listed", path.display());
                seen += 1;
            }
        }
        assert!(seen >= 5, "the sources are read");
    }

    #[test]
    fn each_variable_that_is_listed_is_read() {
        let program = program();
        for variable in VARIABLES {
            let is_read = program.iter().any(|(_, text)| text.contains(variable.reader));
            assert!(is_read, "{} is listed, and not read", variable.name);
        }
    }
}
