//! `SHOW GLOBAL STATUS` of MariaDB and MySQL, and what of `SHOW GLOBAL VARIABLES` bounds it.

use super::status;
use model::ServerStatus;

/// The statements whose rows [`read_mysql`] reads.
pub const MYSQL_ASKED: [&str; 2] = ["SHOW GLOBAL STATUS", "SHOW GLOBAL VARIABLES LIKE 'max\\_connections'"];

const KNOWN: [(&str, &str); 25] = [
    // The connection that asks is among them.
    ("Threads_running", "threads_running"),
    ("Threads_connected", "threads_connected"),
    ("Threads_created", "threads_created"),
    ("Max_used_connections", "connections_max"),
    ("Connections", "connections"),
    ("Aborted_connects", "connections_aborted"),
    ("Connection_errors_max_connections", "connections_refused"),
    // A variable, not a counter.
    ("max_connections", "connections_limit"),
    ("Questions", "questions"),
    ("Slow_queries", "slow_queries"),
    ("Bytes_received", "received_bytes"),
    ("Bytes_sent", "sent_bytes"),
    ("Handler_read_rnd_next", "rows_read_unindexed"),
    ("Select_full_join", "joins_unindexed"),
    ("Created_tmp_disk_tables", "temporary_tables_on_disk"),
    ("Table_locks_waited", "table_lock_waits"),
    ("Innodb_row_lock_waits", "row_lock_waits"),
    ("Innodb_row_lock_current_waits", "row_lock_waits_now"),
    ("Innodb_row_lock_time", "row_lock_time_ms"),
    ("Innodb_log_waits", "log_waits"),
    ("Innodb_data_fsyncs", "data_fsyncs"),
    ("Innodb_buffer_pool_reads", "buffer_pool_reads"),
    ("Innodb_buffer_pool_read_requests", "buffer_pool_read_requests"),
    ("Innodb_buffer_pool_wait_free", "buffer_pool_waits"),
    ("Uptime", "uptime_s"),
];

/// Reads the rows of [`MYSQL_ASKED`]: name and value.
///
/// # Errors
/// If they are not: the reason, for people.
pub fn read_mysql<N: AsRef<str>>(rows: &[(N, N)]) -> Result<ServerStatus, String> {
    let figure = |(theirs, ours): &(&str, &'static str)| {
        let (_, value) = rows.iter().find(|(name, _)| name.as_ref().eq_ignore_ascii_case(theirs))?;
        Some((*ours, value.as_ref().parse().ok()?))
    };
    let found: Vec<(&'static str, f64)> = KNOWN.iter().filter_map(figure).collect();
    let is_known = found.iter().any(|(name, _)| *name == "threads_running");
    is_known.then(|| status("mysql", found)).flatten().ok_or_else(|| "it shows no counters to this user".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_have_our_names_and_what_is_no_number_is_left_out() {
        let rows = [("Threads_running", "2"), ("QUESTIONS", "17"), ("Slow_queries", "OFF"), ("Ssl_cipher", "x")];
        let found = read_mysql(&rows).expect("counters");
        assert_eq!(found.server, "mysql");
        assert_eq!(found.figures, [("threads_running".to_owned(), 2.0), ("questions".to_owned(), 17.0)].into());
        assert!(read_mysql::<&str>(&[]).is_err());
    }
}
