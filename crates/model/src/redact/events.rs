//! Where secrets can be in what is recorded and reported.

use super::{REDACTED, Redact, Redacted, names};
use crate::{
    ArmRecord, Bandwidth, Baseline, Begun, Environment, Event, ExperimentEvent, Fetch, MeasurementKind, PageLoad, Plan,
    Probe, Request, SampledProcess, SamplesAdded, SamplesBegun, Served, ServerHost, SessionEvent, StatusLook,
    TargetCheck,
};

impl Redact for Event {
    fn redact(&mut self) {
        match self {
            Self::Probed(probe) => probe.redact(),
            Self::Started { plan, .. } => plan.redact(),
            Self::Status { looks, .. } => looks.iter_mut().for_each(Redact::redact),
            Self::Session(event) => event.redact(),
            Self::AgentsStarted { agents } => {
                for agent in agents {
                    [&mut agent.name, &mut agent.host].into_iter().for_each(text);
                }
            }
            Self::AgentLost { name, why, .. } => [name, why].into_iter().for_each(text),
            Self::AgentsEnded { agents } => {
                agents.iter_mut().flat_map(|agent| &mut agent.lost).for_each(|lost| text(&mut lost.why));
            }
            // Figures, and names of processes as the kernel has them.
            Self::Opening { .. }
            | Self::Connected { .. }
            | Self::Warmed { .. }
            | Self::Tick(_)
            | Self::Observed(_)
            | Self::Disturbed { .. }
            | Self::Prolonged { .. }
            | Self::Ended { .. } => {}
        }
    }
}

impl From<Redacted<SessionEvent>> for Redacted<Event> {
    fn from(event: Redacted<SessionEvent>) -> Self {
        Self(Event::Session(event.0))
    }
}

impl From<Redacted<Begun>> for Redacted<Event> {
    fn from(begun: Redacted<Begun>) -> Self {
        Self(Event::Session(SessionEvent::Begun(Box::new(begun.0))))
    }
}

impl Redact for ExperimentEvent {
    fn redact(&mut self) {
        match self {
            Self::Begun(begun) => begun.environment.redact(),
            // Its result was made of what is recorded.
            Self::Step(step) => step.error.iter_mut().for_each(text),
        }
    }
}

impl Redact for SessionEvent {
    fn redact(&mut self) {
        match self {
            Self::Begun(begun) => begun.redact(),
            Self::TargetGone { why } => text(why),
            Self::AgentLost(lost) => [&mut lost.name, &mut lost.why].into_iter().for_each(text),
            Self::Blocks { arms, check, .. } => {
                arms.iter_mut().for_each(Redact::redact);
                check.iter_mut().for_each(|row| text(&mut row.found));
            }
            Self::ArmProfiled { profile } => {
                text(&mut profile.arm);
                profile.unavailable.iter_mut().for_each(text);
            }
            Self::Thresholds { conditions: _, baseline } => baseline.iter_mut().for_each(|baseline| baseline.redact()),
            Self::Profiled { profiled, .. } => {
                let php = profiled.iter_mut().filter_map(|profiled| profiled.php.as_mut());
                php.flat_map(|php| &mut php.functions).for_each(|function| text(&mut function.name));
            }
            // Texts of this program, names of functions, and facts of a fingerprint.
            Self::Aborted(_)
            | Self::Arms { .. }
            | Self::Point { .. }
            | Self::Search { .. }
            | Self::AlsoSent { .. }
            | Self::Trial { .. }
            | Self::Compared { .. }
            | Self::Risen { .. }
            | Self::Changed { .. }
            | Self::Confirmed { .. }
            | Self::Finished { .. } => {}
        }
    }
}

impl Redact for Baseline {
    /// Of conditions nothing but names and numbers is left once they have been read.
    fn redact(&mut self) {
        text(&mut self.name);
        self.factors.iter_mut().for_each(|factor| text(&mut factor.value));
    }
}

