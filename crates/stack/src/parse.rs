//! Specification of a server from a text, from flags or from a file.

use crate::error::StackError;
use crate::extra::Extras;
use crate::servers;
use crate::settings::{SPECIAL, Settings};
use crate::spec::Spec;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use toml::{Table, Value};

/// Longest file of a specification.
const FILE_BYTES_MAX: u64 = 1 << 20;

impl Spec {
    /// Reads a text such as `nginx workers=2 access-log=on`, or `@FILE` (TOML).
    ///
    /// # Errors
    /// If a name or a value is not known.
    pub fn parse(text: &str) -> Result<Self, StackError> {
        let text = text.trim();
        if text.starts_with('@') {
            return Self::typed(text, &[], Vec::new());
        }
        let words = shlex::split(text).filter(|words| !words.is_empty());
        let words = words
            .ok_or_else(|| StackError::Wrong(format!("{text:?} is no server; write for example 'nginx workers=2'")))?;
        let dashes = words.iter().position(|word| word == "--").unwrap_or(words.len());
        let (front, command) = (&words[..dashes], words.get(dashes + 1..).unwrap_or_default());
        let (name, pairs) = match front.split_first() {
            Some((name, pairs)) if !name.contains('=') => (name.as_str(), pairs),
            _ => (servers::COMMAND, front),
        };
        let pair = |word: &String| match word.split_once('=') {
            Some((key, value)) => Ok((key.to_owned(), value.to_owned())),
            None => Err(StackError::Wrong(format!("{word:?} in {text:?} is not key=value"))),
        };
        let pairs = pairs.iter().map(pair).collect::<Result<Vec<_>, _>>()?;
        let spec = Self::new(name, &pairs, command.to_vec(), Some(text.to_owned()))?;
        Ok(Self { text: text.to_owned(), ..spec })
    }

    /// From words of a command line: a name, settings as text, and the command of a server that plimsoll does not know; or
    /// `@FILE` alone, which says all of that.
    ///
    /// # Errors
    /// If a name or a value is not known.
    pub fn typed(name: &str, pairs: &[(String, String)], command: Vec<String>) -> Result<Self, StackError> {
        let Some(path) = name.strip_prefix('@') else { return Self::new(name, pairs, command, None) };
        match pairs.first() {
            Some((key, _)) => Err(StackError::Wrong(format!(
                "{name} has the settings of its server; write {key} into it, or name the server in place of the file"
            ))),
            None if !command.is_empty() => {
                Err(StackError::Wrong(format!("{name} says which server it is; leave out what stands after --")))
            }
            None => Self::read(Path::new(path)),
        }
    }

    /// From a name and settings as text. `label` is for reports.
    ///
    /// # Errors
    /// If a name or a value is not known.
    pub fn new(
        name: &str,
        pairs: &[(String, String)],
        command: Vec<String>,
        label: Option<String>,
    ) -> Result<Self, StackError> {
        let server = servers::find(name)?;
        if server.name == servers::COMMAND && command.is_empty() {
            return Err(StackError::Wrong(
                "there is no command; write for example: serve -- ./my-server --port {port}".into(),
            ));
        }
        if server.name != servers::COMMAND && !command.is_empty() {
            return Err(StackError::Wrong(format!("{name} has its own command line; leave out what stands after --")));
        }
        let (mut settings, mut given) = (Settings::default(), BTreeMap::new());
        for (key, value) in pairs {
            let key = key.as_str();
            if server.extras.iter().any(|extra| extra.name == key) {
                given.insert(key.to_owned(), value.clone());
            } else if SPECIAL.contains(&key) && !server.knows.contains(&key) || !settings.set(key, value)? {
                return Err(server.no_such_setting(key));
            }
        }
        let has = |wanted: &str| pairs.iter().any(|(key, _)| key == wanted);
        if has("root") && has("file-size") {
            return Err(StackError::Wrong(
                "file-size is of the generated file: leave it out, or leave out root".to_owned(),
            ));
        }
        let extras = Extras::new(server.extras, &given)?;
        let label = label.unwrap_or_else(|| self::label(name, pairs, &command));
        Ok(Self { server, text: String::new(), label, settings, extras, command })
    }

    /// Reads a TOML file with `server = "NAME"` (or `command = [...]`) and a line for each setting.
    fn read(path: &Path) -> Result<Self, StackError> {
        let wrong = |what: &dyn std::fmt::Display| StackError::Wrong(format!("{}: {what}", path.display()));
        let text = text_of(path).map_err(|error| wrong(&error))?;
        let table: Table = text.parse().map_err(|error: toml::de::Error| wrong(&one_line(&error, &text)))?;
        let (mut name, mut label, mut command, mut pairs) = (None, None, Vec::new(), Vec::new());
        for (key, value) in &table {
            match (key.as_str(), value) {
                ("server", Value::String(text)) => name = Some(text.clone()),
                ("label", Value::String(text)) => label = Some(text.clone()),
                ("command", Value::Array(list)) => command = list.iter().map(scalar).collect(),
                ("env", Value::Table(variables)) => {
                    let pair =
                        |(name, value): (&String, &Value)| ("env".to_owned(), format!("{name}={}", scalar(value)));
                    pairs.extend(variables.iter().map(pair));
                }
                (_, Value::Table(_) | Value::Array(_)) => return Err(wrong(&format!("{key} is a single value"))),
                _ => pairs.push((key.clone(), scalar(value))),
            }
        }
        let name = name.or_else(|| (!command.is_empty()).then(|| servers::COMMAND.to_owned()));
        let name = name.ok_or_else(|| wrong(&"it does not say which server: add a line such as server = \"nginx\""))?;
        let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        Self::new(&name, &pairs, command, label.or(stem)).map_err(|error| wrong(&error))
    }
}

