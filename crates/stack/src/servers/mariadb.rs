//! MariaDB: a database of its own on a Unix socket, as it was created at each restart.

use super::{Server, socket_only};
use crate::error::StackError;
use crate::extra::{Extra, Takes};
use crate::layout::{Endpoint, Layout, Process, Ready, Stop};
use crate::place::Place;
use crate::spec::Spec;
use std::path::{Path, PathBuf};

pub(super) const MARIADB: Server = Server {
    name: "mariadb",
    about: "MariaDB on a Unix socket with an empty database, user root without password (package mariadb-server-core)",
    knows: &["backlog"],
    extras: EXTRAS,
    programs: &["mariadbd"],
    limits: |_| Vec::new(),
    layout,
};

/// For all that a database is a part of, as the two that follow.
pub(super) const MAX_CONNECTIONS: Extra = Extra {
    name: "max_connections",
    default: "200",
    takes: Takes::Number(10, 100_000),
    meaning: "connections of the database, at most",
};
pub(super) const BUFFER_POOL: Extra = Extra {
    name: "innodb_buffer_pool_size",
    default: "256MiB",
    takes: Takes::Size,
    meaning: "memory of the database for tables",
};
pub(super) const FLUSH_LOG: Extra = Extra {
    name: "innodb_flush_log_at_trx_commit",
    default: "2",
    takes: Takes::Word(&["0", "1", "2"]),
    meaning: "what a commit waits for: 1 the disk, 2 the kernel, 0 nothing",
};

/// What MariaDB and MySQL have in common.
pub(super) const EXTRAS: &[Extra] = &[
    MAX_CONNECTIONS,
    BUFFER_POOL,
    FLUSH_LOG,
    Extra {
        name: "thread_cache_size",
        default: "64",
        takes: Takes::Number(0, 16_384),
        meaning: "threads kept for new connections",
    },
];

pub(super) const CONFIG: &str = "conf/my.cnf";
pub(super) const SOCKET: &str = "run/mysqld.sock";

fn layout(spec: &Spec, place: &Place) -> Result<Layout, StackError> {
    socket_only(spec)?;
    let program = place.program(&["mariadbd"], "mariadb-server-core")?;
    let install = place.helper(&["mariadb-install-db"], "mariadb-server-core")?;
    let basedir = basedir(&program);
    let defaults = format!("--defaults-file={}", place.text(CONFIG));
    let install = Process::new("mariadb-install-db", install)
        .args([&defaults, "--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve"])
        .args([format!("--basedir={}", basedir.display())])
        // An empty database that a crash damages is made again.
        .args([
            "--innodb-flush-log-at-trx-commit=0",
            "--skip-innodb-doublewrite",
            "--innodb-flush-method=nosync",
            "--debug-no-sync",
        ]);
    let socket = place.path(SOCKET);
    let process = Process::new("mariadb", program).args([&defaults]);
    Ok(Layout {
        provision: vec![install],
        services: vec![process.service(Ready::Mysql(socket.clone()), Stop::SLOW)],
        data: Some("data".into()),
        endpoint: Some(Endpoint::Socket { path: socket }),
        main_config: Some(CONFIG.into()),
        ..Layout::default()
    }
    .file(CONFIG, configuration(spec, place, &basedir, "innodb_log_file_size = 8M\nskip_log_bin\n")))
}

/// Where a database has the files that it needs: `/usr` for `/usr/sbin/mysqld`.
pub(super) fn basedir(program: &Path) -> PathBuf {
    let folder = program.parent().filter(|folder| folder.ends_with("sbin") || folder.ends_with("bin"));
    folder.and_then(Path::parent).unwrap_or_else(|| Path::new("/usr")).to_owned()
}

/// The configuration of MariaDB and of MySQL. `own` is what only one of them knows.
pub(super) fn configuration(spec: &Spec, place: &Place, basedir: &Path, own: &str) -> String {
    let mut text = format!(
        "[mysqld]\n\
         basedir = {basedir}\n\
         datadir = {data}\n\
         socket = {socket}\n\
         pid_file = {pid}\n\
         tmpdir = {tmp}\n\
         skip_networking\n\
         innodb_buffer_pool_size = {pool}\n\
         back_log = {backlog}\n\
         {own}",
        basedir = basedir.display(),
        data = place.text("data"),
        socket = place.text(SOCKET),
        pid = place.text("run/mysqld.pid"),
        tmp = place.text("tmp"),
        pool = spec.extras.bytes("innodb_buffer_pool_size"),
        backlog = spec.settings.backlog,
    );
    // To it, k is 1,024.
    for name in ["max_connections", "thread_cache_size"] {
        text.push_str(&format!("{name} = {}\n", spec.extras.number(name)));
    }
    let name = "innodb_flush_log_at_trx_commit";
    text.push_str(&format!("{name} = {}\n", spec.extras.text(name)));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_is_said_in_its_words() {
        let spec = Spec::parse("mariadb max_connections=1.5k innodb_buffer_pool_size=64MiB backlog=9").expect("known");
        let place = Place::example(&spec.settings, "plimsoll".into()).expect("a place");
        let text = configuration(&spec, &place, &basedir(Path::new("/opt/db/bin/mariadbd")), "");
        for line in [
            "max_connections = 1500\n",
            "innodb_buffer_pool_size = 67108864\n",
            "back_log = 9\n",
            "basedir = /opt/db\n",
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
    }
}
