//! PHP functions of a server in words and in a table.

use super::layout::table;
use crate::words::php::{HEADER, rows, samples};
use model::PhpProfiled;

/// Functions as they are asked for: how much was sampled, and all that are told. Ends with a newline.
#[must_use]
pub fn php(profile: &PhpProfiled) -> String {
    let mut text = format!("{}\n", samples(profile));
    if !profile.functions.is_empty() {
        text.push_str(&format!("\n{}", table(&HEADER, &rows(&profile.functions), 1, 2)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{PhpClock, PhpFunction};

    #[test]
    fn what_is_missing_is_told_beside_what_there_is() {
        let function =
            PhpFunction { name: "query".into(), self_share: 0.75, total_share: 1.0, ..PhpFunction::default() };
        let profile =
            PhpProfiled { sample_ns: 10_000_000, samples: 1234, functions: vec![function], ..PhpProfiled::default() };
        let text = php(&profile);
        assert!(text.starts_with("1,234 samples (12.3 s in all), one every 10.0 ms of CPU time\n\n"), "{text}");
        assert!(text.contains("query") && text.contains("75 %") && text.contains("100 %"), "{text}");
        let short = PhpProfiled { clock: PhpClock::Real, is_full: true, left_out: 2, ..PhpProfiled::default() };
        let text = php(&short);
        assert!(text.starts_with("none (one every ") && text.contains("is full") && text.contains("2 lines"), "{text}");
        assert_eq!(text.lines().count(), 1);
    }
}
