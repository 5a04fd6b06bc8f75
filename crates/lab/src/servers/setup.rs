//! A set-up: one server, how it is had, and how it is started.

use crate::install::Origin;

/// Bytes of the small page, and of the one that comes in chunks.
pub(super) const SMALL_BYTES: u64 = 64;
/// Bytes of the large page.
pub(super) const BIG_BYTES: u64 = 1 << 20;

/// A server at its defaults, with the pages of the matrix.
#[derive(Clone, Copy)]
pub(super) struct Setup {
    /// What `--only` calls it.
    pub(super) name: &'static str,
    /// In which language, and of which kind.
    pub(super) kind: &'static str,
    pub(super) from: Origin,
    /// Files of its folder: name and text, in which the words of [`WORDS`] are filled in.
    pub(super) files: &'static [(&'static str, &'static str)],
    /// Shell command that becomes the server, or its parent. With the words of [`WORDS`].
    pub(super) start: &'static str,
    pub(super) pages: Pages,
    /// Path of the small page.
    pub(super) hello: &'static str,
    /// True if it serves the same pages with TLS on `{tls_port}`, with `cert.pem` and `key.pem` of its folder.
    pub(super) has_tls: bool,
}

/// Which pages it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pages {
    /// Those of a program: `/hello`, `/big`, `/chunked`, `/204` and `/304`.
    Program,
    /// The same without `/chunked`: it knows no chunks.
    ProgramWithoutChunks,
    /// Files of `{site}`: `hello` and `big`; 304 for a client that has them already.
    Files,
    /// The same of a server that tells no dates, and so knows no 304 by them.
    FilesWithoutDates,
    /// The small page alone.
    Hello,
}

/// What is filled in: ports, the folder of the set-up, that of the files, where programs are.
pub(super) const WORDS: [&str; 8] =
    ["{port}", "{tls_port}", "{folder}", "{site}", "{python}", "{crates}", "{plimsoll}", "{user}"];

impl Setup {
    pub(super) const fn new(name: &'static str, kind: &'static str, from: Origin, start: &'static str) -> Self {
        Self { name, kind, from, files: &[], start, pages: Pages::Program, hello: "/hello", has_tls: false }
    }

    pub(super) const fn files(self, files: &'static [(&'static str, &'static str)]) -> Self {
        Self { files, ..self }
    }

    pub(super) const fn pages(self, pages: Pages) -> Self {
        Self { pages, ..self }
    }

    pub(super) const fn at(self, hello: &'static str) -> Self {
        Self { hello, ..self }
    }

    pub(super) const fn tls(self) -> Self {
        Self { has_tls: true, ..self }
    }
}
