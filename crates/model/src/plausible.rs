//! Numbers of stored files: one that no measurement can have made is refused before anything is computed with it.

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// Largest whole number: ns of two years, bytes of 72 petabytes. Sums over some hundred of them do not overflow.
const WHOLE_MAX: u64 = 1 << 56;
/// Largest of other numbers: counters of servers have up to 64 bits.
const REAL_MAX: f64 = 1e20;
/// Names of numbers that may have any 64 bits: hashes, seeds, limits that are none, and the instant before all others.
const ANY: [&str; 7] = ["body_hash", "fds_limit", "max", "nofile", "oldest_ns", "seed", "usual_hash"];

/// Data whose numbers a measurement can have made. Deserializing it checks them and keeps nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plausible;

impl<'de> Deserialize<'de> for Plausible {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Check { is_any: false }.deserialize(deserializer).map(|()| Self)
    }
}

/// Checks a value and all within it.
#[derive(Clone, Copy)]
struct Check {
    /// True if a whole number may be any.
    is_any: bool,
}

fn implausible<E: Error>(number: &dyn fmt::Display) -> Result<(), E> {
    Err(E::custom(format_args!("no measurement has the number {number}")))
}

impl<'de> DeserializeSeed<'de> for Check {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Check {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("numbers that a measurement can have made")
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<(), E> {
        if self.is_any || number <= WHOLE_MAX { Ok(()) } else { implausible(&number) }
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<(), E> {
        if number.unsigned_abs() <= WHOLE_MAX { Ok(()) } else { implausible(&number) }
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<(), E> {
        if number.abs() <= REAL_MAX { Ok(()) } else { implausible(&number) }
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<(), A::Error> {
        while values.next_element_seed(Self { is_any: false })?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        while let Some(is_any) = fields.next_key_seed(Name)? {
            fields.next_value_seed(Self { is_any })?;
        }
        Ok(())
    }
}

/// Name of a field: true if its number may be any.
struct Name;

impl<'de> DeserializeSeed<'de> for Name {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Name {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a field")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<bool, E> {
        Ok(ANY.contains(&name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> Result<Plausible, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    #[test]
    fn numbers_that_overflow_in_a_sum_are_refused_wherever_they_stand() {
        for text in [
            "18446744073709551615",
            r#"{"flow":{"good":72057594037927937}}"#,
            r#"[{"a":[1,-72057594037927937]}]"#,
            r#"{"load":1e300}"#,
            r#"{"oldest_ns":[18446744073709551615]}"#,
        ] {
            let error = check(text).unwrap_err();
            assert!(error.contains("no measurement has the number"), "{text}: {error}");
        }
        assert!(check(r#"{"a":1"#).is_err(), "what is cut off");
    }

    #[test]
    fn what_a_measurement_makes_is_plausible() {
        for text in [
            r#"{"event":"tick","from_ns":0,"to_ns":604800000000000,"sends_ns":[3],"busy":0.5,"why":null,"is":true}"#,
            r#"{"oldest_ns":18446744073709551615,"body_hash":14695981039346656037,"seed":18446744073709551615}"#,
            r#"{"figures":{"bytes":18446744073709552000.0},"change":-0.02}"#,
        ] {
            assert_eq!(check(text), Ok(Plausible), "{text}");
        }
    }
}
