//! Live progress on stderr: what is going on, how far it is, how long it still takes.

use crate::outlet::Sink;
use crate::output::printer;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use model::{Event, Load, NS_PER_S, Phase, Plan, Redacted, StatusLook, Stop, Tick, Warmup, human};
use report::visible;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::io::IsTerminal;

/// Time between two lines where stderr is no terminal: as often as a reader of a log wants to see that it goes on.
const LINE_EVERY_NS: u64 = 10 * NS_PER_S;

/// One line that is rewritten on a terminal, elsewhere a line every ten seconds; silent when the user wants quiet.
pub(crate) struct Progress {
    bar: ProgressBar,
    quiet: bool,
    /// Time of load since the last line, where stderr is no terminal; ns.
    since_line_ns: Option<u64>,
    /// When a line was last printed, on the monotonic clock.
    line_at_ns: Cell<u64>,
    label: String,
    window_ns: Option<u64>,
    /// None of one that ends when it has settled.
    warmup_ns: Option<u64>,
    begin_ns: u64,
    /// Requests of the window that were to be sent, if that is what was asked for, and those sent and failed so far.
    planned: Option<u64>,
    sent: u64,
    failed: u64,
    /// True once the size of a warm-up was told, which those of later loads are like.
    is_warmup_told: bool,
    /// Status pages that could not be read, told once.
    unread: BTreeSet<String>,
}

impl Progress {
    /// A line that shows nothing yet.
    pub(crate) fn new(quiet: bool) -> Self {
        let target = if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar = ProgressBar::with_draw_target(None, target);
        let style =
            ProgressStyle::with_template("{spinner} {wide_msg}").unwrap_or_else(|_| ProgressStyle::default_spinner());
        // The default is made of braille.
        bar.set_style(if printer::has_ascii_only() { style.tick_chars("|/-\\ ") } else { style });
        Self {
            bar,
            quiet,
            since_line_ns: (!quiet && !std::io::stderr().is_terminal()).then_some(0),
            line_at_ns: Cell::new(clock::monotonic_ns()),
            label: String::new(),
            window_ns: None,
            warmup_ns: None,
            begin_ns: 0,
            planned: None,
            sent: 0,
            failed: 0,
            is_warmup_told: false,
            unread: BTreeSet::new(),
        }
    }

    /// Begins to show a run. `label` stands in front, such as `point 3/10, 8 connections: `.
    pub(crate) fn begin(&mut self, label: &str, plan: &Plan) {
        self.label = label.into();
        self.window_ns = plan.stop.duration_ns();
        self.warmup_ns = match plan.warmup {
            Warmup::Fixed { duration_ns } => Some(duration_ns),
            Warmup::Auto => None,
        };
        self.begin_ns = self.warmup_ns.unwrap_or(0);
        if let Some(size) = warmup_size(plan).filter(|_| !self.is_warmup_told) {
            self.is_warmup_told = true;
            self.line(&format!("warm-up: {size}"));
        }
        self.planned = match plan.stop {
            Stop::Count { requests } => Some(requests),
            Stop::Duration { .. } => None,
        };
        (self.sent, self.failed) = (0, 0);
        let connections = human::plural(plan.load.connections().into(), "connection");
        match plan.load {
            Load::Closed { .. } => self.say(&format!("opening {connections}")),
            Load::Open { .. } => self.say(&format!("opening connections as they are needed, at most {connections}")),
        }
    }

    /// Shows what an event says.
    fn show(&mut self, event: &Event) {
        match event {
            Event::Warmed { at_ns, .. } => self.begin_ns = *at_ns,
            Event::Tick(tick) => {
                if tick.phase != Phase::Warmup {
                    self.sent += tick.flow.sent;
                    self.failed += tick.flow.failed;
                }
                if let Some(line) = self.due_line(tick) {
                    self.line(&line);
                }
                self.show_text(&self.tick_text(tick));
            }
            Event::Opening { requested, established, .. } => {
                self.line(&format!("{}, waiting for the others", opened(*established, *requested)));
            }
            Event::Connected { requested, established, .. } => {
                if established < requested {
                    let opened = opened(*established, *requested);
                    self.line(&format!("{opened}: use -c {established}, or raise the server's limit of connections"));
                }
                self.say(if self.warmup_ns == Some(0) { "measuring" } else { "warming up" });
            }
            Event::Status { looks, .. } => looks.iter().for_each(|look| self.tell_unread(look)),
            Event::Prolonged { by_ns, .. } => {
                self.window_ns = self.window_ns.map(|window_ns| window_ns + by_ns);
                self.say("extending the measurement: other programs or the hypervisor took too much CPU time");
            }
            Event::AgentLost { name, why, .. } => self.line(&format!("agent {name} is lost: {why}")),
            Event::Probed(_)
            | Event::AgentsStarted { .. }
            | Event::AgentsEnded { .. }
            | Event::Started { .. }
            | Event::Observed(_)
            | Event::Disturbed { .. }
            | Event::Ended { .. }
            | Event::Session(_) => {}
        }
    }

