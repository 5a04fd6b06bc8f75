//! MySQL: as MariaDB, where it can be had.

use super::mariadb::{CONFIG, EXTRAS, SOCKET, basedir, configuration};
use super::{Server, socket_only};
use crate::error::StackError;
use crate::layout::{Endpoint, Layout, Process, Ready, Stop};
use crate::place::Place;
use crate::spec::Spec;
use std::path::{Path, PathBuf};

pub(super) const MYSQL: Server = Server {
    name: "mysql",
    about: "MySQL 8 or later on a Unix socket with an empty database, user root without password (not in Debian 12)",
    knows: &["backlog"],
    extras: EXTRAS,
    programs: &["mysqld"],
    limits: |_| Vec::new(),
    layout,
};

/// No package can be named that is there on every system.
const NOT_INSTALLED: &str = "MySQL is not installed, and Debian 12 has no package of it (its mysqld is MariaDB): use mariadb, \
    install MySQL's own packages (mysql-server-core on Ubuntu), or plimsoll serve mysql --binary PATH";

fn layout(spec: &Spec, place: &Place) -> Result<Layout, StackError> {
    socket_only(spec)?;
    let program = program(place)?;
    let defaults = format!("--defaults-file={}", place.text(CONFIG));
    let install = Process::new("mysqld-initialize", program.clone()).args([&defaults, "--initialize-insecure"]);
    let socket = place.path(SOCKET);
    let basedir = basedir(&program);
    let process = Process::new("mysql", program).args([&defaults]);
    // The folder of its default exists only where its package has been configured.
    let own = "mysqlx = OFF\nsecure_file_priv = NULL\ndisable_log_bin\n";
    Ok(Layout {
        provision: vec![install],
        services: vec![process.service(Ready::Mysql(socket.clone()), Stop::SLOW)],
        data: Some("data".into()),
        endpoint: Some(Endpoint::Socket { path: socket }),
        main_config: Some(CONFIG.into()),
        ..Layout::default()
    }
    .file(CONFIG, configuration(spec, place, &basedir, own)))
}

/// Debian 12 has a `mysqld` that is MariaDB's.
fn program(place: &Place) -> Result<PathBuf, StackError> {
    match place.program(&["mysqld"], "mysql-server-core") {
        Ok(program) if place.binary.is_some() || !is_mariadb(&program) => Ok(program),
        Err(error) if place.binary.is_some() => Err(error),
        _ => Err(StackError::Wrong(NOT_INSTALLED.into())),
    }
}

fn is_mariadb(program: &Path) -> bool {
    let real = std::fs::canonicalize(program);
    real.is_ok_and(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("mariadb")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mariadb_under_the_name_of_mysql_is_no_mysql() {
        let directory = tempfile::tempdir().expect("a directory");
        let (real, link) = (directory.path().join("mariadbd"), directory.path().join("mysqld"));
        std::fs::write(&real, "").expect("a file");
        std::os::unix::fs::symlink("mariadbd", &link).expect("a link");
        assert!(is_mariadb(&link));
        std::fs::remove_file(&link).and_then(|()| std::fs::write(&link, "")).expect("a file");
        assert!(!is_mariadb(&link));
    }

    #[test]
    fn what_is_missing_is_one_line_with_what_to_do() {
        assert!(NOT_INSTALLED.lines().count() == 1 && NOT_INSTALLED.contains("use mariadb"), "{NOT_INSTALLED}");
    }
}
