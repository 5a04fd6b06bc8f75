//! Values that are bounds: what they leave open of a ratio.

use model::Bound;

/// Sides on which a ratio is open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Open {
    /// It may be lower.
    pub(crate) below: bool,
    /// It may be higher.
    pub(crate) above: bool,
}

impl Open {
    /// Of the ratio variant over baseline.
    pub(crate) fn of(baseline: Option<Bound>, variant: Option<Bound>) -> Self {
        Self {
            below: baseline == Some(Bound::AtLeast) || variant == Some(Bound::AtMost),
            above: baseline == Some(Bound::AtMost) || variant == Some(Bound::AtLeast),
        }
    }

    /// Of the mean of two ratios.
    pub(crate) const fn or(self, other: Self) -> Self {
        Self { below: self.below || other.below, above: self.above || other.above }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_is_open_where_its_parts_are() {
        let open = |baseline, variant| {
            let open = Open::of(baseline, variant);
            (open.below, open.above)
        };
        let (least, most) = (Some(Bound::AtLeast), Some(Bound::AtMost));
        assert_eq!(open(None, None), (false, false));
        assert_eq!((open(None, least), open(most, None)), ((false, true), (false, true)));
        assert_eq!((open(least, None), open(None, most)), ((true, false), (true, false)));
        assert_eq!((open(least, least), open(most, most)), ((true, true), (true, true)));
        let both = Open::of(None, least).or(Open::of(least, None));
        assert_eq!(both, Open { below: true, above: true });
    }
}
