//! Settings that bound how much a server does at a time, and the same server with one of them changed.

use crate::spec::Spec;
use model::Setting;

/// Most workers that settings take.
pub(crate) const WORKERS_MAX: u64 = 1024;
/// Flags of other programs that name a number of workers, as gunicorn and uvicorn have them.
const FLAGS: [&str; 3] = ["--workers", "-w", "--threads"];

pub(crate) fn setting(key: &str, native: &str, limits: &str, value: u64, max: u64) -> Setting {
    Setting { key: key.into(), native: native.into(), limits: limits.into(), value, max }
}

impl Spec {
    /// What of this server can be given more of; nothing of a server whose configuration is the user's own.
    #[must_use]
    pub fn limits(&self) -> Vec<Setting> {
        if self.settings.config.is_some() { Vec::new() } else { (self.server.limits)(self) }
    }

    /// The setting `workers`, which the server calls `native`, of programs whose names begin with `limits`.
    pub(crate) fn workers(&self, native: &str, limits: &str) -> Setting {
        setting("workers", native, limits, self.settings.workers.into(), WORKERS_MAX)
    }

    /// The same server with the setting `key` of [`Self::limits`] at `value`, under a label that says so.
    #[must_use]
    pub fn with_limit(&self, key: &str, value: u64) -> Self {
        let mut changed = self.clone();
        changed.label = format!("{} {key}={value}", self.label);
        match self.flagged().filter(|(_, flag, _)| flag == key) {
            Some((at, flag, _)) if self.command[at].contains('=') => changed.command[at] = format!("{flag}={value}"),
            Some((at, ..)) => changed.command[at + 1] = value.to_string(),
            None if key == "workers" => changed.settings.workers = value as u32,
            None => changed.extras.set(key, value),
        }
        changed
    }

    /// Where a command line of the user names its workers: place, flag and number.
    pub(crate) fn flagged(&self) -> Option<(usize, String, u64)> {
        let words = self.command.iter().enumerate();
        let mut found = words.filter_map(|(at, word)| {
            let (flag, value) = match word.split_once('=') {
                Some((flag, value)) => (flag, value),
                None => (word.as_str(), self.command.get(at + 1)?.as_str()),
            };
            let n = value.parse().ok().filter(|n| (1..=WORKERS_MAX).contains(n))?;
            FLAGS.contains(&flag).then(|| (at, flag.to_owned(), n))
        });
        found.next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(text: &str) -> Vec<(String, u64)> {
        let all = Spec::parse(text).expect("known").limits();
        all.into_iter().map(|setting| (setting.key, setting.value)).collect()
    }

    #[test]
    fn servers_name_what_they_can_have_more_of() {
        let pair = |key: &str, value| (key.to_owned(), value);
        assert_eq!(limits("php-fpm children=7 workers=2"), [pair("children", 7), pair("workers", 2)]);
        assert_eq!(limits("php-fpm children=7 front=apache"), [pair("children", 7)]);
        assert_eq!(limits("target pool=5"), [pair("pool", 5), pair("workers", 1)]);
        assert_eq!(limits("target"), [pair("workers", 1)]);
        assert_eq!(limits("nginx config=own.conf"), []);
        assert_eq!(limits("-- gunicorn -w 3 app"), [pair("-w", 3)]);
        assert_eq!(limits("-- gunicorn --workers=3 app"), [pair("--workers", 3)]);
        assert_eq!(limits("-- ./server -w fast"), []);
    }

    #[test]
    fn a_changed_limit_is_the_only_change() {
        for (text, key) in [
            ("php-fpm children=5 sleep=2ms", "children"),
            ("nginx workers=1 gzip=on", "workers"),
            ("target pool=5 pool-time=5ms", "pool"),
            ("-- gunicorn -w 3 app --bind 127.0.0.1:{port}", "-w"),
            ("-- gunicorn --workers=3 app", "--workers"),
        ] {
            let spec = Spec::parse(text).expect("known");
            let changed = spec.with_limit(key, 10);
            let of = |spec: &Spec| spec.limits().iter().find(|setting| setting.key == key).map(|setting| setting.value);
            assert_eq!(of(&changed), Some(10), "{text}");
            assert_eq!(changed.label, format!("{text} {key}=10"));
            let back = changed.with_limit(key, of(&spec).expect("a limit"));
            assert_eq!((back.settings, back.command), (spec.settings, spec.command), "{text}");
        }
    }
}
