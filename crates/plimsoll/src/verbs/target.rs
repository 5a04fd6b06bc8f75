//! `plimsoll target`: the built-in test server in the foreground.

use crate::cli::TargetArgs;
use crate::environment::confine;
use crate::exit::{CommandError, Exit};
use crate::interrupt;
use crate::output::printer;
use crate::settings::auth::from_file;
use crate::settings::in_range;
use input::text_at_most;
use model::{Count, Duration};
use std::path::Path;
use std::str::FromStr;
use std::sync::atomic::Ordering;
use target::{
    Break, Certificate, Deadlines, Faults, Guard, HANDSHAKE_MAX_NS, Limit, Pool, Ramp, Running, Stall, TargetConfig,
    TargetError, Tls, Token, is_beyond_loopback, start,
};

/// Most connections when nothing is said.
const MAX_CONNECTIONS: Count = Count(20_000);
/// Largest `--cert` or `--key`.
const PEM_MAX_BYTES: u64 = 16 << 20;
/// How often the main thread looks for ^C, and for a thread of the server that has failed.
const LOOK_UP: std::time::Duration = std::time::Duration::from_millis(50);

pub(crate) fn target(args: &TargetArgs) -> Result<Exit, CommandError> {
    if args.die_with_parent {
        end_with_parent()?;
    }
    let stop = interrupt::watch()?;
    let config = config(args)?;
    raise_limits(&config, args.max_connections.is_some());
    // All of its threads, so that others may see that the rest of the machine is free of it.
    confine(&config.cpus);
    let certificate = config.tls.as_ref().map(|tls| tls.certificate.chain_pem.clone());
    let guard = config.guard.clone();
    let running = start(config).map_err(|error| match error {
        TargetError::Bind { .. } => CommandError::usage(format!("{error}; choose another with --listen")),
        TargetError::Certificate { .. } if args.cert.is_some() => {
            CommandError::usage(format!("--cert and --key: {error}"))
        }
        other => CommandError::usage(other),
    })?;
    if is_beyond_loopback(running.address()) {
        printer::note(&exposed(&running, &guard));
    }
    printer::data(&format!("{}\n", first_line(&running, certificate, &guard)))?;
    while !stop.load(Ordering::Relaxed) && !running.has_ended() {
        std::thread::sleep(LOOK_UP);
    }
    running.stop();
    running.join().map_err(CommandError::usage)?;
    Ok(Exit::Fine)
}

/// What a parent or a script wants to know: where it is, what to trust, and what its guard is. Never the token.
fn first_line(running: &Running, certificate: Option<String>, guard: &Guard) -> serde_json::Value {
    let mut line = serde_json::json!({
        "listening": running.address().to_string(),
        "url": running.url(),
        "tls": certificate.is_some(),
        "guard": guard.name(),
    });
    if let Some(pem) = certificate {
        line["certificate"] = pem.into();
    }
    line
}

/// Warning for a server that other machines can reach.
fn exposed(running: &Running, guard: &Guard) -> String {
    let guarded = match guard {
        Guard::Open => "open to all of them",
        Guard::Token(_) => "open to holders of the token",
        Guard::Closed => "off, as there is no --token",
    };
    let address = running.address();
    format!(
        "warning: {address} can be reached from other machines, whose requests put load on this one; \
         /cpu, /sleep, /pool and faults are {guarded}"
    )
}

/// As many open files as the connections need, or as many as there may be; who asked for more is told.
fn raise_limits(config: &TargetConfig, asked: bool) {
    // A worker has an epoll instance, something to wake it, and a timer.
    let raised = engine::limits::open_files(config.max_connections, 3 * config.workers);
    if let (Err(short), true) = (raised, asked) {
        printer::note(&format!("warning: --max-connections: {short}"));
    }
}

/// Who the target is: the certificate that was given, or a new one.
fn tls(args: &TargetArgs) -> Result<Option<Tls>, CommandError> {
    if !args.tls {
        return Ok(None);
    }
    let read = |flag: &str, path: &Path| {
        text_at_most(path, PEM_MAX_BYTES)
            .map_err(|error| CommandError::usage(format!("{flag} {}: {error}", path.display())))
    };
    let certificate = match (&args.cert, &args.key) {
        (Some(cert), Some(key)) => Certificate::new(read("--cert", cert)?, read("--key", key)?),
        _ => Certificate::self_signed(&args.listen)
            .map_err(|error| CommandError::usage(format!("cannot make a certificate: {error}")))?,
    };
    Ok(Some(Tls { certificate, handshake_ns: HANDSHAKE_MAX_NS }))
}

/// Who may use what keeps the server busy: by default everybody who is on this machine.
fn guard(args: &TargetArgs) -> Result<Guard, CommandError> {
    match &args.token {
        Some(source) => token(source).map(Guard::Token),
        None if is_beyond_loopback(&args.listen) => Ok(Guard::Closed),
        None => Ok(Guard::Open),
    }
}

/// The token that `--token` names. No message holds it, nor a text that names no source, which may be one.
fn token(source: &str) -> Result<Token, CommandError> {
    let (secret, whence) = match source.split_once(':') {
        Some(("env", name)) => (from_variable(name)?, format!("the variable {name}")),
        Some(("file", path)) => (from_file("--token", path)?, format!("the file {path}")),
        _ => return Err(CommandError::usage("--token names no source; write env:VAR or file:PATH")),
    };
    Token::new(secret.trim_end_matches(['\r', '\n']))
        .map_err(|error| CommandError::usage(format!("--token: {whence} {error}")))
}

