//! Aggregates of several values of a field.

/// A way to make one value of several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aggregate {
    /// Arithmetic mean.
    Mean,
    /// Middle value, or the mean of both.
    Median,
    /// Geometric mean; none unless all values are above 0.
    Geomean,
    /// Smallest.
    Min,
    /// Largest.
    Max,
    /// Sum.
    Sum,
    /// Standard deviation of a sample (with n - 1); none of fewer than two.
    Stdev,
    /// The same over the mean, in percent.
    StdevPercent,
    /// Variance of a sample.
    Variance,
    /// Median of the distances from the median, not scaled.
    Mad,
    /// Number of values.
    Count,
}

impl Aggregate {
    /// All, with their names.
    pub const ALL: [(Self, &'static str); 11] = [
        (Self::Mean, "mean"),
        (Self::Median, "median"),
        (Self::Geomean, "geomean"),
        (Self::Min, "min"),
        (Self::Max, "max"),
        (Self::Sum, "sum"),
        (Self::Stdev, "stdev"),
        (Self::StdevPercent, "stdev-percent"),
        (Self::Variance, "variance"),
        (Self::Mad, "mad"),
        (Self::Count, "count"),
    ];

    /// That of a name.
    ///
    /// # Errors
    /// One line with the names there are.
    pub fn parse(name: &str) -> Result<Self, String> {
        let found = Self::ALL.iter().find(|(_, known)| *known == name).map(|(aggregate, _)| *aggregate);
        found.ok_or_else(|| {
            format!("no such aggregate: {name:?}; there are {}", Self::ALL.map(|(_, known)| known).join(", "))
        })
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(aggregate, _)| *aggregate == self).map_or("", |(_, name)| name)
    }

    /// True if it says where the values are, so that its ratio to that of a baseline means something; the others say how
    /// many they are, or how far apart.
    #[must_use]
    pub const fn is_level(self) -> bool {
        matches!(self, Self::Mean | Self::Median | Self::Geomean | Self::Min | Self::Max | Self::Sum)
    }

    /// True if it is in the unit of the values.
    pub(super) const fn has_unit(self) -> bool {
        !matches!(self, Self::StdevPercent | Self::Variance | Self::Count)
    }

    /// Of `values`; none where it is not defined.
    #[must_use]
    pub fn of(self, values: &[f64]) -> Option<f64> {
        if self == Self::Count {
            return Some(values.len() as f64);
        }
        if values.is_empty() {
            return None;
        }
        let spread = || (values.len() > 1).then(|| stats::variance(values));
        match self {
            Self::Mean => Some(stats::mean(values)),
            Self::Median => Some(stats::median(values)),
            Self::Geomean => values.iter().all(|value| *value > 0.0).then(|| stats::geometric_mean(values)),
            Self::Min => values.iter().copied().reduce(f64::min),
            Self::Max => values.iter().copied().reduce(f64::max),
            Self::Sum => Some(values.iter().sum()),
            Self::Stdev => spread().map(f64::sqrt),
            Self::StdevPercent => {
                let mean = stats::mean(values);
                spread().filter(|_| mean != 0.0).map(|variance| 100.0 * variance.sqrt() / mean.abs())
            }
            Self::Variance => spread(),
            Self::Mad => {
                let centre = stats::median(values);
                Some(stats::median(&values.iter().map(|value| (value - centre).abs()).collect::<Vec<_>>()))
            }
            Self::Count => Some(values.len() as f64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: mean 5, squares 9 + 1 + 1 + 1 + 0 + 0 + 4 + 16 = 32 over 7, distances from 4.5 of which the middle is 0.5.
    #[test]
    fn aggregates_are_those_of_the_textbook() {
        let values = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0];
        let of = |aggregate: Aggregate| aggregate.of(&values).unwrap();
        assert_eq!([of(Aggregate::Mean), of(Aggregate::Median), of(Aggregate::Sum)], [5.0, 4.5, 40.0]);
        assert_eq!([of(Aggregate::Min), of(Aggregate::Max), of(Aggregate::Count)], [2.0, 9.0, 8.0]);
        assert!((of(Aggregate::Variance) - 32.0 / 7.0).abs() < 1e-12);
        assert!((of(Aggregate::Stdev) - (32.0_f64 / 7.0).sqrt()).abs() < 1e-12);
        assert!((of(Aggregate::StdevPercent) - 100.0 * (32.0_f64 / 7.0).sqrt() / 5.0).abs() < 1e-9);
        assert_eq!(of(Aggregate::Mad), 0.5);
        assert!((Aggregate::Geomean.of(&[1.0, 4.0, 16.0]).unwrap() - 4.0).abs() < 1e-12);
    }

    #[test]
    fn what_is_not_defined_is_none() {
        assert_eq!([Aggregate::Mean, Aggregate::Mad, Aggregate::Max].map(|one| one.of(&[])), [None; 3]);
        assert_eq!(Aggregate::Count.of(&[]), Some(0.0));
        assert_eq!([Aggregate::Stdev, Aggregate::Variance].map(|one| one.of(&[1.0])), [None; 2]);
        assert_eq!(Aggregate::Geomean.of(&[0.0, 1.0]), None);
        assert_eq!(Aggregate::StdevPercent.of(&[1.0, -1.0]), None);
    }

    #[test]
    fn every_aggregate_has_its_name() {
        for (aggregate, name) in Aggregate::ALL {
            assert_eq!((Aggregate::parse(name), aggregate.name()), (Ok(aggregate), name));
        }
        assert!(Aggregate::parse("average").unwrap_err().contains("there are mean, median, geomean"));
    }
}
