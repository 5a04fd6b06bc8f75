//! What plimsoll and the process that reads program files say to each other: JSON texts with their length before them, over a
//! socket, as a socket can carry descriptors too.

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
    recvmsg, sendmsg,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// Addresses of one question, at most.
pub(super) const ADDRESSES_MAX: usize = 4096;
/// Names of one address, at most: the function, and those that were inlined into it.
pub(super) const NAMES_MAX: usize = 64;
/// Longest name; bytes. A template of C++ can be called anything.
pub(super) const NAME_MAX_BYTES: usize = 1024;
/// Names of one answer together; bytes. Addresses beyond that stay without names.
pub(super) const ANSWER_NAMES_MAX_BYTES: usize = 8 << 20;
/// Longest text: the names of an answer, each of whose bytes may be escaped, with quotes and commas.
const TEXT_MAX_BYTES: usize = 6 * ANSWER_NAMES_MAX_BYTES + (1 << 20);

/// Of what the names of addresses are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Of {
    /// The program file whose descriptor comes with the question. Addresses are offsets in it.
    NewFile,
    /// The file of the last question.
    SameFile,
    /// The code that the kernel gives to all programs. Addresses are offsets in it.
    Vdso,
}

/// What plimsoll asks for.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Question {
    pub(super) of: Of,
    pub(super) addresses: Vec<u64>,
}

/// What the process says.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Answer {
    /// It has given up its rights, and reads what it is given.
    Ready,
    /// Why it has not.
    Refused(String),
    /// For each address the function and what was inlined into it, outermost first; empty where nothing is known.
    Names(Vec<Vec<String>>),
}

impl Answer {
    /// The names, if these are as many as were asked for, and none is longer than is agreed on.
    pub(super) fn names_of(self, addresses: usize) -> Option<Vec<Vec<String>>> {
        let Self::Names(names) = self else { return None };
        let is_agreed =
            |names: &Vec<String>| names.len() <= NAMES_MAX && names.iter().all(|name| name.len() <= NAME_MAX_BYTES);
        (names.len() == addresses && names.iter().all(is_agreed)).then_some(names)
    }
}

/// Sends a text, with a descriptor.
pub(super) fn send(mut to: &UnixStream, text: &impl Serialize, file: Option<BorrowedFd<'_>>) -> io::Result<()> {
    let text = serde_json::to_vec(text)?;
    let length = u32::try_from(text.len()).map_err(io::Error::other)?.to_le_bytes();
    let files: Vec<BorrowedFd<'_>> = file.into_iter().collect();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !files.is_empty() {
        control.push(SendAncillaryMessage::ScmRights(&files));
    }
    let sent = sendmsg(to.as_fd(), &[IoSlice::new(&length)], &mut control, SendFlags::NOSIGNAL)?;
    to.write_all(&length[sent..])?;
    to.write_all(&text)
}

/// Receives a text, and the descriptor that came with it. `left` says how long may still be waited before each wait; none is
/// without limit. None where the other end is closed.
pub(super) fn receive<T: DeserializeOwned>(
    mut from: &UnixStream,
    left: impl Fn() -> io::Result<Option<Duration>>,
) -> io::Result<Option<(T, Option<OwnedFd>)>> {
    let mut length = [0; 4];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    from.set_read_timeout(left()?)?;
    let first = recvmsg(from.as_fd(), &mut [IoSliceMut::new(&mut length)], &mut control, RecvFlags::CMSG_CLOEXEC)?;
    if first.bytes == 0 {
        return Ok(None);
    }
    let rights = control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut files) => files.next(),
        _ => None,
    });
    let mut read = |mut wanted: &mut [u8]| {
        while !wanted.is_empty() {
            from.set_read_timeout(left()?)?;
            match from.read(wanted) {
                Ok(0) => return Err(io::Error::from(io::ErrorKind::UnexpectedEof)),
                Ok(n) => wanted = &mut wanted[n..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    };
    read(&mut length[first.bytes..])?;
    let length = u32::from_le_bytes(length) as usize;
    if length > TEXT_MAX_BYTES {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "more than is agreed on"));
    }
    let mut text = vec![0; length];
    read(&mut text)?;
    Ok(Some((serde_json::from_slice(&text)?, rights)))
}

/// Takes `data` as what the process says: no panic, and what is taken for names is within what is agreed on. For the fuzz target.
///
/// # Panics
/// When a promise is broken.
pub(crate) fn check_answer(data: &[u8]) {
    let (mut there, here) = UnixStream::pair().expect("there are descriptors");
    // More does not fit into a socket that nobody reads yet.
    there.write_all(&data[..data.len().min(NAME_MAX_BYTES * NAMES_MAX)]).expect("there is room");
    drop(there);
    if let Ok(Some((answer, file))) = receive::<Answer>(&here, || Ok(None)) {
        assert!(file.is_none(), "a file of nowhere");
        let addresses = if let Answer::Names(names) = &answer { names.len() } else { 0 };
        let names = answer.names_of(addresses).into_iter().flatten().flatten();
        names.for_each(|name| assert!(name.len() <= NAME_MAX_BYTES));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Seek;

    fn no_limit() -> io::Result<Option<Duration>> {
        Ok(None)
    }

    #[test]
    fn a_question_comes_with_its_file() {
        let (here, there) = UnixStream::pair().unwrap();
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"content").unwrap();
        let question = Question { of: Of::NewFile, addresses: vec![1, u64::MAX] };
        send(&here, &question, Some(file.as_fd())).unwrap();
        send(&here, &Answer::Ready, None).unwrap();
        let (read, got): (Question, _) = receive(&there, no_limit).unwrap().unwrap();
        assert_eq!((read.of, read.addresses), (question.of, question.addresses));
        let mut text = String::new();
        let mut got = std::fs::File::from(got.unwrap());
        got.rewind().unwrap();
        got.read_to_string(&mut text).unwrap();
        assert_eq!(text, "content");
        let (answer, none): (Answer, _) = receive(&there, no_limit).unwrap().unwrap();
        assert!(answer == Answer::Ready && none.is_none());
        drop(here);
        assert!(receive::<Answer>(&there, no_limit).unwrap().is_none());
    }

    #[test]
    fn an_answer_that_nobody_agreed_on_is_none() {
        let names = |names: &[&[&str]]| {
            Answer::Names(names.iter().map(|names| names.iter().map(ToString::to_string).collect()).collect())
        };
        assert_eq!(names(&[&["main", "inlined"], &[]]).names_of(2).unwrap()[0], ["main", "inlined"]);
        assert!(names(&[&["main"]]).names_of(2).is_none(), "it is of another number of addresses");
        assert!(names(&[&["x"; NAMES_MAX + 1]]).names_of(1).is_none());
        assert!(names(&[&[&"x".repeat(NAME_MAX_BYTES + 1)]]).names_of(1).is_none());
        assert!(Answer::Ready.names_of(0).is_none());
    }

    #[test]
    fn a_length_that_nobody_agreed_on_takes_no_memory() {
        let (mut here, there) = UnixStream::pair().unwrap();
        here.write_all(&u32::MAX.to_le_bytes()).unwrap();
        let error = receive::<Answer>(&there, no_limit).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    }
}
