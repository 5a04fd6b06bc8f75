//! `plimsoll target`: the built-in test server in the foreground.

use crate::cli::TargetArgs;
use crate::exit::{Exit, Trouble};
use crate::settings::in_range;
use crate::{interrupt, printer};
use engine::target::{Pool, Stall, TargetConfig, TargetError, start};
use model::Duration;
use std::sync::atomic::Ordering;

/// How often the main thread looks for ^C.
const LOOK_UP: std::time::Duration = std::time::Duration::from_millis(50);

pub(crate) fn target(args: &TargetArgs) -> Result<Exit, Trouble> {
    if args.die_with_parent {
        end_with_parent()?;
    }
    let stop = interrupt::watch()?;
    let running = start(config(args)?).map_err(|error| match error {
        TargetError::Bind { .. } => Trouble::usage(format!("{error}; choose another with --listen")),
        other => Trouble::usage(other),
    })?;
    printer::result(&format!("{}\n", serde_json::json!({ "listening": running.address().to_string() })))?;
    while !stop.load(Ordering::Relaxed) {
        std::thread::sleep(LOOK_UP);
    }
    running.stop();
    running.join().map_err(Trouble::usage)?;
    Ok(Exit::Fine)
}

/// Asks the kernel to end this process with the one that started it.
fn end_with_parent() -> Result<(), Trouble> {
    let parent = rustix::process::getppid();
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::TERM))
        .map_err(|error| Trouble::usage(format!("cannot follow the parent process: {error}")))?;
    // The parent may have ended before the kernel knew; then nobody wants this target.
    if rustix::process::getppid() == parent { Ok(()) } else { Err(Trouble::usage("the parent process has ended")) }
}

fn config(args: &TargetArgs) -> Result<TargetConfig, Trouble> {
    let count = |flag, n| in_range(flag, n, 1, u64::from(u32::MAX)).map(|n| n as u32);
    let pool = args.pool.map(|workers| -> Result<Pool, Trouble> {
        Ok(Pool {
            workers: count("--pool", workers)?,
            service_ns: args.pool_time.ns,
            queue: in_range("--pool-queue", args.pool_queue, 0, u64::from(u32::MAX))? as u32,
        })
    });
    Ok(TargetConfig {
        listen: args.listen,
        workers: count("--workers", args.workers)?,
        cpus: args.cpus.clone(),
        backlog: count("--backlog", args.backlog)?,
        max_connections: count("--max-connections", args.max_connections)?,
        stall: args.stall.as_deref().map(stall).transpose()?,
        error_share: args.error_share,
        pool: pool.transpose()?,
        redirect: args.redirect.clone(),
        log: args.log.clone(),
    })
}

fn stall(text: &str) -> Result<Stall, Trouble> {
    let wrong = || Trouble::usage(format!("--stall {text:?} is not LENGTH/PERIOD; write for example 200ms/1s"));
    let (length, period) = text.split_once('/').ok_or_else(wrong)?;
    let ns = |text: &str| text.parse::<Duration>().map(|time| time.ns).map_err(|_| wrong());
    Ok(Stall { every_ns: ns(period)?, length_ns: ns(length)? })
}
