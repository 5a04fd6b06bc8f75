//! The script of wrk, as far as it is data: it sets `wrk.method`, `wrk.body`, `wrk.headers` and `wrk.path` to constant texts.
//!
//! A script is a program, and nothing runs it here: one that does more than that is refused by what it does.

use super::lines;
use super::lua::{Lexer, Token};
use super::mix::{Body, Entry, Mix, Wrong, add_header};
use std::borrow::Cow;
use std::path::Path;

/// What to do instead of all that is not read.
const INSTEAD: &str = "write the requests into a list (--urls FILE), what changes with each as a field such as {{random:8}} or \
                       {{counter}} (--template), and headers with -H 'Name: value'";
/// Longest name that an error shows.
const NAME_MAX_CHARS: usize = 40;

/// True of a file that is called so, sets something of `wrk`, or has functions and uses it.
pub(super) fn is_it(text: &str, file: &Path) -> bool {
    let is_called_so = file.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("lua"));
    let sets = |line: &str| {
        let behind = line
            .strip_prefix("wrk.")
            .map(|name| name.trim_start_matches(|c: char| c.is_alphanumeric() || "._".contains(c)));
        behind.is_some_and(|behind| behind.trim_start().starts_with(['=', '[']))
    };
    let is_function = |line: &str| {
        line.starts_with("function ")
            || line.starts_with("local function ")
            || line.replace(' ', "").contains("=function(")
    };
    is_called_so
        || lines(text).any(|(_, line)| sets(line))
        || text.contains("wrk.") && lines(text).any(|(_, line)| is_function(line))
}

/// What a script has set.
#[derive(Default)]
struct Script {
    method: Option<Vec<u8>>,
    path: Option<Vec<u8>>,
    body: Vec<u8>,
    headers: Vec<(Vec<u8>, Vec<u8>)>,
}

/// Reads the request of a script.
pub(super) fn read(text: &str, mix: &mut Mix<'_>) -> Result<(), Wrong> {
    let mut lexer = Lexer::new(text);
    let mut script = Script::default();
    while let Some(token) = lexer.token()? {
        match token {
            Token::Sign(';') => {}
            Token::Name("wrk") => statement(&mut lexer, &mut script)?,
            Token::Name(name) => return Err(unread(&lexer, &format!("{:?}", shortened(name)))),
            Token::Text(_) | Token::Sign(_) => return Err(unread(&lexer, "what stands here")),
        }
    }
    request(script, mix).map_err(|why| Wrong { line: None, why })
}

/// Reads what follows on `wrk` where a statement begins with it.
fn statement(lexer: &mut Lexer<'_>, script: &mut Script) -> Result<(), Wrong> {
    let (Some(Token::Sign('.')), Some(Token::Name(name))) = (lexer.token()?, lexer.token()?) else {
        return Err(unread(lexer, "another use of wrk"));
    };
    match name {
        "method" => script.method = Some(assigned(lexer, name)?),
        "path" => script.path = Some(assigned(lexer, name)?),
        "body" => script.body = assigned(lexer, name)?,
        "headers" => headers(lexer, script)?,
        _ => return Err(unread(lexer, &format!("wrk.{}", shortened(name)))),
    }
    // An operator behind a text makes another value of it.
    match lexer.following()? {
        None | Some(Token::Name(_) | Token::Sign(';')) => Ok(()),
        Some(_) => Err(unread(lexer, &format!("the value of wrk.{name}"))),
    }
}

/// Reads `wrk.headers["NAME"] = VALUE`, `wrk.headers.NAME = VALUE`, or a whole table, behind `wrk.headers`.
fn headers(lexer: &mut Lexer<'_>, script: &mut Script) -> Result<(), Wrong> {
    let key = match lexer.token()? {
        Some(Token::Sign('=')) => return table(lexer, script),
        Some(Token::Sign('.')) => name(lexer)?,
        Some(Token::Sign('[')) => key_in_brackets(lexer)?,
        _ => return Err(unread(lexer, "another use of wrk.headers")),
    };
    let value = assigned(lexer, "headers")?;
    set(&mut script.headers, key, value).map_err(Wrong::at(lexer.line()))
}

