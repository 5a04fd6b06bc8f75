//! Secrets in one line of text: where each begins and where it ends.
//!
//! Every sign of a secret is looked at by itself and the ranges are joined, so that nothing before a secret can hide it.

use super::REDACTED;
use super::call::{Call, Found};
use super::names::{is_body, is_reference, is_secret, is_secret_parameter, is_switch, is_unmistakable};
use std::ops::Range;

/// Longest name that is looked at.
const NAME_MAX_BYTES: usize = 128;
/// Longest value whose end is looked for; a longer one ends with its line.
const VALUE_MAX_BYTES: usize = 4096;
/// How far behind the authority of a URL the end of a password with a slash is looked for.
const SLASHED_MAX_BYTES: usize = 256;
/// Shortest word behind `Bearer` or `Basic` that is a credential.
const CREDENTIAL_MIN_BYTES: usize = 8;
/// What stands in the place of a value in `key=value`.
const PLACEHOLDER: &str = "value";
/// Schemes of URLs in which a name without a password is no secret; elsewhere it may be a token.
const DATABASES: [&str; 7] = ["mysql", "mariadb", "postgres", "postgresql", "redis", "mongodb", "amqp"];

/// Words of a shell that end a command line.
const SEPARATORS: [&str; 6] = [";", "|", "||", "|&", "&", "&&"];
const SEPARATOR_MAX_BYTES: usize = 2;
/// What a shell or a list may have before a word.
const OPENINGS: [char; 8] = ['"', '\'', '`', '(', '[', '{', '$', '\\'];

/// What may stand behind a word in quotes.
const CLOSINGS: [char; 4] = ['"', '\'', '`', '\\'];

/// Kind of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Anything: a log, a command line, an output.
    Text,
    /// One URL, or the path and query of one: blanks and quotes do not end its parameters.
    Url,
}

/// The secrets of a line, in order and apart.
pub(super) fn secrets(text: &str, form: Form) -> Vec<Range<usize>> {
    let line = Line { text, bytes: text.as_bytes(), end: text.trim_end().len(), form };
    let mut found = Vec::new();
    for (at, sign) in text.bytes().enumerate() {
        let Some(secret) = line.secret(at, sign).filter(|secret| line.is_told(secret)) else { continue };
        let is_last = secret.end >= line.end;
        found.push(secret);
        // What follows lies in it.
        if is_last {
            break;
        }
    }
    if form == Form::Text {
        line.called(&mut found);
    }
    joined(found)
}

/// Ranges in order, those that overlap or touch as one.
fn joined(mut found: Vec<Range<usize>>) -> Vec<Range<usize>> {
    found.sort_by_key(|secret| secret.start);
    let mut joined: Vec<Range<usize>> = Vec::new();
    for secret in found {
        match joined.last_mut() {
            Some(last) if secret.start <= last.end => last.end = last.end.max(secret.end),
            _ => joined.push(secret),
        }
    }
    joined
}

/// A line. Every range begins behind an ASCII character and ends at one, or with the line.
struct Line<'a> {
    text: &'a str,
    bytes: &'a [u8],
    /// Without blanks and line ends behind it.
    end: usize,
    form: Form,
}

