//! All that was sent to the server, in words.

use crate::words::fact::{About, Fact};
use model::SentInAll;
use model::human::{count, plural};

/// How many requests were sent, and what for; none where that is not known.
pub(crate) fn fact(sent: Option<SentInAll>) -> Option<Fact> {
    Fact::known(About::Load, "sent", line(sent))
}

fn line(sent: Option<SentInAll>) -> Option<String> {
    let sent = sent?;
    let SentInAll { probe, warmup, window, after } = sent;
    let [probe, warmup, window, after] = [probe, warmup, window, after].map(count);
    let all = plural(sent.all(), "request");
    Some(format!("{all} in all: {probe} by the probe, {warmup} as warm-up, {window} in the window, {after} after it"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `-n 1` had sent 118,223 requests, and no line of the result said so.
    #[test]
    fn all_that_was_sent_is_told_by_what_it_was_sent_for() {
        let sent = SentInAll { probe: 3, warmup: 118_219, window: 1, after: 0 };
        let told = "118,223 requests in all: 3 by the probe, 118,219 as warm-up, 1 in the window, 0 after it";
        assert_eq!(line(Some(sent)).as_deref(), Some(told));
        assert_eq!(line(None), None, "an earlier version had not counted it");
    }
}
