//! Rules that make a figure of a result a bound or withhold it, by their ids: the judge fires them, and whoever shows the figure
//! asks for them.

/// Too few requests lie beyond a quantile ([`crate::Quantile::tail_figure`]): it is not shown.
pub const QUANTILE_WITHHELD: &str = "LD-04";
/// The timeout has cut a quantile ([`crate::Quantile::at_least_figure`]): it is a lower bound.
pub const QUANTILE_CUT: &str = "ER-05";
/// Figure of [`QUANTILE_CUT`]: requests that had no answer in time, and count with the timeout.
pub const UNANSWERED_FIGURE: &str = "censored";
/// Most of a quantile may be the client's own send delay ([`crate::Quantile::at_most_figure`]): it is an upper bound.
pub const QUANTILE_DELAYED: &str = "CL-03";
/// Requests waited for a free connection: service and response times are lower bounds.
pub const ALL_CONNECTIONS_BUSY: &str = "CL-15";
/// Rules that make the goodput of a load a lower bound: a busy client, and a lost agent.
pub const GOODPUT_AT_LEAST: [&str; 2] = ["CL-01", "CL-18"];
/// Rules that make the goodput of a peak a lower bound: those of a load, a sweep without saturation, and a peak at its end.
pub const PEAK_AT_LEAST: [&str; 4] = ["CL-01", "CL-18", "SA-01", "SA-03"];
/// Client and server shared CPUs: the goodput is a lower bound where it is not compared with others under the same load.
pub const SHARED_CPUS: &str = "LD-08";
/// The begin of the ids of all rules about the client.
pub const CLIENT_FAMILY: &str = "CL-";
