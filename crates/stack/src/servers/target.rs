//! The built-in target as a server like any other.

use super::Server;
use crate::error::StackError;
use crate::layout::{Door, Layout, Process, Ready, Stop};
use crate::place::Place;
use crate::spec::Spec;

pub(super) const TARGET: Server = Server {
    name: "target",
    about: "the built-in test server, as plimsoll target starts it; its / lists what it answers",
    knows: &["workers", "backlog"],
    extras: &[],
    layout,
};

fn layout(spec: &Spec, place: &Place) -> Result<Layout, StackError> {
    let program = place.binary.clone().unwrap_or_else(|| place.own_program.clone());
    let settings = &spec.settings;
    let mut process = Process::new("target", program)
        .args(["target", "--listen", &format!("127.0.0.1:{}", place.ports[0])])
        .args(["--workers", &settings.workers.to_string(), "--backlog", &settings.backlog.to_string()]);
    process.as_ourselves = true;
    Ok(Layout {
        services: vec![process.service(Ready::Door, Stop::TERM)],
        door: Some(Door::Http { url: place.url(spec) }),
        ..Layout::default()
    })
}
