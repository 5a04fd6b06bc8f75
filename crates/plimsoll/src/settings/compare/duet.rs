//! Settings of a duet: whether two variants may be measured at the same time, and on which CPUs.

use super::{Arm, ArmTarget, CompareOptions};
use crate::cli::compare::{CompareArgs, OnlyArg};
use crate::environment::usable_cpus;
use crate::exit::CommandError;
use model::Duet;
use model::human::{percent, rate};
use stack::Spec;

/// Each variant is measured on either set of CPUs.
pub(super) const PLACEMENTS: u64 = 2;
/// Share of what the slower variant gets out of half of the cores at which they are held against each other by default, ...
pub(super) const FIXED_SHARE: f64 = 0.5;
/// ... and at most: beyond it they wait for what the two halves share, caches, memory and the kernel's locks.
const FIXED_SHARE_MAX: f64 = 0.6;

/// The CPUs of a duet of these variants.
///
/// # Errors
/// Why a duet of them would say nothing.
pub(super) fn duet(args: &CompareArgs, arms: &[Arm]) -> Result<Duet, CommandError> {
    let refuse = |why: String| Err(CommandError::usage(format!("--duet {why}")));
    let specs: Vec<&Spec> = arms.iter().filter_map(Arm::spec).collect();
    let url = arms.iter().find(|arm| matches!(arm.target, ArmTarget::Url(_)));
    let ports: Vec<u16> = arms.iter().filter_map(Arm::port).collect();
    if args.measured.clients.server_host.is_some() {
        return refuse("divides the CPUs of this machine between servers and load; leave out --server-host".to_owned());
    }
    if let Some(url) = url {
        let label = url.target.label();
        return refuse(format!("needs servers that plimsoll starts (--serve): it cannot choose the CPUs of {label}"));
    }
    if arms.len() != 2 {
        return refuse(format!("is for a baseline and one variant, not for {} variants", arms.len()));
    }
    if args.capacity || args.only.is_some_and(|only| only != OnlyArg::Fixed) {
        return refuse(
            "is for the fixed load: what two servers at once get out is limited by the memory, caches and kernel that they \
             share"
                .to_owned(),
        );
    }
    let shared = [("--observe", &args.measured.observe.observe), ("--status", &args.measured.observe.status)];
    if let Some((flag, _)) = shared.iter().find(|(_, given)| !given.is_empty()) {
        return refuse(format!(
            "and {flag} exclude each other: two servers at once that share a database or any other companion wait for each \
             other there"
        ));
    }
    if !args.measured.generator.cpus.is_empty() {
        return refuse("chooses the CPUs of the load itself; leave out --cpus".to_owned());
    }
    if let Some(pinned) = specs.iter().find(|spec| !spec.settings.cpus.is_empty()) {
        return refuse(format!("chooses the CPUs of the servers itself; leave out cpus= of {:?}", pinned.label));
    }
    if let [one, other] = ports[..]
        && one == other
    {
        return refuse(format!("runs both servers at once, and both are to listen on port {one}; leave one port= out"));
    }
    match stack::duet(&usable_cpus()) {
        Ok(sets) => Ok(Duet { sets }),
        Err(why) => refuse(format!("needs two physical cores, one for each server: {why}")),
    }
}

impl CompareOptions {
    /// Fails where the rate that was asked for is too high for two servers at once, of which closed loops got out so many good
    /// responses per second.
    pub(crate) fn check_rate(&self, pilots_per_s: &[f64]) -> Result<(), CommandError> {
        let slowest = pilots_per_s.iter().copied().fold(f64::INFINITY, f64::min);
        match self.rate_per_s.filter(|_| self.duet.is_some()) {
            Some(asked) if asked > FIXED_SHARE_MAX * slowest => Err(CommandError::usage(format!(
                "--rate {asked} is more than {} of what half of the cores gets out ({}): two servers at once would wait \
                 for what they share; use at most {}, or leave out --duet",
                percent(FIXED_SHARE_MAX),
                rate(slowest),
                rate(FIXED_SHARE_MAX * slowest)
            ))),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::args;
    use super::*;
    use model::{NS_PER_S, Warmup};

    fn options(flags: &[&str]) -> Result<CompareOptions, String> {
        let flags = [&["--serve", "target", "--serve", "target", "--duet"], flags].concat();
        CompareOptions::new(&args(&flags)).map_err(|error| error.message)
    }

    #[test]
    fn servers_on_another_machine_are_no_duet() {
        let there = ["--server-host", "ssh://s", "--server-ip", "10.0.0.10"];
        let error = options(&there).map(drop).expect_err("the load has CPUs of this machine");
        assert!(error.contains("--duet") && error.contains("leave out --server-host"), "{error}");
    }

    #[test]
    fn the_fixed_load_is_half_of_what_the_slower_gets_out_of_its_half() {
        let Ok(options) = options(&[]) else { return assert!(stack::duet(&usable_cpus()).is_err(), "two cores") };
        let plan = options.settings(&[1_000.0, 800.0], true, true);
        assert_eq!((plan.rate_per_s, plan.loads.len(), plan.arms), (400.0, 1, 2));
        assert!(plan.duet.is_some() && options.check_rate(&[1_000.0, 800.0]).is_ok());
        assert_eq!(options.warmup, Warmup::Fixed { duration_ns: 2 * NS_PER_S }, "the same window for both");
        let fast = self::options(&["-R", "500"]).expect("as before");
        assert!(fast.check_rate(&[1_000.0, 900.0]).is_ok());
        let error = fast.check_rate(&[1_000.0, 800.0]).expect_err("62 %").message;
        assert!(error.contains("--rate 500") && error.contains("60 %") && error.contains("480/s"), "{error}");
    }

    #[test]
    fn a_block_has_both_placements_and_one_server_is_compared_with_itself_in_two_starts() {
        let Ok(options) = options(&["-d", "4s", "--warmup", "1s"]) else { return };
        assert_eq!(options.block_ns(true) as f64 / NS_PER_S as f64, 2.0 * (5.5 + 1.0) + 2.75);
        let itself =
            CompareOptions::new(&args(&["--aa", "--duet", "--serve", "target"])).unwrap_or_else(|_| panic!("AA"));
        assert_eq!(itself.arms.len(), 2);
    }
}