    /// The line for a log, if one is due.
    fn due_line(&mut self, tick: &Tick) -> Option<String> {
        let since_ns = self.since_line_ns.as_mut()?;
        *since_ns += tick.to_ns.saturating_sub(tick.from_ns);
        if *since_ns < LINE_EVERY_NS {
            return None;
        }
        *since_ns -= LINE_EVERY_NS;
        Some(format!("{}{}", self.label, self.tick_text(tick)))
    }

    /// Says once that a status page cannot be read, and why: no progress, so that it is said to the quiet too.
    fn tell_unread(&mut self, look: &StatusLook) {
        if let Some(why) = look.reason.as_ref().filter(|_| self.unread.insert(look.url.clone())) {
            self.needed(&format!("warning: no figures from {}: {why}", look.url));
        }
    }

    /// Says what is going on, such as a step of something long; to a log if nothing was said there for a while.
    pub(crate) fn say(&self, text: &str) {
        self.show_text(text);
        if self.was_silent(clock::monotonic_ns()) {
            self.line(&format!("{}{text}", self.label));
        }
    }

    /// True of a log in which nothing was said for a while.
    fn was_silent(&self, now_ns: u64) -> bool {
        self.since_line_ns.is_some() && now_ns.saturating_sub(self.line_at_ns.get()) >= LINE_EVERY_NS
    }

    /// Shows a text in the line of a terminal.
    fn show_text(&self, text: &str) {
        let text = format!("{}{text}", self.label);
        self.bar.set_message(printer::in_locale(&visible::line(&text)).into_owned());
        self.bar.tick();
    }

    /// Prints a line that stays, unless the user wants quiet.
    pub(crate) fn line(&self, text: &str) {
        if self.quiet || text.is_empty() {
            return;
        }
        self.line_at_ns.set(clock::monotonic_ns());
        self.bar.suspend(|| printer::note(text));
    }

    /// Prints lines that stay and that are no progress, so that they are said to the quiet too.
    pub(crate) fn needed(&self, text: &str) {
        self.bar.suspend(|| printer::note(text));
    }

    /// Takes the line away.
    pub(crate) fn end(&self) {
        self.bar.finish_and_clear();
    }

    fn tick_text(&self, tick: &Tick) -> String {
        let seconds = (tick.to_ns - tick.from_ns).max(1) as f64 / NS_PER_S as f64;
        let rate = tick.flow.good as f64 / seconds;
        let phase = match tick.phase {
            Phase::Warmup => "warming up",
            Phase::Measure => "measuring",
            Phase::Drain => "waiting for answers",
        };
        let left = match (tick.phase, self.window_ns, self.warmup_ns) {
            (Phase::Warmup, Some(window), Some(warmup)) => time_left(warmup + window, tick.to_ns),
            (Phase::Measure, Some(window), _) => time_left(self.begin_ns + window, tick.to_ns),
            _ => String::new(),
        };
        // Of the warm-up those of this second; then all so far, as a failure is not to scroll by.
        let failed = if tick.phase == Phase::Warmup { tick.flow.failed } else { self.failed };
        let errors = if failed > 0 { format!(", {} failed", human::count(failed)) } else { String::new() };
        let sent = match self.planned.filter(|_| tick.phase != Phase::Warmup) {
            Some(planned) => format!(", {} of {} sent", human::count(self.sent.min(planned)), human::count(planned)),
            None => String::new(),
        };
        let p99 = if tick.response_p99_ns > 0 {
            format!(", p99 {}", human::time(tick.response_p99_ns as f64))
        } else {
            String::new()
        };
        format!("{phase}: {} good{p99}{sent}{errors}{left}", human::rate(rate))
    }
}

