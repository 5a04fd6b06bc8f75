//! Backend of a proxy: one of the other servers, on a port of its own.

use crate::error::StackError;
use crate::extra::{Extra, Takes};
use crate::layout::{Layout, Ready};
use crate::place::Place;
use crate::settings::Settings;
use crate::spec::Spec;

/// Which server it is; every proxy has this setting.
pub(super) const BACKEND: Extra = Extra {
    name: "backend",
    default: "nginx",
    takes: Takes::Word(&["nginx", "apache", "lighttpd", "caddy", "target"]),
    meaning: "server behind it: nginx, apache, lighttpd, caddy or target; {backend_port} in a --config",
};
/// How many workers that has; every proxy has this setting.
pub(super) const BACKEND_WORKERS: Extra = Extra {
    name: "backend_workers",
    default: "1",
    takes: Takes::Number(1, 1024),
    meaning: "workers of the server behind it",
};

/// The port of what stands behind the endpoint.
pub(super) const fn port(place: &Place) -> u16 {
    place.ports[1]
}

/// The server behind a proxy, without an endpoint: that is the proxy's affair. It has what the proxy is given to serve, and
/// its defaults otherwise.
pub(super) fn layout(spec: &Spec, place: &Place) -> Result<Layout, StackError> {
    let settings = &spec.settings;
    let mut pairs = vec![("path".to_owned(), settings.path.clone())];
    pairs.push(("workers".to_owned(), spec.extras.text("backend_workers").to_owned()));
    if let Some(root) = &settings.root {
        pairs.push(("root".to_owned(), root.display().to_string()));
    } else if settings.file_size != Settings::default().file_size {
        pairs.push(("file-size".to_owned(), settings.file_size.to_string()));
    }
    let behind = Spec::new(spec.extras.text("backend"), &pairs, Vec::new(), None)?;
    let [endpoint, own, other] = place.ports;
    let place = Place { ports: [own, other, endpoint], binary: None, ..place.clone() };
    let mut layout = (behind.server.layout)(&behind, &place)?;
    for service in layout.services.iter_mut().filter(|service| service.ready == Ready::Endpoint) {
        service.ready = Ready::Port(own);
    }
    layout.endpoint = None;
    layout.status.clear();
    layout.main_config = None;
    Ok(layout)
}
