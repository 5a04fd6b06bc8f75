//! Tasks of the developer: `cargo xtask TASK`.
//!
//! No product code lives here and nothing depends on it.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a developer's tool talks to its terminal")]
#![expect(clippy::disallowed_methods, reason = "it times whole processes and may not depend on engine's clock")]

mod chaos;
mod docs;
mod fuzz;
mod injections;
mod noise;
mod null_server;
mod options;
mod packages;
mod peers;
mod sampler;
mod test;
mod tidy;
mod tools;
mod workspace;

use std::process::ExitCode;

use options::Options;

const USAGE: &str = "\
usage: cargo xtask TASK [OPTIONS]

  test                  format, tidy, lints, docs and the hermetic tests: no root, no packages, nothing that time decides
      --all               also licences, 20 seconds of each fuzz target, and the measuring tests with real servers, one at a
                          time; installs what these need, as root. One that a disturbed machine keeps from deciding is named
                          and counted as skipped. What CI runs; 20 minutes
  tidy                  rules of this repository that no lint checks
  peers                 plimsoll beside wrk, h2load, ab, httperf, hey, siege, oha and rewrk: same server, interleaved
                        rounds; about 15 minutes
      --rounds N          rounds per case (5)
      --seconds S         length of a measured window (3)
      --connections C     connections of the ordinary cases (64)
      --only CASE         keep-alive, many, nginx, close, tls, stall or pacing
      --quick             one short round (3 minutes): does everything still run?
      --raw DIR           keep every tool's raw output there
      --write-docs        write docs/peers.md as well
  docs                  writes docs/rules.md from the rules
  scale                 10,000 connections held open, then memory over time, against the built-in target
      --minutes N         length of the run whose memory must not grow (10)
      --only PART         connections or memory
  null-server           the fixed-response server that peers uses
      --listen ADDRESS    (127.0.0.1:0)
  floor                 the least a client can do per request, which peers uses as well
      --address ADDRESS --connections C --seconds S
  chaos                 starts and stops servers under test, killing them, their keeper and plimsoll at random; nothing
                        may be left
      --cycles N          how often (200)
      --seed N            what is random; any unless given
  injections            every rule put to its fault and to the same without it; about 8 minutes a time
      --repeat N          how often each fault is made on this machine (1)
      --clean N           how often the same is measured without it (as often)
      --only RULE,...     these rules alone
      --made-up           only the faults that are made up, which take no time
      --write-docs        write docs/injections.md as well, after each round; with --only the rows of these rules
  clean-runs            loads that nothing is wrong with: no rule may make more than a note of them; a minute a time
      --repeat N          how often each load (10)
      --write-docs        write docs/clean-runs.md as well, after each round
  sampler               what looking at a load costs: CPU time of the looks, goodput with and without them and with a
                        profile; 5 minutes
      --blocks N          blocks with and without, and every third with a profile (18)
      --seed N            of the order within them (1)
      --write-docs        write docs/observer-cost.md as well
  noise                 how often a sweep is right beside noise of known size: a program that takes a CPU, a load generator
                        that is paused, a quota that is changed half-way; a minute a try
      --tries N           of each case (20)
      --kind KIND,...     hog, pause or quota (all)
      --on PLACE,...      server, client or both (server,client)
      --share P,...       percent of the time, or of the CPU time (5,20,40)
      --burst-min S --burst-max S
                          lengths of bursts in seconds (0.02 and 3)
      --seed N            of lengths and places of bursts (1)
      --quiet-tries N     sweeps of the quiet machine, before (3)
      --binary PATH       another plimsoll than the one built here
      --keep DIR          keep the JSON of every sweep there
      --quick             a short sweep (8 seconds): does everything still run?
      --write-docs        write docs/noise.md as well, after each try of all cases
  hog                   the program that takes a CPU, which noise uses as well
      --cpu N --share S --seconds T --seed N --burst-min S --burst-max S
  fuzz                  every fuzz target, with cargo-fuzz on nightly
      --seconds S         time per target (60)
      --executions N      executions per target, instead of a time or within it
";

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let task = arguments.next().unwrap_or_default();
    let options = Options::new(arguments);
    if task == "test" {
        return test::run(options);
    }
    let outcome = match task.as_str() {
        "tidy" => options.finish().and_then(|()| tidy::run()),
        "docs" => options.finish().and_then(|()| docs::run()),
        "peers" => peers::run(options),
        "scale" => peers::scale::run(options),
        "null-server" => null_server::run(options),
        "floor" => peers::floor::run(options),
        "chaos" => chaos::run(options),
        "fuzz" => fuzz::run(options),
        "injections" => injections::run(options),
        "sampler" => sampler::run(options),
        "noise" => noise::run(options),
        "hog" => noise::hog::run(options),
        "clean-runs" => injections::clean_runs::run(options),
        "" | "help" | "--help" | "-h" => {
            print!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        _ => {
            eprint!("unknown task `{task}`\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask {task}: {error:#}");
            ExitCode::FAILURE
        }
    }
}
