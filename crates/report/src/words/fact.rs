//! Facts: what is known of a result as labelled lines, in the order in which they are read.
//!
//! Each kind of result lists its facts once (`facts` in its module); a renderer lays them out, and leaves out what it shows in
//! another form.

/// A labelled line about a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fact {
    pub(crate) about: About,
    /// A word or a few, the same wherever the fact is shown.
    pub(crate) label: &'static str,
    pub(crate) text: String,
    pub(crate) tone: Tone,
}

/// What a fact is about, by which a renderer chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum About {
    /// The judgement of the result.
    Verdict,
    /// What came of it.
    Result,
    /// Cells that are read first of what tables have in full.
    Cells,
    /// Figures in a line that a page has as cells and tables.
    Figures,
    /// All of it in one sentence.
    Summary,
    /// The command that most readers type next.
    Next,
    /// What stops the server, and what a change would bring.
    Limiter,
    /// What was used most, and which limits were not looked for.
    LimiterDetail,
    /// What was done, and how far it got.
    Load,
    /// Where the load went, and the server that was started for it.
    Target,
    /// Other machines that took part.
    Machines,
    /// One of several agents.
    Agent,
    /// What became of the requests.
    Requests,
    /// What client, network and server used.
    Use,
    /// A condition that the user has set.
    Threshold,
}

/// How a fact is set off from others. Nothing is told by it alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    /// The number that the result is about.
    Headline,
    Plain,
    Good,
    /// Neither good nor bad, and to be noticed.
    Unsure,
    Bad,
}

impl Fact {
    pub(crate) fn new(about: About, label: &'static str, text: impl Into<String>) -> Self {
        Self { about, label, text: text.into(), tone: Tone::Plain }
    }

    /// A fact that may not be known; `None` where it is not.
    pub(crate) fn known(about: About, label: &'static str, text: Option<String>) -> Option<Self> {
        text.map(|text| Self::new(about, label, text))
    }

    pub(crate) fn with_tone(self, tone: Tone) -> Self {
        Self { tone, ..self }
    }
}
