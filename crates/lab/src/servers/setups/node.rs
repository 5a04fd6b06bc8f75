//! Node.js, and what npm brings.

use super::super::setup::{Pages, Setup};
use crate::install::Origin::{Here, Npm};

const PAGES: (&str, &str) = ("pages.js", include_str!("../apps/pages.js"));

#[rustfmt::skip]
pub(super) static SETUPS: [Setup; 9] = [
    Setup::new("node", "JavaScript, events", Here, "node server.js {port}").files(&[PAGES, ("server.js", include_str!("../apps/node.js"))]),
    Setup::new("express", "JavaScript on node", Npm(&["express"]), "node server.js {port}").files(&[PAGES, ("server.js", include_str!("../apps/express.js"))]),
    Setup::new("polka", "JavaScript on node", Npm(&["polka"]), "node server.js {port}").files(&[PAGES, ("server.js", include_str!("../apps/polka.js"))]),
    Setup::new("koa", "JavaScript on node", Npm(&["koa"]), "node server.js {port}").files(&[("server.js", include_str!("../apps/koa.js"))]),
    Setup::new("fastify", "JavaScript on node", Npm(&["fastify"]), "node server.js {port}").files(&[("server.js", include_str!("../apps/fastify.js"))]),
    Setup::new("hapi", "JavaScript on node", Npm(&["@hapi/hapi"]), "node server.js {port}").files(&[("server.js", include_str!("../apps/hapi.js"))]),
    Setup::new("http-server", "JavaScript on node", Npm(&["http-server"]), "node_modules/.bin/http-server {site} -s -c-1 -a 127.0.0.1 -p {port}").pages(Pages::Files),
    Setup::new("serve", "JavaScript on node", Npm(&["serve"]), "node_modules/.bin/serve -L -n -l tcp://127.0.0.1:{port} {site} > /dev/null").pages(Pages::FilesWithoutDates),
    Setup::new("bun", "Zig and JavaScript", Npm(&["bun"]), "node_modules/.bin/bun server.js {port}").files(&[("server.js", include_str!("../apps/bun.js"))]),
];
