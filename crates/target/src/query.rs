//! Parameters of a request: read strictly, refused with the reason, the name and an example.

use std::borrow::Cow;
use std::fmt::Display;
use std::str::FromStr;

/// A parameter that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BadParameter {
    pub(super) error: String,
    pub(super) parameter: &'static str,
    pub(super) example: &'static str,
}

/// A parameter an endpoint knows, and a request that uses it well.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parameter {
    pub(super) name: &'static str,
    pub(super) example: &'static str,
}

/// The part of a request target behind `?`. Parameters nobody asks for are ignored: load tests append their own to
/// defeat caches.
#[derive(Clone, Copy, Debug)]
pub(super) struct Query<'a>(pub(super) &'a str);

impl Parameter {
    pub(super) fn bad(self, error: impl Display) -> BadParameter {
        BadParameter { error: error.to_string(), parameter: self.name, example: self.example }
    }
}

impl<'a> Query<'a> {
    /// The value, percent-decoded and empty when it has none. Given twice it cannot be meant.
    pub(super) fn text(self, parameter: Parameter) -> Result<Option<Cow<'a, str>>, BadParameter> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let mut values = form_urlencoded::parse(self.0.as_bytes()).filter(|(name, _)| name == parameter.name);
        let value = values.next().map(|(_, value)| value);
        if values.next().is_some() { Err(parameter.bad("it is given more than once")) } else { Ok(value) }
    }

    /// The value read as a `T`.
    pub(super) fn value<T: FromStr<Err: Display>>(self, parameter: Parameter) -> Result<Option<T>, BadParameter> {
        let text = self.text(parameter)?;
        text.map(|text| text.parse().map_err(|error| parameter.bad(error))).transpose()
    }

    /// True if something is wanted: alone, or with a yes or no.
    pub(super) fn flag(self, parameter: Parameter) -> Result<bool, BadParameter> {
        match self.text(parameter)?.as_deref() {
            None | Some("0" | "false" | "no") => Ok(false),
            Some("" | "1" | "true" | "yes") => Ok(true),
            Some(other) => Err(parameter.bad(format!("{other:?} is not a yes or no"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const N: Parameter = Parameter { name: "n", example: "/?n=1" };

    #[test]
    fn values_are_decoded_and_read() {
        for (query, expected) in
            [("", None), ("m=2", None), ("n=7", Some(7)), ("x&n=7&y=", Some(7)), ("n=%37", Some(7)), ("%6e=7", Some(7))]
        {
            assert_eq!(Query(query).value::<u32>(N), Ok(expected), "{query}");
        }
        for (query, expected) in [("", false), ("n", true), ("n=1", true), ("n=no", false)] {
            assert_eq!(Query(query).flag(N), Ok(expected), "{query}");
        }
    }

    #[test]
    fn what_cannot_be_meant_is_refused_by_name() {
        for query in ["n", "n=", "n=x", "n=1&n=2", "n=1&n=1", "n=%ff", "n=1%", "n=1%00"] {
            let bad = Query(query).value::<u32>(N).expect_err(query);
            assert_eq!((bad.parameter, bad.example), ("n", "/?n=1"), "{query}");
            assert!(!bad.error.is_empty());
        }
        assert!(Query("n=maybe").flag(N).is_err());
    }
}
