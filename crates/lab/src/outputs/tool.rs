//! The tools, and the command line of each.

use crate::install::Origin::{self, Debian, GoProgram, Npm};
use xtask::packages::Tool as Package;

/// A load generator in one form of its output.
pub(super) struct Tool {
    /// As `audit` calls it.
    pub(super) name: &'static str,
    /// Of the fixtures' names; differs between two forms.
    pub(super) form: &'static str,
    pub(super) from: Origin,
    /// Shell command with `{url}`, `{host}` and `{port}`; its first word is the program.
    pub(super) command: &'static str,
    /// Shell command whose first line has the version.
    pub(super) version: &'static str,
    /// Requests that may be on their way when its time is up; 0 of a number of requests.
    pub(super) slack: u64,
    /// True if its output is JSON, above which no command line can stand.
    pub(super) is_json: bool,
}

impl Tool {
    /// Name of the fixture of a case.
    pub(super) fn file(&self, case: &str) -> String {
        format!("{}-{case}.{}", self.form, if self.is_json { "json" } else { "txt" })
    }
}

const fn tool(name: &'static str, from: Origin, command: &'static str, version: &'static str) -> Tool {
    Tool { name, form: name, from, command, version, slack: 0, is_json: false }
}

const AB: Origin = Debian(&[Package::new("ab", &["apache2-utils"])]);
const SIEGE: Origin = Debian(&[Package::new("siege", &["siege"])]);
const AUTOCANNON: Origin = Npm(&["autocannon"]);
const VEGETA: Origin = GoProgram("vegeta", "github.com/tsenart/vegeta/v12@v12.12.0");
const BOMBARDIER: Origin = GoProgram("bombardier", "github.com/codesenberg/bombardier@v1.2.6");
const OF_GO: &str = "go version -m {go}";

#[rustfmt::skip]
pub(super) static TOOLS: [Tool; 14] = [
    tool("ab", AB, "ab -r -k -n 2000 -c 4 {url}", "dpkg-query -W apache2-utils"),
    Tool { form: "ab-close", ..tool("ab", AB, "ab -r -n 2000 -c 4 {url}", "dpkg-query -W apache2-utils") },
    Tool { slack: 4, ..tool("wrk", Debian(&[Package::new("wrk", &["wrk"])]), "wrk -t1 -c4 -d1s --latency {url}", "dpkg-query -W wrk") },
    tool("httperf", Debian(&[Package::new("httperf", &["httperf"])]), "httperf --hog --server {host} --port {port} --uri /page --num-conns 200 --num-calls 10 --rate 200 --timeout 2", "dpkg-query -W httperf"),
    tool("siege", SIEGE, "siege -b -c 4 -r 500 {url}", "dpkg-query -W siege"),
    Tool { form: "siege-j", ..tool("siege", SIEGE, "siege -j -b -c 4 -r 500 {url}", "dpkg-query -W siege") },
    tool("hey", Debian(&[Package::new("hey", &["hey"])]), "hey -n 2000 -c 4 {url}", "dpkg-query -W hey"),
    tool("h2load", Debian(&[Package::new("h2load", &["nghttp2-client"])]), "h2load --h1 -n 2000 -c 4 {url}", "dpkg-query -W nghttp2-client"),
    tool("autocannon", AUTOCANNON, "autocannon -c 4 -a 2000 {url}", "node_modules/.bin/autocannon --version"),
    Tool { form: "autocannon-j", is_json: true, ..tool("autocannon", AUTOCANNON, "autocannon -j -c 4 -a 2000 {url} 2>/dev/null", "node_modules/.bin/autocannon --version") },
    tool("vegeta", VEGETA, "echo GET {url} | vegeta attack -rate 1000 -duration 1s | vegeta report", OF_GO),
    Tool { form: "vegeta-json", is_json: true, ..tool("vegeta", VEGETA, "echo GET {url} | vegeta attack -rate 1000 -duration 1s | vegeta report -type json", OF_GO) },
    tool("bombardier", BOMBARDIER, "bombardier -n 2000 -c 4 -l {url}", OF_GO),
    Tool { form: "bombardier-json", is_json: true, ..tool("bombardier", BOMBARDIER, "bombardier -n 2000 -c 4 -l -p r -o json {url}", OF_GO) },
];
