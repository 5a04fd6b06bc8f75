//! Text for terminals and logs whose locale has another character set than UTF-8: pure ASCII.

use std::borrow::Cow;
use std::ffi::OsString;

/// Blocks of a bar chart, the lowest first, and their ASCII characters.
const BARS: [(char, char); 8] =
    [('▁', '_'), ('▂', '.'), ('▃', ','), ('▄', '-'), ('▅', '='), ('▆', '+'), ('▇', '*'), ('█', '#')];
/// First and last character of braille, of which the charts of lines are made.
const BRAILLE: (char, char) = ('\u{2800}', '\u{28ff}');
/// Dots of a braille character in its two upper rows.
const UPPER_DOTS: u32 = 0x1b;

/// True if the locale has another character set than UTF-8. `variable` gives the value of an environment variable.
///
/// Without a locale it is UTF-8, as for Python and systemd: containers and cron set none, and whoever reads their logs expects
/// UTF-8.
pub(super) fn is_wanted(variable: impl Fn(&str) -> Option<OsString>) -> bool {
    let given = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(|name| variable(name).filter(|value| !value.is_empty()));
    let is_utf8 = |locale: OsString| {
        let locale = locale.to_string_lossy().to_ascii_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    };
    given.is_some_and(|locale| !is_utf8(locale))
}

/// The text in ASCII. Columns stay where they are: a character that takes more room takes it from the spaces beside it.
pub(super) fn text(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let start = out.len();
        put(c, &mut out);
        for _ in 1..out.len() - start {
            if out[..start].ends_with("  ") {
                let last = out[..start].trim_end_matches(' ').len();
                out.remove(last);
                break;
            } else if rest.peek() == Some(&' ') && rest.clone().nth(1) == Some(' ') {
                rest.next();
            }
        }
    }
    Cow::Owned(out)
}

fn put(c: char, out: &mut String) {
    match c {
        _ if c.is_ascii() => out.push(c),
        'µ' | 'μ' => out.push('u'),
        '±' => out.push_str("+-"),
        '─' => out.push('-'),
        '│' => out.push('|'),
        '┤' | '├' | '┌' | '└' | '┐' | '┘' | '┬' | '┴' | '┼' => out.push('+'),
        '≈' => out.push('~'),
        '✓' => out.push('v'),
        '✗' => out.push('x'),
        '↳' => out.push('>'),
        _ if (BRAILLE.0..=BRAILLE.1).contains(&c) => out.push(dots(u32::from(c) - u32::from(BRAILLE.0))),
        _ => match BARS.iter().find(|(bar, _)| *bar == c) {
            Some((_, ascii)) => out.push(*ascii),
            None => out.push_str(deunicode::deunicode_char(c).unwrap_or("?")),
        },
    }
}

/// The character whose ink is where the dots are.
fn dots(dots: u32) -> char {
    match (dots & UPPER_DOTS > 0, dots & !UPPER_DOTS > 0) {
        (false, false) => ' ',
        (true, false) => '\'',
        (false, true) => '.',
        (true, true) => ':',
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(locale: [&str; 3]) -> bool {
        let names = ["LC_ALL", "LC_CTYPE", "LANG"];
        is_wanted(|name| names.iter().position(|known| *known == name).map(|at| locale[at].into()))
    }

    #[test]
    fn the_first_variable_that_says_anything_decides() {
        assert!(wanted(["C", "", "en_US.UTF-8"]) && wanted(["", "POSIX", ""]) && wanted(["", "", "de_DE.ISO-8859-1"]));
        assert!(!wanted(["C.UTF-8", "C", ""]) && !wanted(["", "", "en_US.utf8"]));
        assert!(!wanted([""; 3]), "no locale, as in containers");
    }

    #[test]
    fn columns_stay_where_they_are() {
        assert_eq!(text("load   spread    p50\n   1  ±0.35 %  12 µs"), "load   spread    p50\n   1 +-0.35 %  12 us");
        assert_eq!(text("a…  b"), "a... b", "there is room for one of two");
        assert_eq!(text("⠀⠁⡀⣿ ┤│"), " '.: +|");
        assert_eq!(text("Grüße €"), "Grusse EUR");
    }
}
