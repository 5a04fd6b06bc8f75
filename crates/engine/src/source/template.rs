//! Text with `{{fields}}` that are filled in again for each request.

use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::io::Write as _;
use std::ops::RangeInclusive;
use thiserror::Error;

/// The field that stands for the length of the body; set by [`super::Source`], of no use in a body.
pub(super) const LENGTH_FIELD: &str = "length";
/// Most characters of `{{random:N}}`.
const RANDOM_MAX: u64 = 1024;
/// Most fields of a text. Filled in, it is at most so many times [`RANDOM_MAX`] longer, 10 MB.
const FIELDS_MAX: usize = 10_000;
/// Most characters of a field that are repeated in a message.
const SHOWN_MAX: usize = 20;
/// What `{{random:N}}` is made of: safe in paths, headers, JSON and forms.
const ALPHABET: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";

/// Why a template cannot be filled in.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TemplateError {
    /// Two braces without the other two.
    #[error("the field that begins with {0:?} is not closed with }}}}")]
    Open(String),
    /// No field of that name, or not with these limits.
    #[error(
        "{{{{{0}}}}} is no field; there are counter, counter:START, random:LENGTH (up to 1024), int:MIN..MAX, uuid and run"
    )]
    Unknown(String),
    /// More fields than are filled in.
    #[error("it has more than {FIELDS_MAX} fields")]
    TooMany,
}

/// A text and its fields, in order.
pub(super) struct Text {
    parts: Vec<Part>,
}

enum Part {
    Literal(Vec<u8>),
    Field(Field),
}

enum Field {
    /// The number of the request and a start.
    Counter(u64),
    /// That many letters and digits.
    Random(usize),
    Int(RangeInclusive<u64>),
    /// Version 4, RFC 9562.
    Uuid,
    /// The same in all requests of one call of the program.
    Run,
    Length,
}

/// What fields are filled with.
pub(super) struct Filling<'a> {
    pub(super) number: u64,
    pub(super) token: &'a str,
    pub(super) rng: Xoshiro256PlusPlus,
    pub(super) body_bytes: usize,
}

impl Text {
    /// Finds the fields of `bytes`.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, TemplateError> {
        let mut parts = Vec::new();
        let mut fields = 0;
        let mut rest = bytes;
        while let Some(at) = memchr::memmem::find(rest, b"{{") {
            let inner = &rest[at + 2..];
            let end = memchr::memmem::find(inner, b"}}").ok_or_else(|| TemplateError::Open(start_of(inner)))?;
            parts.extend(literal(&rest[..at]));
            parts.push(Part::Field(field(&String::from_utf8_lossy(&inner[..end]))?));
            fields += 1;
            if fields > FIELDS_MAX {
                return Err(TemplateError::TooMany);
            }
            rest = &inner[end + 2..];
        }
        parts.extend(literal(rest));
        Ok(Self { parts })
    }

    /// Appends the text with its fields filled in.
    pub(super) fn fill(&self, out: &mut Vec<u8>, filling: &mut Filling<'_>) {
        for part in &self.parts {
            match part {
                Part::Literal(bytes) => out.extend_from_slice(bytes),
                Part::Field(field) => field.fill(out, filling),
            }
        }
    }
}

/// None of nothing: fields may follow each other.
fn literal(bytes: &[u8]) -> Option<Part> {
    (!bytes.is_empty()).then(|| Part::Literal(bytes.to_vec()))
}

impl Field {
    fn fill(&self, out: &mut Vec<u8>, filling: &mut Filling<'_>) {
        match self {
            Self::Counter(start) => decimal(out, filling.number.wrapping_add(*start)),
            Self::Random(length) => {
                out.extend((0..*length).map(|_| ALPHABET[below(&mut filling.rng, ALPHABET.len() as u64) as usize]));
            }
            Self::Int(range) => {
                let span = (range.end() - range.start()).saturating_add(1);
                decimal(out, range.start() + below(&mut filling.rng, span));
            }
            Self::Uuid => uuid(out, &mut filling.rng),
            Self::Run => out.extend_from_slice(filling.token.as_bytes()),
            Self::Length => decimal(out, filling.body_bytes as u64),
        }
    }
}

fn field(text: &str) -> Result<Field, TemplateError> {
    let unknown =
        || TemplateError::Unknown(text.chars().take(SHOWN_MAX).collect::<String>().escape_debug().to_string());
    let (name, limits) = match text.trim().split_once(':') {
        Some((name, limits)) => (name.trim(), Some(limits.trim())),
        None => (text.trim(), None),
    };
    let number = |text: &str| text.parse::<u64>().map_err(|_| unknown());
    match (name, limits) {
        ("counter", None) => Ok(Field::Counter(0)),
        ("counter", Some(start)) => Ok(Field::Counter(number(start)?)),
        ("random", Some(length)) => match number(length)? {
            length @ 1..=RANDOM_MAX => Ok(Field::Random(length as usize)),
            _ => Err(unknown()),
        },
        ("int", Some(range)) => {
            let (min, max) = range.split_once("..").ok_or_else(unknown)?;
            let range = number(min)?..=number(max)?;
            if range.is_empty() { Err(unknown()) } else { Ok(Field::Int(range)) }
        }
        ("uuid", None) => Ok(Field::Uuid),
        ("run", None) => Ok(Field::Run),
        (LENGTH_FIELD, None) => Ok(Field::Length),
        _ => Err(unknown()),
    }
}

