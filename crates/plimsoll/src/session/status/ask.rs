//! Asks a server of itself, on a connection that is kept where the protocol keeps one.
//!
//! Databases are asked by their clients' crates, without TLS and pools. Passwords come from a variable or a file.

use super::deadline::{TIMEOUT, late};
use super::lookup::Lookup;
use super::page::Page;
use super::socket::hold;
use crate::settings::status_source::{Kind, Login, Place, Source};
use clock::monotonic_ns;
use model::{LOGIN_REFUSED, ServerStatus};
use mysql::prelude::Queryable;
use mysql::{Conn, DriverError, OptsBuilder, Row, from_row_opt};
use redis::{Client, Connection, ConnectionAddr, IntoConnectionInfo, RedisConnectionInfo};
use std::error::Error as _;
use std::io::{self, ErrorKind};
use std::mem::ManuallyDrop;
use std::net::IpAddr;

/// Counters of a database: many times as many as any has.
const ROWS_MAX: usize = 10_000;
/// Largest packet of MySQL's protocol; bytes.
const PACKET_MAX_BYTES: usize = 1 << 20;
/// Error numbers of MySQL for a user that is not let in.
const ACCESS_DENIED: [u16; 3] = [1044, 1045, 1698];

/// One that asks.
pub(super) enum Asker {
    Page(Page),
    Mysql { login: Login, lookup: Lookup, open: Option<Conn> },
    Redis { login: Login, lookup: Lookup, open: Option<Connection> },
}

impl Asker {
    pub(super) fn new(source: &Source) -> Self {
        match &source.kind {
            Kind::Page(page) => Self::Page(Page::new(page)),
            Kind::Mysql(login) => Self::Mysql { lookup: Lookup::new(&login.place), login: login.clone(), open: None },
            Kind::Redis(login) => Self::Redis { lookup: Lookup::new(&login.place), login: login.clone(), open: None },
        }
    }

    /// What it says now, or why it says nothing.
    pub(super) fn ask(&mut self) -> Result<ServerStatus, String> {
        match self {
            Self::Page(page) => page.fetch().and_then(|text| observe::status::read(&text)),
            Self::Mysql { login, lookup, open } => {
                mysql(login, lookup, open).map_err(|error| of_mysql(&error, login))?
            }
            Self::Redis { login, lookup, open } => {
                let info = redis_info(login, lookup, open).map_err(|error| of_redis(&error))?;
                observe::status::read(&info)
            }
        }
    }
}

impl Source {
    /// What is to be known before it is asked: a secret goes over a network as it is.
    pub(crate) fn warning(&self) -> Option<String> {
        let crosses = |host: &str| host != "localhost" && !host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
        match &self.kind {
            Kind::Mysql(login) | Kind::Redis(login) => {
                let Place::Tcp(host, _) = &login.place else { return None };
                (login.password.is_some() && crosses(host)).then(|| {
                    format!(
                        "warning: --status {}: databases are asked without TLS, so that everybody on the way to {host} can \
                         read the password; a tunnel or a Unix socket keeps it yours",
                        self.url
                    )
                })
            }
            Kind::Page(page) => {
                let is_in_clear = page.trust.is_none() && page.url != self.url.as_str();
                (is_in_clear && crosses(&page.host)).then(|| {
                    format!(
                        "warning: --status {}: everybody on the way to {} can read its secret; https:// keeps it yours",
                        self.url, page.host
                    )
                })
            }
        }
    }
}

/// The first connection that can be made, or why the last could not.
fn first<C, E: From<io::Error>>(lookup: &mut Lookup, connect: impl Fn(&Place) -> Result<C, E>) -> Result<C, E> {
    let mut outcome = Err(E::from(io::Error::from(ErrorKind::AddrNotAvailable)));
    for place in lookup.places(TIMEOUT)? {
        outcome = match &place {
            Place::Tcp(..) => connect(&place),
            Place::Unix(path) => {
                let held = hold(path)?;
                connect(&Place::Unix(held.path.clone()))
            }
        };
        if outcome.is_ok() {
            break;
        }
    }
    outcome
}

