//! Forms that tools print in other versions, languages and places, written after what people have shown of them in public.

use audit::{Audited, Context, Figure, Unreadable, audit, audit_all};

#[track_caller]
fn read(text: &str) -> Audited {
    audit("output", text.as_bytes(), &Context::default()).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Responses, those with a bad status, requests without an answer, and those of which it is not known.
fn counts(audited: &Audited) -> [f64; 4] {
    [Figure::Responses, Figure::BadStatus, Figure::Broken, Figure::BadOrBroken]
        .map(|figure| audited.claims.get(figure).unwrap_or(-1.0))
}

fn seconds(audited: &Audited) -> Option<f64> {
    audited.claims.get(Figure::Duration).map(|ns| (ns / 1e8).round() / 10.0)
}

const JMETER_2: &str = "Creating summariser <summary>
Created the tree successfully using events.jmx
Starting the test @ Tue Feb 24 21:58:04 CET 2015 (1424811484804)
Waiting for possible shutdown message on port 4445
summary +   9952 in    25s =  402,8/s Avg:   244 Min:    16 Max:  4052 Err:     0 (0,00%) Active: 100 Started: 100 Finished: 0
summary +  10048 in  17,1s =  588,9/s Avg:   162 Min:     5 Max:   429 Err:   100 (1,00%) Active: 0 Started: 100 Finished: 100
summary =  20000 in    42s =  481,3/s Avg:   203 Min:     5 Max:  4052 Err:   100 (0,50%)
Tidying up ...    @ Tue Feb 24 21:58:46 CET 2015 (1424811526849)
... end of run
";

#[test]
fn totals_of_jmeter_may_have_a_decimal_comma() {
    let audited = read(JMETER_2);
    assert_eq!(counts(&audited), [19_900.0, 0.0, 0.0, 100.0]);
    assert_eq!((seconds(&audited), audited.record.throughput_per_s), (Some(42.0), Some(481.3)));
    assert_eq!((audited.record.failed_share, audited.record.unread_lines), (Some(0.005), 0));
}

#[test]
fn the_last_total_of_jmeter_is_of_the_whole_run() {
    let of = |requests: u32, time: &str| {
        format!("summary =   {requests} in {time} =   50.0/s Avg:    12 Min:     3 Max:   280 Err:     0 (0.00%)")
    };
    let stamped = [of(1500, "00:00:30"), of(3000, "00:01:00"), of(4500, "00:01:30")]
        .map(|line| format!("2024-05-01 04:45:29,443 INFO o.a.j.r.Summariser: {line}"));
    let audited = read(&stamped.join("\n"));
    assert_eq!((counts(&audited)[0], seconds(&audited)), (4_500.0, Some(90.0)));
    // A count that is lower is of another run, and so is one behind another start.
    let again = [of(1500, "00:00:30"), of(3000, "00:01:00"), of(1000, "00:00:20")].join("\n");
    let restarted = [of(500, "00:00:10"), "Starting the test @ today".to_owned(), of(3000, "00:01:00")].join("\n");
    for (text, expected) in [(again, [3_000.0, 1_000.0]), (restarted, [500.0, 3_000.0])] {
        let parts = audit_all("log", text.as_bytes(), &Context::default()).unwrap();
        let responses: Vec<f64> = parts.into_iter().map(|part| counts(&part.audited.unwrap())[0]).collect();
        assert_eq!(responses, expected, "{text}");
    }
}

#[test]
fn a_run_of_jmeter_below_a_second_has_its_rate() {
    let text = "summary =     40 in 00:00:00 =  133.3/s Avg:    12 Min:     3 Max:   280 Err:     0 (0.00%)";
    assert_eq!(seconds(&read(text)), Some(0.3));
    let none = "summary =      0 in 00:00:00 = ******/s Avg:     0 Min: 9223372036854775807 Max: -9223372036854775808 \
                Err:     0 (0.00%)";
    assert_eq!(counts(&read(none))[0], 0.0);
}

/// Versions before 0.12 do not count failures among the requests, and have one figure in the row of all.
#[test]
fn tables_of_old_versions_of_locust_are_read() {
    let old = " Name                      # reqs      # fails     Avg     Min     Max  |  Median   req/s
--------------------------------------------------------------------------------
 GET /                                    90    10(10.00%)    34     8    1124  |      29    9.00
--------------------------------------------------------------------------------
 Total                                    90    10(10.00%)                                       10.00

Percentage of the requests completed within given times
 Name                      # reqs    50%    66%    75%    80%    90%    95%    98%    99%   100%
--------------------------------------------------------------------------------
 GET /                         90     29     33     41     55     66     69    110    110   1124
--------------------------------------------------------------------------------
 Total                         90     29     33     41     55     66     69    110    110   1124

Error report
 # occurrences      Error
--------------------------------------------------------------------------------
 6                  GET /: \"HTTPError('503 Server Error: Service Unavailable for url: http://h/',)\"
 4                  GET /: \"ConnectionError(ProtocolError('Connection aborted.', RemoteDisconnected()),)\"
--------------------------------------------------------------------------------
";
    let audited = read(old);
    assert_eq!(counts(&audited), [96.0, 6.0, 4.0, 0.0]);
    assert_eq!(audited.record.status, [(503, 6)].into());
    let quantiles = [Figure::LatencyP50, Figure::LatencyP95, Figure::LatencyP99].map(|q| audited.claims.get(q));
    assert_eq!(quantiles, [Some(29e6), Some(69e6), Some(110e6)]);
    assert_eq!((seconds(&audited), audited.record.unread_lines), (Some(10.0), 0));
}

/// On its way Locust prints the rate of the last seconds.
#[test]
fn a_run_of_locust_that_was_killed_has_no_duration() {
    let table = |requests: u32| {
        format!(
            "Type     Name    # reqs      # fails |    Avg     Min     Max    Med |   req/s  failures/s\n\
                 --------|------|-------|-------------|-------|-------|-------|-------|--------|-----------\n         \
                 Aggregated    {requests}     0(0.00%) |    521       2    2077      2 |   50.00        0.00\n"
        )
    };
    let killed = read(&[table(100), table(200)].join("\n"));
    assert_eq!((counts(&killed)[0], seconds(&killed)), (200.0, None));
}

#[test]
fn the_older_words_of_artillery_are_read() {
    let old = "All virtual users finished
Summary report @ 17:11:48(-0500) 2018-03-19
  Scenarios launched:  180
  Scenarios completed: 108
  Requests completed:  656
  RPS sent: 12.93
  Request latency:
    min: 1
    max: 8090.7
    median: 1336.8
    p95: 6866
    p99: 7780.8
  Scenario counts:
    0: 180 (100%)
  Codes:
    200: 346
    401: 44
    404: 216
    500: 50
  Errors:
    ECONNRESET: 72
";
    let audited = read(old);
    assert_eq!(counts(&audited)[..3], [656.0, 310.0, 72.0]);
    assert_eq!(audited.claims.get(Figure::LatencyP95), Some(6.866e9));
    assert_eq!((seconds(&audited), audited.record.unread_lines), (Some(56.3), 0));
}

#[test]
fn a_summary_of_gatling_in_another_language_is_refused() {
    let of = |rate: &str| {
        format!(
            "---- Global Information ----\n> request count      20 (OK=20     KO=0     )\n\
                 > mean response time    41 (OK=41     KO=-     )\n> mean requests/sec      {rate} (OK={rate} KO=-     )\n"
        )
    };
    assert_eq!(read(&of("2.5")).record.throughput_per_s, Some(2.5));
    let error = audit("output", of("2,5").as_bytes(), &Context::default()).map(|_| ()).unwrap_err();
    assert!(matches!(error, Unreadable::Incomplete { tool: "gatling", .. }), "{error}");
}
