//! Wait channel of a thread (kernel function): says less than the system call, but to more users.

use super::classify::{State, full_pipe};
use model::STOPPED;

/// What a thread that waits there counts as; none where that does not tell whether it waits for work.
pub(super) fn classify(function: &str) -> Option<State> {
    // Compilers add suffixes.
    let function = function.split('.').next().unwrap_or_default();
    let on = match function {
        "inet_csk_accept"
        | "unix_accept"
        | "__skb_wait_for_more_packets"
        | "ep_poll"
        | "do_epoll_wait"
        | "sigsuspend"
        | "futex_wait_queue"
        | "futex_wait_queue_me"
        | "futex_do_wait" => return Some(State::Idle),
        "hrtimer_nanosleep" | "do_nanosleep" => "sleep",
        "do_wait" => "child",
        "pipe_write" | "anon_pipe_write" | "fifo_pipe_write" => return Some(full_pipe(None)),
        stops if is_stop(stops) => STOPPED,
        "pipe_read" | "pipe_wait_readable" => "pipe",
        "sk_wait_data" | "unix_stream_read_generic" | "unix_stream_data_wait" | "sk_stream_wait_memory" => "socket",
        "io_schedule" | "folio_wait_bit_common" | "wait_on_page_bit_common" | "blk_mq_get_tag" => "disk",
        _ => return None,
    };
    Some(State::Blocked(on.to_owned()))
}

/// True if a thread that waits in this function is stopped: by a signal, by whoever traces it, or in a frozen control group.
pub(super) fn is_stop(function: &str) -> bool {
    ["do_signal_stop", "ptrace_stop", "do_freezer_trap", "__refrigerator"].contains(&function.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_that_say_nothing_of_work_are_left_open() {
        assert_eq!(classify("inet_csk_accept"), Some(State::Idle));
        assert_eq!(classify("hrtimer_nanosleep.isra.0"), Some(State::Blocked("sleep".into())));
        assert_eq!(classify("do_signal_stop"), Some(State::Blocked("stopped".into())));
        assert_eq!(classify("anon_pipe_write"), Some(State::Blocked("full pipe".into())));
        for open in ["poll_schedule_timeout.constprop.0", "0", ""] {
            assert_eq!(classify(open), None, "{open:?}");
        }
    }
}