/// The text of a file, which is not read on where it is longer than any specification: some files have no end.
fn text_of(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    File::open(path)?.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(io::Error::other(format!("it has more than {FILE_BYTES_MAX} bytes")));
    }
    String::from_utf8(bytes).map_err(|_| io::Error::other("it is no UTF-8 text"))
}

fn label(name: &str, pairs: &[(String, String)], command: &[String]) -> String {
    let mut words: Vec<String> = vec![name.to_owned()];
    words.extend(pairs.iter().map(|(key, value)| format!("{key}={value}")));
    if !command.is_empty() {
        words = command.to_vec();
    }
    words.join(" ")
}

/// A value as the same setting has it in a text.
fn scalar(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// What is wrong with a file and in which line.
fn one_line(error: &toml::de::Error, text: &str) -> String {
    let line = error.span().map_or(1, |span| text[..span.start.min(text.len())].lines().count().max(1));
    format!("line {line}: {}", error.message())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> String {
        Spec::parse(text).map(|spec| spec.label).expect_err(text).to_string()
    }

    #[test]
    fn a_text_names_server_and_settings() {
        let spec = Spec::parse("nginx workers=2 gzip=on").expect("known");
        assert_eq!((spec.server.name, spec.settings.workers, spec.settings.gzip), ("nginx", 2, true));
        assert_eq!(spec.label, "nginx workers=2 gzip=on");
        let spec = Spec::parse("port=8080 -- ./server --port {port}").expect("a command");
        assert_eq!((spec.server.name, spec.settings.port), ("command", 8080));
        assert_eq!(spec.command, ["./server", "--port", "{port}"]);
    }

    #[test]
    fn what_is_not_known_is_named_with_what_is() {
        assert!(message("ngix").contains("ngix") && message("ngix").contains("nginx"));
        assert!(
            message("nginx worker=2").contains("nginx has no setting worker; it has"),
            "{}",
            message("nginx worker=2")
        );
        assert!(message("nginx workers=0").contains("from 1 to 1024"));
        assert!(message("nginx fast").contains("not key=value"));
        assert!(message("").contains("is no server"));
        assert!(message("--").contains("there is no command"));
        assert!(message("nginx -- ls").contains("its own command line"));
    }

    #[test]
    fn a_file_says_the_same() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("fast.toml");
        let file = |text: &str| {
            std::fs::write(&path, text).expect("a file");
            Spec::parse(&format!("@{}", path.display()))
        };
        let spec = file("server = \"nginx\"\nworkers = 2\ngzip = true\n[env]\nA = \"b\"\n").expect("known");
        assert_eq!((spec.settings.workers, spec.settings.gzip, spec.label.as_str()), (2, true, "fast"));
        assert_eq!(spec.settings.env, [("A".to_owned(), "b".to_owned())]);
        let error = file("server = \"nginx\"\nworkers =\n").expect_err("broken").to_string();
        assert!(error.contains("fast.toml: line 2"), "{error}");
        assert!(file("workers = 2\n").expect_err("no name").to_string().contains("which server"));
    }

    /// It was read until memory ended.
    #[test]
    fn a_file_that_is_longer_than_any_specification_is_refused() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("long.toml");
        let refusal = |path: &Path| message(&format!("@{}", path.display()));
        let file = File::create(&path).expect("a file");
        file.set_len(1 << 30).expect("it is sparse");
        assert!(refusal(&path).contains("long.toml: it has more than 1048576 bytes"), "{}", refusal(&path));
        assert!(refusal(Path::new("/dev/zero")).contains("it has more than 1048576 bytes"), "it has no end");
        file.set_len(FILE_BYTES_MAX).expect("it is shorter");
        assert!(!refusal(&path).contains("it has more than"), "{}", refusal(&path));
    }

    /// The size was ignored.
    #[test]
    fn a_size_of_the_file_that_a_directory_takes_the_place_of_is_refused() {
        for text in ["nginx root=/srv file-size=64KiB", "php-fpm file-size=1KiB root=/srv"] {
            assert_eq!(message(text), "file-size is of the generated file: leave it out, or leave out root");
        }
        Spec::parse("nginx root=/srv").and_then(|_| Spec::parse("nginx file-size=2KiB")).expect("each alone");
    }
}
