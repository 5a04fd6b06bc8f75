//! Command lines of `sh` blocks, as far as a shell's rules matter here: comments, continued lines, quotes.

/// The commands of a block, one for each line; continued lines are joined, comments are taken away.
pub(super) fn command_lines(block: &str) -> Vec<String> {
    let joined = block.replace("\\\n", " ");
    let lines = joined.lines().map(|line| {
        let before_comment = if line.starts_with('#') { "" } else { split_unquoted(line, " #")[0] };
        with_single_spaces(before_comment)
    });
    lines.filter(|line| !line.is_empty()).collect()
}

/// Words with one space between them; what is quoted stays as it is.
fn with_single_spaces(line: &str) -> String {
    split_unquoted(line, " ").into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// The parts of a text between separators that do not stand within quotes.
pub fn split_unquoted<'a>(text: &'a str, separator: &str) -> Vec<&'a str> {
    let mut parts = Vec::new();
    let (mut begin, mut quote) = (0, None);
    for (at, character) in text.char_indices() {
        match quote {
            Some(open) if open == character => quote = None,
            Some(_) => {}
            None if ['\'', '"'].contains(&character) => quote = Some(character),
            None if at >= begin && text[at..].starts_with(separator) => {
                parts.push(&text[begin..at]);
                begin = at + separator.len();
            }
            None => {}
        }
    }
    parts.push(&text[begin..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::{command_lines, split_unquoted};

    #[test]
    fn a_command_has_neither_its_comment_nor_the_ends_of_its_lines() {
        let block = "# first\nplimsoll run   -c 4    # a load\nplimsoll compare --serve 'a  #1' \\\n  --name one\n\n";
        assert_eq!(command_lines(block), ["plimsoll run -c 4", "plimsoll compare --serve 'a  #1' --name one"]);
    }

    #[test]
    fn what_stands_in_quotes_is_not_split() {
        assert_eq!(split_unquoted("a 'b | c' | d", " | "), ["a 'b | c'", "d"]);
        assert_eq!(split_unquoted("a \"it's\" b", " "), ["a", "\"it's\"", "b"]);
        assert_eq!(split_unquoted("", " "), [""]);
    }
}
