//! `cargo xtask PROGRAM`: the programs that measure plimsoll itself.
#![expect(clippy::print_stderr, reason = "these programs talk to a developer's terminal")]

use clap::Parser;
use lab::{
    aa, attacks, calibrate, chaos, comparisons, containers, examined, first_verdict, injections, kubernetes, ladder,
    manners, noise, null_server, outputs, peers, sampler, samples, servers, zoo,
};
use std::process::ExitCode;

/// Makes the list of programs: the name of each, and the module that has its `Options` and its `run`.
macro_rules! programs {
    ($($name:ident: $($module:ident)::+,)*) => {
        /// Programs that measure plimsoll itself
        #[derive(Debug, Parser)]
        #[command(name = "lab", subcommand_value_name = "PROGRAM", disable_help_subcommand = true)]
        enum Program { $($name($($module)::+::Options),)* }

        impl Program {
            fn run(self) -> anyhow::Result<()> {
                match self { $(Self::$name(options) => $($module)::+::run(options),)* }
            }
        }
    };
}

programs! {
    Peers: peers,
    Scale: peers::scale,
    Floor: peers::floor,
    NullServer: null_server,
    Chaos: chaos,
    Attacks: attacks,
    Ladder: ladder,
    Containers: containers,
    Kubernetes: kubernetes,
    FirstVerdict: first_verdict,
    Injections: injections,
    RuleExamples: injections::examples,
    CleanRuns: injections::clean_runs,
    Manners: manners,
    Outputs: outputs,
    Sampler: sampler,
    Samples: samples,
    Servers: servers,
    Noise: noise,
    Calibrate: calibrate,
    Aa: aa,
    Comparisons: comparisons,
    Hog: noise::hog,
    Zoo: zoo,
    Examined: examined,
}

fn main() -> ExitCode {
    match Program::parse().run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("lab: {error:#}");
            ExitCode::FAILURE
        }
    }
}
