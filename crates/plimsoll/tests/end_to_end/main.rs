//! The real binary, from outside: against its own target, against nginx, Apache, lighttpd and Caddy, and against servers
//! that break the rules.
//!
//! One test binary, so that [`support::load_alone`] keeps loads from disturbing each other.

mod audit;
mod bad_input;
mod broken_peers;
mod check;
mod chosen_server;
mod contract;
mod credentials;
mod detours;
mod failing_servers;
mod golden;
mod guide;
mod injected;
mod injections;
mod interrupted;
mod limits;
mod limits_behind;
mod manual;
mod observed;
mod observing;
mod open_loop;
mod other_clients;
mod output;
mod pools;
mod profiles;
mod record;
mod report;
mod requests;
mod rules;
mod servers;
mod serving;
mod status_pages;
mod support;
mod surroundings;
mod sweeps;
mod tls;
mod truth;