impl Sink for Progress {
    const NAME: &'static str = "progress";

    fn take(&mut self, event: &Redacted<Event>) {
        self.show(event);
    }
}

/// What a warm-up sends, before it does; none of a load without one.
fn warmup_size(plan: &Plan) -> Option<String> {
    let changing = plan.requests.iter().find(|request| !request.is_safe());
    if let (Some(requests), Some(request)) = (plan.warmup_requests, changing) {
        let most = human::plural(requests, "request");
        return Some(format!("at most {most} before each window, as {} may change something", request.method));
    }
    let time = match plan.warmup {
        Warmup::Fixed { duration_ns: 0 } => return None,
        Warmup::Fixed { duration_ns } => duration_ns,
        Warmup::Auto => return Some("full load before each window, until goodput is steady".to_owned()),
    };
    let length = human::time(time as f64);
    Some(match plan.load {
        Load::Closed { connections } => {
            let connections = human::plural(connections.into(), "connection");
            format!("{length} of full load on {connections} before the window, as many requests as the server answers")
        }
        Load::Open { rate_per_s, .. } => {
            let requests = human::count((rate_per_s * time as f64 / NS_PER_S as f64).round() as u64);
            format!("{length} of load before the window, about {requests} requests at {}", human::rate(rate_per_s))
        }
    })
}

fn opened(established: u32, requested: u32) -> String {
    format!("{} of {} open", human::count(established.into()), human::plural(requested.into(), "connection"))
}

fn time_left(end_ns: u64, now_ns: u64) -> String {
    let left_s = end_ns.saturating_sub(now_ns).div_ceil(NS_PER_S);
    let (hours, minutes, seconds) = (left_s / 3600, left_s / 60 % 60, left_s % 60);
    match (hours, minutes) {
        (0, 0) => format!(", {seconds} s left"),
        (0, _) => format!(", {minutes} min {seconds} s left"),
        _ => format!(", {hours} h {minutes} min left"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A log in CI had nothing for 30 s.
    #[test]
    fn without_a_terminal_a_line_comes_after_each_ten_seconds_of_load() {
        let mut progress = Progress::new(true);
        progress.since_line_ns = Some(0);
        (progress.label, progress.window_ns) = ("load 2 of at most 8: ".into(), Some(40 * NS_PER_S));
        let tick = |second: u64| {
            let mut tick = Tick::empty(Phase::Measure, second * NS_PER_S, (second + 1) * NS_PER_S);
            tick.flow.good = 1_000;
            tick
        };
        let lines: Vec<String> = (0..35).filter_map(|second| progress.due_line(&tick(second))).collect();
        assert_eq!(lines.len(), 3);
        assert_eq!(lines[0], "load 2 of at most 8: measuring: 1,000/s good, 30 s left");
        progress.since_line_ns = None;
        assert_eq!((0..35).find_map(|second| progress.due_line(&tick(second))), None, "on a terminal");
    }

    /// Nothing was said of a page whose loads took minutes.
    #[test]
    fn what_is_going_on_without_a_load_is_said_in_a_log_after_ten_seconds() {
        let mut progress = Progress::new(true);
        let since = |seconds: u64| progress.line_at_ns.get() + seconds * NS_PER_S;
        let (early, late) = (since(9), since(10));
        assert!(!progress.was_silent(late), "quiet, or a terminal");
        progress.since_line_ns = Some(0);
        assert!(!progress.was_silent(early) && progress.was_silent(late));
        progress.line_at_ns.set(early);
        assert!(!progress.was_silent(late), "a line was printed meanwhile");
    }

    /// "3590 s left" had to be divided by the reader.
    #[test]
    fn the_time_left_is_told_in_hours_minutes_and_seconds() {
        let left = |seconds: u64| time_left(seconds * NS_PER_S, 1);
        assert_eq!([left(59), left(60), left(3_590)], [", 59 s left", ", 1 min 0 s left", ", 59 min 50 s left"]);
        assert_eq!([left(3_600), left(90_061)], [", 1 h 0 min left", ", 25 h 1 min left"]);
        assert_eq!(time_left(0, NS_PER_S), ", 0 s left");
    }
}