/// Evenly spread below `limit`, by Lemire's multiplication; its bias is below `limit` / 2^64.
fn below(rng: &mut Xoshiro256PlusPlus, limit: u64) -> u64 {
    ((u128::from(rng.next_u64()) * u128::from(limit)) >> 64) as u64
}

fn decimal(out: &mut Vec<u8>, number: u64) {
    write!(out, "{number}").expect("memory takes every byte");
}

fn uuid(out: &mut Vec<u8>, rng: &mut Xoshiro256PlusPlus) {
    let (high, low) = (rng.next_u64() & !0xf000 | 0x4000, rng.next_u64() >> 2 | 1 << 63);
    let (a, b, c) = (high >> 32, high >> 16 & 0xffff, high & 0xffff);
    write!(out, "{a:08x}-{b:04x}-{c:04x}-{:04x}-{:012x}", low >> 48, low & 0xffff_ffff_ffff)
        .expect("memory takes every byte");
}

fn start_of(bytes: &[u8]) -> String {
    format!("{{{{{}", String::from_utf8_lossy(&bytes[..bytes.len().min(SHOWN_MAX)]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::SeedableRng;

    fn filled(template: &str, number: u64) -> String {
        let rng = Xoshiro256PlusPlus::seed_from_u64(number);
        let mut out = Vec::new();
        let mut filling = Filling { number, token: "k3x", rng, body_bytes: 7 };
        Text::parse(template.as_bytes()).unwrap().fill(&mut out, &mut filling);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn each_field_gives_what_it_promises() {
        assert_eq!(filled("a{{counter}}b{{ counter : 10 }}c", 5), "a5b15c");
        assert_eq!(filled("{{run}}-{{length}}", 5), "k3x-7");
        let random = filled("{{random:16}}", 5);
        assert!(random.len() == 16 && random.bytes().all(|b| ALPHABET.contains(&b)), "{random}");
        let values: Vec<u64> = (0..2_000).map(|n| filled("{{int:3..7}}", n).parse().unwrap()).collect();
        assert_eq!((values.iter().min(), values.iter().max()), (Some(&3), Some(&7)));
        assert_eq!(filled("{{int:0..18446744073709551615}}", 1).parse::<u64>().map(drop), Ok(()));
        let uuid = filled("{{uuid}}", 5);
        let lengths: Vec<_> = uuid.split('-').map(str::len).collect();
        assert_eq!(lengths, [8, 4, 4, 4, 12], "{uuid}");
        assert!(uuid.as_bytes()[14] == b'4' && b"89ab".contains(&uuid.as_bytes()[19]), "{uuid}");
    }

    #[test]
    fn random_fields_differ_from_request_to_request() {
        let all: std::collections::HashSet<_> = (0..10_000).map(|n| filled("{{random:12}}", n)).collect();
        assert_eq!(all.len(), 10_000);
    }

    #[test]
    fn text_without_fields_is_itself() {
        for text in ["", "{", "}}", "{\"a\": {\"b\": 1}}"] {
            assert_eq!(filled(text, 1), text);
        }
    }

    #[test]
    fn fields_that_cannot_be_filled_in_are_refused() {
        for text in ["{{}}", "{{count}}", "{{random}}", "{{random:0}}", "{{random:2000}}", "{{int:5..4}}", "{{int:5}}"]
        {
            assert!(matches!(Text::parse(text.as_bytes()), Err(TemplateError::Unknown(_))), "{text}");
        }
        assert!(matches!(Text::parse(b"x {{counter} y"), Err(TemplateError::Open(_))));
    }

    #[test]
    fn a_short_template_does_not_stand_for_gigabytes() {
        let fields = |n: usize, field: &str| Text::parse(field.repeat(n).as_bytes()).map(|text| text.parts.len());
        assert_eq!(fields(FIELDS_MAX, "{{random:1024}}"), Ok(FIELDS_MAX));
        assert_eq!(fields(FIELDS_MAX + 1, "{{random:1024}}"), Err(TemplateError::TooMany));
    }

    #[test]
    fn what_is_repeated_of_a_wrong_field_is_one_short_line() {
        let error = Text::parse(format!("{{{{a\nb{}}}}}", "x".repeat(5_000)).as_bytes()).err().expect("no field");
        assert!(!error.to_string().contains('\n') && error.to_string().len() < 200, "{error}");
    }
}
