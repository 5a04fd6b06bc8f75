//! Any command line that is a server: `{address}`, `{port}`, `{state}` and `{root}` are filled in.

use super::{Server, backend};
use crate::error::StackError;
use crate::layout::{Endpoint, Layout, Process, Ready, Stop};
use crate::limits::{WORKERS_MAX, setting};
use crate::place::Place;
use crate::programs;
use crate::spec::Spec;
use model::Setting;
use std::path::Path;

pub(super) const COMMAND: Server = Server {
    name: super::COMMAND,
    about: "any command after --; {address}, {port}, {state} and {root} are filled in, PORT and PLIMSOLL are in its environment",
    knows: &["tls", "root"],
    extras: &[],
    programs: &[],
    limits,
    layout,
};

/// What the command line of the user says of workers.
fn limits(spec: &Spec) -> Vec<Setting> {
    let setting = |(_, flag, n): (usize, String, u64)| setting(&flag, &flag, "", n, WORKERS_MAX);
    spec.flagged().map(setting).into_iter().collect()
}

fn layout(spec: &Spec, place: &Place) -> Result<Layout, StackError> {
    let words: Vec<String> = spec.command.iter().map(|word| fill_in(word, spec, place)).collect();
    let (program, args) = words.split_first().ok_or_else(|| StackError::Wrong("there is no command".into()))?;
    let program = programs::named(Path::new(program))?;
    let name = program.file_name().map_or_else(|| "command".into(), |name| name.to_string_lossy().into_owned());
    let mut process = Process::new(&name, program).args(args);
    process.env.push(("PORT".into(), place.ports[0].to_string()));
    process.env.push(("PLIMSOLL".into(), place.own_program.display().to_string()));
    Ok(Layout {
        services: vec![process.service(Ready::Endpoint, Stop::TERM)],
        endpoint: Some(Endpoint::Http { url: place.url(&spec.settings) }),
        ..Layout::default()
    })
}

/// Replaces the names of what only a start knows.
pub(crate) fn fill_in(text: &str, spec: &Spec, place: &Place) -> String {
    text.replace("{address}", &spec.settings.address.to_string())
        .replace("{port}", &place.ports[0].to_string())
        .replace("{backend_port}", &backend::port(place).to_string())
        .replace("{state}", &place.dir.display().to_string())
        .replace("{root}", &place.docroot(&spec.settings))
}
