//! Rust source with everything blanked that is not code: comments, strings and character literals.
//!
//! Lines and columns stay where they are, so a rule may report positions in the original.

/// Blanks comments and literals; newlines are kept.
pub(crate) fn mask(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut masked = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let end = skip_end(bytes, at);
        if end > at {
            masked.extend(bytes[at..end].iter().map(|&byte| if byte == b'\n' { b'\n' } else { b' ' }));
            at = end;
        } else if bytes[at].is_ascii() {
            masked.push(bytes[at]);
            at += 1;
        } else {
            masked.push(b' ');
            at += 1;
        }
    }
    String::from_utf8(masked).unwrap_or_default()
}

/// True if `word` stands at this byte offset with no identifier character on either side.
pub(super) fn is_word_at(code: &str, at: usize, word: &str) -> bool {
    let bytes = code.as_bytes();
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let end = at + word.len();
    code[at..].starts_with(word)
        && (at == 0 || !is_part(bytes[at - 1]))
        && bytes.get(end).is_none_or(|&byte| !is_part(byte))
}

/// Byte offsets of every whole-word occurrence.
pub(super) fn words<'a>(code: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    code.match_indices(word).map(|(at, _)| at).filter(move |&at| is_word_at(code, at, word))
}

/// Line number (first is 1) of a byte offset.
pub(super) fn line_of(text: &str, at: usize) -> usize {
    1 + text.as_bytes()[..at].iter().filter(|&&byte| byte == b'\n').count()
}

/// End of the comment or literal that starts here; `at` itself when none does.
fn skip_end(bytes: &[u8], at: usize) -> usize {
    let rest = &bytes[at..];
    if rest.starts_with(b"//") {
        return at + rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len());
    }
    if rest.starts_with(b"/*") {
        return block_comment_end(bytes, at);
    }
    if rest[0] == b'"' {
        return quoted_end(bytes, at + 1, b'"');
    }
    if rest[0] == b'\'' {
        return char_end(bytes, at);
    }
    let inside_word = at > 0 && (bytes[at - 1].is_ascii_alphanumeric() || bytes[at - 1] == b'_');
    if rest[0] == b'r' && (!inside_word || matches!(bytes[at - 1], b'b' | b'c')) {
        return raw_end(bytes, at);
    }
    at
}

fn block_comment_end(bytes: &[u8], start: usize) -> usize {
    let mut depth = 0_usize;
    let mut at = start;
    while at < bytes.len() {
        if bytes[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if bytes[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    bytes.len()
}

fn quoted_end(bytes: &[u8], mut at: usize, quote: u8) -> usize {
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// A character literal ends at its closing quote; a lifetime (`'a`) is code.
fn char_end(bytes: &[u8], at: usize) -> usize {
    match bytes.get(at + 1) {
        Some(b'\\') => quoted_end(bytes, at + 1, b'\''),
        Some(&first) => {
            let length = match first {
                0xf0.. => 4,
                0xe0.. => 3,
                0xc0.. => 2,
                _ => 1,
            };
            if bytes.get(at + 1 + length) == Some(&b'\'') { at + 2 + length } else { at }
        }
        None => at,
    }
}

/// `r"…"`, `r#"…"#` and so on; a raw identifier (`r#type`) is code.
fn raw_end(bytes: &[u8], at: usize) -> usize {
    let hashes = bytes[at + 1..].iter().take_while(|&&byte| byte == b'#').count();
    let open = at + 1 + hashes;
    if bytes.get(open) != Some(&b'"') {
        return at;
    }
    let mut close = vec![b'"'];
    close.resize(1 + hashes, b'#');
    let found = bytes[open + 1..].windows(close.len()).position(|window| window == close);
    found.map_or(bytes.len(), |offset| open + 1 + offset + close.len())
}

#[cfg(test)]
mod tests {
    use super::{line_of, mask, words};

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(mask(text), expected);
    }

    #[test]
    fn comments_are_blanked() {
        check("a // b\nc", "a     \nc");
        check("a /* b /* c */\n d */ e", "a             \n      e");
    }

    #[test]
    fn literals_are_blanked_and_lifetimes_are_not() {
        check(r#"f("a\"{", '{', '\'', 'é')"#, "f(      ,    ,     ,     )");
        check("fn f<'a>(x: &'a str)", "fn f<'a>(x: &'a str)");
        check(r###"r#"{"#; br"{"; r#type"###, "      ; b    ; r#type");
    }

    #[test]
    fn words_are_whole() {
        let code = "unsafe_code\nunsafe {}";
        let found: Vec<usize> = words(code, "unsafe").map(|at| line_of(code, at)).collect();
        assert_eq!(found, [2]);
    }
}