fn mysql(
    login: &Login,
    lookup: &mut Lookup,
    open: &mut Option<Conn>,
) -> Result<Result<ServerStatus, String>, mysql::Error> {
    // One that has failed is not used again.
    let mut connection = match open.take() {
        Some(connection) => connection,
        None => first(lookup, |place| Conn::new(mysql_options(login, place)))?,
    };
    let mut rows = Vec::new();
    let begin_ns = monotonic_ns();
    let is_late = || u128::from(monotonic_ns() - begin_ns) > TIMEOUT.as_nanos();
    for question in observe::status::MYSQL_ASKED {
        // Dropped, it reads all that is still sent, which may have no end; read to its end it keeps nothing.
        let mut told = ManuallyDrop::new(connection.query_iter(question)?);
        match counters(&mut *told, rows.len(), is_late) {
            Ok(more) => rows.extend(more?),
            Err(reason) => return Ok(Err(reason)),
        }
    }
    *open = Some(connection);
    Ok(observe::status::read_mysql(&rows))
}

/// Names and values of the rows that a server sends after `before` others while it is not late, or why they are none.
fn counters(
    told: impl Iterator<Item = mysql::Result<Row>>,
    before: usize,
    is_late: impl Fn() -> bool,
) -> Result<mysql::Result<Vec<(String, String)>>, String> {
    let mut rows = Vec::new();
    for row in told {
        let row = match row {
            Ok(row) => row,
            Err(error) => return Ok(Err(error)),
        };
        if before + rows.len() == ROWS_MAX {
            return Err(format!("it sends more than {ROWS_MAX} rows"));
        }
        if is_late() {
            return Err(late());
        }
        rows.push(from_row_opt(row).map_err(|_| "it sends a row that is no name with a value")?);
    }
    Ok(Ok(rows))
}

fn mysql_options(login: &Login, place: &Place) -> OptsBuilder {
    let options = OptsBuilder::new()
        .user(login.user.clone())
        .pass(login.password.clone())
        .prefer_socket(false)
        .max_allowed_packet(Some(PACKET_MAX_BYTES))
        .read_timeout(Some(TIMEOUT))
        .write_timeout(Some(TIMEOUT));
    match place {
        Place::Tcp(host, port) => options.ip_or_hostname(Some(host)).tcp_port(*port).tcp_connect_timeout(Some(TIMEOUT)),
        Place::Unix(path) => options.socket(Some(path.display().to_string())),
    }
}

fn of_mysql(error: &mysql::Error, login: &Login) -> String {
    if let Some(error) = io_cause(error) {
        return of_io(error);
    }
    match error {
        mysql::Error::MySqlError(refusal) if ACCESS_DENIED.contains(&refusal.code) => format!(
            "{LOGIN_REFUSED}{} in ({}); PLIMSOLL_MYSQL_PASSWORD or ?password-file=PATH gives a password",
            login.user.as_deref().unwrap_or_default(),
            refusal.code
        ),
        mysql::Error::DriverError(DriverError::CouldNotConnect(Some((_, why, kind)))) => match kind {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => late(),
            _ => format!("nothing answers there ({why})"),
        },
        other => other.to_string(),
    }
}

fn io_cause(error: &mysql::Error) -> Option<&io::Error> {
    match error {
        mysql::Error::IoError(error) => Some(error),
        mysql::Error::CodecError(error) => error.source()?.downcast_ref(),
        _ => None,
    }
}

fn of_io(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => late(),
        _ => format!("nothing answers there ({error})"),
    }
}

fn redis_info(login: &Login, lookup: &mut Lookup, open: &mut Option<Connection>) -> redis::RedisResult<String> {
    let mut connection = match open.take() {
        Some(connection) => connection,
        None => {
            let connect = |place: &Place| redis_client(login, place)?.get_connection_with_timeout(TIMEOUT);
            let connection = first(lookup, connect)?;
            connection.set_read_timeout(Some(TIMEOUT))?;
            connection.set_write_timeout(Some(TIMEOUT))?;
            connection
        }
    };
    let info = redis::cmd("INFO").query(&mut connection)?;
    *open = Some(connection);
    Ok(info)
}

