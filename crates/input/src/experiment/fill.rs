//! Placeholders: `{workers}` stands for the value that a variant has under that name.
//!
//! Double braces are left as they are, as they are those of `--template`, and so is all that is no name between braces.

/// A piece of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    Text(&'a str),
    Name(&'a str),
}

/// The pieces of a text, in their order.
pub(super) fn pieces(text: &str) -> Vec<Piece<'_>> {
    let (mut pieces, mut from, mut at) = (Vec::new(), 0, 0);
    while let Some(open) = text[at..].find('{').map(|found| at + found) {
        if text[open..].starts_with("{{") {
            at = text[open..].find("}}").map_or(text.len(), |close| open + close + 2);
            continue;
        }
        match text[open + 1..].find('}').map(|close| open + 1 + close).filter(|close| is_name(&text[open + 1..*close]))
        {
            Some(close) => {
                pieces.push(Piece::Text(&text[from..open]));
                pieces.push(Piece::Name(&text[open + 1..close]));
                from = close + 1;
                at = from;
            }
            None => at = open + 1,
        }
    }
    pieces.push(Piece::Text(&text[from..]));
    pieces.retain(|piece| *piece != Piece::Text(""));
    pieces
}

/// The text with its placeholders filled in, or the first name that has no value.
pub(super) fn fill<'a>(text: &'a str, value: impl Fn(&str) -> Option<&'a str>) -> Result<String, &'a str> {
    let filled = pieces(text).into_iter().map(|piece| match piece {
        Piece::Text(text) => Ok(text),
        Piece::Name(name) => value(name).ok_or(name),
    });
    filled.collect()
}

/// True for what may name a variable: letters, digits, `-` and `_`, a letter first.
pub(super) fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(text: &str) -> Result<String, &str> {
        fill(text, |name| (name == "n").then_some("7"))
    }

    #[test]
    fn names_between_braces_are_filled_in_and_nothing_else_is() {
        assert_eq!(filled("nginx workers={n} {n}"), Ok("nginx workers=7 7".to_owned()));
        for text in ["", "{}", "{ n }", "{\"a\": 1}", "{{n}}", "{{counter:{n}}}", "{{n", "{n", "n}", "a{"] {
            assert_eq!(filled(text), Ok(text.to_owned()));
        }
        assert_eq!(filled("{{n}}{n}"), Ok("{{n}}7".to_owned()));
        assert_eq!(filled("a{m}b"), Err("m"));
    }
}
