//! TLS of a status page as the load speaks it, with the same check of certificates, below ureq.

use engine::tls::config;
use model::TlsPlan;
use std::fmt;
use std::io::{Read, Write};
use ureq::Error;
use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, Either, LazyBuffers, NextTimeout, Transport, TransportAdapter,
};
use wire::tls::{Config, Connection, RECORD_BYTES, TlsError};

/// Bytes of the network that are read at once.
const READ_BYTES: usize = 16 * 1024;

/// Puts TLS on the connections to one server.
#[derive(Debug)]
pub(super) struct Encryption(Option<Result<Config, String>>);

impl Encryption {
    /// By this plan; none: connections are not encrypted.
    pub(super) fn new(plan: Option<TlsPlan>) -> Self {
        Self(plan.map(|plan| config(&plan).map_err(|error| error.to_string())))
    }
}

impl<In: Transport> Connector<In> for Encryption {
    type Out = Either<In, Encrypted>;

    fn connect(&self, details: &ConnectionDetails<'_>, chained: Option<In>) -> Result<Option<Self::Out>, Error> {
        let Some(socket) = chained else { return Ok(None) };
        // What the URL asks for is never sent in the clear, whatever was planned.
        match &self.0 {
            None if details.needs_tls() => Err(Error::TlsRequired),
            None => Ok(Some(Either::A(socket))),
            Some(Err(reason)) => Err(Error::Other(reason.clone().into())),
            Some(Ok(config)) => Encrypted::open(config, details, socket.boxed()).map(|open| Some(Either::B(open))),
        }
    }
}

/// A connection whose handshake is done.
pub(super) struct Encrypted {
    socket: TransportAdapter,
    tls: Connection,
    buffers: LazyBuffers,
    encrypted: Vec<u8>,
    plain: Vec<u8>,
    /// Plaintext that is not taken yet: from `taken` to `received` in `plain`.
    taken: usize,
    received: usize,
}

impl Encrypted {
    fn open(config: &Config, details: &ConnectionDetails<'_>, socket: Box<dyn Transport>) -> Result<Self, Error> {
        let (input, output) = (details.config.input_buffer_size(), details.config.output_buffer_size());
        let mut new = Self {
            socket: TransportAdapter::new(socket, details.current_time.clone()),
            tls: Connection::new(config).map_err(of_tls)?,
            buffers: LazyBuffers::new(input, output),
            encrypted: vec![0; READ_BYTES],
            plain: vec![0; READ_BYTES + RECORD_BYTES],
            taken: 0,
            received: 0,
        };
        new.socket.set_timeout(details.timeout);
        new.flush()?;
        while new.tls.is_handshaking() {
            if !new.receive()? {
                return Err(of_tls(TlsError::Closed));
            }
            new.flush()?;
        }
        Ok(new)
    }

    /// Reads once when all plaintext was taken; false at the end of the stream.
    fn receive(&mut self) -> Result<bool, Error> {
        let n = self.socket.read(&mut self.encrypted)?;
        if n == 0 {
            return Ok(false);
        }
        let received = self.tls.receive(&self.encrypted[..n], &mut self.plain);
        (self.taken, self.received) = (0, *received.as_ref().unwrap_or(&0));
        received.map(|_| true).map_err(|error| {
            // The server learns why, if it still listens.
            let _ = self.flush();
            of_tls(error)
        })
    }

    /// Sends what TLS has to say.
    fn flush(&mut self) -> Result<(), Error> {
        let mut out = Vec::new();
        self.tls.transmit(&mut out);
        Ok(self.socket.write_all(&out)?)
    }
}

impl Transport for Encrypted {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        self.socket.set_timeout(timeout);
        let mut sent = 0;
        while sent < amount {
            let n = self.tls.send(&self.buffers.output()[sent..amount]);
            if n == 0 {
                return Err(of_tls(TlsError::Closed));
            }
            sent += n;
            self.flush()?;
        }
        Ok(())
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        self.socket.set_timeout(timeout);
        while self.taken == self.received {
            if self.tls.is_closed() || !self.receive()? {
                return Ok(false);
            }
            // An update of keys is answered.
            self.flush()?;
        }
        let waiting = &self.plain[self.taken..self.received];
        let room = self.buffers.input_append_buf();
        let n = waiting.len().min(room.len());
        room[..n].copy_from_slice(&waiting[..n]);
        self.buffers.input_appended(n);
        self.taken += n;
        Ok(n > 0)
    }

    fn is_open(&mut self) -> bool {
        self.taken == self.received && !self.tls.is_closed() && self.socket.get_mut().is_open()
    }

    fn is_tls(&self) -> bool {
        true
    }
}

impl fmt::Debug for Encrypted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Encrypted").field(self.socket.inner()).finish()
    }
}

fn of_tls(error: TlsError) -> Error {
    Error::Other(Box::new(error))
}
