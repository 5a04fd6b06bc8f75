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
    /// The CPU of this machine.
    cpu: String,
    measured: Measured,
}

/// The file, by the names of the servers.
type Measured = BTreeMap<String, OfServer>;

/// What has been measured of a server.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct OfServer {
    /// The CPU of the machine: on another one the same rounds are another share of a request.
    cpu: String,
    truth: Option<Truth>,
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
    /// What is in a file; nothing where there is none. What is measured from now on is measured on this CPU.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(super) fn open(path: PathBuf, cpu: String) -> Result<Self> {
        let measured = if path.exists() { read(&path)? } else { Measured::new() };
        Ok(Self { path, cpu, measured })
    }

    /// The CPU on which a server was measured.
    pub(super) fn cpu(&self, server: Server) -> &str {
        self.measured.get(server.name()).map_or(&self.cpu, |of| &of.cpu)
    }

    /// The truth of a server from so many starts of these variants, if it has been measured.
    pub(super) fn truth(&self, server: Server, variants: &[String; 2], starts: u32) -> Option<Truth> {
        let truth = self.measured.get(server.name())?.truth.as_ref()?;
        let is_that = truth.cpu_ns.len() == starts as usize
            && variants.iter().zip(&truth.variants).all(|(one, measured)| server.without_folders(one) == *measured);
        is_that.then(|| truth.clone())
    }

    /// Keeps the truth of a server.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(super) fn keep_truth(&mut self, server: Server, truth: &Truth) -> Result<()> {
        self.of(server).truth = Some(truth.clone());
        self.write()
    }

    /// What came of a comparison, if it has been made.
    ///
    /// # Errors
    /// If it was made by another command.
    pub(super) fn outcome(&self, comparison: &Comparison) -> Result<Option<Outcome>> {
        let of_server = self.measured.get(comparison.server.name());
        let Some(made) = of_server.and_then(|of| of.comparisons.get(&comparison.name())) else { return Ok(None) };
        let Made { command, outcome } = made;
        let is_that = *command == comparison.command();
        ensure!(is_that, "it was made by another command, {command}: choose another --results");
        Ok(Some(outcome.clone()))
    }

    /// Keeps what came of a comparison.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(super) fn keep(&mut self, comparison: &Comparison, outcome: &Outcome) -> Result<()> {
        let made = Made { command: comparison.command(), outcome: outcome.clone() };
        self.of(comparison.server).comparisons.insert(comparison.name(), made);
        self.write()
    }

    /// Refuses a server of which a part was measured on another CPU.
    ///
    /// # Errors
    /// If there is such a part.
    pub(super) fn check_cpu(&self, server: Server) -> Result<()> {
        let (of, here, file) = (self.cpu(server), &self.cpu, self.path.display());
        ensure!(of == here, "{file} was measured on {of}, and this machine has {here}: choose another --results");
        Ok(())
    }

    fn of(&mut self, server: Server) -> &mut OfServer {
        let of = self.measured.entry(server.name().to_owned());
        of.or_insert_with(|| OfServer { cpu: self.cpu.clone(), truth: None, comparisons: BTreeMap::new() })
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
        let mut results = Results::open(path.clone(), "a CPU".to_owned()).unwrap();
        let made = outcome(Some(Call::Worse), 1.03, 100.0);
        assert_eq!(results.outcome(&comparison(7, "170s")).unwrap(), None);
        results.keep(&comparison(7, "170s"), &made).unwrap();
        let results = Results::open(path.clone(), "a CPU".to_owned()).unwrap();
        assert_eq!(results.outcome(&comparison(7, "170s")).unwrap(), Some(made));
        assert_eq!(results.outcome(&comparison(8, "170s")).unwrap(), None);
        let error = results.outcome(&comparison(7, "60s")).unwrap_err().to_string();
        assert!(
            error.starts_with("it was made by another command, compare --serve command -- server -rounds 1"),
            "{error}"
        );
        results.check_cpu(Server::Go).unwrap();
        let results = Results::open(path, "another CPU".to_owned()).unwrap();
        assert!(results.outcome(&comparison(7, "170s")).unwrap().is_some(), "nothing of it is measured here");
        let error = results.check_cpu(Server::Go).unwrap_err().to_string();
        assert!(
            error.ends_with("measured on a CPU, and this machine has another CPU: choose another --results"),
            "{error}"
        );
        results.check_cpu(Server::Php).unwrap();
    }

    #[test]
    fn a_truth_is_that_of_its_variants_and_starts() {
        let folder = tempfile::tempdir().unwrap();
        let mut results = Results::open(folder.path().join("measured.json"), "a CPU".to_owned()).unwrap();
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