impl Redact for Begun {
    fn redact(&mut self) {
        self.environment.redact();
        match &mut self.measurement {
            // Of a goal nothing but names and numbers is left once it has been read.
            MeasurementKind::Run { .. } | MeasurementKind::Capacity { .. } | MeasurementKind::Compare { .. } => {}
            MeasurementKind::Sweep { arm, .. } => arm.iter_mut().for_each(text),
        }
    }
}

impl Redact for ArmRecord {
    /// Facts of fingerprints have been redacted when they were taken.
    fn redact(&mut self) {
        text(&mut self.name);
        match self.target.contains("://") {
            true => url(&mut self.target),
            false => text(&mut self.target),
        }
        self.served.iter_mut().for_each(Redact::redact);
    }
}

impl Redact for Environment {
    /// The fingerprint has its command lines from the redactor already.
    fn redact(&mut self) {
        self.command = Redacted::own_command(&self.command).into_inner();
        self.served.iter_mut().for_each(Redact::redact);
        if let Some(ServerHost { name, host, kernel, cpu_model, .. }) = &mut self.server_host {
            [name, host, kernel, cpu_model].into_iter().for_each(text);
        }
        if let Some(Bandwidth { interface, unavailable, .. }) = &mut self.bandwidth {
            interface.iter_mut().chain(unavailable).for_each(text);
        }
    }
}

impl Redact for PageLoad {
    fn redact(&mut self) {
        self.url.iter_mut().for_each(url);
        self.failure.iter_mut().for_each(|failure| text(&mut failure.message));
    }
}

impl Redact for SamplesBegun {
    fn redact(&mut self) {
        if let Some(profile) = &mut self.profile {
            text(&mut profile.scope);
            profile.environment.redact();
        }
    }
}

impl Redact for SamplesAdded {
    fn redact(&mut self) {
        for SampledProcess { name, code, .. } in &mut self.processes {
            name.iter_mut().chain(code.iter_mut().filter_map(|code| code.file.as_mut())).for_each(text);
        }
    }
}

impl Redact for Served {
    fn redact(&mut self) {
        text(&mut self.label);
    }
}

impl Redact for Plan {
    fn redact(&mut self) {
        url(&mut self.target.url);
        self.requests.iter_mut().for_each(Redact::redact);
        self.recording.iter_mut().for_each(|recording| url(&mut recording.origin));
    }
}

impl Redact for Request {
    fn redact(&mut self) {
        url(&mut self.path);
        for (name, value) in &mut self.headers {
            header(name, value);
        }
        // Its length is told beside it.
        self.body = Vec::new();
        self.contract.body_text.iter_mut().for_each(text);
    }
}

impl Redact for Probe {
    fn redact(&mut self) {
        self.fetches.iter_mut().for_each(Redact::redact);
        self.redirects.iter_mut().for_each(url);
    }
}

impl Redact for Fetch {
    fn redact(&mut self) {
        self.location.iter_mut().for_each(url);
        let headers = [&mut self.content_type, &mut self.server, &mut self.cached];
        headers.into_iter().flatten().for_each(text);
    }
}

impl Redact for StatusLook {
    fn redact(&mut self) {
        url(&mut self.url);
        self.reason.iter_mut().for_each(text);
    }
}

impl Redact for TargetCheck {
    fn redact(&mut self) {
        url(&mut self.url);
        self.canonical_url.iter_mut().chain(&mut self.redirects).for_each(url);
        self.probe.redact();
        for (name, value) in &mut self.http_traits.cache_headers {
            header(name, value);
        }
    }
}

/// The whole value of a header whose name says so; of others what is known by itself.
fn header(name: &str, value: &mut String) {
    if names::is_secret(name) {
        REDACTED.clone_into(value);
    } else {
        text(value);
    }
}

fn text(text: &mut String) {
    *text = Redacted::text(text).into_inner();
}

fn url(url: &mut String) {
    *url = Redacted::url(url).into_inner();
}
