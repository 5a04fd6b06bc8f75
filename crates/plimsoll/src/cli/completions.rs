//! The flags of `plimsoll completions`.

use clap::Args;

/// Print the completion script of a shell
///
/// For bash: plimsoll completions bash > ~/.local/share/bash-completion/completions/plimsoll
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// Shell
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}
