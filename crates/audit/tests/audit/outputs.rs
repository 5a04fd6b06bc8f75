//! Every fixture: who printed it, what is left of its claim, which rules fire.

use crate::support::{bytes, folder, message, plain, state, with};
use audit::{Context, Figure, Processes, Sockets, Text, audit, compare};
use model::{Confidence, FindingState};

/// Name, tool, goodput and claim per second (0 for none), share that failed, rules worse than a note.
type Expected = (&'static str, &'static str, f64, f64, f64, &'static str);

#[rustfmt::skip]
static EXPECTED: [Expected; 242] = [
    ("ab-errors.txt", "ab", 18_607.6, 18_928.52, 0.02, "ER-01 invalid, LD-04 invalid, LD-05 warning"),
    ("ab-half-503.txt", "ab", 8823.5, 17_380.22, 0.5, "ER-01 invalid, ER-09 invalid, LD-04 invalid, LD-05 warning"),
    ("ab.txt", "ab", 2352.9, 2353.4, 0.0, "LD-04 invalid, LD-05 warning"),
    ("artillery-1.7-drops.json", "artillery", 61.9, 64.4, 0.0390, "ER-01 invalid, LD-04 invalid, ER-05 bound, LD-05 warning"),
    ("artillery-1.7-drops.txt", "artillery", 61.9, 64.4, 0.0390, "ER-01 invalid, LD-04 invalid, ER-05 bound, LD-05 warning"),
    ("artillery-1.7-errors.json", "artillery", 69.3, 73.0, 0.0500, "ER-01 invalid, LD-04 invalid, LD-05 warning"),
    ("artillery-1.7-errors.txt", "artillery", 69.3, 73.0, 0.0500, "ER-01 invalid, LD-04 invalid, LD-05 warning"),
    ("artillery-1.7-good.json", "artillery", 73.0, 73.0, 0.0000, "LD-04 invalid, LD-05 warning"),
    ("artillery-1.7-good.txt", "artillery", 73.0, 73.0, 0.0000, "LD-04 invalid, LD-05 warning"),
    ("artillery-1.7-limited.json", "artillery", 57.7, 73.3, 0.2125, "ER-01 invalid, ER-08 invalid, LD-04 invalid, LD-05 warning"),
    ("artillery-1.7-limited.txt", "artillery", 57.7, 73.3, 0.2125, "ER-01 invalid, ER-08 invalid, LD-04 invalid, LD-05 warning"),
    ("artillery-1.7-one.txt", "artillery", 34.7, 36.6, 0.0500, "ER-01 invalid, LD-04 invalid, LD-05 warning"),
    ("artillery-1.7-quick.txt", "artillery", 336.9, 354.6, 0.0500, "ER-01 invalid, LD-04 invalid, LD-05 warning"),
    ("artillery-1.7-refused.json", "artillery", 0.0, 36.6, 1.0000, "ER-01 invalid, LD-04 bound"),
    ("artillery-1.7-refused.txt", "artillery", 0.0, 36.6, 1.0000, "ER-01 invalid, LD-04 bound"),
    ("artillery-1.7-resets.json", "artillery", 67.6, 70.4, 0.0390, "ER-01 invalid, LD-04 invalid, LD-05 warning"),
    ("artillery-1.7-resets.txt", "artillery", 67.7, 70.4, 0.0375, "ER-01 invalid, LD-04 invalid, LD-05 warning"),
    ("artillery-2.0-drops.json", "artillery", 64.6, 64.6, 0.0390, "ER-01 invalid, LD-04 invalid, ER-05 bound, LD-05 warning"),
    ("artillery-2.0-drops.txt", "artillery", 64.8, 64.8, 0.0390, "ER-01 invalid, LD-04 invalid, ER-05 bound, LD-05 warning"),
    ("artillery-2.0-errors.json", "artillery", 76.3, 80.4, 0.0500, "ER-01 invalid, LD-04 invalid, LD-05 warning"),
    ("artillery-2.0-errors.txt", "artillery", 76.7, 80.7, 0.0500, "ER-01 invalid, LD-04 invalid, LD-05 warning"),
    ("artillery-2.0-good.json", "artillery", 80.3, 80.3, 0.0000, "LD-04 invalid, LD-05 warning"),
    ("artillery-2.0-good.txt", "artillery", 80.3, 80.3, 0.0000, "LD-04 invalid, LD-05 warning"),
    ("artillery-2.0-limited.json", "artillery", 63.4, 79.8, 0.2050, "ER-01 invalid, ER-08 invalid, LD-04 invalid, LD-05 warning"),
    ("artillery-2.0-limited.txt", "artillery", 63.7, 80.1, 0.2050, "ER-01 invalid, ER-08 invalid, LD-04 invalid, LD-05 warning"),
    ("artillery-2.0-one.txt", "artillery", 38.1, 40.1, 0.0500, "ER-01 invalid, LD-04 invalid, LD-05 warning"),
    ("artillery-2.0-quick.txt", "artillery", 394.8, 415.6, 0.0500, "ER-01 invalid, LD-04 invalid, LD-05 warning"),
    ("artillery-2.0-refused.json", "artillery", 0.0, 0.0, 1.0000, "ER-01 invalid, LD-04 invalid"),
    ("artillery-2.0-refused.txt", "artillery", 0.0, 0.0, 1.0000, "ER-01 invalid, LD-04 invalid"),
    ("artillery-2.0-resets.json", "artillery", 74.3, 74.3, 0.0390, "ER-01 invalid, LD-04 invalid, LD-05 warning"),
    ("artillery-2.0-resets.txt", "artillery", 74.7, 74.7, 0.0390, "ER-01 invalid, LD-04 invalid, LD-05 warning"),
    ("autocannon-1.0.1-good.txt", "autocannon", 40_432.0, 40_432.0, 0.0000, "LD-04 invalid, LD-05 warning"),
    ("autocannon-1.0.1-quarter-500.txt", "autocannon", 37_992.0, 50_656.0, 0.2500, "ER-01 invalid, LD-04 invalid, LD-05 warning"),
    ("autocannon-1.0.1-refused.txt", "autocannon", 0.0, 0.0, 1.0000, "ER-01 invalid, LD-04 invalid, LD-05 warning"),
    ("autocannon-1.0.1-resets.txt", "autocannon", 16_810.0, 16_810.0, 0.0289, "ER-01 invalid, LD-04 invalid, LD-05 warning"),
    ("autocannon-2.4.1-good.txt", "autocannon", 48_112.0, 48_112.0, 0.0000, "LD-04 invalid, LD-05 warning"),
    ("autocannon-2.4.1-quarter-500.txt", "autocannon", 42_173.5, 56_224.0, 0.2500, "ER-01 invalid, LD-04 invalid, LD-05 warning"),
    ("autocannon-2.4.1-refused.txt", "autocannon", 0.0, 0.0, 1.0000, "ER-01 invalid, LD-04 invalid, LD-05 warning"),
    ("autocannon-2.4.1-resets.txt", "autocannon", 15_802.0, 15_802.0, 0.0307, "ER-01 invalid, LD-04 invalid, LD-05 warning"),
    ("autocannon-good.txt", "autocannon", 46_357.5, 46_512.0, 0.0, "LD-04 invalid, LD-05 warning"),
    ("autocannon-most-503.txt", "autocannon", 317.2, 31_944.0, 0.99, "ER-01 invalid, LD-04 invalid, LD-05 warning"),
    ("autocannon-refused.txt", "autocannon", 0.0, 0.0, 1.0, "ER-01 invalid, LD-04 invalid, LD-05 warning"),
    ("autocannon-resets.txt", "autocannon", 5004.5, 5029.5, 0.3294, "ER-01 invalid, LD-04 invalid"),
    ("autocannon-statuses.txt", "autocannon", 18_197.7, 24_428.0, 0.25, "ER-01 invalid, LD-04 invalid, LD-05 warning"),
    ("autocannon.json", "autocannon", 24_845.8, 24_875.6, 0.0012, "ER-02 invalid, LD-04 bound, LD-05 warning"),
    ("autocannon.txt", "autocannon", 24_676.6, 25_131.2, 0.012, "ER-01 invalid, ER-05 bound, LD-04 bound, LD-05 warning"),
    ("blog-5-children-httperf.txt", "httperf", 0.0, 210.5, 1.0, "ER-02 invalid, CL-01 bound, CL-05 bound, LD-04 bound"),
    ("blog-cached-wrk.txt", "wrk", 35_542.1, 35_543.57, 0.0, "CL-06 invalid, ER-05 bound, PH-01 warning"),
    ("blog-get-httperf.txt", "httperf", 264.2, 264.2, 0.0, "LD-04 invalid, RP-07 invalid, CL-01 bound"),
    ("blog-mariadb-1000-httperf.txt", "httperf", 0.0, 988.6, 1.0, "ER-02 invalid, LD-04 invalid, CL-01 bound, CL-05 bound"),
    ("blog-mariadb-1500-httperf.txt", "httperf", 0.0, 1493.7, 1.0, "ER-01 invalid, ER-02 invalid, LD-04 invalid"),
    ("blog-mysql-1500-httperf.txt", "httperf", 0.0, 1494.8, 1.0, "ER-01 invalid, ER-02 invalid, LD-04 invalid"),
    ("blog-post-httperf.txt", "httperf", 4.44, 5.26, 0.157, "ER-01 invalid, CL-01 bound, RP-10 warning"),
    ("blog-uncached-wrk.txt", "wrk", 941.06, 5431.01, 0.8267, "CL-06 invalid, ER-01 invalid, PH-01 invalid, ER-05 bound"),
    ("bombardier.json", "bombardier", 12_287.7, 12_345.67, 0.0037, "ER-02 invalid, LD-04 bound"),
    ("bombardier.txt", "bombardier", 12_000.0, 12_345.67, 0.0276, "ER-01 invalid, LD-04 bound"),
    ("cached-4-ab.txt", "ab", 4224.8, 4224.8, 0.0, "LD-04 invalid, LD-05 warning"),
    ("cached-8-ab.txt", "ab", 15_267.2, 15_267.2, 0.0, "LD-04 invalid, LD-05 warning"),
    ("cassowary-0.19-duration.txt", "cassowary", 124.9, 124.9, 0.0000, "LD-04 invalid"),
    ("cassowary-0.19-errors.json", "cassowary", 1876.3, 1975.1, 0.0500, "ER-01 invalid, LD-04 invalid"),
    ("cassowary-0.19-errors.txt", "cassowary", 1876.3, 1975.1, 0.0500, "ER-01 invalid, LD-04 invalid"),
    ("cassowary-0.19-good.txt", "cassowary", 1827.1, 1827.1, 0.0000, "LD-04 invalid"),
    ("cassowary-0.19-limited.txt", "cassowary", 135.7, 7755.2, 0.9825, "ER-01 invalid, LD-04 invalid"),
    ("cassowary-0.19-rate-missed.txt", "cassowary", 459.6, 999.1, 0.0000, "CL-14 invalid, LD-04 invalid"),
    ("cassowary-0.19-resets.txt", "cassowary", 1601.5, 1668.2, 0.0400, "ER-01 invalid, LD-04 invalid"),
    ("changing-page-ab.txt", "ab", 0.0, 116.3, 0.333, "ER-03 invalid, LD-04 bound, LD-05 warning"),
    ("concurrency-table.md", "table", 0.0, 0.0, 0.0, "RP-08 invalid"),
    ("fortio-1.17-good.txt", "fortio", 200.0, 199.9, 0.0000, "LD-04 bound, LD-05 warning"),
    ("fortio-1.17-rate-missed.txt", "fortio", 946.9, 946.9, 0.0000, "CL-05 invalid, LD-04 bound, LD-05 warning"),
    ("fortio-1.17-refused.txt", "fortio", 0.0, 50.0, 1.0000, "ER-01 invalid, LD-04 invalid, LD-05 warning"),
    ("fortio-1.60-good.txt", "fortio", 200.0, 200.0, 0.0000, "LD-04 bound, LD-05 warning"),
    ("fortio-1.60-quarter-500.json", "fortio", 29.9, 39.9, 0.2500, "ER-01 invalid, LD-04 invalid, LD-05 warning"),
    ("fortio-1.60-quarter-500.txt", "fortio", 29.9, 39.9, 0.2500, "ER-01 invalid, LD-04 invalid, LD-05 warning"),
    ("fortio.json", "fortio", 874.0, 874.3, 0.0004, "CL-05 bound, LD-04 bound, LD-05 warning"),
    ("gatling-3.14-drops.txt", "gatling", 98.7, 102.9, 0.0403, "ER-01 invalid, LD-04 invalid, ER-05 bound, LD-05 warning"),
    ("gatling-3.14-errors.txt", "gatling", 114.0, 120.0, 0.0500, "ER-01 invalid, LD-04 invalid, LD-05 warning"),
    ("gatling-3.14-good.txt", "gatling", 120.0, 120.0, 0.0000, "LD-04 invalid, LD-05 warning"),
    ("gatling-3.14-limited.txt", "gatling", 60.8, 120.0, 0.4931, "ER-01 invalid, ER-08 invalid, LD-04 invalid, LD-05 warning"),
    ("gatling-3.14-refused.txt", "gatling", 0.0, 120.0, 1.0000, "ER-01 invalid, LD-04 invalid, LD-05 warning"),
    ("gatling-3.14-resets.txt", "gatling", 119.8, 120.0, 0.0014, "LD-04 invalid, ER-01 warning, LD-05 warning"),
    ("gatling-3.14-words.txt", "gatling", 30.0, 60.0, 0.5000, "ER-01 invalid, LD-04 invalid, LD-05 warning"),
    ("gatling-3.9-drops-stats.json", "gatling", 98.9, 102.9, 0.0389, "ER-01 invalid, LD-04 bound"),
    ("gatling-3.9-drops.log", "gatling", 19.6, 20.4, 0.0400, "ER-01 invalid, LD-04 invalid, ER-05 bound, LD-05 warning"),
    ("gatling-3.9-drops.txt", "gatling", 98.9, 102.9, 0.0389, "ER-01 invalid, LD-04 invalid, ER-05 bound, LD-05 warning"),
    ("gatling-3.9-errors-global.json", "gatling", 114.0, 120.0, 0.0500, "ER-01 invalid, LD-04 bound, LD-05 warning"),
    ("gatling-3.9-errors.log", "gatling", 19.4, 20.5, 0.0500, "ER-01 invalid, LD-04 invalid, LD-05 warning"),
    ("gatling-3.9-errors.txt", "gatling", 114.0, 120.0, 0.0500, "ER-01 invalid, LD-04 invalid, LD-05 warning"),
    ("gatling-3.9-good-global.json", "gatling", 120.0, 120.0, 0.0000, "LD-04 bound, LD-05 warning"),
    ("gatling-3.9-good.log", "gatling", 20.5, 20.5, 0.0000, "LD-04 invalid, LD-05 warning"),
    ("gatling-3.9-good.txt", "gatling", 120.0, 120.0, 0.0000, "LD-04 invalid, LD-05 warning"),
    ("gatling-3.9-limited.txt", "gatling", 61.0, 120.0, 0.4917, "ER-01 invalid, ER-08 invalid, LD-04 invalid, LD-05 warning"),
    ("gatling-3.9-refused-stats.json", "gatling", 0.0, 120.0, 1.0000, "ER-01 invalid, LD-04 bound, LD-05 warning"),
    ("gatling-3.9-refused.log", "gatling", 0.0, 20.4, 1.0000, "ER-01 invalid, LD-04 invalid"),
    ("gatling-3.9-refused.txt", "gatling", 0.0, 120.0, 1.0000, "ER-01 invalid, LD-04 invalid, LD-05 warning"),
    ("gatling-3.9-resets.log", "gatling", 19.6, 20.4, 0.0400, "ER-01 invalid, LD-04 invalid, LD-05 warning"),
    ("gatling-3.9-resets.txt", "gatling", 119.8, 120.0, 0.0014, "LD-04 invalid, ER-01 warning, LD-05 warning"),
    ("gatling-3.9-words.txt", "gatling", 30.0, 60.0, 0.5000, "ER-01 invalid, LD-04 invalid, LD-05 warning"),
    ("ghz-errors.txt", "ghz", 3_069.4, 3_230.9, 0.0500, "ER-01 invalid, LD-04 invalid"),
    ("ghz-late.txt", "ghz", 0.0, 99.1, 1.0000, "ER-01 invalid, LD-04 invalid, ER-05 bound"),
    ("ghz-rate.json", "ghz", 99.8, 99.8, 0.0000, "LD-04 invalid"),
    ("ghz-time.txt", "ghz", 3_239.3, 3_240.6, 0.0000, "LD-04 bound"),
    ("h2load-0.7.txt", "h2load", 14_194.1, 14_194.0, 0.0000, "LD-04 bound"),
    ("h2load-new.txt", "h2load", 39_298.9, 39_298.3, 0.0, "LD-04 invalid"),
    ("h2load.txt", "h2load", 39_298.9, 39_298.3, 0.0, "LD-04 invalid"),
    ("hey-errors.txt", "hey", 5014.1, 5116.7, 0.02, "ER-01 invalid, LD-04 invalid"),
    ("hey.txt", "hey", 8515.0, 8514.9, 0.0, "LD-04 invalid"),
    ("http10-ab.txt", "ab", 156.2, 156.2, 0.0, "ER-09 invalid, LD-04 bound, LD-05 warning"),
    ("httperf.txt", "httperf", 200.1, 200.1, 0.0, "LD-04 bound"),
    ("jmeter-2.13-drops.jtl", "jmeter", 59.4, 61.8, 0.0400, "ER-01 invalid, LD-04 invalid, ER-05 bound, LD-05 warning"),
    ("jmeter-2.13-drops.log", "jmeter", 393.2, 409.5, 0.0399, "ER-01 invalid, LD-04 bound, LD-05 warning"),
    ("jmeter-2.13-drops.txt", "jmeter", 393.2, 409.5, 0.0399, "ER-01 invalid, LD-04 bound, LD-05 warning"),
    ("jmeter-2.13-errors.jtl", "jmeter", 144.6, 152.2, 0.0500, "ER-01 invalid, LD-04 invalid, LD-05 warning"),
    ("jmeter-2.13-errors.txt", "jmeter", 1784.2, 1878.1, 0.0500, "ER-01 invalid, LD-04 bound, LD-05 warning"),
    ("jmeter-2.13-good.jtl", "jmeter", 157.7, 157.7, 0.0000, "LD-04 invalid, LD-05 warning"),
    ("jmeter-2.13-good.log", "jmeter", 1877.5, 1877.5, 0.0000, "LD-04 bound, LD-05 warning"),
    ("jmeter-2.13-good.txt", "jmeter", 1877.5, 1877.5, 0.0000, "LD-04 bound, LD-05 warning"),
    ("jmeter-2.13-limited.jtl", "jmeter", 88.3, 166.7, 0.4700, "ER-01 invalid, ER-08 invalid, LD-04 invalid, LD-05 warning"),
    ("jmeter-2.13-limited.txt", "jmeter", 59.0, 10_416.0, 0.9943, "ER-01 invalid, LD-04 bound, LD-05 warning"),
    ("jmeter-2.13-refused.jtl", "jmeter", 0.0, 172.7, 1.0000, "ER-01 invalid, LD-04 invalid"),
    ("jmeter-2.13-refused.txt", "jmeter", 0.0, 7140.4, 1.0000, "ER-01 invalid, LD-04 bound, LD-05 warning"),
    ("jmeter-2.13-resets.jtl", "jmeter", 151.4, 157.7, 0.0400, "ER-01 invalid, LD-04 invalid, LD-05 warning"),
    ("jmeter-2.13-resets.txt", "jmeter", 1793.2, 1867.8, 0.0400, "ER-01 invalid, LD-04 bound, LD-05 warning"),
    ("jmeter-5.6-drops.jtl", "jmeter", 58.9, 61.4, 0.0400, "ER-01 invalid, LD-04 invalid, ER-05 bound, LD-05 warning"),
    ("jmeter-5.6-drops.txt", "jmeter", 403.6, 420.4, 0.0399, "ER-01 invalid, LD-04 bound, LD-05 warning"),
    ("jmeter-5.6-errors.jtl", "jmeter", 153.5, 161.6, 0.0500, "ER-01 invalid, LD-04 invalid, LD-05 warning"),
    ("jmeter-5.6-errors.log", "jmeter", 1849.4, 1946.7, 0.0500, "ER-01 invalid, LD-04 bound, LD-05 warning"),
    ("jmeter-5.6-errors.txt", "jmeter", 1849.4, 1946.7, 0.0500, "ER-01 invalid, LD-04 bound, LD-05 warning"),
    ("jmeter-5.6-good.jtl", "jmeter", 163.4, 163.4, 0.0000, "LD-04 invalid, LD-05 warning"),
    ("jmeter-5.6-good.log", "jmeter", 1894.5, 1894.5, 0.0000, "LD-04 bound, LD-05 warning"),
    ("jmeter-5.6-good.txt", "jmeter", 1894.5, 1894.5, 0.0000, "LD-04 bound, LD-05 warning"),
    ("jmeter-5.6-limited.jtl", "jmeter", 88.7, 161.3, 0.4500, "ER-01 invalid, ER-08 invalid, LD-04 invalid, LD-05 warning"),
    ("jmeter-5.6-limited.txt", "jmeter", 60.9, 14_345.8, 0.9958, "ER-01 invalid, LD-04 bound, LD-05 warning"),
    ("jmeter-5.6-refused.txt", "jmeter", 0.0, 4410.2, 1.0000, "ER-01 invalid, LD-04 bound, LD-05 warning"),
    ("jmeter-5.6-resets.jtl", "jmeter", 151.7, 158.0, 0.0400, "ER-01 invalid, LD-04 invalid, LD-05 warning"),
    ("jmeter-5.6-resets.txt", "jmeter", 1830.7, 1907.0, 0.0400, "ER-01 invalid, LD-04 bound, LD-05 warning"),
    ("k6-1.3-compact.txt", "k6", 189.8, 189.8, 0.0000, "LD-04 bound"),
    ("k6-1.3-export-dropped.json", "k6", 109.0, 110.1, 0.0095, "LD-04 bound, ER-01 warning"),
    ("k6-1.3-export-good.json", "k6", 188.9, 188.9, 0.0000, "LD-04 bound"),
    ("k6-1.3-export-quarter-500.json", "k6", 142.0, 189.4, 0.2500, "ER-01 invalid, LD-04 bound"),
    ("k6-1.3-export-refused.json", "k6", 0.0, 188.1, 1.0000, "ER-01 invalid, LD-04 bound"),
    ("k6-1.3-full-dropped.txt", "k6", 109.0, 110.1, 0.0095, "LD-04 bound, ER-01 warning"),
    ("k6-1.3-full-good.txt", "k6", 188.9, 188.9, 0.0000, "LD-04 bound"),
    ("k6-1.3-full-quarter-500.txt", "k6", 142.0, 189.4, 0.2500, "ER-01 invalid, LD-04 bound"),
    ("k6-1.3-full-refused.txt", "k6", 0.0, 188.1, 1.0000, "ER-01 invalid, LD-04 bound"),
    ("k6-1.3-half-dropped.json", "k6", 585.5, 585.5, 0.0000, "CL-14 invalid, LD-04 bound"),
    ("k6-1.8-export-dropped.json", "k6", 5.7, 6.4, 0.1000, "ER-01 invalid, LD-04 invalid"),
    ("k6-1.8-export-good.json", "k6", 7.7, 7.7, 0.0000, "LD-04 invalid"),
    ("k6-1.8-export-quarter-500.json", "k6", 5.7, 7.7, 0.2500, "ER-01 invalid, LD-04 invalid"),
    ("k6-1.8-export-refused.json", "k6", 0.0, 7.7, 1.0000, "ER-01 invalid, LD-04 invalid"),
    ("k6-1.8-full-dropped.txt", "k6", 5.7, 6.4, 0.1000, "ER-01 invalid, LD-04 invalid"),
    ("k6-1.8-full-good.txt", "k6", 7.7, 7.7, 0.0000, "LD-04 invalid"),
    ("k6-1.8-full-quarter-500.txt", "k6", 5.7, 7.7, 0.2500, "ER-01 invalid, LD-04 invalid"),
    ("k6-1.8-full-refused.txt", "k6", 0.0, 7.7, 1.0000, "ER-01 invalid, LD-04 invalid"),
    ("k6-1.8-versioned-dropped.json", "k6", 5.7, 6.4, 0.1000, "ER-01 invalid, LD-04 invalid"),
    ("k6-1.8-versioned-good.json", "k6", 7.7, 7.7, 0.0000, "LD-04 invalid"),
    ("k6-1.8-versioned-quarter-500.json", "k6", 5.7, 7.7, 0.2500, "ER-01 invalid, LD-04 invalid"),
    ("k6-1.8-versioned-refused.json", "k6", 0.0, 7.7, 1.0000, "ER-01 invalid, LD-04 invalid"),
    ("k6-handle-summary.json", "k6", 109.9, 109.9, 0.0, "LD-04 bound"),
    ("k6-new.txt", "k6", 109.9, 109.9, 0.0, ""),
    ("k6.json", "k6", 98.9, 109.9, 0.1001, "ER-01 invalid"),
    ("k6.txt", "k6", 109.4, 109.9, 0.005, "CL-14 bound, ER-05 bound, ER-01 warning"),
    ("limited-hey.txt", "hey", 2.5, 500.0, 0.995, "ER-01 invalid, ER-08 invalid"),
    ("loadtest-5.2.0-drops.txt", "loadtest", 0.0, 4_246.4, 1.0000, "ER-01 invalid, LD-04 invalid, LD-05 warning"),
    ("loadtest-5.2.0-errors.txt", "loadtest", 1_790.0, 1_884.2, 0.0500, "ER-01 invalid, LD-04 invalid, LD-05 warning"),
    ("loadtest-5.2.0-good.txt", "loadtest", 1_975.8, 1_975.8, 0.0000, "LD-04 bound, LD-05 warning"),
    ("loadtest-5.2.0-rate.txt", "loadtest", 1_925.6, 1_925.6, 0.0000, "CL-05 invalid, ST-02 invalid, LD-04 bound"),
    ("loadtest-5.2.0-refused.txt", "loadtest", 0.0, 3_631.4, 1.0000, "ER-01 invalid, LD-04 invalid, LD-05 warning"),
    ("loadtest-8.2.1-drops.txt", "loadtest", 0.0, 4_807.7, 1.0000, "ER-01 invalid, LD-04 invalid, LD-05 warning"),
    ("loadtest-8.2.1-errors.json", "loadtest", 1_877.2, 1_976.0, 0.0500, "ER-01 invalid, LD-04 bound, LD-05 warning"),
    ("loadtest-8.2.1-errors.txt", "loadtest", 1_841.1, 1_938.0, 0.0500, "ER-01 invalid, LD-04 invalid, LD-05 warning"),
    ("loadtest-8.2.1-good.txt", "loadtest", 1_972.0, 1_972.0, 0.0000, "LD-04 bound, LD-05 warning"),
    ("loadtest-8.2.1-rate.txt", "loadtest", 1_995.6, 2_998.0, 0.3344, "ER-01 invalid, CL-05 bound, LD-04 bound"),
    ("loadtest-8.2.1-refused.txt", "loadtest", 0.0, 4_166.7, 1.0000, "ER-01 invalid, LD-04 invalid, LD-05 warning"),
    ("locust-0.14-drops.txt", "locust", 124.1, 128.7, 0.0363, "ER-01 invalid, LD-04 invalid, LD-05 warning"),
    ("locust-0.14-errors.csv", "locust", 163.3, 172.0, 0.0504, "ER-01 invalid, LD-04 invalid, LD-05 warning"),
    ("locust-0.14-errors.txt", "locust", 163.3, 172.0, 0.0504, "ER-01 invalid, LD-04 bound, LD-05 warning"),
    ("locust-0.14-good.txt", "locust", 173.8, 173.8, 0.0000, "LD-04 bound, LD-05 warning"),
    ("locust-0.14-limited.txt", "locust", 62.2, 173.6, 0.6419, "ER-01 invalid, ER-08 invalid, LD-04 bound, LD-05 warning"),
    ("locust-0.14-refused.csv", "locust", 0.0, 171.4, 1.0000, "ER-01 invalid, LD-04 invalid, LD-05 warning"),
    ("locust-0.14-refused.txt", "locust", 0.0, 171.4, 1.0000, "ER-01 invalid, LD-04 invalid, LD-05 warning"),
    ("locust-0.14-resets.txt", "locust", 165.7, 172.6, 0.0397, "ER-01 invalid, LD-04 invalid, LD-05 warning"),
    ("locust-1.6-drops.csv", "locust", 119.4, 123.9, 0.0363, "ER-01 invalid, LD-04 invalid, LD-05 warning"),
    ("locust-1.6-drops.txt", "locust", 121.7, 126.2, 0.0358, "ER-01 invalid, LD-04 invalid, LD-05 warning"),
    ("locust-1.6-errors.csv", "locust", 160.5, 168.8, 0.0493, "ER-01 invalid, LD-04 invalid, LD-05 warning"),
    ("locust-1.6-errors.txt", "locust", 162.5, 170.9, 0.0492, "ER-01 invalid, LD-04 invalid, LD-05 warning"),
    ("locust-1.6-good.txt", "locust", 170.9, 170.9, 0.0000, "LD-04 invalid, LD-05 warning"),
    ("locust-1.6-limited.txt", "locust", 62.8, 171.2, 0.6334, "ER-01 invalid, ER-08 invalid, LD-04 invalid, LD-05 warning"),
    ("locust-1.6-refused.txt", "locust", 0.0, 168.3, 1.0000, "ER-01 invalid, LD-04 invalid, LD-05 warning"),
    ("locust-1.6-resets.txt", "locust", 165.3, 172.3, 0.0407, "ER-01 invalid, LD-04 invalid, LD-05 warning"),
    ("locust-2.47-drops.txt", "locust", 134.1, 139.1, 0.0359, "ER-01 invalid, LD-04 invalid, LD-05 warning"),
    ("locust-2.47-errors.csv", "locust", 176.8, 186.0, 0.0497, "ER-01 invalid, LD-04 invalid, LD-05 warning"),
    ("locust-2.47-errors.txt", "locust", 177.8, 187.2, 0.0500, "ER-01 invalid, LD-04 invalid, LD-05 warning"),
    ("locust-2.47-fast-drops.txt", "locust", 132.4, 137.4, 0.0360, "ER-01 invalid, LD-04 invalid, LD-05 warning"),
    ("locust-2.47-fast-errors.txt", "locust", 175.2, 184.4, 0.0500, "ER-01 invalid, LD-04 invalid, LD-05 warning"),
    ("locust-2.47-fast-resets.txt", "locust", 177.3, 184.7, 0.0398, "ER-01 invalid, LD-04 invalid, LD-05 warning"),
    ("locust-2.47-good.txt", "locust", 183.9, 183.9, 0.0000, "LD-04 invalid, LD-05 warning"),
    ("locust-2.47-limited.txt", "locust", 63.7, 185.0, 0.6557, "ER-01 invalid, ER-08 invalid, LD-04 invalid, LD-05 warning"),
    ("locust-2.47-refused.csv", "locust", 0.0, 181.2, 1.0000, "ER-01 invalid, LD-04 invalid, LD-05 warning"),
    ("locust-2.47-refused.txt", "locust", 0.0, 182.6, 1.0000, "ER-01 invalid, LD-04 invalid, LD-05 warning"),
    ("locust-2.47-resets.txt", "locust", 177.2, 184.4, 0.0393, "ER-01 invalid, LD-04 invalid, LD-05 warning"),
    ("locust_stats.csv", "locust", 149.5, 150.0, 0.0033, "LD-04 bound, ER-01 warning"),
    ("nighthawk-2019.txt", "nighthawk", 1_998.8, 1_998.8, 0.0000, "LD-04 bound"),
    ("nighthawk.json", "nighthawk", 1_780.0, 1_800.0, 0.0111, "ER-01 invalid, CL-05 bound, CL-14 bound"),
    ("nighthawk.txt", "nighthawk", 1_979.6, 1_999.6, 0.0100, "ER-01 invalid"),
    ("offered-table.csv", "table", 0.0, 0.0, 0.0, "SA-01 bound, SA-03 bound"),
    ("oha.json", "oha", 4900.0, 5000.0, 0.02, "ER-01 invalid, LD-04 bound"),
    ("oha.txt", "oha", 23_803.4, 23_805.1, 0.0, ""),
    ("php-error-200-ab.txt", "ab", 3846.2, 3846.2, 0.0, "LD-04 invalid, LD-05 warning"),
    ("php-error-500-ab.txt", "ab", 0.0, 3846.2, 1.0, "ER-01 invalid, LD-04 invalid, LD-05 warning"),
    ("plow-1.4-drops.json", "plow", 712.9, 737.9, 0.0339, "ER-01 invalid, LD-04 invalid, ER-05 bound"),
    ("plow-1.4-drops.txt", "plow", 462.7, 479.7, 0.0354, "ER-01 invalid, LD-04 invalid, ER-05 bound"),
    ("plow-1.4-errors.json", "plow", 1888.2, 1987.5, 0.0500, "ER-01 invalid, LD-04 invalid"),
    ("plow-1.4-errors.txt", "plow", 1873.9, 1972.5, 0.0500, "ER-01 invalid, LD-04 invalid"),
    ("plow-1.4-good.txt", "plow", 1994.6, 1994.6, 0.0000, "LD-04 invalid"),
    ("plow-1.4-limited.txt", "plow", 66.3, 499.9, 0.8673, "ER-01 invalid, LD-04 invalid"),
    ("plow-1.4-rate-missed.txt", "plow", 1591.7, 1591.7, 0.0000, "CL-05 invalid, LD-04 invalid"),
    ("plow-1.4-refused.txt", "plow", 0.0, 22_411.6, 1.0000, "ER-01 invalid, LD-04 invalid"),
    ("plow-1.4-resets.txt", "plow", 1901.5, 1901.5, 0.0000, "LD-04 invalid"),
    ("plow-1.4-seconds.txt", "plow", 1664.3, 1664.3, 0.0000, "LD-04 invalid"),
    ("ramp-table.csv", "table", 0.0, 0.0, 0.0, ""),
    ("siege-404.txt", "siege", 8560.9, 11_414.11, 0.25, "ER-01 invalid, LD-04 invalid, LD-05 warning"),
    ("siege-503.txt", "siege", 3416.7, 3416.67, 0.5002, "ER-01 invalid, LD-04 invalid, LD-05 warning"),
    ("siege-all-500.txt", "siege", 0.0, 0.0, 1.0, "ER-01 invalid, LD-04 invalid, LD-05 warning"),
    ("siege-json.txt", "siege", 3544.7, 3544.7, 0.0, "LD-04 invalid, LD-05 warning"),
    ("siege-refused.txt", "siege", 0.0, 0.0, 1.0, "ER-01 invalid, LD-04 invalid, LD-05 warning"),
    ("siege.txt", "siege", 83.3, 83.3, 0.0167, "ER-01 invalid, ER-05 bound, LD-05 warning"),
    ("urandom-ab.txt", "ab", 10_764.3, 10_761.3, 0.0, "LD-04 invalid, ER-03 warning, LD-05 warning"),
    ("vegeta.json", "vegeta", 100.7, 100.7, 0.0, "LD-04 invalid"),
    ("vegeta.txt", "vegeta", 65.9, 65.9, 0.4458, "ER-01 invalid, LD-04 invalid"),
    ("wrk-all-503.txt", "wrk", 0.0, 1123.2, 1.0, "ER-01 invalid"),
    ("wrk-errors.txt", "wrk", 42_082.1, 42_949.6, 0.02, "ER-01 invalid, LD-04 invalid, PH-01 warning"),
    ("wrk-hours.txt", "wrk", 1000.0, 1000.0, 0.0, ""),
    ("wrk-minutes.txt", "wrk", 20_650.0, 20_650.0, 0.0, ""),
    ("wrk-uneven.txt", "wrk", 32_903.6, 32_898.4, 0.0, "CL-06 invalid, LD-04 bound, PH-01 warning"),
    ("wrk.txt", "wrk", 32_903.6, 32_898.4, 0.0, "LD-04 bound, PH-01 warning"),
    ("wrk2-clock.txt", "wrk2", 0.0, 663_801_593.6, 0.0, "PH-08 invalid, ER-05 bound"),
    ("wrk2-deathstar.txt", "wrk2", 2_000.2, 2_000.2, 0.0000, "LD-04 bound, LD-05 warning"),
    ("wrk2.txt", "wrk2", 2000.6, 2000.3, 0.0, "LD-04 bound, LD-05 warning"),
    ("zrk-0.3.txt", "zrk", 50.5, 50.5, 0.0000, "LD-04 invalid"),
    ("zrk-closed.txt", "zrk", 170_281.0, 170_281.0, 0.0000, "LD-04 bound"),
    ("zrk.json", "zrk", 999.8, 999.8, 0.0023, "CL-05 invalid, ER-05 bound, LD-04 bound, ER-01 warning"),
    ("zrk.txt", "zrk", 979.2, 990.0, 0.0155, "ER-01 invalid, ER-02 invalid, CL-14 bound, ER-05 bound, LD-04 bound"),
];

/// Context, and a text about results.
const NO_OUTPUTS: [&str; 3] = ["blog-pidstat.txt", "blog-ss.txt", "blog-report.md"];

#[test]
fn every_output_is_read_and_judged() {
    let mut wrong = Vec::new();
    for &(name, tool, goodput, claimed, failed, rules) in &EXPECTED {
        let record = plain(name).record;
        assert_eq!(record.tool, tool, "{name}");
        for (what, is, expected) in [
            ("goodput", record.goodput_per_s.map_or(0.0, |goodput| goodput.value), goodput),
            ("claim", record.throughput_per_s.unwrap_or(0.0), claimed),
            ("failed", record.failed_share.unwrap_or(0.0), failed),
        ] {
            assert!((is - expected).abs() <= 0.02 * expected.max(0.05), "{name}: {what} {is}, not {expected}");
        }
        let said: Vec<String> = record
            .verdict
            .findings
            .iter()
            .filter(|finding| finding.state > FindingState::Note)
            .map(|finding| format!("{} {:?}", finding.rule, finding.state).to_lowercase().to_uppercase())
            .collect();
        if said.join(", ") != rules.to_uppercase() {
            wrong.push(format!("{name}: {}, not {rules}", said.join(", ")));
        }
        assert_eq!(record.unread_lines, 0, "{name}");
        for (claim, others) in record.claims.iter().zip(record.claims.iter().skip(1)) {
            assert_ne!(claim.name, others.name, "{name}");
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_fixture_is_expected_here() {
    let mut names: Vec<String> = std::fs::read_dir(folder())
        .expect("fixtures")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .filter(|name| !NO_OUTPUTS.contains(&name.as_str()))
        .collect();
    names.sort();
    let expected: Vec<&str> = EXPECTED.iter().map(|(name, ..)| *name).collect();
    assert_eq!(names, expected);
}

#[test]
fn an_overloaded_blog_is_seen_through() {
    let text = |name| Text::decode(&bytes(name)).unwrap();
    let context = Context {
        nofile: Some(1024),
        cores: Some(128),
        processes: Some(Processes::read(&text("blog-pidstat.txt")).unwrap()),
        processes_rate_per_s: Some(210.0),
        sockets: Some(Sockets::read(&text("blog-ss.txt")).unwrap()),
        ..Context::default()
    };
    let record = with("blog-uncached-wrk.txt", &context).record;
    assert_eq!(record.goodput_per_s.map(|goodput| goodput.value.round()), Some(941.0));
    assert_eq!(record.connections.map(|both| (both.requested, both.established)), Some((10_000, 1006)));
    assert!(message(&record.verdict, "CL-06").contains("exactly a limit of 1,024 open files"));
    assert!(message(&record.verdict, "ER-01").contains("134,832 of 163,092 requests failed (82.7 %)"));
    assert!(message(&record.verdict, "ER-05").contains("236 requests"));
    assert!(message(&record.verdict, "PH-02").contains("at most 5,142/s on 128 CPUs: 5,431/s"));
    assert!(message(&record.verdict, "NE-09").contains("16,882 connections in TIME_WAIT hold 60 %"));
    assert_eq!(state(&record.verdict, "PH-02"), Some(FindingState::Invalid));
    assert_eq!(
        record.claims.iter().find(|claim| claim.name == "throughput_per_s").and_then(|claim| claim.line),
        Some(15)
    );
}

/// Golden test 4: the same blog with five workers.
#[test]
fn a_blog_with_five_workers_is_limited_by_them() {
    let text = |name| Text::decode(&bytes(name)).unwrap();
    let context = Context {
        cores: Some(128),
        processes: Some(Processes::read(&text("blog-pidstat.txt")).unwrap()),
        processes_rate_per_s: Some(210.0),
        workers_wanted: Some(25),
        ..Context::default()
    };
    let limiter = with("blog-5-children-httperf.txt", &context).record.limiter.expect("processes were given");
    assert_eq!((limiter.name.as_str(), limiter.confidence), ("worker-pool-limited", Confidence::Medium));
    assert_eq!(
        limiter.says,
        "5 php-fpm workers, each 80 % CPU and about 20 % waiting (mysqld uses 5.37 ms for each response), machine 95.9 % \
         idle (5.2 of 128 CPUs busy): at most 5/23.8 ms = 210/s"
    );
    let prediction = limiter.prediction.as_ref().expect("more workers help");
    assert_eq!((prediction.setting.as_deref(), prediction.expected_per_s.round()), (Some("pm.max_children"), 1_050.0));
    assert_eq!(prediction.change, "25 php-fpm workers instead of 5");
    let next = limiter.next.as_ref().expect("the CPUs");
    assert!((next.ceiling_per_s - 5_170.0).abs() < 0.01 * 5_170.0, "{next:?}");
    assert!(limiter.unchecked.iter().any(|what| what.starts_with("one core: mysqld uses 1.12 CPUs")), "{limiter:#?}");
    // 70 workers make 2,940/s at most: 5,431/s was something else.
    let context = Context { workers_wanted: Some(70), ..context };
    let limiter = with("blog-uncached-wrk.txt", &context).record.limiter.expect("processes were given");
    assert_eq!(limiter.prediction.expect("more workers help").expected_per_s.round(), 2_940.0);
}

#[test]
fn a_body_that_was_declared_is_held_to_it() {
    let declared = |bytes| Context { expect_size_bytes: Some(bytes), ..Context::default() };
    let record = with("urandom-ab.txt", &declared(2048)).record;
    assert_eq!(state(&record.verdict, "ER-03"), Some(FindingState::Invalid));
    assert_eq!(state(&record.verdict, "LD-04"), Some(FindingState::Invalid));
    assert_eq!(record.goodput_per_s, None, "how many were wrong is not known");
    assert_eq!(state(&with("ab.txt", &declared(2048)).record.verdict, "ER-03"), None);
    // wrk tells bytes with heads only: too few of them are wrong, more than enough prove nothing.
    let wrk = |bytes| with("wrk.txt", &declared(bytes)).record.verdict;
    assert_eq!(state(&wrk(20_480), "ER-06"), Some(FindingState::Invalid));
    assert!(state(&wrk(2048), "ER-06").is_none() && wrk(2048).unchecked.contains(&"ER-03".to_owned()));
}

#[test]
fn a_table_has_its_knee_where_the_pool_model_puts_it() {
    let record = plain("concurrency-table.md").record;
    let (knee, fit) = (record.knee.unwrap(), record.fit.unwrap());
    assert!((knee.load - 2.10).abs() < 0.1 && (fit.plateau_per_s - 175.0).abs() < 1.0, "{knee:?} {fit:?}");
    assert!(message(&record.verdict, "RP-08").contains("at 20 connections is 112 ms, not 5.62 ms"));
    let ramp = plain("ramp-table.csv").record;
    assert!((981.0..=994.0).contains(&ramp.knee.unwrap().goodput_per_s), "{:?}", ramp.knee);
}

#[test]
fn a_rule_without_its_figures_is_unchecked() {
    let unchecked = plain("vegeta.json").record.verdict.unchecked;
    for rule in ["CL-01", "CL-06", "ER-03", "PH-01", "PH-02", "NE-09", "RP-07"] {
        assert!(unchecked.contains(&rule.to_owned()), "{rule}: {unchecked:?}");
    }
    assert!(plain("wrk.txt").record.verdict.unchecked.contains(&"ER-02".to_owned()), "wrk hides redirects");
}

/// What the tools counted while the server did what it was told to.
#[test]
fn counts_are_exact_where_the_output_has_them() {
    let figures = |name: &str| {
        let claims = plain(name).claims;
        [Figure::Responses, Figure::BadStatus, Figure::Broken].map(|figure| claims.get(figure))
    };
    for (name, expected) in [
        ("autocannon-most-503.txt", [95_839.0, 94_881.0, 0.0]),
        ("autocannon-statuses.txt", [73_277.0, 18_320.0, 0.0]),
        ("autocannon-good.txt", [139_536.0, 0.0, 0.0]),
        ("autocannon-refused.txt", [0.0, 0.0, 24_000.0]),
        ("autocannon-resets.txt", [10_059.0, 0.0, 4_941.0]),
        ("siege-404.txt", [28_307.0, 7_076.0, 0.0]),
        ("siege-503.txt", [1_025.0, 0.0, 0.0]),
        ("ab-half-503.txt", [300.0, 150.0, 0.0]),
    ] {
        assert_eq!(figures(name), expected.map(Some), "{name}");
    }
    assert_eq!(plain("siege-503.txt").claims.get(Figure::BadOrBroken), Some(1_026.0));
    assert_eq!(plain("autocannon-statuses.txt").record.status, [(200, 54_957), (404, 18_320)].into());
}

#[test]
fn a_url_has_the_port_that_the_output_names() {
    let url = |name: &str| plain(name).record.url.expect("a URL");
    assert_eq!(url("ab-half-503.txt"), "http://127.0.0.1:7150/half");
    let text = String::from_utf8(bytes("ab-half-503.txt")).unwrap();
    let read = |text: String| audit("ab", text.as_bytes(), &Context::default()).unwrap().record.url;
    let moved = |port: &str| text.replace("Server Port:            7150", &format!("Server Port:            {port}"));
    assert_eq!(read(moved("80")).as_deref(), Some("http://127.0.0.1/half"));
    let tls = moved("443").replace("Document Path:", "SSL/TLS Protocol:       TLSv1.3\nDocument Path:");
    assert_eq!(read(tls.replace("127.0.0.1", "::1")).as_deref(), Some("https://[::1]/half"));
    // Two servers on one machine are not the same target.
    let at = |port: &str| audit(port, moved(port).as_bytes(), &Context::default()).unwrap();
    let comparison = compare(&[at("7150"), at("7151")], None).comparison.expect("of two");
    assert!(message(&comparison, "CP-01").contains("different URL"), "{comparison:#?}");
}

/// siege's rate is of what it calls hits; a third of failures is no wrong clock.
#[test]
fn a_rate_that_leaves_failures_out_is_no_contradiction() {
    for name in ["siege-503.txt", "siege-404.txt", "siege-all-500.txt"] {
        assert_eq!(state(&plain(name).record.verdict, "PH-08"), None, "{name}");
    }
    let edited = spoilt("siege-503.txt", "3416.67", "6833.34", &Context::default(), "PH-08");
    assert_eq!(edited, Some(FindingState::Invalid));
}

#[test]
fn secrets_stay_in_the_file() {
    let record = plain("blog-post-httperf.txt").record;
    let said = serde_json::to_string(&record).unwrap();
    assert!(!said.contains("dXNlcjpub3RzZWNyZXQ") && said.contains("<redacted>"), "{said}");
    // The folder of a shell is none, but what has its name in a list of parameters is.
    let (none, folder) = (Context::default(), "PWD       =/home/user");
    assert_eq!(spoilt("jmeter-5.6-good.log", folder, folder, &none, "RP-10"), None);
    let told = spoilt("jmeter-5.6-good.log", folder, "UID=sa;PWD=/home/user", &none, "RP-10");
    assert_eq!(told, Some(FindingState::Warning));
}

#[test]
fn ids_are_unique_and_every_rule_says_what_it_needs() {
    let rules = audit::rules();
    let ids: std::collections::BTreeSet<_> = rules.iter().map(|rule| rule.id).collect();
    assert_eq!(ids.len(), rules.len());
    assert!(rules.iter().all(|rule| !rule.data.is_empty()));
}

/// The state that a rule gets from a fixture in which `from` is replaced by `to`.
#[track_caller]
fn spoilt(name: &str, from: &str, to: &str, context: &Context, rule: &str) -> Option<FindingState> {
    let text = String::from_utf8(bytes(name)).unwrap();
    assert!(text.contains(from), "{from:?} is not in {name}");
    let audited = audit(name, text.replace(from, to).as_bytes(), context).unwrap();
    state(&audited.record.verdict, rule)
}

#[test]
fn what_no_fixture_has_is_caught_too() {
    let (none, limit) = (Context::default(), Context { nofile: Some(1024), ..Context::default() });
    let cases = [
        ("httperf.txt", "addrunavail 0", "addrunavail 5", &none, "CL-07", Some(FindingState::Invalid)),
        ("httperf.txt", "fd-unavail 0", "fd-unavail 3", &none, "CL-06", Some(FindingState::Invalid)),
        (
            "ab.txt",
            "Concurrency Level:      8",
            "Concurrency Level:      2000",
            &limit,
            "CL-06",
            Some(FindingState::Invalid),
        ),
        ("ab.txt", "Concurrency Level:      8", "Concurrency Level:      1000", &limit, "CL-06", None),
        ("concurrency-table.md", "163.01", "180.01", &none, "PH-04", Some(FindingState::Invalid)),
        ("concurrency-table.md", "163.01", "163.01", &none, "PH-04", None),
        ("wrk.txt", "Running 6s", "Running 30s", &none, "PH-08", Some(FindingState::Warning)),
        ("wrk.txt", "32898.45", "62898.45", &none, "PH-08", Some(FindingState::Invalid)),
        ("wrk.txt", "Running 6s", "Running 6s", &none, "PH-08", None),
        ("wrk2.txt", "-c100", "-c200", &none, "RP-07", Some(FindingState::Invalid)),
        ("wrk2.txt", "-R2000", "-R3000", &none, "CL-05", Some(FindingState::Bound)),
        ("wrk-minutes.txt", "3.10ms", "2.00ms", &none, "PH-01", Some(FindingState::Invalid)),
        ("wrk-minutes.txt", "3.10ms", "3.09ms", &none, "PH-01", None),
        ("concurrency-table.md", "5.622", "112.4", &none, "RP-08", None),
    ];
    for (name, from, to, context, rule, expected) in cases {
        assert_eq!(spoilt(name, from, to, context, rule), expected, "{rule} by {to:?} in {name}");
    }
}
