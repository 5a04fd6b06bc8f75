//! The real binary, from outside: against its own target, against nginx, Apache, lighttpd and Caddy, and against servers
//! that break the rules.
//!
//! Measuring tests: they put a load on something, so only one runs at a time (group `measuring` of `.config/nextest.toml`), and
//! where a busy machine could change an outcome, [`support::decide`] judges.

mod agents;
mod capacity;
mod check;
mod chosen_server;
mod compare;
mod contract;
mod credentials;
mod detours;
mod endings;
mod experiment;
mod failing_servers;
mod fastcgi;
mod guide;
mod hostile_programs;
mod injected;
mod injections;
mod interrupted;
mod known_changes;
mod limits;
mod limits_behind;
mod manners;
mod neighbours;
mod observed;
mod observing;
mod open_loop;
mod other_clients;
mod pools;
mod profiles;
mod record;
mod recovered;
mod render;
mod report;
mod requests;
mod scarce;
mod secrets;
mod sent;
mod servers;
mod serving;
mod stack;
mod status_pages;
mod support;
mod sweeps;
mod thresholds;
mod tls;
mod truth;
mod zoo;
