//! Redis: one process on a Unix socket.

use super::{Server, socket_only};
use crate::error::StackError;
use crate::extra::{Extra, Takes};
use crate::layout::{Endpoint, Layout, Process, Ready, Stop};
use crate::place::Place;
use crate::spec::Spec;

pub(super) const REDIS: Server = Server {
    name: "redis",
    about: "Redis on a Unix socket, empty at each start (package redis-server)",
    knows: &["backlog"],
    extras: EXTRAS,
    programs: &["redis-server"],
    limits: |_| Vec::new(),
    layout,
};

const EXTRAS: &[Extra] = &[
    Extra { name: "maxmemory", default: "0", takes: Takes::Size, meaning: "memory for data; 0: no limit" },
    Extra {
        name: "maxmemory-policy",
        default: "noeviction",
        takes: Takes::Word(POLICIES),
        meaning: "what goes when it is full",
    },
    Extra { name: "maxclients", default: "10000", takes: Takes::Number(1, 1_000_000), meaning: "connections, at most" },
    Extra { name: "io-threads", default: "1", takes: Takes::Number(1, 128), meaning: "threads that read and write" },
    Extra { name: "appendonly", default: "off", takes: Takes::Switch, meaning: "each change is written to a file" },
];

const POLICIES: &[&str] = &[
    "noeviction",
    "allkeys-lru",
    "allkeys-lfu",
    "allkeys-random",
    "volatile-lru",
    "volatile-lfu",
    "volatile-random",
    "volatile-ttl",
];

const CONFIG: &str = "conf/redis.conf";
/// Where it listens, below the state directory.
pub(super) const SOCKET: &str = "run/redis.sock";

fn layout(spec: &Spec, place: &Place) -> Result<Layout, StackError> {
    socket_only(spec)?;
    let program = place.program(&["redis-server"], "redis-server")?;
    let process = Process::new("redis", program).args([place.text(CONFIG)]);
    let socket = place.path(SOCKET);
    Ok(Layout {
        services: vec![process.service(Ready::Redis(socket.clone()), Stop::TERM)],
        data: Some("data".into()),
        endpoint: Some(Endpoint::Socket { path: socket }),
        main_config: Some(CONFIG.into()),
        ..Layout::default()
    }
    .file(CONFIG, configuration(spec, place)))
}

fn configuration(spec: &Spec, place: &Place) -> String {
    let mut text = format!(
        "port 0\nunixsocket {}\nunixsocketperm 700\ndir {}\ndaemonize no\nsave \"\"\ntcp-backlog {}\n",
        place.text(SOCKET),
        place.text("data"),
        spec.settings.backlog,
    );
    text.push_str(&format!("maxmemory-policy {}\n", spec.extras.text("maxmemory-policy")));
    // It knows no units of numbers, and others of bytes; a bare number it takes as bytes.
    for name in ["maxclients", "io-threads"] {
        text.push_str(&format!("{name} {}\n", spec.extras.number(name)));
    }
    text.push_str(&format!("maxmemory {}\n", spec.extras.bytes("maxmemory")));
    text.push_str(&format!("appendonly {}\n", if spec.extras.on("appendonly") { "yes" } else { "no" }));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_is_said_in_its_words() {
        let spec =
            Spec::parse("redis maxmemory=64MiB maxmemory-policy=allkeys-lru maxclients=1.5k appendonly=on backlog=8")
                .expect("known");
        let place = Place::example(&spec.settings, "plimsoll".into()).expect("a place");
        let text = configuration(&spec, &place);
        for line in [
            "maxmemory 67108864\n",
            "maxmemory-policy allkeys-lru\n",
            "maxclients 1500\n",
            "appendonly yes\n",
            "tcp-backlog 8\n",
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
    }

    #[test]
    fn it_has_no_port() {
        let spec = Spec::parse("redis port=6379").expect("every server knows port");
        let place = Place::example(&spec.settings, "plimsoll".into()).expect("a place");
        let message = layout(&spec, &place).expect_err("a socket").to_string();
        assert!(message.contains("redis answers on a Unix socket"), "{message}");
    }
}
