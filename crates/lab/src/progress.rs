//! Progress: step, share done and time left, one line on stderr for each step.

use std::time::Instant;

/// A forecast that learns from how long things have taken.
pub(crate) struct Progress {
    started: Instant,
    expected_s: f64,
    done_s: f64,
}

impl Progress {
    /// Nothing is done of what is expected to take `expected_s`.
    pub(crate) fn new(expected_s: f64) -> Self {
        Self { started: Instant::now(), expected_s, done_s: 0.0 }
    }

    /// Says what comes next.
    pub(crate) fn say(&self, what: &str) {
        eprintln!("{} {what}", standing(self.done_s, self.expected_s, self.started.elapsed().as_secs_f64()));
    }

    /// Something that was expected to take `expected_s` is done.
    pub(crate) fn did(&mut self, expected_s: f64) {
        self.done_s += expected_s;
    }
}

/// These, one after the other; says the name of each before it comes, by a forecast of its name and of how long it takes, s.
pub(crate) fn each<T>(all: Vec<T>, forecast: impl Fn(&T) -> (&'static str, f64)) -> impl Iterator<Item = T> {
    let mut progress = Progress::new(all.iter().map(|one| forecast(one).1).sum());
    let mut before_s = 0.0;
    all.into_iter().inspect(move |next| {
        let (name, expected_s) = forecast(next);
        progress.did(std::mem::replace(&mut before_s, expected_s));
        progress.say(name);
    })
}

/// `[ 40 %, 3 min 20 s left]`: what is left will take as much longer than expected as what is done has.
fn standing(done_s: f64, expected_s: f64, elapsed_s: f64) -> String {
    let slower = if done_s > 0.0 { (elapsed_s / done_s).max(1.0) } else { 1.0 };
    let left_s = ((expected_s - done_s).max(0.0) * slower).round() as u64;
    format!("[{:3.0} %, {} min {:02} s left]", 100.0 * done_s / expected_s, left_s / 60, left_s % 60)
}

#[cfg(test)]
mod tests {
    use super::standing;

    #[test]
    fn the_forecast_learns() {
        assert_eq!(standing(0.0, 200.0, 0.0), "[  0 %, 3 min 20 s left]");
        assert_eq!(standing(100.0, 200.0, 100.0), "[ 50 %, 1 min 40 s left]");
        assert_eq!(standing(100.0, 200.0, 150.0), "[ 50 %, 2 min 30 s left]");
        assert_eq!(standing(200.0, 200.0, 150.0), "[100 %, 0 min 00 s left]");
    }
}
