//! Server programs that are known by name, and what follows from the name.

/// A server program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownProgram {
    /// Name of its processes, without a version.
    pub name: &'static str,
    /// Directory of its configuration as Debian packages it; none where it is told on the command line.
    pub configuration: Option<&'static str>,
    /// True if its processes stay until they are ended or reloaded. Others replace their workers by themselves (php-fpm, Apache,
    /// gunicorn), or start one for each connection (PostgreSQL) or to save their data (Redis).
    pub is_steady: bool,
}

/// All of them.
pub const KNOWN_PROGRAMS: &[KnownProgram] = &[
    program("nginx", Some("/etc/nginx"), true),
    program("apache2", Some("/etc/apache2"), false),
    program("lighttpd", Some("/etc/lighttpd"), true),
    program("caddy", Some("/etc/caddy"), true),
    program("haproxy", Some("/etc/haproxy"), true),
    program("varnishd", Some("/etc/varnish"), false),
    // Varnish's own child.
    program("cache-main", None, true),
    program("php-fpm", Some("/etc/php"), false),
    program("mariadbd", Some("/etc/mysql"), true),
    program("mysqld", Some("/etc/mysql"), true),
    program("redis-server", Some("/etc/redis"), false),
    program("gunicorn", None, false),
    program("plimsoll", None, true),
];

const fn program(name: &'static str, configuration: Option<&'static str>, is_steady: bool) -> KnownProgram {
    KnownProgram { name, configuration, is_steady }
}

/// The program of a process with that name, which may end with a version.
#[must_use]
pub fn known_program(name: &str) -> Option<&'static KnownProgram> {
    let is_version = |rest: &str| rest.bytes().all(|c| c.is_ascii_digit() || c == b'.');
    KNOWN_PROGRAMS.iter().find(|program| name.strip_prefix(program.name).is_some_and(is_version))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_known_with_and_without_a_version() {
        let of = |name| known_program(name).map(|program| program.name);
        assert_eq!([of("php-fpm8.2"), of("nginx"), of("mariadbd")], [Some("php-fpm"), Some("nginx"), Some("mariadbd")]);
        assert_eq!([of("nginx-agent"), of(""), of("php")], [None; 3]);
    }
}