/// Reads `{ ["NAME"] = VALUE, NAME = VALUE }`.
fn table(lexer: &mut Lexer<'_>, script: &mut Script) -> Result<(), Wrong> {
    let wrong = |lexer: &Lexer<'_>| unread(lexer, "the value of wrk.headers");
    if lexer.token()? != Some(Token::Sign('{')) {
        return Err(wrong(lexer));
    }
    let mut headers = Vec::new();
    loop {
        let key = match lexer.token()? {
            Some(Token::Sign('}')) => break,
            Some(Token::Sign('[')) => key_in_brackets(lexer)?,
            Some(Token::Name(name)) => name.as_bytes().to_vec(),
            _ => return Err(wrong(lexer)),
        };
        set(&mut headers, key, assigned(lexer, "headers")?).map_err(Wrong::at(lexer.line()))?;
        match lexer.token()? {
            Some(Token::Sign(',' | ';')) => {}
            Some(Token::Sign('}')) => break,
            _ => return Err(wrong(lexer)),
        }
    }
    script.headers = headers;
    Ok(())
}

fn name(lexer: &mut Lexer<'_>) -> Result<Vec<u8>, Wrong> {
    match lexer.token()? {
        Some(Token::Name(name)) => Ok(name.as_bytes().to_vec()),
        _ => Err(unread(lexer, "another use of wrk.headers")),
    }
}

/// Reads `"NAME"]`.
fn key_in_brackets(lexer: &mut Lexer<'_>) -> Result<Vec<u8>, Wrong> {
    match (lexer.token()?, lexer.token()?) {
        (Some(Token::Text(key)), Some(Token::Sign(']'))) => Ok(key),
        _ => Err(unread(lexer, "a name of a header that is no constant text")),
    }
}

/// Reads `= TEXT`.
fn assigned(lexer: &mut Lexer<'_>, name: &str) -> Result<Vec<u8>, Wrong> {
    match (lexer.token()?, lexer.token()?) {
        (Some(Token::Sign('=')), Some(Token::Text(text))) => Ok(text),
        _ => Err(unread(lexer, &format!("the value of wrk.{name}"))),
    }
}

/// A key has one value: the last.
fn set(headers: &mut Vec<(Vec<u8>, Vec<u8>)>, key: Vec<u8>, value: Vec<u8>) -> Result<(), String> {
    headers.retain(|(other, _)| *other != key);
    add_header(headers, (key, value))
}

/// Refuses what is there, with what to do instead.
fn unread(lexer: &Lexer<'_>, what: &str) -> Wrong {
    let why = format!(
        "only constant texts of wrk.method, wrk.body, wrk.headers and wrk.path are read, and not {what}; {INSTEAD}"
    );
    Wrong { line: Some(lexer.line()), why }
}

fn shortened(name: &str) -> String {
    name.chars().take(NAME_MAX_CHARS).collect()
}

fn request(script: Script, mix: &mut Mix<'_>) -> Result<(), String> {
    let text = |what: &str, bytes: Vec<u8>| String::from_utf8(bytes).map_err(|_| format!("{what} is not UTF-8"));
    let method = script.method.map_or_else(|| Ok("GET".to_owned()), |method| text("wrk.method", method))?;
    let path = script.path.map_or_else(|| Ok(mix.named_path().to_owned()), |path| text("wrk.path", path))?;
    if !path.starts_with('/') {
        return Err("wrk.path begins with a slash, such as /cart; the server stands on the command line".into());
    }
    let pair = |(name, value)| Ok((text("a name in wrk.headers", name)?, text("a value in wrk.headers", value)?));
    let headers = script.headers.into_iter().map(pair).collect::<Result<_, String>>()?;
    mix.add(Entry { weight: 1, method: &method, place: &path, headers, body: Body::Bytes(Cow::Owned(script.body)) })
}
