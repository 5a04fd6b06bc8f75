//! Bodies: fixed length, chunked (RFC 9112 section 7.1), until the connection closes.

use super::error::{Fault, Part};
use super::fields::{split_header, trim};
use super::lines::Lines;
use super::{CHUNK_LINE_BYTES, Limits};

/// Where the body of the current message stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Body {
    /// So many bytes are missing; never 0.
    Fixed(u64),
    ChunkSize,
    /// So many bytes of the chunk are missing; never 0.
    ChunkData(u64),
    /// The line end after a chunk's data.
    ChunkEnd,
    /// Its LF, after its CR.
    ChunkEndLf,
    /// So many trailer lines came.
    Trailers(usize),
    UntilClose,
}

/// Who receives body and trailers.
pub(crate) trait Parts {
    const HEADERS: bool;
    fn header(&mut self, name: &[u8], value: &[u8]);
    fn body(&mut self, bytes: &[u8]);
}

/// What one call brought: the bytes it took and whether the body is complete.
pub(crate) struct Step {
    pub(crate) consumed: usize,
    pub(crate) complete: bool,
}

impl Body {
    /// Consumes input until the body is complete or the input is used up. `received` counts the body's bytes.
    pub(crate) fn receive<P: Parts>(
        &mut self,
        input: &[u8],
        received: &mut u64,
        lines: &mut Lines,
        limits: &Limits,
        parts: &mut P,
    ) -> Result<Step, Fault> {
        let mut at = 0;
        while at < input.len() {
            let rest = &input[at..];
            match *self {
                Self::Fixed(missing) => {
                    let taken = take(rest, missing);
                    deliver(taken, received, parts);
                    at += taken.len();
                    *self = Self::Fixed(missing - taken.len() as u64);
                    if *self == Self::Fixed(0) {
                        return Ok(Step { consumed: at, complete: true });
                    }
                }
                Self::UntilClose => {
                    let taken = take(rest, limits.body_bytes - *received);
                    deliver(taken, received, parts);
                    if taken.len() < rest.len() {
                        return Err(Fault::BodyTooLarge);
                    }
                    at = input.len();
                }
                Self::ChunkSize => {
                    let Some((line, taken)) = lines.next(rest, CHUNK_LINE_BYTES.min(limits.head_bytes))? else { break };
                    at += taken;
                    let size = chunk_size(line)?;
                    if size > limits.body_bytes - *received {
                        return Err(Fault::BodyTooLarge);
                    }
                    lines.reset();
                    *self = if size == 0 { Self::Trailers(0) } else { Self::ChunkData(size) };
                }
                Self::ChunkData(missing) => {
                    let taken = take(rest, missing);
                    deliver(taken, received, parts);
                    at += taken.len();
                    let missing = missing - taken.len() as u64;
                    *self = if missing == 0 { Self::ChunkEnd } else { Self::ChunkData(missing) };
                }
                Self::ChunkEnd | Self::ChunkEndLf => {
                    *self = self.after_chunk(rest[0])?;
                    at += 1;
                }
                Self::Trailers(count) => {
                    let Some((line, taken)) = lines.next(rest, limits.head_bytes)? else { break };
                    at += taken;
                    if line.is_empty() {
                        return Ok(Step { consumed: at, complete: true });
                    }
                    if count == limits.headers {
                        return Err(Fault::TooManyHeaders);
                    }
                    let (name, value) = split_header(line)?;
                    if P::HEADERS {
                        parts.header(name, trim(value));
                    }
                    *self = Self::Trailers(count + 1);
                }
            }
        }
        Ok(Step { consumed: input.len(), complete: false })
    }

    fn after_chunk(self, byte: u8) -> Result<Self, Fault> {
        match (self, byte) {
            (_, b'\n') => Ok(Self::ChunkSize),
            (Self::ChunkEnd, b'\r') => Ok(Self::ChunkEndLf),
            _ => Err(Fault::Malformed(Part::Chunk)),
        }
    }
}

fn take(input: &[u8], most: u64) -> &[u8] {
    match usize::try_from(most) {
        Ok(most) if most < input.len() => &input[..most],
        _ => input,
    }
}

fn deliver(bytes: &[u8], received: &mut u64, parts: &mut impl Parts) {
    if !bytes.is_empty() {
        *received += bytes.len() as u64;
        parts.body(bytes);
    }
}

/// The size in a chunk's first line; extensions are skipped.
fn chunk_size(line: &[u8]) -> Result<u64, Fault> {
    let malformed = Fault::Malformed(Part::Chunk);
    let mut size = 0u64;
    let mut digits = 0;
    for &byte in line {
        let Some(digit) = char::from(byte).to_digit(16) else { break };
        if size >> 60 != 0 {
            return Err(malformed);
        }
        size = size << 4 | u64::from(digit);
        digits += 1;
    }
    // A CR inside the line would be a line end to another parser.
    let rest = trim(&line[digits..]);
    if digits == 0 || !(rest.is_empty() || rest[0] == b';') || rest.contains(&b'\r') {
        return Err(malformed);
    }
    Ok(size)
}
