//! The flags of `plimsoll render`.

use super::OutputArgs;
use super::examples::Examples;
use clap::Args;
use model::{Count, Duration};
use std::path::PathBuf;

const EXAMPLES: Examples = Examples(&[
    ("one page, cold and warm", "plimsoll render https://shop.example/"),
    ("before and after, the baseline first", "plimsoll render http://127.0.0.1:8080/ http://127.0.0.1:8081/"),
    ("more blocks, as JSON", "plimsoll render http://127.0.0.1:8080/ --blocks 20 --json \\\n| jq '.arms[0].figures'"),
    (
        "before a change of the server, and after it the same with -o after",
        "plimsoll render https://shop.example/ -o before",
    ),
    ("the change between the two stored results", "plimsoll compare before after"),
    ("LCP, FCP, TTFB, bytes and requests over many results", "plimsoll history plimsoll-runs"),
    ("another browser", "plimsoll render https://127.0.0.1:8443/ -k --browser /opt/chromium/chrome"),
]);

const CALLS: &str = "
Calls of two pages, from the whole 95 % interval of the change: better or worse (beyond --margin), small change (not 0, \
within it), same (around 0, within it), cannot tell.

Exit codes: 0 nothing is worse, 1 worse, 5 cannot tell: with two pages they rest on the largest contentful paint of cold \
loads; 3 the page cannot be fetched; others as in plimsoll --help.";

/// Load a page in Chromium, and time what a visitor sees
///
/// Time to first byte, first and largest contentful paint, load event, bytes, requests. It measures what one visitor sees,
/// not the throughput of the server. In each block every page is loaded cold, in a new
/// profile, and then warm, in a new tab of the same profile; two pages in shuffled order. One load of each page before the
/// blocks does not count. Each quantity is the median over the blocks with its 95 % interval. The browser has no window and
/// runs as a user of its own when plimsoll runs as root; Debian's package chromium has it.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES.short("render"), after_long_help = EXAMPLES.with(&[CALLS]))]
pub(crate) struct RenderArgs {
    /// URLs of one page, or of two to compare, the baseline first
    #[arg(value_name = "URL", required = true, num_args = 1..=2)]
    pub(crate) urls: Vec<String>,
    /// Blocks, 1 to 1,000; from 6 on there are intervals
    #[arg(long, value_name = "N", default_value = "10")]
    pub(crate) blocks: Count,
    /// Longest time of a load, 1s to 10m
    #[arg(long, value_name = "TIME", default_value = "30s")]
    pub(crate) timeout: Duration,
    /// Change that matters, 0.1% to 50%: smaller ones are called the same, or a small change
    #[arg(long, value_name = "PERCENT", default_value = "2%", allow_hyphen_values = true)]
    pub(crate) margin: String,
    /// No certificate verification: accept expired, self-signed and mismatching certificates
    #[arg(short = 'k', long)]
    pub(crate) insecure: bool,
    /// Program of the browser [default: chromium, chromium-browser or google-chrome]
    #[arg(long, value_name = "PATH", help_heading = "Browser")]
    pub(crate) browser: Option<PathBuf>,
    /// No sandbox of the browser, where the machine allows none: only for pages that you trust
    #[arg(long, help_heading = "Browser")]
    pub(crate) no_sandbox: bool,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}
