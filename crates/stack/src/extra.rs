//! Settings that one server alone has: a list with names, meanings and what may be given.

use crate::error::StackError;
use crate::settings::{size, switch, within, wrong};
use model::Duration;
use std::collections::BTreeMap;
use std::str::FromStr;

/// One of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extra {
    pub(crate) name: &'static str,
    pub(crate) default: &'static str,
    pub(crate) takes: Takes,
    /// For people, without a full stop.
    pub(crate) meaning: &'static str,
}

/// What it may be.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Takes {
    /// `on` or `off`.
    Switch,
    /// A number from the first to the second.
    Number(u64, u64),
    /// A number of bytes.
    Size,
    /// A length of time.
    Time,
    /// One of these words.
    Word(&'static [&'static str]),
    /// Any text.
    Text,
}

impl Extra {
    fn check(&self, value: &str) -> Result<(), StackError> {
        let (key, value) = (self.name, value);
        match self.takes {
            Takes::Switch => switch(key, value).map(drop),
            Takes::Number(min, max) => within(key, value, min, max).map(drop),
            Takes::Size => size(key, value).map(drop),
            Takes::Time if Duration::from_str(value).is_ok() => Ok(()),
            Takes::Time => Err(wrong(key, value, "a time such as 2ms or 1s")),
            Takes::Word(words) if words.contains(&value) => Ok(()),
            Takes::Word(words) => Err(wrong(key, value, &words.join(" or "))),
            Takes::Text => Ok(()),
        }
    }
}

/// All extras of a server with their values: those given, and the defaults.
#[derive(Clone, Debug, Default)]
pub(crate) struct Extras(BTreeMap<&'static str, String>);

impl Extras {
    /// Checks what is given (names that are known already) against the list.
    pub(crate) fn new(known: &'static [Extra], given: &BTreeMap<String, String>) -> Result<Self, StackError> {
        let value = |extra: &'static Extra| {
            let value = given.get(extra.name).map_or(extra.default, String::as_str);
            // A default may be empty where no value can be.
            if given.contains_key(extra.name) {
                extra.check(value)?;
            }
            Ok((extra.name, value.to_owned()))
        };
        known.iter().map(value).collect::<Result<_, StackError>>().map(Self)
    }

    /// The value of one of the list.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }

    /// Gives one of the list another number.
    pub(crate) fn set(&mut self, name: &str, value: u64) {
        if let Some((_, text)) = self.0.iter_mut().find(|(known, _)| **known == name) {
            *text = value.to_string();
        }
    }

    pub(crate) fn on(&self, name: &str) -> bool {
        switch(name, self.text(name)).unwrap_or(false)
    }

    /// 0 when it is no number.
    pub(crate) fn number(&self, name: &str) -> u64 {
        within(name, self.text(name), 0, u64::MAX).unwrap_or(0)
    }

    /// 0 when it is no size.
    pub(crate) fn bytes(&self, name: &str) -> u64 {
        size(name, self.text(name)).unwrap_or(0)
    }

    /// 0 when it is no time; ns.
    pub(crate) fn time_ns(&self, name: &str) -> u64 {
        Duration::from_str(self.text(name)).map_or(0, |time| time.ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: &[Extra] = &[
        Extra { name: "mpm", default: "event", takes: Takes::Word(&["event", "worker"]), meaning: "" },
        Extra { name: "children", default: "5", takes: Takes::Number(1, 100), meaning: "" },
        Extra { name: "sleep", default: "0s", takes: Takes::Time, meaning: "" },
    ];

    fn extras(given: &[(&str, &str)]) -> Result<Extras, String> {
        let given = given.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Extras::new(KNOWN, &given).map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_given_stands_before_the_default() {
        let extras = extras(&[("mpm", "worker"), ("sleep", "2ms")]).expect("known values");
        assert_eq!((extras.text("mpm"), extras.number("children"), extras.time_ns("sleep")), ("worker", 5, 2_000_000));
    }

    #[test]
    fn a_wrong_value_says_what_may_be() {
        assert_eq!(extras(&[("mpm", "prefark")]).expect_err("no word"), "mpm=prefark: mpm is event or worker");
        assert!(extras(&[("children", "0")]).expect_err("too few").contains("from 1 to 100"));
        assert!(extras(&[("sleep", "long")]).expect_err("no time").contains("2ms"));
    }
}
