//! Faults that are found however busy the machine is.

use super::{assert_found, judged};
use lab::injections::real::{self, Beside, Real};

#[test]
fn faults_beside_anything_are_found() {
    let maker = super::maker().after_a_look();
    let is_found = |real: &'static Real| assert_found(real, &judged(&maker, real, real.faulty).value);
    real::each(real::that_bear(Beside::Anything), |real| real, is_found);
}
