//! Where a program runs: where its result goes, and who listens to it.

/// Where the result goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// The folder of the try.
    Ordinary,
    /// A small file system of its own.
    Small,
    /// The same, and full from the beginning.
    Full,
    /// A file system on a device that can be made to fail.
    Failing,
}

/// What stdout and stderr are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Streams {
    /// Files, read afterwards.
    Files,
    /// A pipe, both of them.
    Pipe,
    /// `/dev/full`, and a file for stderr.
    FullDevice,
    /// A terminal, both of them, and stdin.
    Terminal,
    /// The same, which is the program's own: when it goes, the program is told so.
    OwnTerminal,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Setting {
    pub(super) place: Place,
    pub(super) streams: Streams,
    /// True if it says no more than it has to.
    pub(super) is_quiet: bool,
    /// What stands before the command line.
    pub(super) wrapper: &'static [&'static str],
}

/// Files in a folder, and nothing else.
pub(super) const ORDINARY: Setting =
    Setting { place: Place::Ordinary, streams: Streams::Files, is_quiet: true, wrapper: &[] };
