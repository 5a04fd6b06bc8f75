//! nginx with endpoints in Lua: what the built-in target answers, by a server of this world.

use super::nginx::{self, CONFIG, KEEPALIVE_TIMEOUT, Parts, STUB_STATUS, configuration};
use super::{Server, quoted};
use crate::error::StackError;
use crate::extra::{Extra, Takes};
use crate::layout::{Endpoint, Layout, Ready, Stop};
use crate::place::Place;
use crate::spec::Spec;

pub(super) const NGINX_LUA: Server = Server {
    name: "nginx-lua",
    about: "nginx with the target's endpoints in Lua (packages nginx-light, libnginx-mod-http-lua)",
    knows: &["workers", "worker-connections", "keepalive", "keepalive-requests", "access-log", "tls", "backlog"],
    extras: EXTRAS,
    programs: &["nginx"],
    limits: |spec| vec![spec.workers("worker_processes", "nginx")],
    layout,
};

const EXTRAS: &[Extra] = &[
    KEEPALIVE_TIMEOUT,
    STUB_STATUS,
    Extra {
        name: "modules",
        default: "/usr/lib/nginx/modules",
        takes: Takes::Text,
        meaning: "directory of its modules",
    },
];

fn layout(spec: &Spec, place: &Place) -> Result<Layout, StackError> {
    let process = nginx::process(place)?;
    let folder = spec.extras.text("modules");
    let main = ["ndk_http_module", "ngx_http_lua_module"].into_iter().map(|name| {
        let path = place.file(format!("{folder}/{name}.so").into(), "libnginx-mod-http-lua")?;
        Ok(format!("load_module {};\n", quoted(&path)?))
    });
    let (main, http) = (main.collect::<Result<String, StackError>>()?, http(place));
    let parts = Parts {
        main: &main,
        http: &http,
        server: "    location / { content_by_lua_block { require(\"site\").serve() } }\n",
    };
    let layout = Layout {
        services: vec![process.service(Ready::Endpoint, Stop::TERM)],
        endpoint: Some(Endpoint::Http { url: place.url(&spec.settings) }),
        main_config: Some(CONFIG.into()),
        ..Layout::default()
    };
    Ok(layout.file(CONFIG, configuration(spec, place, &parts)).file("conf/site.lua", include_str!("site.lua")))
}

/// Empty segments of a path are the handlers' matter. Bodies are summed up in memory. Behind a refusal nginx waits for the
/// rest of a body that never comes.
fn http(place: &Place) -> String {
    format!(
        "  merge_slashes off;\n\
         \x20 client_max_body_size 1g;\n\
         \x20 client_body_buffer_size 8m;\n\
         \x20 lingering_timeout 100ms;\n\
         \x20 lua_package_path \"{}/?.lua;;\";\n\
         \x20 init_by_lua_block {{ require \"site\" }}\n",
        place.text("conf")
    )
}
