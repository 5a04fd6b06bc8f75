//! Network and kernel: what is lost, late or full between client and server.

mod accept_queue;
mod delayed_ack;
mod interface_drops;
mod modes;
mod one_queue;
mod receive_queue;
mod resets;
mod retransmissions;
mod retry_modes;
mod syn_queue;
mod tables_full;
mod zero_window;

use crate::Rule;

pub(crate) static ALL: [Rule; 11] = [
    accept_queue::RULE,
    syn_queue::RULE,
    retransmissions::RULE,
    retry_modes::RULE,
    delayed_ack::RULE,
    receive_queue::RULE,
    interface_drops::RULE,
    resets::RULE,
    tables_full::RULE,
    zero_window::RULE,
    one_queue::RULE,
];
