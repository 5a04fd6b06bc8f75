//! Tokens of Lua, as far as names, constant texts and single signs go.
//!
//! The crates that read Lua read all of it, by functions that call themselves: a file of nothing but brackets would end the
//! program. What is read here has no nesting.

use super::mix::Wrong;

/// A token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token<'l> {
    /// A name or keyword.
    Name(&'l str),
    /// A constant text, which may have any bytes.
    Text(Vec<u8>),
    /// Any other character.
    Sign(char),
}

/// Reads one token after the other.
pub(super) struct Lexer<'l> {
    rest: &'l str,
    line: u64,
}

impl<'l> Lexer<'l> {
    pub(super) const fn new(text: &'l str) -> Self {
        Self { rest: text, line: 1 }
    }

    /// Number of the line that was read last.
    pub(super) const fn line(&self) -> u64 {
        self.line
    }

    /// The token after this one, which is left where it is; nothing at the end.
    pub(super) fn following(&self) -> Result<Option<Token<'l>>, Wrong> {
        Lexer { ..*self }.token()
    }

    /// The next token; none at the end.
    pub(super) fn token(&mut self) -> Result<Option<Token<'l>>, Wrong> {
        self.skip_space()?;
        let Some(first) = self.rest.chars().next() else { return Ok(None) };
        if first.is_ascii_alphabetic() || first == '_' {
            let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let length = self.rest.find(|c| !is_of_name(c)).unwrap_or(self.rest.len());
            return Ok(Some(Token::Name(self.take(length))));
        }
        if first == '"' || first == '\'' {
            return self.quoted(first).map(|text| Some(Token::Text(text)));
        }
        if let Some(text) = self.long_text()? {
            return Ok(Some(Token::Text(text.as_bytes().to_vec())));
        }
        self.take(first.len_utf8());
        Ok(Some(Token::Sign(first)))
    }

    /// Skips white space and comments.
    fn skip_space(&mut self) -> Result<(), Wrong> {
        loop {
            self.take(self.rest.len() - self.rest.trim_start().len());
            if !self.rest.starts_with("--") {
                return Ok(());
            }
            self.take(2);
            if self.long_text()?.is_none() {
                self.take(self.rest.find('\n').unwrap_or(self.rest.len()));
            }
        }
    }

    /// Takes that many bytes, which end between two characters.
    fn take(&mut self, length: usize) -> &'l str {
        let (taken, rest) = self.rest.split_at(length);
        self.line += taken.bytes().filter(|byte| *byte == b'\n').count() as u64;
        self.rest = rest;
        taken
    }

    /// Reads `[[TEXT]]`, with any number of `=` between the brackets; none where it does not begin here.
    fn long_text(&mut self) -> Result<Option<&'l str>, Wrong> {
        let Some(behind) = self.rest.strip_prefix('[') else { return Ok(None) };
        let level = behind.len() - behind.trim_start_matches('=').len();
        let Some(body) = behind[level..].strip_prefix('[') else { return Ok(None) };
        let close = format!("]{}]", "=".repeat(level));
        let length = body.find(&close).ok_or_else(|| self.open("a text or comment in brackets"))?;
        self.take(level + 2);
        let text = self.take(length);
        self.take(close.len());
        // A line break at its begin is no part of it.
        Ok(Some(text.strip_prefix("\r\n").or_else(|| text.strip_prefix('\n')).unwrap_or(text)))
    }

    /// Reads a text between quotation marks.
    fn quoted(&mut self, mark: char) -> Result<Vec<u8>, Wrong> {
        self.take(1);
        let mut bytes = Vec::new();
        loop {
            let length = self.rest.find([mark, '\\', '\n']).ok_or_else(|| self.open("a text"))?;
            bytes.extend_from_slice(self.take(length).as_bytes());
            if self.rest.starts_with('\n') {
                return Err(self.open("a text"));
            }
            if self.take(1) != "\\" {
                return Ok(bytes);
            }
            self.escaped(&mut bytes)?;
        }
    }

    /// Reads what stands behind a backslash.
    fn escaped(&mut self, bytes: &mut Vec<u8>) -> Result<(), Wrong> {
        let unknown =
            |lexer: &Self| Wrong::at(lexer.line)("a text has a backslash with something unknown behind it".into());
        let Some(first) = self.rest.chars().next() else { return Err(self.open("a text")) };
        if first.is_ascii_digit() {
            let length = self.rest.bytes().take(3).take_while(u8::is_ascii_digit).count();
            let value = self.take(length).parse().map_err(|_| unknown(self))?;
            bytes.push(value);
            return Ok(());
        }
        self.take(first.len_utf8());
        let byte = match first {
            'a' => 0x07,
            'b' => 0x08,
            'f' => 0x0c,
            'n' | '\n' => b'\n',
            'r' => b'\r',
            't' => b'\t',
            'v' => 0x0b,
            '\\' | '"' | '\'' => first as u8,
            'x' => {
                let digits = self.rest.get(..2).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
                let value =
                    digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()).ok_or_else(|| unknown(self))?;
                self.take(2);
                value
            }
            'z' => {
                self.take(self.rest.len() - self.rest.trim_start().len());
                return Ok(());
            }
            _ => return Err(unknown(self)),
        };
        bytes.push(byte);
        Ok(())
    }

    fn open(&self, what: &str) -> Wrong {
        Wrong::at(self.line)(format!("{what} begins here and has no end"))
    }
}
