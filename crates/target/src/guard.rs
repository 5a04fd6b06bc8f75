//! Guard of what lets a client choose how long the server is busy: `/cpu`, `/sleep`, `/pool` and faults in a request.

use std::fmt;
use std::hash::BuildHasher;

use thiserror::Error;

/// Fewest bytes of a token: nobody guesses 16 random characters.
pub const TOKEN_MIN_BYTES: usize = 16;
/// Most bytes of a token: its header has to fit into a head.
pub const TOKEN_MAX_BYTES: usize = 4096;

/// Name of the scheme and the blank behind it (RFC 6750 section 2.1).
const BEARER: &[u8] = b"Bearer ";

/// Who may use `/cpu`, `/sleep`, `/pool` and faults.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Guard {
    /// Every client.
    #[default]
    Open,
    /// Clients that send `Authorization: Bearer` with this token.
    Token(Token),
    /// Nobody.
    Closed,
}

/// A secret that clients show. It is never printed, not even by `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

/// A text that is no token. Does not hold the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("holds no token: that is {} to {} visible ASCII characters", TOKEN_MIN_BYTES, TOKEN_MAX_BYTES)]
pub struct TokenError;

impl Token {
    /// A token of visible ASCII characters.
    ///
    /// # Errors
    /// If it is too short to be a secret or cannot stand in a header.
    pub fn new(text: &str) -> Result<Self, TokenError> {
        let fits = (TOKEN_MIN_BYTES..=TOKEN_MAX_BYTES).contains(&text.len());
        if fits && text.bytes().all(|byte| byte.is_ascii_graphic()) { Ok(Self(text.into())) } else { Err(TokenError) }
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

impl Guard {
    /// One word for who may.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Token(_) => "token",
            Self::Closed => "closed",
        }
    }

    /// True if a request may use what is guarded; `shown` says whether it showed the token.
    pub(super) const fn admits(&self, shown: bool) -> bool {
        match self {
            Self::Open => true,
            Self::Token(_) => shown,
            Self::Closed => false,
        }
    }

    /// True if the value of an `Authorization` header is the token. Hashes with a key that no client knows are compared
    /// first, so that the time it takes tells nothing of the bytes.
    pub(super) fn is_shown(&self, value: &[u8], keys: &impl BuildHasher) -> bool {
        let Self::Token(Token(token)) = self else { return false };
        let Some((scheme, given)) = value.split_at_checked(BEARER.len()) else { return false };
        let (given, token) = (given.trim_ascii_start(), token.as_bytes());
        scheme.eq_ignore_ascii_case(BEARER) && keys.hash_one(given) == keys.hash_one(token) && given == token
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hash::RandomState;

    const SECRET: &str = "0123456789abcdef";

    #[test]
    fn only_the_token_opens_the_guard() {
        let guard = Guard::Token(Token::new(SECRET).unwrap());
        let keys = RandomState::new();
        for value in ["Bearer 0123456789abcdef", "bearer   0123456789abcdef"] {
            assert!(guard.is_shown(value.as_bytes(), &keys), "{value}");
        }
        for value in ["", "Bearer", "Bearer ", SECRET, "Basic 0123456789abcdef", "Bearer 0123456789abcdee"] {
            assert!(!guard.is_shown(value.as_bytes(), &keys), "{value}");
        }
        assert!(
            !guard.is_shown(b"Bearer 0123456789abcdef0", &keys) && !guard.is_shown(b"Bearer 0123456789abcde", &keys)
        );
        assert!(guard.admits(true) && !guard.admits(false));
        assert!(!Guard::Closed.is_shown(b"Bearer 0123456789abcdef", &keys) && !Guard::Closed.admits(true));
        assert!(Guard::Open.admits(false));
    }

    #[test]
    fn what_is_no_secret_is_refused_and_none_is_ever_printed() {
        for text in ["", "0123456789abcde", "0123456789abcde ", "0123456789abcde\n", "0123456789abcdeé"] {
            assert_eq!(Token::new(text), Err(TokenError), "{text:?}");
        }
        assert_eq!(Token::new(&"x".repeat(TOKEN_MAX_BYTES + 1)), Err(TokenError));
        let guard = Guard::Token(Token::new(SECRET).unwrap());
        assert!(!format!("{guard:?} {}", guard.name()).contains(SECRET));
    }
}
