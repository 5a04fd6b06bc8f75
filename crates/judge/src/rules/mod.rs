//! The rules, one file each, in a folder for each family.
//!
//! A rule needs a minimum of events beside its share, so that one drop on a quiet machine is no finding. Where client
//! and server share a kernel its counters are of both, which the messages say. Facts of a set-up (one URL, one
//! machine, a short window) are notes, faults are findings.

mod answers;
mod client;
mod curve;
mod environment;
mod load;
mod network;
mod physics;
mod profile;
mod server;

use crate::{BesideLimiter, Rule};
pub use load::too_short::planned_too_short;

/// Every rule, in the order in which findings of the same weight are told.
pub(crate) static CATALOGUE: &[Rule] = &[
    client::busy::RULE,
    client::slip::RULE,
    client::send_rate::RULE,
    client::connections::RULE,
    client::ports::RULE,
    answers::errors::RULE,
    answers::redirect::RULE,
    answers::wrong_body::RULE,
    answers::censored::RULE,
    answers::outage::RULE,
    load::closed_loop::RULE,
    load::too_short::RULE,
    load::settled::RULE,
    load::unstable::RULE,
    curve::saturation::NO_FAILING_LOAD,
    curve::saturation::PEAK_AT_EDGE,
    physics::little::RULE,
    profile::profiled::RULE,
    client::stolen::RULE,
    client::starved::RULE,
    client::throttled::RULE,
    client::draining::RULE,
    client::dropped::RULE,
    client::cap::RULE,
    client::faults::RULE,
    client::handshakes::RULE,
    client::lost_agent::RULE,
    client::unlike_agents::RULE,
    answers::fast_failures::RULE,
    answers::other_body::RULE,
    answers::bytes::RULE,
    answers::counted::RULE,
    answers::refused::RULE,
    answers::reuse::RULE,
    answers::fruitless::RULE,
    answers::cached::RULE,
    answers::coding::RULE,
    answers::happened::RULE,
    answers::drift::RULE,
    answers::mix_shift::RULE,
    load::arrivals::RULE,
    load::omission::RULE,
    load::coarse::RULE,
    load::bursts::RULE,
    load::single_url::RULE,
    load::recording::RULE,
    load::colocated::RULE,
    load::backlog::RULE,
    load::modes::RULE,
    load::dependent::RULE,
    load::few_units::RULE,
    load::outlier::RULE,
    curve::bracket::RULE,
    curve::retrograde::RULE,
    curve::no_limiter::RULE,
    curve::uneven::RULE,
    physics::utilisation::RULE,
    physics::link::RULE,
    physics::sequential::RULE,
    physics::light::RULE,
    physics::accounts::RULE,
    physics::same_work::RULE,
    physics::clock::RULE,
    network::accept_queue::RULE,
    network::syn_queue::RULE,
    network::retransmissions::RULE,
    network::retry_modes::RULE,
    network::delayed_ack::RULE,
    network::receive_queue::RULE,
    network::interface_drops::RULE,
    network::resets::RULE,
    network::tables_full::RULE,
    network::zero_window::RULE,
    network::one_queue::RULE,
    network::upstream_connects::RULE,
    server::pool_full::RULE,
    server::nginx_drops::RULE,
    server::restarted::RULE,
    server::quota::RULE,
    server::descriptors::RULE,
    server::database::RULE,
    server::memory::RULE,
    server::disk::RULE,
    environment::stolen::RULE,
    environment::frequency::RULE,
    environment::background::RULE,
    environment::burst::RULE,
    environment::drift::SETTINGS,
    environment::drift::PROGRAMS,
];

/// The rules about what may bound the goodput, which stand beside the limiter.
pub(crate) const BESIDE_LIMITER: &[BesideLimiter] = &[
    curve::no_limiter::BESIDE,
    network::one_queue::BESIDE,
    server::pool_full::BESIDE,
    server::nginx_drops::BESIDE,
    server::quota::BESIDE,
    server::disk::BESIDE,
];
