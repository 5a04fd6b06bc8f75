//! What is wrong with an answer that the probe cannot take, and what to do, one sentence for each.

use wire::http1::{ClientError, Part, Response};

/// Behind the name of an error; begins with the separator, and is empty where there is nothing to advise.
pub(super) fn of(error: ClientError) -> String {
    let said = match error {
        ClientError::ClosedInBody { missing: Some(missing) } => {
            return format!(
                " ({missing} announced bytes never came); `Content-Length` is wrong, or the server or a proxy before it gave \
                 up: read its error log"
            );
        }
        ClientError::ClosedInHead | ClientError::ClosedInBody { missing: None } => {
            "the server or a proxy before it gave up: read its error log"
        }
        ClientError::Version => "plimsoll speaks HTTP/1.0 and 1.1: let the server answer in one of them",
        ClientError::Upgrade => "measure a URL that answers without 101",
        ClientError::Malformed(Part::ContentLength) => {
            "it is no number, or there are two that differ, so that nobody knows where the body ends (RFC 9112 section \
             6.3): repair the program, or the proxy that adds one"
        }
        ClientError::Malformed(Part::TransferEncoding) => {
            "`chunked` has to come once and last (RFC 9112 section 6.1): repair the program, or the proxy that adds one"
        }
        ClientError::Malformed(Part::StatusLine | Part::Header) => {
            "no client can be sure what it means (RFC 9112 sections 4 and 5): repair the program that writes it"
        }
        ClientError::Malformed(Part::Chunk) => {
            "it has another size than its first line says (RFC 9112 section 7.1): a program that writes chunks itself often \
             does so behind a server that writes them too"
        }
        ClientError::HeadTooLarge | ClientError::TooManyHeaders => {
            "more than 64 KiB or 256 lines: find out which header grows, cookies for instance"
        }
        ClientError::BodyTooLarge => "more than 1 GiB: measure a smaller one",
        ClientError::TooManyInformational => "more than 16 of them come before the answer: repair the server",
        _ => return String::new(),
    };
    format!("; {said}")
}

/// What is missing of an answer for which the time is up, by what the end of the connection would have meant.
pub(super) fn missing(at_the_end: Result<Option<Response>, ClientError>) -> String {
    match at_the_end {
        Ok(Some(_)) => {
            ": it announces no length and leaves the connection open, so that its end is never known (RFC 9112 \
                        section 6.3); the server has to send `Content-Length`, chunks, or `Connection: close` and close"
                .to_owned()
        }
        Err(ClientError::ClosedInBody { missing: Some(missing) }) => {
            format!(
                ": {missing} of the announced bytes are missing; `Content-Length` is wrong, or the server is slower"
            )
        }
        Err(ClientError::ClosedInBody { missing: None }) => {
            ": its last chunk is missing; the server has not ended the body, or is slower".to_owned()
        }
        Err(ClientError::ClosedInHead) => ": its head is not complete; an empty line has to end it".to_owned(),
        Ok(None) | Err(_) => String::new(),
    }
}
