//! Status pages: whether they tell anything.

use super::{fine, unavailable};
use model::human::plural;
use model::{CheckRow, StatusLook};

/// The row of a page that was asked once.
#[must_use]
pub fn page(look: &StatusLook) -> CheckRow {
    const WHAT: &str = "status page";
    let url = &look.url;
    match &look.status {
        Some(status) => {
            let figures = plural(status.figures.len() as u64, "figure");
            fine("ER-07", WHAT, format!("{url}: {} tells {figures}", status.server))
        }
        None => {
            let why = look.reason.as_deref().unwrap_or("it said nothing");
            unavailable("ER-07", WHAT, format!("{url}: {why}"))
        }
    }
}
