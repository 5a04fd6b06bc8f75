//! Questions to the kernel by netlink, and its answers.

use netlink_packet_core::{
    NLM_F_DUMP, NLM_F_REQUEST, NLMSG_DONE, NLMSG_ERROR, NetlinkBuffer, NetlinkHeader, NetlinkMessage, NetlinkPayload,
    NetlinkSerializable, Parseable,
};
use rustix::fd::OwnedFd;
use rustix::net::{AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType, sockopt};
use std::io;
use std::time::Duration;

/// As much as the kernel fills at a time.
const ANSWER_BYTES: usize = 32 * 1024;
/// The kernel answers at once; without this a fault of its would stop the run.
const ANSWER_TIME: Duration = Duration::from_secs(1);

/// The line to one part of the kernel, opened by the first question.
#[derive(Debug)]
pub(crate) struct Line {
    part: Option<Protocol>,
    socket: Option<OwnedFd>,
    answer: Vec<u8>,
}

/// A question, encoded.
#[derive(Debug)]
pub(crate) struct Question {
    pub(crate) bytes: Vec<u8>,
    /// True if the answer is one message.
    is_one: bool,
}

impl Question {
    /// To which the answer is one message.
    pub(crate) fn of_one(message: impl NetlinkSerializable) -> Self {
        Self { bytes: encode(message, NLM_F_REQUEST), is_one: true }
    }

    /// To which the answer is a list.
    pub(crate) fn of_all(message: impl NetlinkSerializable) -> Self {
        Self { bytes: encode(message, NLM_F_REQUEST | NLM_F_DUMP), is_one: false }
    }
}

fn encode<T: NetlinkSerializable>(message: T, flags: u16) -> Vec<u8> {
    let mut header = NetlinkHeader::default();
    header.flags = flags;
    let mut message = NetlinkMessage::new(header, NetlinkPayload::InnerMessage(message));
    message.finalize();
    let mut bytes = vec![0; message.buffer_len()];
    message.serialize(&mut bytes);
    bytes
}

impl Line {
    /// `part` as [`rustix::net::netlink`] has it; none is that of routes.
    pub(crate) const fn new(part: Option<Protocol>) -> Self {
        Self { part, socket: None, answer: Vec::new() }
    }

    /// Hands over every message of the answer.
    pub(crate) fn ask<T: Parseable<[u8]>>(&mut self, question: &Question, take: &mut impl FnMut(T)) -> io::Result<()> {
        if self.answer.is_empty() {
            self.answer.resize(ANSWER_BYTES, 0);
        }
        // A line that broke half-way may still hold answers to this question, so it is not used again.
        let socket = self.socket.take().map_or_else(|| connect(self.part), Ok)?;
        rustix::net::send(&socket, &question.bytes, SendFlags::empty())?;
        loop {
            let (n, _) = rustix::net::recv(&socket, &mut self.answer[..], RecvFlags::empty())?;
            if !read(&self.answer[..n], take)? || question.is_one {
                self.socket = Some(socket);
                return Ok(());
            }
        }
    }
}

fn connect(part: Option<Protocol>) -> io::Result<OwnedFd> {
    let socket = rustix::net::socket_with(AddressFamily::NETLINK, SocketType::DGRAM, SocketFlags::CLOEXEC, part)?;
    sockopt::set_socket_timeout(&socket, sockopt::Timeout::Recv, Some(ANSWER_TIME))?;
    Ok(socket)
}

/// Hands over the messages in one answer; whether more will come.
fn read<T: Parseable<[u8]>>(mut bytes: &[u8], take: &mut impl FnMut(T)) -> io::Result<bool> {
    while !bytes.is_empty() {
        let message = NetlinkBuffer::new_checked(bytes).map_err(io::Error::other)?;
        match message.message_type() {
            NLMSG_DONE => return Ok(false),
            NLMSG_ERROR => return Err(refusal(message.payload())),
            _ => take(T::parse(message.payload()).map_err(io::Error::other)?),
        }
        // Messages begin at multiples of four bytes.
        let length = (message.length() as usize).next_multiple_of(4);
        bytes = bytes.get(length..).unwrap_or_default();
    }
    Ok(true)
}

/// The error number a refusal begins with, negative as the kernel has it.
fn refusal(payload: &[u8]) -> io::Error {
    let code = payload.first_chunk().map_or(0, |bytes| i32::from_ne_bytes(*bytes));
    io::Error::from_raw_os_error(code.saturating_neg())
}

#[cfg(test)]
mod tests {
    use super::*;
    use netlink_packet_sock_diag::inet::InetResponseHeader;

    #[test]
    fn a_refusal_of_the_kernel_is_an_error_of_the_system() {
        assert_eq!(refusal(&(-2_i32).to_ne_bytes()).kind(), io::ErrorKind::NotFound);
        assert!(read(&[1, 2, 3], &mut |_: InetResponseHeader| {}).is_err(), "half a message");
    }
}
