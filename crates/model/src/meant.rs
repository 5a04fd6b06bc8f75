//! Names that are meant by misspelt ones.

/// Part of two names that has to agree for one to be taken for a slip of the other.
const ALIKE_MIN: f64 = 0.6;

/// The known name that a misspelt one is taken for a slip of; none where it is like none of them.
#[must_use]
pub fn meant<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    alike(name, known).into_iter().next()
}

/// All known names that it may be a slip of, the likeliest first. Capitals, and `-` or `_`, make no difference.
#[must_use]
pub fn alike<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let plain = |name: &str| name.to_ascii_lowercase().replace('_', "-");
    let name = plain(name);
    let scored = known.into_iter().map(|known| (strsim::normalized_damerau_levenshtein(&name, &plain(known)), known));
    let mut alike: Vec<_> = scored.filter(|(likeness, _)| *likeness >= ALIKE_MIN).collect();
    alike.sort_by(|a, b| b.0.total_cmp(&a.0));
    alike.into_iter().map(|(_, known)| known).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_found_whatever_their_case_and_strange_names_are_not() {
        assert_eq!(meant("sed", ["name", "seed"]), Some("seed"));
        assert_eq!(meant("NO_KEEPALIVE", ["no-keepalive"]), Some("no-keepalive"));
        assert_eq!(alike("cl-1", ["SA-01", "CL-01", "CL-11"]), ["CL-01", "CL-11"]);
        assert_eq!(meant("zzz", ["seed", "name"]), None);
    }
}