fn redis_client(login: &Login, place: &Place) -> redis::RedisResult<Client> {
    let address = match place {
        Place::Tcp(host, port) => ConnectionAddr::Tcp(host.clone(), *port),
        Place::Unix(path) => ConnectionAddr::Unix(path.clone()),
    };
    let mut settings = RedisConnectionInfo::default();
    if let Some(user) = &login.user {
        settings = settings.set_username(user);
    }
    if let Some(password) = &login.password {
        settings = settings.set_password(password);
    }
    Client::open(address.into_connection_info()?.set_redis_settings(settings))
}

fn of_redis(error: &redis::RedisError) -> String {
    match error.code() {
        Some("NOAUTH" | "WRONGPASS" | "NOPERM") => {
            "it asks for a password; PLIMSOLL_REDIS_PASSWORD or ?password-file=PATH gives one".into()
        }
        _ if error.is_timeout() => late(),
        _ if error.is_io_error() => format!("nothing answers there ({error})"),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::trust::Trust;
    use mysql::Value;
    use mysql_common::row::new_row;

    /// Each of them ended the thread with a panic, which told the row.
    #[test]
    fn rows_that_are_none_are_a_reason_and_no_panic() {
        let column = || mysql::Column::new(mysql::consts::ColumnType::MYSQL_TYPE_VAR_STRING);
        let row = |values: &[Value]| Ok(new_row(values.to_vec(), values.iter().map(|_| column()).collect()));
        let text = |text: &str| Value::Bytes(text.into());
        let good = || row(&[text("Questions"), text("7")]);
        let read = |rows: Vec<mysql::Result<Row>>| counters(rows.into_iter(), 0, || false).map(Result::unwrap);
        assert_eq!(read(vec![good()]), Ok(vec![("Questions".to_owned(), "7".to_owned())]));
        for wrong in [vec![text("Questions"), Value::NULL], vec![Value::Bytes(vec![0xff]), text("7")], vec![text("7")]]
        {
            let reason = read(vec![good(), row(&wrong)]).unwrap_err();
            assert_eq!(reason, "it sends a row that is no name with a value");
        }
        let endless = || std::iter::repeat_with(good);
        assert_eq!(counters(endless(), 5, || false).unwrap_err(), "it sends more than 10000 rows");
        assert_eq!(counters(endless(), 5, || true).unwrap_err(), "it does not answer within 900 ms");
    }

    #[test]
    fn a_password_that_crosses_a_network_is_warned_of() {
        let warning = |host: &str, password: Option<&str>| {
            let place = if host.is_empty() { Place::Unix("/run/db".into()) } else { Place::Tcp(host.into(), 1) };
            let login = Login { place, user: None, password: password.map(str::to_owned) };
            Source { url: model::Redacted::url("redis://h"), kind: Kind::Redis(login) }.warning()
        };
        let told = warning("db.example", Some("s3cret")).expect("a warning");
        assert!(told.contains("db.example") && told.contains("redis://h") && !told.contains("s3cret"), "{told}");
        for host in ["", "localhost", "127.0.0.1", "::1"] {
            assert_eq!(warning(host, Some("s3cret")), None, "{host:?}");
        }
        assert_eq!(warning("db.example", None), None);
    }

    #[test]
    fn a_token_that_crosses_a_network_in_the_clear_is_warned_of() {
        let warning = |url: &str| Source::parse(url, &Trust::default()).expect("a source").warning();
        let told = warning("http://web.example/status?token=s3cret").expect("a warning");
        assert!(told.contains("web.example") && told.contains("https://") && !told.contains("s3cret"), "{told}");
        for url in
            ["https://web.example/status?token=s3cret", "http://[::1]/?token=s3cret", "http://web.example/status"]
        {
            assert_eq!(warning(url), None, "{url}");
        }
    }
}
