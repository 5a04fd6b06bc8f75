//! What has been measured so far, in one file, so that hours of comparisons can be made one part after the other.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use super::Server;
use super::comparison::{Comparison, Outcome, read};
use super::truth::Truth;

/// All that has been measured, and the file that it is in.
#[derive(Debug)]
pub(super) struct Results {
    path: PathBuf,
    measured: Measured,
}

/// The file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Measured {
    /// The CPU of the machine: on another one the same rounds are another share of a request.
    cpu: String,
    /// By the name of the server.
    truths: BTreeMap<String, Truth>,
    /// By the name of the comparison.
    comparisons: BTreeMap<String, Made>,
}

/// A comparison that was made.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Made {
    command: String,
    outcome: Outcome,
}

impl Results {
    /// What is in a file; nothing where there is none.
    ///
    /// # Errors
    /// If the file cannot be read, or is of another machine.
    pub(super) fn open(path: PathBuf, cpu: &str) -> Result<Self> {
        let measured = if path.exists() {
            read(&path)?
        } else {
            Measured { cpu: cpu.to_owned(), truths: BTreeMap::new(), comparisons: BTreeMap::new() }
        };
        let of = &measured.cpu;
        let file = path.display();
        ensure!(of == cpu, "{file} was measured on {of}, and this machine has {cpu}: choose another --results");
        Ok(Self { path, measured })
    }

    /// The truth of a server from so many starts of these variants, if it has been measured.
    pub(super) fn truth(&self, server: Server, variants: &[String; 2], starts: u32) -> Option<Truth> {
        let truth = self.measured.truths.get(server.name())?;
        let is_that = truth.cpu_ns.len() == starts as usize
            && variants.iter().zip(&truth.variants).all(|(one, measured)| server.without_folders(one) == *measured);
        is_that.then(|| truth.clone())
    }

    /// Keeps the truth of a server.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(super) fn keep_truth(&mut self, server: Server, truth: &Truth) -> Result<()> {
        self.measured.truths.insert(server.name().to_owned(), truth.clone());
        self.write()
    }

    /// What came of a comparison, if it has been made.
    ///
    /// # Errors
    /// If it was made by another command.
    pub(super) fn outcome(&self, comparison: &Comparison) -> Result<Option<Outcome>> {
        let Some(made) = self.measured.comparisons.get(&comparison.name()) else { return Ok(None) };
        let Made { command, outcome } = made;
        ensure!(
            *command == comparison.command(),
            "it was made by another command, {command}: choose another --results"
        );
        Ok(Some(outcome.clone()))
    }

    /// Keeps what came of a comparison.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(super) fn keep(&mut self, comparison: &Comparison, outcome: &Outcome) -> Result<()> {
        let made = Made { command: comparison.command(), outcome: outcome.clone() };
        self.measured.comparisons.insert(comparison.name(), made);
        self.write()
    }

    /// Writes the file beside the old one first, so that one of both is whole.
    fn write(&self) -> Result<()> {
        let text = serde_json::to_string_pretty(&self.measured)?;
        let new = self.path.with_extension("new");
        std::fs::write(&new, text + "\n").with_context(|| format!("writing {}", new.display()))?;
        std::fs::rename(&new, &self.path).with_context(|| format!("writing {}", self.path.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::comparison::Kind;
    use super::super::sums::tests::outcome;
    use super::*;
    use model::Call;

    const WORDS: [&str; 2] =
        ["command -- /keep/variants/go/server -rounds 1", "command -- /keep/variants/go/server -rounds 2"];

    fn comparison(number: u32, budget: &str) -> Comparison {
        Comparison::new(Server::Go, Kind::Worse, number, &WORDS.map(str::to_owned), budget)
    }

    #[test]
    fn what_was_measured_is_known_in_another_folder_and_not_of_another_command() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("measured.json");
        let mut results = Results::open(path.clone(), "a CPU").unwrap();
        let made = outcome(Some(Call::Worse), 1.03, 100.0);
        assert_eq!(results.outcome(&comparison(7, "170s")).unwrap(), None);
        results.keep(&comparison(7, "170s"), &made).unwrap();
        let results = Results::open(path.clone(), "a CPU").unwrap();
        assert_eq!(results.outcome(&comparison(7, "170s")).unwrap(), Some(made));
        assert_eq!(results.outcome(&comparison(8, "170s")).unwrap(), None);
        let error = results.outcome(&comparison(7, "60s")).unwrap_err().to_string();
        assert!(
            error.starts_with("it was made by another command, compare --serve command -- server -rounds 1"),
            "{error}"
        );
        let error = Results::open(path, "another CPU").unwrap_err().to_string();
        assert!(
            error.ends_with("measured on a CPU, and this machine has another CPU: choose another --results"),
            "{error}"
        );
    }

    #[test]
    fn a_truth_is_that_of_its_variants_and_starts() {
        let folder = tempfile::tempdir().unwrap();
        let mut results = Results::open(folder.path().join("measured.json"), "a CPU").unwrap();
        let variants = WORDS.map(str::to_owned);
        let shown = variants.each_ref().map(|variant| Server::Go.without_folders(variant));
        let truth = Truth { variants: shown, cpu_ns: vec![(1.0, 1.1); 6], requests: 5 };
        results.keep_truth(Server::Go, &truth).unwrap();
        assert_eq!(results.truth(Server::Go, &variants, 6), Some(truth));
        assert_eq!(results.truth(Server::Go, &variants, 7), None);
        assert_eq!(results.truth(Server::Php, &variants, 6), None);
        let [one, _] = variants;
        assert_eq!(results.truth(Server::Go, &[one.clone(), one], 6), None);
    }
}
