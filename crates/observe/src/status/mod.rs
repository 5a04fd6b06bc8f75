//! Status pages of servers, as figures with names.

mod apache;
mod info;
mod lighttpd;
mod mysql;
mod nginx;
mod php_fpm;
mod target;

pub use mysql::{MYSQL_ASKED, read_mysql};

use model::ServerStatus;

/// The largest count of any server. Of figures beyond it even differences may be no numbers.
const FIGURE_MAX: f64 = u64::MAX as f64;

/// Reads the status page of a server that plimsoll knows.
///
/// # Errors
/// If it is none: the reason, for people.
pub fn read(text: &str) -> Result<ServerStatus, String> {
    if text.trim_start().starts_with('<') {
        return Err("it answers a page for people (HTML), not a status page".into());
    }
    let readers = [php_fpm::read, nginx::read, apache::read, lighttpd::read, info::read, target::read];
    let found = readers.into_iter().find_map(|read| read(text));
    found.ok_or_else(|| {
        let begin: String = text.chars().take(40).collect();
        format!("it is no status page of nginx, php-fpm, Apache, lighttpd, Redis or the built-in target; it begins with {begin:?}")
    })
}

/// The figures of `known` (name there, name here) in lines `name: value`, as far as they are numbers.
fn figures(text: &str, known: &[(&str, &'static str)]) -> Vec<(&'static str, f64)> {
    let lines = || text.lines().filter_map(|line| line.split_once(':'));
    let figure = |(theirs, ours): &(&str, &'static str)| {
        let (_, value) = lines().find(|(name, _)| name.trim() == *theirs)?;
        Some((*ours, value.trim().parse().ok()?))
    };
    known.iter().filter_map(figure).collect()
}

fn status(server: &str, figures: Vec<(&'static str, f64)>) -> Option<ServerStatus> {
    // Rust reads `nan` and `1e999` as numbers, which JSON has no way to write.
    let known = figures.into_iter().filter(|(_, value)| value.abs() <= FIGURE_MAX);
    let figures = known.map(|(name, value)| (name.to_owned(), value)).collect();
    Some(ServerStatus { server: server.to_owned(), figures })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, name: &str) -> Option<f64> {
        read(text).expect("a status page").figures.get(name).copied()
    }

    #[test]
    fn nginx_counts_connections_and_requests() {
        let page = "Active connections: 65 \nserver accepts handled requests\n 68 67 222 \nReading: 1 Writing: 62 Waiting: 2 \n";
        let found = read(page).expect("a status page");
        assert_eq!(found.server, "nginx");
        let names = ["connections_active", "accepted", "handled", "requests", "reading", "writing", "waiting"];
        assert_eq!(names.map(|name| found.figures[name]), [65.0, 68.0, 67.0, 222.0, 1.0, 62.0, 2.0]);
    }

    #[test]
    fn php_fpm_tells_its_queue_as_text_and_as_json() {
        let text = "pool:                 www\nprocess manager:      static\naccepted conn:        128\nlisten queue:         62\n\
                    listen queue len:     511\nidle processes:       0\nactive processes:     2\ntotal processes:      2\n";
        let json = r#"{"pool":"www","process manager":"static","accepted conn":391,"listen queue":3,"idle processes":0,"active processes":2,"total processes":2,"max children reached":1}"#;
        assert_eq!((of(text, "listen_queue"), of(text, "processes_active")), (Some(62.0), Some(2.0)));
        assert_eq!((of(json, "listen_queue"), of(json, "max_children_reached")), (Some(3.0), Some(1.0)));
        assert_eq!(read(json).expect("a status page").server, "php-fpm");
        assert_eq!(of(json, "slow_requests"), None, "what is not said is not there");
    }

    #[test]
    fn apache_counts_its_workers() {
        let page = "127.0.0.1\nServerVersion: Apache/2.4\nTotal Accesses: 1042\nReqPerSec: 10.5\nBusyWorkers: 65\nIdleWorkers: 127\n\
                    Scoreboard: WWW___...\n";
        assert_eq!(
            (of(page, "workers_busy"), of(page, "workers_idle"), of(page, "requests")),
            (Some(65.0), Some(127.0), Some(1042.0))
        );
        assert_eq!(read(page).expect("a status page").server, "apache");
    }

    #[test]
    fn lighttpd_counts_its_connections() {
        let page = "Total Accesses: 80872\nTotal kBytes: 7879\nUptime: 5\nBusyServers: 17\nIdleServers: 4079\nScoreboard: kkk\n";
        assert_eq!((of(page, "connections_busy"), of(page, "requests")), (Some(17.0), Some(80_872.0)));
        assert_eq!(read(page).expect("a status page").server, "lighttpd");
    }

    #[test]
    fn redis_tells_clients_and_hits() {
        let info = "# Server\r\nredis_version:7.0.15\r\nconnected_clients:3\r\nblocked_clients:0\r\nrejected_connections:1\r\nkeyspace_hits:22588\r\n";
        assert_eq!((of(info, "clients_connected"), of(info, "keyspace_hits")), (Some(3.0), Some(22_588.0)));
        assert_eq!(read(info).expect("a status page").server, "redis");
    }

    #[test]
    fn the_built_in_target_tells_of_its_pool() {
        let page = r#"{"workers":[{"open":3,"requests":7},{"open":1,"requests":2}],"refused_connections":4}"#;
        assert_eq!((of(page, "requests"), of(page, "connections_refused")), (Some(9.0), Some(4.0)));
        assert_eq!(of(page, "pool_workers"), None);
        let pool = page.replace("4}", r#"4,"pool":{"workers":5,"busy":5,"waiting":15}}"#);
        assert_eq!((of(&pool, "pool_workers"), of(&pool, "pool_waiting")), (Some(5.0), Some(15.0)));
        assert_eq!(read(&pool).expect("a status page").server, "target");
    }

    #[test]
    fn what_is_no_finite_number_is_no_figure() {
        for value in ["nan", "-NaN", "inf", "-infinity", "1e999", "-1e300"] {
            let apache = read(&format!("BusyWorkers: {value}\nIdleWorkers: 3\n")).expect("a status page");
            let page = format!(
                "Active connections: {value} \nserver accepts handled requests\n {value} 67 {value} \n\
                 Reading: {value} Writing: 62 Waiting: 2 \n"
            );
            let nginx = read(&page).expect("a status page");
            let rows = [("Threads_running", value), ("Questions", "17")];
            let mysql = read_mysql(&rows).expect("counters");
            for found in [&apache, &nginx, &mysql] {
                let text = serde_json::to_string(found).expect("JSON");
                assert_eq!(serde_json::from_str::<ServerStatus>(&text).ok().as_ref(), Some(found), "{text}");
            }
            assert_eq!((apache.figures.len(), nginx.figures.len(), mysql.figures.len()), (1, 3, 1), "{value}");
        }
    }

    #[test]
    fn anything_else_is_told() {
        assert!(read("<html><body>404").expect_err("HTML").contains("HTML"));
        assert!(read("it works").expect_err("a text").contains("it works"));
        assert!(read("").is_err() && read("{").is_err() && read("[1]").is_err());
    }
}
