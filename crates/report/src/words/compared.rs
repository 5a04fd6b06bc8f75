//! What of the responses was compared with what is expected, so that a verdict says no more than was looked at.

use model::human::count;
use model::{Contract, Plan, SizeBand};

/// What a response has to have to count as good, and what beyond it was looked at; `only the status` at least.
pub(crate) fn compared(plan: &Plan) -> String {
    let contracts = || plan.contracts();
    let sizes = || plan.requests.iter().map(|request| request.contract.size_bytes);
    // Pages that differ before the load may be an error page in the guise of another.
    let widest = sizes().flatten().filter(|band| band.min < band.max).max_by_key(|band| band.max - band.min);
    let framed = match (sizes().all(|size| size.is_some()), widest) {
        (true, None) => "status and size were compared".to_owned(),
        (true, Some(SizeBand { min, max })) => {
            format!("the status was compared, and the size with {} to {} bytes", count(min), count(max))
        }
        (false, _) => "only the status was compared".to_owned(),
    };
    let every =
        |of: fn(&Contract) -> bool| contracts().filter(|contract| of(contract)).map(Contract::compared_every).max();
    let asked = every(|contract| contract.body_text.is_some() || contract.body_hash.is_some());
    let usual = every(|contract| contract.usual_hash.is_some());
    let bodies = match (asked, usual) {
        (Some(every), _) => format!("1 body in {every} was checked"),
        (None, Some(every)) => format!("1 body in {every} was hashed"),
        (None, None) => "no body was".to_owned(),
    };
    format!("{framed}, {bodies}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Load, Request, Stop, Target};

    #[test]
    fn no_more_is_claimed_than_was_looked_at() {
        let told = |contract: Contract| {
            let target = Target::at("127.0.0.1:80".parse().expect("an address"));
            let plan = Plan::new(target, Load::Closed { connections: 1 }, Stop::Count { requests: 1 });
            compared(&Plan { requests: vec![Request { contract, ..Request::get("/") }], ..plan })
        };
        let sized = Contract { size_bytes: Some(SizeBand { min: 9, max: 9 }), ..Contract::default() };
        assert_eq!(told(Contract::default()), "only the status was compared, no body was");
        assert_eq!(told(sized.clone()), "status and size were compared, no body was");
        // One of the probe's fetches had met an error page, and "status and size were compared" was said of both.
        let band = Contract { size_bytes: Some(SizeBand { min: 15, max: 17 }), ..Contract::default() };
        assert_eq!(told(band), "the status was compared, and the size with 15 to 17 bytes, no body was");
        let usual = Contract { usual_hash: Some(1), ..sized.clone() };
        assert_eq!(told(usual), "status and size were compared, 1 body in 17 was hashed");
        let asked = Contract { body_text: Some("</html>".into()), ..sized };
        assert_eq!(told(asked), "status and size were compared, 1 body in 17 was checked");
    }
}