fn from_variable(name: &str) -> Result<String, CommandError> {
    // What cannot be the name of a variable may be the secret itself.
    if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        return Err(CommandError::usage("--token names no variable; write env:VAR or file:PATH"));
    }
    std::env::var(name).map_err(|error| {
        // The error would repeat what is no text.
        let why = match error {
            std::env::VarError::NotPresent => "is not set; is it exported?",
            std::env::VarError::NotUnicode(_) => "holds bytes that are no text",
        };
        CommandError::usage(format!("--token: the variable {name} {why}"))
    })
}

/// Asks the kernel to end this process with the one that started it.
fn end_with_parent() -> Result<(), CommandError> {
    let parent = rustix::process::getppid();
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::TERM))
        .map_err(|error| CommandError::usage(format!("cannot follow the parent process: {error}")))?;
    // The parent may have ended before the kernel knew; then nobody wants this target.
    if rustix::process::getppid() == parent { Ok(()) } else { Err(CommandError::usage("the parent process has ended")) }
}

fn config(args: &TargetArgs) -> Result<TargetConfig, CommandError> {
    let count = |flag, n| in_range(flag, n, 1, u64::from(u32::MAX)).map(|n| n as u32);
    let pool = args.pool.map(|workers| -> Result<Pool, CommandError> {
        Ok(Pool {
            workers: count("--pool", workers)?,
            service_ns: args.pool_time.ns,
            queue: in_range("--pool-queue", args.pool_queue, 0, u64::from(u32::MAX))? as u32,
        })
    });
    let max_connections = count("--max-connections", args.max_connections.unwrap_or(MAX_CONNECTIONS))?;
    // Half, so that one client alone cannot keep out all others.
    let most = if is_beyond_loopback(&args.listen) { max_connections.div_ceil(2) } else { max_connections };
    let max_per_client = args.max_per_client.map_or(Ok(most), |n| count("--max-per-client", n))?;
    Ok(TargetConfig {
        listen: args.listen.clone(),
        tls: tls(args)?,
        workers: count("--workers", args.workers)?,
        cpus: args.cpus.clone(),
        backlog: count("--backlog", args.backlog)?,
        max_connections,
        max_per_client,
        deadlines: Deadlines::default(),
        guard: guard(args)?,
        stall: args.stall.as_deref().map(stall).transpose()?,
        error_share: args.error_share,
        faults: faults(args)?,
        pool: pool.transpose()?,
        redirect: args.redirect.clone(),
        log: args.log.clone(),
    })
}

fn faults(args: &TargetArgs) -> Result<Faults, CommandError> {
    let body_bytes_per_s =
        args.body_rate.map(|size| in_range("--body-rate", Count(size.0), 1, u64::MAX)).transpose()?;
    Ok(Faults {
        first_byte_ns: args.first_byte.ns,
        body_bytes_per_s: body_bytes_per_s.unwrap_or_default(),
        growth_ns: args.growth.ns,
        ramp: args.ramp.as_deref().map(ramp).transpose()?,
        limit: args.limit.as_deref().map(limit).transpose()?,
        broken: args.fault.as_deref().map(fault).transpose()?,
    })
}

fn fault(text: &str) -> Result<(Break, f64), CommandError> {
    let (flag, form, example) = ("--fault", "KIND=SHARE", "reset=0.01");
    let wrong = |why| CommandError::usage(format!("{flag} {text:?}: {why}; write for example {example}"));
    let (kind, share): (String, f64) = pair(flag, text, '=', form, example)?;
    let kind = kind.parse().map_err(|_| wrong("KIND is reset, half, drop or wrong-size"))?;
    match (0.0..=1.0).contains(&share) {
        true => Ok((kind, share)),
        false => Err(wrong("the share is not between 0 and 1")),
    }
}

fn ramp(text: &str) -> Result<Ramp, CommandError> {
    let (extra, length): (Duration, Duration) = pair("--ramp", text, '/', "EXTRA/LENGTH", "50ms/10s")?;
    Ok(Ramp { extra_ns: extra.ns, length_ns: length.ns })
}

fn limit(text: &str) -> Result<Limit, CommandError> {
    let (per_s, burst): (Count, Count) = pair("--limit", text, '/', "RATE/BURST", "500/50")?;
    Ok(Limit { per_s: per_s.0, burst: burst.0 })
}

fn stall(text: &str) -> Result<Stall, CommandError> {
    let (length, period): (Duration, Duration) = pair("--stall", text, '/', "LENGTH/PERIOD", "200ms/1s")?;
    Ok(Stall { every_ns: period.ns, length_ns: length.ns })
}

/// The two values of a flag.
fn pair<A: FromStr, B: FromStr>(
    flag: &str,
    text: &str,
    between: char,
    form: &str,
    example: &str,
) -> Result<(A, B), CommandError> {
    let read = text.split_once(between).and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
    read.ok_or_else(|| CommandError::usage(format!("{flag} {text:?} is not {form}; write for example {example}")))
}
