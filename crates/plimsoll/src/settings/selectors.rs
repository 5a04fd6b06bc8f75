//! Process selectors of the command line.

use crate::cli::observe::ObserverArgs;
use crate::environment::is_local;
use crate::exit::CommandError;
use crate::output::printer;
use crate::settings::status_source::Source;
use crate::settings::target_url::{TargetUrl, resolve};
use crate::settings::trust::Trust;
use model::{Address, Redacted};
use observe::{ProcessSelector, SelectError, select};

/// What is looked at beside a load.
#[derive(Default)]
pub(crate) struct Selectors {
    /// Who is the server; none: whoever listens where the target is.
    pub(crate) server: Option<ProcessSelector>,
    /// Processes to watch beside the server.
    pub(crate) observe: Vec<ProcessSelector>,
    /// Status pages of servers that were not started here.
    pub(crate) status: Vec<Source>,
}

impl Selectors {
    /// Reads it; the server has to be there already.
    pub(crate) fn read(args: &ObserverArgs, trust: &Trust) -> Result<Self, CommandError> {
        let (server, observe) = processes(args.server.as_deref(), &args.observe)?;
        Ok(Self { server, observe, status: status(args, trust)? })
    }

    /// Those that are left where the processes are of another machine, and are looked up there.
    pub(crate) fn of_pages(args: &ObserverArgs, trust: &Trust) -> Result<Self, CommandError> {
        Ok(Self { status: status(args, trust)?, ..Self::default() })
    }

    /// Fails where processes are named beside a server that is not on this machine, nor is the load.
    pub(crate) fn may_name_processes(&self, address: &Address) -> Result<(), CommandError> {
        match self.observe.first().filter(|_| self.server.is_none()) {
            Some(named) => Err(CommandError::usage(format!(
                "--observe {} is a process of this machine, and neither {address} nor the load of --client is on it; name \
                 the server's machine by --server-host",
                named.label()
            ))),
            None => Ok(()),
        }
    }
}

/// The server and the processes beside it, of this machine, by the texts of `--server` and `--observe`.
pub(crate) fn processes(
    server: Option<&str>,
    observe: &[String],
) -> Result<(Option<ProcessSelector>, Vec<ProcessSelector>), CommandError> {
    let server = server.map(|text| found("--server", text)).transpose()?;
    let observe = observe.iter().map(|text| target("--observe", text)).collect::<Result<_, _>>()?;
    Ok((server, observe))
}

fn status(args: &ObserverArgs, trust: &Trust) -> Result<Vec<Source>, CommandError> {
    let status = args.status.iter().map(|text| Source::parse(text, trust)).collect::<Result<Vec<_>, _>>()?;
    status.iter().filter_map(Source::warning).for_each(|warning| printer::note(&warning));
    Ok(status)
}

/// What a text names, which has to be there and be one thing. `flag` is where it stands.
pub(crate) fn found(flag: &str, text: &str) -> Result<ProcessSelector, CommandError> {
    let wanted = target(flag, text)?;
    match select(&wanted) {
        Ok(_) => Ok(wanted),
        Err(unmet) => Err(select_error(flag, text, &unmet)),
    }
}

/// Why it is not there; a name that is several is the user's to mend.
fn select_error(flag: &str, text: &str, unmet: &SelectError) -> CommandError {
    let message = format!("{flag} {:?}: {unmet}", Redacted::url(text));
    match unmet {
        SelectError::Several { .. } | SelectError::TooMany { .. } => CommandError::usage(message),
        _ => CommandError::target(message),
    }
}

/// What a text names, there or not.
pub(crate) fn target(flag: &str, text: &str) -> Result<ProcessSelector, CommandError> {
    if text.contains("://") || is_host_and_port(text) {
        return behind(flag, text);
    }
    ProcessSelector::parse(text)
        .map_err(|error| CommandError::usage(format!("{flag} {:?} {error}", Redacted::url(text))))
}

/// Who gets the connections to a URL on this machine. Of several addresses the first that somebody listens on.
fn behind(flag: &str, text: &str) -> Result<ProcessSelector, CommandError> {
    let url = TargetUrl::parse(text).map_err(|error| CommandError::usage(format!("{flag}: {}", error.message)))?;
    let here: Vec<Address> = resolve(&url.host, url.port)?.into_iter().filter(is_local).collect();
    let wanted = |address: &Address| ProcessSelector::Behind(address.clone());
    let answered = here.iter().map(wanted).find(|wanted| select(wanted).is_ok());
    answered.or_else(|| here.first().map(wanted)).ok_or_else(|| {
        let shown = Redacted::url(text);
        CommandError::target(format!("{flag} {shown:?} is not on this machine; run plimsoll where the server runs"))
    })
}

/// `localhost:8080`, and not `pid:8080`.
fn is_host_and_port(text: &str) -> bool {
    text.rsplit_once(':').is_some_and(|(host, port)| {
        let is_host = !host.is_empty() && host.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'.' || c == b'-');
        let is_address = text.parse::<std::net::SocketAddr>().is_ok();
        is_host && !is_address && port.parse::<u16>().is_ok() && !["pid", "name", "unix", "cgroup"].contains(&host)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_and_hosts_are_the_addresses_behind_them() {
        let behind = |text: &str| ProcessSelector::Behind(Address::Tcp(text.parse().unwrap()));
        assert_eq!(target("t", "http://127.0.0.1:1/x?y").ok(), Some(behind("127.0.0.1:1")));
        assert_eq!(target("t", "127.0.0.1:1").ok(), Some(behind("127.0.0.1:1")));
        assert_eq!(target("t", "https://[::1]/").ok(), Some(behind("[::1]:443")));
        // Its address is the machine's matter: one without /etc/hosts knows none.
        assert!(is_host_and_port("localhost:1") && !is_host_and_port("pid:81") && !is_host_and_port("127.0.0.1:1"));
        assert_eq!(target("t", "pid:81").ok(), Some(ProcessSelector::Process(81)));
        assert_eq!(target("t", "kworker/0:1").ok(), Some(ProcessSelector::Name("kworker/0:1".into())));
    }

    #[test]
    fn processes_beside_a_server_of_another_machine_are_not_ignored_in_silence() {
        let process = || ProcessSelector::parse("nginx").expect("a name");
        let address = "192.0.2.1:80".parse().expect("an address");
        let alone = Selectors { observe: vec![process()], ..Selectors::default() };
        let message = alone.may_name_processes(&address).expect_err("nobody would look").message;
        for text in ["--observe nginx", "192.0.2.1:80", "--server-host"] {
            assert!(message.contains(text), "{message}");
        }
        let with_server = Selectors { server: Some(process()), ..alone };
        assert!(with_server.may_name_processes(&address).is_ok(), "it is the server's machine");
    }

    #[test]
    fn what_names_nothing_is_told_with_the_flag() {
        for (text, why) in [
            ("0", "--server \"0\" is neither the name of a process nor its number"),
            ("http://192.0.2.1/", "is not on this machine"),
            ("ftp://127.0.0.1/", "--server: \"ftp://127.0.0.1/\" cannot be measured: the scheme is ftp"),
        ] {
            let message = target("--server", text).err().unwrap().message;
            assert!(message.contains(why), "{message}");
        }
    }
}
