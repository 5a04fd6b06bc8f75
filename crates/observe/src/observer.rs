//! All looks together: one sample from one look to the next.

use crate::generator::Generator;
use crate::listener::{Listener, Unfound};
use crate::machine::Machine;
use crate::server::Server;
use crate::sockets::SocketTable;
use model::{Address, Phase, Sample};
use std::collections::BTreeMap;
use std::fmt::Display;

/// Looks at everything once a second; belongs on a thread that carries no load.
#[derive(Debug)]
pub struct Observer {
    listener: Listener,
    server: Server,
    machine: Machine,
    generator: Generator,
    sockets: SocketTable,
    looked_ns: u64,
    /// What was said about each part last, so that it is said once.
    said: BTreeMap<&'static str, String>,
}

impl Observer {
    /// Will watch the server at `address`, whose processes are looked for when it `is_here`: on this machine.
    #[must_use]
    pub fn new(address: impl Into<Address>, is_here: bool) -> Self {
        let mut observer = Self {
            listener: Listener::new(address.into(), is_here),
            server: Server::default(),
            machine: Machine::default(),
            generator: Generator::default(),
            sockets: SocketTable::default(),
            looked_ns: 0,
            said: BTreeMap::new(),
        };
        // The long look, at every process of the machine, is done while nothing waits for it.
        observer.look_at_server();
        observer
    }

    /// The first look, from which the first sample counts. The load threads have to be there.
    pub fn start(&mut self, now_ns: u64) {
        self.looked_ns = now_ns;
        self.generator.find_threads();
        // What is missing now will be missing in the first sample, which says so.
        let _ = self.machine.look();
        let _ = self.generator.look();
        self.look_at_server();
    }

    fn look_at_server(&mut self) {
        let _ = self.listener.look(&mut self.sockets).and_then(|found| self.server.look(&found));
    }

    /// What happened since the look before.
    #[must_use]
    pub fn sample(&mut self, now_ns: u64, phase: Phase) -> Sample {
        let mut unavailable = BTreeMap::new();
        let from_ns = std::mem::replace(&mut self.looked_ns, now_ns);
        // First what runs on, as it is to be of this very instant.
        let machine = self.machine.look();
        let listening = self.listener.look(&mut self.sockets);
        let server = match &listening {
            Ok(found) => self.server.look(found),
            Err(unfound) => Err(unfound.clone()),
        };
        let generator = self.generator.look();
        let sockets = match &listening {
            Ok(found) => self.sockets.count(self.listener.address(), Some(found)),
            Err(Unfound::Kernel(error)) => Err(Unfound::Kernel(error.clone())),
            Err(_) => self.sockets.count(self.listener.address(), None),
        };
        Sample {
            phase,
            from_ns,
            to_ns: now_ns,
            machine: self.told("machine", machine, &mut unavailable),
            server: self.told("server", server, &mut unavailable),
            generator: self.told("generator", generator, &mut unavailable),
            sockets: self.told("sockets", sockets, &mut unavailable),
            unavailable,
        }
    }

    /// The value, or why there is none unless that was said before.
    fn told<T, E: Display>(
        &mut self,
        part: &'static str,
        looked: Result<T, E>,
        unavailable: &mut BTreeMap<String, String>,
    ) -> Option<T> {
        let why = match looked {
            Ok(value) => return Some(value),
            Err(error) => error.to_string(),
        };
        if self.said.get(part) != Some(&why) {
            self.said.insert(part, why.clone());
            unavailable.insert(part.to_owned(), why);
        }
        None
    }
}
