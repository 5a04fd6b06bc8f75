//! Server as plimsoll knows it, and its specification: how it is to be.

use crate::error::StackError;
use crate::extra::{Extra, Extras};
use crate::layout::Layout;
use crate::place::Place;
use crate::settings::Settings;
use model::Setting;

/// A server and how it is to be.
#[derive(Clone, Debug)]
pub struct Spec {
    pub(crate) server: &'static Server,
    /// What it was read from, such as `nginx workers=2`; empty if that were settings.
    pub text: String,
    /// For reports: the text that was given, or one made from the settings that were.
    pub label: String,
    /// What all servers have.
    pub settings: Settings,
    pub(crate) extras: Extras,
    /// The command line of a server that plimsoll does not know.
    pub(crate) command: Vec<String>,
}

/// A server.
#[derive(Debug)]
pub struct Server {
    /// As it is asked for.
    pub name: &'static str,
    /// In a line, for help.
    pub about: &'static str,
    /// Which of the settings that not every server has this one has.
    pub(crate) knows: &'static [&'static str],
    /// Settings of this server alone.
    pub(crate) extras: &'static [Extra],
    /// Names of the processes that it runs, all of them in [`model::KNOWN_PROGRAMS`].
    pub programs: &'static [&'static str],
    /// Settings of which it can be given more.
    pub(crate) limits: fn(&Spec) -> Vec<Setting>,
    /// How it is run.
    pub(crate) layout: fn(&Spec, &Place) -> Result<Layout, StackError>,
}

impl Spec {
    /// Name of the server in the list of those that are known.
    #[must_use]
    pub const fn server_name(&self) -> &'static str {
        self.server.name
    }
}

impl Server {
    /// The message for a setting that this server does not have.
    pub(crate) fn no_such_setting(&self, key: &str) -> StackError {
        let mut names: Vec<&str> = self.extras.iter().map(|extra| extra.name).collect();
        names.extend(self.knows);
        names.extend(["address", "port", "path", "config", "binary", "build", "env", "wrapper", "cpus", "user"]);
        StackError::Wrong(format!("{} has no setting {key}; it has {}", self.name, names.join(", ")))
    }

    /// Its own settings for help: name, default and meaning.
    pub fn own_settings(&self) -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
        self.extras.iter().map(|extra| (extra.name, extra.default, extra.meaning))
    }
}
