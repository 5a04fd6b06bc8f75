//! What the supervisor hears: orders on its stdin, and signals.

use super::orders::Order;
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::io::{self, BufRead, stdin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// What was heard.
#[derive(Debug)]
pub(super) enum Message {
    Order(Order),
    /// Stdin has ended, or what it says is no order.
    NoMoreOrders,
    /// One or more of those that it has started, or of their descendants, have ended.
    ProcessEnded,
    /// A signal asks it to end.
    End,
}

/// What is heard, in turn.
pub(super) struct Heard {
    messages: Receiver<Message>,
    /// True while a message is under way that processes have ended: one is enough for all of them, and there is an end to
    /// how many messages wait.
    is_end_told: Arc<AtomicBool>,
}

impl Heard {
    /// The next message; none after this time without any.
    pub(super) fn next(&self, within: Duration) -> Option<Message> {
        match self.messages.recv_timeout(within) {
            Ok(message) => {
                if matches!(message, Message::ProcessEnded) {
                    // From now on another end is another message, as this one may be looked at already.
                    self.is_end_told.store(false, Ordering::SeqCst);
                }
                Some(message)
            }
            Err(RecvTimeoutError::Timeout) => None,
            // Both threads are gone: nobody could ask it to end any more.
            Err(RecvTimeoutError::Disconnected) => Some(Message::End),
        }
    }
}

/// Begins to hear.
///
/// # Errors
/// If the system gives no thread, or takes no handler of signals.
pub(super) fn hear() -> io::Result<Heard> {
    let (sender, messages) = channel();
    let is_end_told = Arc::new(AtomicBool::new(false));
    let signals = Signals::new([SIGCHLD, SIGHUP, SIGINT, SIGTERM])?;
    let (to_orders, is_told) = (sender.clone(), Arc::clone(&is_end_told));
    let thread = |name: &str| std::thread::Builder::new().name(name.into());
    thread("orders").spawn(move || hear_orders(&to_orders))?;
    thread("signals").spawn(move || hear_signals(signals, &sender, &is_told))?;
    Ok(Heard { messages, is_end_told })
}

fn hear_orders(sender: &Sender<Message>) {
    for line in stdin().lock().lines().map_while(Result::ok) {
        let Ok(order) = serde_json::from_str(&line) else { break };
        if sender.send(Message::Order(order)).is_err() {
            return;
        }
    }
    // Nobody listens any more when it cannot be sent.
    let _ = sender.send(Message::NoMoreOrders);
}

fn hear_signals(mut signals: Signals, sender: &Sender<Message>, is_end_told: &AtomicBool) {
    for signal in signals.forever() {
        let sent = match signal {
            SIGCHLD if is_end_told.swap(true, Ordering::SeqCst) => Ok(()),
            SIGCHLD => sender.send(Message::ProcessEnded),
            _ => sender.send(Message::End),
        };
        if sent.is_err() {
            return;
        }
    }
}
