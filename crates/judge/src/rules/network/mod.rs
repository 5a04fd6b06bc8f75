//! NE: losses, delays and full queues between client and server.

pub(crate) mod accept_queue;
pub(crate) mod delayed_ack;
pub(crate) mod interface_drops;
pub(crate) mod modes;
pub(crate) mod one_queue;
pub(crate) mod receive_queue;
pub(crate) mod resets;
pub(crate) mod retransmissions;
pub(crate) mod retry_modes;
pub(crate) mod syn_queue;
pub(crate) mod tables_full;
pub(crate) mod upstream_connects;
pub(crate) mod zero_window;
