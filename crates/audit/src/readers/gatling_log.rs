//! Gatling: `simulation.log` of version 3 as long as that is text, a request in each line.

use super::require;
use super::samples::{Begun, Ended, Fold, SampleReader, Tally};
use crate::Unreadable;
use crate::claim::{Claims, Figure};

pub(super) const SAMPLES: SampleReader = SampleReader { begin };

/// As it is typed.
const NAME: &str = "gatling";
const NS_PER_MS: i64 = 1_000_000;
/// Gatling gives up on a response after this, unless told otherwise.
const TIMEOUT_NS: f64 = 60e9;
/// What a check of the status says of the one that came.
const FOUND: &str = "but actually found ";
/// Lines that tell nothing of a request.
const OTHERS: [&str; 4] = ["USER\t", "GROUP\t", "ERROR\t", "ASSERTION\t"];

#[derive(Default)]
struct Requests {
    tally: Tally,
    /// Version 2 and older have other columns.
    is_old: bool,
}

fn begin(line: &[u8]) -> Option<Begun> {
    if is_binary(line) {
        let instead = "give the figures that it prints at its end";
        return Some(Err(Unreadable::OtherForm { tool: NAME, form: "the binary form of 3.13 and later", instead }));
    }
    let is_run = line.starts_with(b"RUN\t") && line.iter().filter(|byte| **byte == b'\t').count() >= 4;
    (is_run || line.starts_with(b"ASSERTION\tA")).then(|| Ok(Box::<Requests>::default() as Box<dyn Fold>))
}

/// A zero, the length of the version's name, and that name.
fn is_binary(begin: &[u8]) -> bool {
    let Some((head, rest)) = begin.split_at_checked(5) else { return false };
    let [0, 0, 0, 0, length @ 3..=40] = *head else { return false };
    let is_of_version = |byte: &u8| byte.is_ascii_alphanumeric() || b".-".contains(byte);
    rest.get(..usize::from(length))
        .is_some_and(|name| name[0].is_ascii_digit() && name[1] == b'.' && name.iter().all(is_of_version))
}

/// The status that a failed check names.
fn found(message: &str) -> Option<u16> {
    let (check, found) = message.split_once(FOUND)?;
    let status = found.trim().parse().ok().filter(|status| (100..600).contains(status));
    status.filter(|_| check.contains("status"))
}

/// How a request ended by the words of its failure.
fn failure(message: &str) -> Ended {
    let small = message.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| small.contains(word));
    match found(message) {
        Some(status) => Ended::Unwanted(status),
        None if has(&["request timeout", "requesttimeout", "timed out", "timeoutexception"]) => Ended::Late,
        None if has(&["exception", "connection", "premature close", "not resolve", "unknownhost"]) => Ended::Broken,
        None => Ended::Bad,
    }
}

impl Requests {
    /// `REQUEST`, of 3.3 and older a number, groups, name, begin, end, `OK` or `KO`, message.
    fn request(&mut self, line: &str) -> bool {
        let mut fields = line.rsplitn(5, '\t');
        let last = [fields.next(), fields.next(), fields.next(), fields.next(), fields.next()];
        let [Some(message), Some(state), Some(end), Some(begin), Some(_)] = last else { return false };
        let times: Option<(i64, i64)> = begin.parse().ok().zip(end.parse().ok());
        let Some((begin, end)) = times else { return false };
        let how = match state {
            "OK" => Ended::Good,
            "KO" => failure(message),
            _ => return false,
        };
        let (begin, end) = (begin.saturating_mul(NS_PER_MS), end.saturating_mul(NS_PER_MS));
        self.tally.ended(how, 1);
        self.tally.lasted(begin, end);
        if matches!(how, Ended::Broken | Ended::Late) {
            self.tally.reason(message.as_bytes());
        } else {
            self.tally.latency(end.saturating_sub(begin) as f64);
        }
        true
    }
}

impl Fold for Requests {
    fn line(&mut self, line: &[u8]) -> bool {
        let Ok(line) = std::str::from_utf8(line) else { return false };
        if line.starts_with("REQUEST\t") {
            return self.request(line);
        }
        if line.starts_with("RUN\t") {
            let version = line.rsplit('\t').map(str::trim).find(|field| !field.is_empty());
            self.is_old |= !version.is_some_and(|version| version.starts_with("3."));
            return true;
        }
        OTHERS.iter().any(|other| line.starts_with(other))
    }

    fn finish(self: Box<Self>, mut claims: Claims) -> Result<Claims, Unreadable> {
        if self.is_old {
            let missing = vec!["lines of version 3"];
            return Err(Unreadable::Incomplete { tool: NAME, read: Vec::new(), missing });
        }
        self.tally.put(&mut claims);
        claims.put(Figure::Resolution, Some(NS_PER_MS as f64), None);
        claims.put_usual(Figure::Timeout, TIMEOUT_NS);
        require(claims, &[(Figure::Responses, "`REQUEST`"), (Figure::Duration, "`REQUEST`")])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_check_of_the_status_names_the_one_that_came() {
        for (message, expected) in [
            ("status.find.is(200), but actually found 403", Ended::Unwanted(403)),
            ("status.find.in(200,201,304), but actually found 503", Ended::Unwanted(503)),
            ("jsonPath($.id).find.is(3), but actually found 403", Ended::Bad),
            ("substring(ok).find.exists, found nothing", Ended::Bad),
            (
                "i.g.h.c.i.RequestTimeoutException: Request timeout to localhost/127.0.0.1:80 after 60000 ms",
                Ended::Late,
            ),
            ("j.n.ConnectException: Connection refused", Ended::Broken),
        ] {
            assert_eq!(failure(message), expected, "{message}");
        }
    }
}
