//! `cargo xtask PROGRAM`: the programs that measure plimsoll itself.
#![expect(clippy::print_stderr, reason = "these programs talk to a developer's terminal")]

use clap::Parser;
use lab::{
    aa, attacks, calibrate, chaos, containers, examined, first_verdict, injections, kubernetes, ladder, manners, noise,
    null_server, outputs, peers, sampler, servers, zoo,
};
use std::process::ExitCode;

/// Programs that measure plimsoll itself
#[derive(Debug, Parser)]
#[command(name = "lab", subcommand_value_name = "PROGRAM", disable_help_subcommand = true)]
enum Program {
    Peers(peers::Options),
    Scale(peers::scale::Options),
    Floor(peers::floor::Options),
    NullServer(null_server::Options),
    Chaos(chaos::Options),
    Attacks(attacks::Options),
    Ladder(ladder::Options),
    Containers(containers::Options),
    Kubernetes(kubernetes::Options),
    FirstVerdict(first_verdict::Options),
    Injections(injections::Options),
    CleanRuns(injections::clean_runs::Options),
    Manners(manners::Options),
    Outputs(outputs::Options),
    Sampler(sampler::Options),
    Servers(servers::Options),
    Noise(noise::Options),
    Calibrate(calibrate::Options),
    Aa(aa::Options),
    Hog(noise::hog::Options),
    Zoo(zoo::Options),
    Examined(examined::Options),
}

fn main() -> ExitCode {
    let outcome = match Program::parse() {
        Program::Peers(options) => peers::run(options),
        Program::Scale(options) => peers::scale::run(options),
        Program::Floor(options) => peers::floor::run(options),
        Program::NullServer(options) => null_server::run(options),
        Program::Chaos(options) => chaos::run(options),
        Program::Attacks(options) => attacks::run(options),
        Program::Ladder(options) => ladder::run(options),
        Program::Containers(options) => containers::run(options),
        Program::Kubernetes(options) => kubernetes::run(options),
        Program::FirstVerdict(options) => first_verdict::run(options),
        Program::Injections(options) => injections::run(options),
        Program::CleanRuns(options) => injections::clean_runs::run(options),
        Program::Manners(options) => manners::run(options),
        Program::Servers(options) => servers::run(options),
        Program::Outputs(options) => outputs::run(options),
        Program::Sampler(options) => sampler::run(options),
        Program::Noise(options) => noise::run(options),
        Program::Calibrate(options) => calibrate::run(options),
        Program::Aa(options) => aa::run(options),
        Program::Hog(options) => noise::hog::run(options),
        Program::Zoo(options) => zoo::run(options),
        Program::Examined(options) => examined::run(options),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("lab: {error:#}");
            ExitCode::FAILURE
        }
    }
}