impl Line<'_> {
    /// The secret that `sign` at `at` tells of.
    fn secret(&self, at: usize, sign: u8) -> Option<Range<usize>> {
        let is_text = self.form == Form::Text;
        match sign {
            b'=' | b'%' => self.parameter(at),
            b'@' => self.login(at),
            b':' if self.bytes[at..].starts_with(b"://") => self.userinfo(at),
            b':' if is_text => self.header(at),
            b'-' if is_text => self.flag(at),
            b'B' | b'b' if is_text => self.scheme(at),
            _ => None,
        }
    }

    /// True if a secret has something in it that has not been replaced yet, and is neither the `value` of an explanation nor
    /// the place of a secret.
    fn is_told(&self, secret: &Range<usize>) -> bool {
        let text = self.text[secret.clone()].trim();
        !text.is_empty() && text != REDACTED && !text.eq_ignore_ascii_case(PLACEHOLDER) && !is_reference(text)
    }

    /// The value of `NAME=VALUE`, also with the sign escaped as in a URL within a URL.
    fn parameter(&self, at: usize) -> Option<Range<usize>> {
        let from = at + self.assignment(at)?;
        let name = self.parameter_name(at);
        let text = &self.text[name.clone()];
        let is_body = is_body(text);
        if !is_body && !is_secret_parameter(text) {
            return None;
        }
        let value = self.value(from, name.start);
        let is_file = is_body && self.bytes[value.clone()].starts_with(b"@");
        (!is_file && !self.is_folder(&name, &value)).then_some(value)
    }

    /// True of the variables in which a shell keeps its folder, as a log of an environment has them. In a list of parameters
    /// the same name is that of a password.
    fn is_folder(&self, name: &Range<usize>, value: &Range<usize>) -> bool {
        let is_word = name.start == 0 || self.bytes[name.start - 1].is_ascii_whitespace();
        let is_path = matches!(self.bytes[value.clone()], [b'/', ..] | [b'A'..=b'Z', b':', b'\\', ..]);
        is_word && is_path && ["PWD", "OLDPWD"].contains(&&self.text[name.clone()])
    }

    /// Length of the sign between name and value.
    fn assignment(&self, at: usize) -> Option<usize> {
        let rest = &self.bytes[at..];
        if rest.starts_with(b"=>") {
            return Some(2);
        }
        if rest.starts_with(b"=") {
            return Some(1);
        }
        let begins = |sign: &&[u8]| rest.get(..sign.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(sign));
        [&b"%3d"[..], &b"%253d"[..]].into_iter().find(begins).map(<[u8]>::len)
    }

    /// What stands before the sign, back to anything that divides names; it may be in quotes.
    fn parameter_name(&self, at: usize) -> Range<usize> {
        let mut end = self.before_blanks(at);
        if end > 0 && is_quote(self.bytes[end - 1]) {
            end -= 1;
        }
        let from = end.saturating_sub(NAME_MAX_BYTES);
        let divides = |byte: &u8| byte.is_ascii_whitespace() || b"?&;,\"'`#=<>|{}()/\\:".contains(byte);
        let start = self.bytes[from..end].iter().rposition(divides).map_or(from, |place| from + place + 1);
        let start = (start..end).find(|start| self.text.is_char_boundary(*start)).unwrap_or(end);
        start..end
    }

    /// The value that begins behind `from` and belongs to the name at `name`.
    fn value(&self, from: usize, name: usize) -> Range<usize> {
        if self.form == Form::Url {
            let length = self.bytes[from..self.limit(from)].iter().position(|byte| *byte == b'&');
            return from..length.map_or(self.end, |length| from + length);
        }
        let start = self.after_blanks(from);
        match self.bytes[start..self.end] {
            [b'\\', quote, ..] if is_quote(quote) => start + 2..self.escaped_end(start + 2, quote),
            [quote, ..] if is_quote(quote) => start + 1..self.quoted_end(start + 1, quote),
            _ => start..self.plain_end(start, name),
        }
    }

    /// Where the value at `start` ends that stands in no quotes of its own.
    fn plain_end(&self, start: usize, name: usize) -> usize {
        let before = name.checked_sub(1).map(|before| self.bytes[before]);
        // Elsewhere an & is a part of the secret.
        let is_query = matches!(before, Some(b'?' | b'&' | b'#' | b';'));
        let divides = |at: usize| is_query && self.bytes[at] == b'&' && self.is_parameter(at + 1);
        let enclosed = self.enclosing(name).and_then(|quote| self.closing(start, quote));
        if let Some(end) = enclosed {
            return (start..end).find(|at| divides(*at)).unwrap_or(end);
        }
        let limit = self.limit(start);
        let mut at = start;
        while at < limit && !self.bytes[at].is_ascii_whitespace() && !divides(at) {
            if is_quote(self.bytes[at]) && self.is_word_end(at + 1) {
                break;
            }
            at += if self.bytes[at] == b'\\' { 2 } else { 1 };
        }
        if at >= limit {
            return self.end;
        }
        // What ends a part of a list, of a sentence or of a cookie is no part of it.
        if at > start && b",;".contains(&self.bytes[at - 1]) { at - 1 } else { at }
    }

    /// The quote in which a name stands: right before it, or at the begin of its word.
    fn enclosing(&self, name: usize) -> Option<u8> {
        let from = name.saturating_sub(NAME_MAX_BYTES);
        let before = &self.bytes[from..name];
        if let Some(quote) = before.last().copied().filter(|byte| is_quote(*byte)) {
            return Some(quote);
        }
        let word = match before.iter().rposition(u8::is_ascii_whitespace) {
            Some(place) => &before[place + 1..],
            None if from == 0 => before,
            None => return None,
        };
        let (first, rest) = word.split_first()?;
        (is_quote(*first) && !rest.contains(first)).then_some(*first)
    }

    /// Where `quote` closes what it encloses: at the end of a word, and not round a part such as `theme="dark"`.
    fn closing(&self, start: usize, quote: u8) -> Option<usize> {
        let limit = self.limit(start);
        let (mut at, mut is_inside) = (start, false);
        while at < limit {
            match self.bytes[at] {
                b'\\' => at += 1,
                byte if byte == quote && is_inside => is_inside = false,
                byte if byte == quote => {
                    if self.bytes[at + 1..self.end].first().is_none_or(u8::is_ascii_whitespace) {
                        return Some(at);
                    }
                    is_inside = self.bytes[at - 1] == b'=';
                }
                _ => {}
            }
            at += 1;
        }
        None
    }

    /// Where the next quote stands that is not escaped; the end of the line without one.
    fn quoted_end(&self, start: usize, quote: u8) -> usize {
        let limit = self.limit(start);
        let mut at = start;
        while at < limit {
            match self.bytes[at] {
                b'\\' => at += 1,
                byte if byte == quote => return at,
                _ => {}
            }
            at += 1;
        }
        self.end
    }

    /// Where the next quote stands that is escaped, as in a text within a text.
    fn escaped_end(&self, start: usize, quote: u8) -> usize {
        let start = start.min(self.end);
        let pairs = self.bytes[start..self.limit(start)].windows(2);
        let place = pairs.enumerate().find(|(_, pair)| **pair == [b'\\', quote]);
        place.map_or(self.end, |(place, _)| start + place)
    }

    /// The value of `Name: value` or `"name": value`.
    fn header(&self, at: usize) -> Option<Range<usize>> {
        let (before, after) = (at.checked_sub(1).map(|before| self.bytes[before]), self.bytes.get(at + 1));
        if before == Some(b':') || after == Some(&b':') {
            return None;
        }
        let mut end = self.before_blanks(at);
        let quote = self.bytes[..end].last().copied().filter(|byte| is_quote(*byte));
        end -= usize::from(quote.is_some());
        let is_escaped = quote.is_some() && self.bytes[..end].ends_with(b"\\");
        end -= usize::from(is_escaped);
        let from = end.saturating_sub(NAME_MAX_BYTES);
        let divides = |byte: &u8| !byte.is_ascii_alphanumeric() && !b"-_".contains(byte);
        let start = self.bytes[from..end].iter().rposition(divides).map_or(from, |place| from + place + 1);
        let name = &self.text[start..end];
        let name = name.strip_prefix("-H").unwrap_or(name);
        let value = self.after_blanks(at + 1);
        if name.starts_with('-') || !is_secret(name) || value >= self.end {
            return None;
        }
        let opening = self.bytes[..start].last().copied().filter(|byte| is_quote(*byte));
        match opening {
            Some(_) if opening == quote => Some(self.json_value(value)),
            Some(quote) => Some(value..self.closing(value, quote).unwrap_or(self.end)),
            None => self.is_place_of_header(start, name).then_some(value..self.end),
        }
    }

    /// True if a header may begin at `start`: at the begin of a line, behind what opens something, and between words when its
    /// name leaves no doubt.
    fn is_place_of_header(&self, start: usize, name: &str) -> bool {
        let is_first = start <= NAME_MAX_BYTES && self.bytes[..start].iter().all(|byte| b" \t><*|#-".contains(byte));
        is_first
            || match self.bytes[..start].last() {
                Some(b'(' | b'[' | b'{' | b',' | b'<') => true,
                Some(b' ' | b'\t') => is_unmistakable(name),
                _ => false,
            }
    }

    /// The value of a JSON key: a string, a number or a word, or all that follows.
    fn json_value(&self, start: usize) -> Range<usize> {
        match self.bytes[start..self.end] {
            [b'\\', quote, ..] if is_quote(quote) => start + 2..self.escaped_end(start + 2, quote),
            [quote, ..] if is_quote(quote) => start + 1..self.quoted_end(start + 1, quote),
            _ => {
                let rest = &self.text[start..self.end];
                let word = rest.split([',', '}', ']', ' ']).next().unwrap_or_default();
                let is_literal = word.parse::<f64>().is_ok() || ["true", "false", "null", REDACTED].contains(&word);
                start..if is_literal { start + word.len() } else { self.end }
            }
        }
    }

    /// The part before the `@` in the authority of a URL whose `://` stands at `at`.
    fn userinfo(&self, at: usize) -> Option<Range<usize>> {
        let start = at + 3;
        let limit = self.limit(start);
        let ends_word = |byte: &u8| byte.is_ascii_whitespace() || (self.form == Form::Text && is_quote(*byte));
        let ends = |byte: &u8| b"/?#".contains(byte) || ends_word(byte);
        let end = self.bytes[start..limit].iter().position(ends).map_or(limit, |length| start + length);
        let authority = &self.bytes[start..end];
        if let Some(user) = authority.iter().rposition(|byte| *byte == b'@') {
            let is_name = !authority[..user].contains(&b':') && self.is_database(at);
            return (!is_name).then_some(start..start + user);
        }
        // A password with a slash in it, which should have been escaped: what looks like a port is none.
        let colon = authority.iter().position(|byte| *byte == b':').filter(|_| !authority.starts_with(b"["))?;
        let port = &authority[colon + 1..];
        if port.is_empty() || port.iter().all(u8::is_ascii_digit) {
            return None;
        }
        let rest = &self.bytes[end..self.end.min(end + SLASHED_MAX_BYTES)];
        let word = &rest[..rest.iter().position(ends_word).unwrap_or(rest.len())];
        word.iter().rposition(|byte| *byte == b'@').map(|place| start..end + place)
    }

    /// True if the scheme before `at` is that of a database.
    fn is_database(&self, at: usize) -> bool {
        let from = at.saturating_sub(NAME_MAX_BYTES);
        let scheme = self.bytes[from..at].split(|byte| !byte.is_ascii_alphanumeric() && *byte != b'+').next_back();
        // Of mysql+unix the first part.
        let name = scheme.unwrap_or_default().split(|byte| *byte == b'+').next().unwrap_or_default();
        DATABASES.iter().any(|known| name.eq_ignore_ascii_case(known.as_bytes()))
    }

    /// `USER:PASSWORD` before an `@` without a scheme, as in `app:pw@tcp(db:3306)/shop`.
    fn login(&self, at: usize) -> Option<Range<usize>> {
        let from = at.saturating_sub(NAME_MAX_BYTES);
        let divides = |byte: &u8| byte.is_ascii_whitespace() || is_quote(*byte) || b"/@?&,;(".contains(byte);
        let start = self.bytes[from..at].iter().rposition(divides).map_or(from, |place| from + place + 1);
        let word = &self.bytes[start..at];
        let colon = word.iter().position(|byte| *byte == b':').filter(|colon| colon + 1 < word.len())?;
        let user = word[..colon].iter().rposition(|byte| *byte == b'=').map_or(0, |place| place + 1);
        let name = &word[user..colon];
        let is_name =
            !name.is_empty() && name.iter().all(|byte| byte.is_ascii_alphanumeric() || b"_.%+-".contains(byte));
        let is_other = name == b"mailto" || self.bytes[at + 1..].starts_with(b"sha256:");
        (is_name && !is_other).then_some(start + user..at)
    }

    /// The value of `--name value`.
    fn flag(&self, at: usize) -> Option<Range<usize>> {
        let before = at.checked_sub(1).map(|before| self.bytes[before]);
        if before.is_some_and(|byte| !byte.is_ascii_whitespace() && !is_quote(byte) && byte != b'(') {
            return None;
        }
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
        let end = at + self.bytes[at..self.limit(at)].iter().position(|byte| !is_part(byte))?;
        let flag = &self.text[at..end];
        let is_body = is_body(flag);
        if !is_blank(self.bytes[end]) || !(is_body || is_secret_parameter(flag) && !is_switch(flag)) {
            return None;
        }
        if self.bytes[self.after_blanks(end)..].starts_with(b"--") {
            return None;
        }
        let value = self.value(end, at);
        (!is_body || !self.bytes[value.clone()].starts_with(b"@")).then_some(value)
    }

    /// What follows `Bearer` or `Basic`.
    fn scheme(&self, at: usize) -> Option<Range<usize>> {
        let before = at.checked_sub(1).map(|before| self.bytes[before]);
        if before.is_some_and(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)) {
            return None;
        }
        let rest = self.bytes.get(at..self.end)?;
        let begins = |name: &&[u8]| {
            rest.get(..name.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(name))
                && rest.get(name.len()).is_some_and(|byte| is_blank(*byte))
        };
        let name = [&b"bearer"[..], &b"basic"[..]].into_iter().find(begins)?;
        let start = self.after_blanks(at + name.len());
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=_.~-".contains(byte);
        let word = &self.bytes[start..self.limit(start)];
        let word = &word[..word.iter().position(|byte| !is_part(byte)).unwrap_or(word.len())];
        // "Basic authentication" is a sentence.
        let is_credential = name == b"bearer" || word.iter().skip(1).any(|byte| !byte.is_ascii_lowercase());
        (is_credential && word.len() >= CREDENTIAL_MIN_BYTES).then_some(start..start + word.len())
    }

    /// The secrets of the command lines in a text: each is as long as no sign of a shell ends it.
    fn called(&self, found: &mut Vec<Range<usize>>) {
        let mut call = Call::default();
        for word in self.words() {
            let text = &self.text[word.clone()];
            if text.len() <= SEPARATOR_MAX_BYTES && SEPARATORS.contains(&text) {
                call = Call::default();
                continue;
            }
            let opened = text.trim_start_matches(OPENINGS);
            let begin = word.end - opened.len();
            for value in call.read(opened.trim_end_matches(CLOSINGS)) {
                // Only with its quote it is known where the next word ends.
                let from = if value.from == 0 { word.start } else { begin + value.from };
                found.extend(self.called_secret(from, begin, value).filter(|secret| self.is_told(secret)));
            }
            if text.ends_with(';') {
                call = Call::default();
            }
        }
    }

    /// The secret in the value at `from` of a word that begins at `word`.
    fn called_secret(&self, from: usize, word: usize, found: Found) -> Option<Range<usize>> {
        let value = self.value(from, word);
        let start = value.start + found.value.secret_at(&self.text[value.clone()])?;
        // A password that is in quotes by itself.
        let is_quoted = start > value.start && self.bytes.get(start).copied().is_some_and(is_quote);
        Some(if is_quoted { self.value(start, word) } else { start..value.end })
    }

    /// What blanks divide, and the commas between texts in quotes.
    fn words(&self) -> impl Iterator<Item = Range<usize>> {
        let divides = |at: usize| match self.bytes[at] {
            b',' => at > 0 && is_quote(self.bytes[at - 1]),
            byte => byte.is_ascii_whitespace(),
        };
        let mut at = 0;
        std::iter::from_fn(move || {
            let start = (at..self.end).find(|at| !divides(*at))?;
            at = (start..self.end).find(|at| divides(*at)).unwrap_or(self.end);
            Some(start..at)
        })
    }

    /// Where the end of a value is looked for at most.
    fn limit(&self, start: usize) -> usize {
        self.end.min(start + VALUE_MAX_BYTES)
    }

    fn before_blanks(&self, at: usize) -> usize {
        self.text[..at].trim_end_matches([' ', '\t']).len()
    }

    fn after_blanks(&self, from: usize) -> usize {
        (from..self.end).find(|at| !is_blank(self.bytes[*at])).unwrap_or(self.end)
    }

    /// True if another parameter begins at `at`.
    fn is_parameter(&self, at: usize) -> bool {
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"_.%[]~+-".contains(byte);
        let rest = &self.bytes[at..self.end.min(at + NAME_MAX_BYTES)];
        let length = rest.iter().position(|byte| !is_part(byte)).unwrap_or(rest.len());
        length > 0 && rest.get(length) == Some(&b'=')
    }

    /// True if no word goes on at `at`.
    fn is_word_end(&self, at: usize) -> bool {
        at >= self.end || self.bytes[at].is_ascii_whitespace() || b",;)]}>".contains(&self.bytes[at])
    }
}

const fn is_quote(byte: u8) -> bool {
    matches!(byte, b'"' | b'\'' | b'`')
}

const fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}
