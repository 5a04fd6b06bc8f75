//! Program of a process, the pool its threads belong to, and how they wait for work.

use super::classify::Style;
use crate::processes::{short, stat};
use procfs::process::{MMapPath, Process};
use std::borrow::Cow;
use std::ops::Range;

/// Threads of a program that have its own name, all but the first.
const THREADS: &str = "threads";
/// Threads that were found waiting for a client of their own.
const CONNECTIONS: &str = "connections";

/// A process of the server or of a companion.
#[derive(Clone, Debug)]
pub(super) struct Program {
    /// As the kernel names it.
    pub(super) name: String,
    /// The pool of its first thread.
    pub(super) title: String,
    pub(super) style: Style,
    pub(super) ppid: i32,
    /// When it began, to tell it from a later one with its number.
    pub(super) began: u64,
    pub(super) threads: usize,
    /// Which of the pools of this title it belongs to, from 0 on: masters of their own may have given it to theirs.
    pub(super) family: usize,
    command: Vec<u8>,
    statics: Option<Range<u64>>,
}

impl Program {
    /// The process as it is now; none when it has ended.
    pub(super) fn sample(pid: i32) -> Option<Self> {
        let stat = stat(&short(&format!("/proc/{pid}/stat"))?)?;
        if matches!(stat.state, 'Z' | 'X') {
            return None;
        }
        let command = short(&format!("/proc/{pid}/cmdline"))?;
        let title = title(&command).unwrap_or_else(|| stat.comm.clone());
        let style = style(&stat.comm, &title, &command);
        let threads = usize::try_from(stat.num_threads).unwrap_or(1);
        let (ppid, began) = (stat.ppid, stat.starttime);
        Some(Self { name: stat.comm, title, style, ppid, began, threads, family: 0, command, statics: None })
    }

    /// Takes over what may change in the life of a process.
    pub(super) fn renew(&mut self, now: Self) {
        *self = Self { statics: self.statics.take(), family: self.family, ..now };
    }

    /// True if it only starts and watches the processes that do the work, of which `child` is one.
    pub(super) fn is_master_of(&self, child: &Self) -> bool {
        self.name == child.name && self.command == child.command
    }

    /// True if it says so itself.
    pub(super) fn is_master(&self) -> bool {
        self.title.contains(": master")
    }

    /// The pool of a thread of that name. `leads`: the first one; `talks`: found waiting for a client of its own.
    pub(super) fn pool(&self, thread: &str, leads: bool, talks: bool) -> String {
        let title = match self.family {
            0 => Cow::Borrowed(self.title.as_str()),
            family => Cow::Owned(format!("{} ({})", self.title, family + 1)),
        };
        if leads {
            return title.into_owned();
        }
        let numbered = |c: char| c.is_ascii_digit() || "-_/:#. ".contains(c);
        match thread.trim_end_matches(numbered) {
            _ if talks && self.style.is_of_connections() => format!("{title}: {CONNECTIONS}"),
            "" => format!("{title}: {THREADS}"),
            _ if thread == self.name => format!("{title}: {THREADS}"),
            kind => format!("{title}: {kind}"),
        }
    }

    /// True if an address is that of a variable of the program `pid` itself.
    pub(super) fn is_static(&mut self, pid: i32, address: u64) -> bool {
        self.statics.get_or_insert_with(|| statics(pid).unwrap_or_default()).contains(&address)
    }
}

/// What a process has written over its command line, such as `php-fpm: pool www`.
fn title(command: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(command);
    let text = text.trim_end_matches(['\0', ' ', '\n']);
    let (program, says) = text.split_once(": ")?;
    if text.contains('\0') || program.contains(['/', ' ']) {
        return None;
    }
    if program == "postgres" {
        // The name of the cluster may stand first.
        let says = says.split_once(": ").filter(|(cluster, _)| !cluster.contains(' ')).map_or(says, |(_, rest)| rest);
        // What follows the user changes with each statement.
        return Some(format!("{program}: {}", says.split(' ').next().unwrap_or_default()));
    }
    Some(text.trim_end_matches(" is shutting down").to_owned())
}

fn style(program: &str, title: &str, command: &[u8]) -> Style {
    match program {
        "mariadbd" | "mysqld" => Style::Connection,
        "postgres" if has_client(command) => Style::Backend,
        "apache2" | "httpd" => Style::Apache,
        _ if title.starts_with("php-fpm: pool ") => Style::Fpm,
        _ => Style::Any,
    }
}

/// True of a process of PostgreSQL that serves a client, of which its title has the host: `[local]`, or `192.0.2.1(40123)`.
fn has_client(command: &[u8]) -> bool {
    let text = String::from_utf8_lossy(command);
    let is_host = |word: &str| {
        let port = word.strip_suffix(')').and_then(|word| word.rsplit_once('(')).map(|(_, port)| port);
        word == "[local]" || port.is_some_and(|port| port.parse::<u16>().is_ok())
    };
    text.starts_with("postgres: ") && text.split([' ', '\0']).any(is_host)
}

/// Largest gap between two segments of a program: the largest alignment that linkers give them, and some.
const SEGMENT_GAP_MAX: u64 = 16 << 20;

/// Where the variables of a program lie: what its own file is mapped to, and what follows at once.
fn statics(pid: i32) -> Option<Range<u64>> {
    let process = Process::new(pid).ok()?;
    let program = process.exe().ok()?;
    let mut found: Option<Range<u64>> = None;
    for map in process.maps().ok()?.0 {
        let (start, end) = map.address;
        match (&mut found, &map.pathname) {
            (None, MMapPath::Path(path)) if *path == program => found = Some(start..end),
            // A program may map its own file once more, as who looks up names in it does: that is far away.
            (Some(found), MMapPath::Path(path)) if *path == program && start < found.end + SEGMENT_GAP_MAX => {
                found.end = end;
            }
            (Some(found), MMapPath::Anonymous) if found.end == start => found.end = end,
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    static STATIC: u64 = 7;

    fn program(name: &str, command: &str) -> Program {
        let title = title(command.as_bytes()).unwrap_or_else(|| name.to_owned());
        let own = Program::sample(std::process::id().cast_signed()).unwrap();
        let style = style(name, &title, command.as_bytes());
        Program { name: name.into(), title, style, command: command.into(), ..own }
    }

    #[test]
    fn pools_have_the_titles_that_programs_give_themselves() {
        let told = [
            ("php-fpm8.2", "php-fpm: pool www\0\0\0\0", "php-fpm: pool www"),
            ("nginx", "nginx: worker process is shutting down\0", "nginx: worker process"),
            ("apache2", "/usr/sbin/apache2\0-DFOREGROUND\0", "apache2"),
            ("python3", "python3\0-c\0print: 1\0", "python3"),
            ("postgres", "postgres: app app [local] SELECT\0", "postgres: app"),
            ("postgres", "postgres: 15/main: app app 192.0.2.1(40123) idle\0", "postgres: app"),
            ("postgres", "postgres: 15/main: checkpointer \0", "postgres: checkpointer"),
            ("java", "/opt/a: b/java\0", "java"),
        ];
        for (name, command, title) in told {
            assert_eq!(program(name, command).title, title);
        }
    }

    #[test]
    fn a_process_of_postgresql_serves_whom_its_title_names() {
        for host in ["[local]", "192.0.2.1(40123)", "::1(5432)"] {
            assert_eq!(
                program("postgres", &format!("postgres: app app {host} idle\0")).style,
                Style::Backend,
                "{host}"
            );
        }
        for other in ["postgres: checkpointer \0", "/usr/lib/postgresql/15/bin/postgres\0-D\0/d\0"] {
            assert_eq!(program("postgres", other).style, Style::Any, "{other}");
        }
    }

    #[test]
    fn who_watches_workers_is_none() {
        let worker = program("gunicorn", "python3\0gunicorn\0app\0");
        assert!(program("gunicorn", "python3\0gunicorn\0app\0").is_master_of(&worker));
        assert!(!program("redis-server", "redis-server\0a\0").is_master_of(&program("redis-server", "redis-rdb\0")));
        assert!(program("nginx", "nginx: master process /usr/sbin/nginx\0").is_master());
        assert!(!program("nginx", "nginx: worker process\0").is_master());
    }

    #[test]
    fn threads_are_told_by_name_and_connections_by_what_they_do() {
        let database = program("mariadbd", "/usr/sbin/mariadbd\0");
        assert_eq!(database.pool("mariadbd", true, false), "mariadbd");
        assert_eq!(database.pool("mariadbd", false, false), "mariadbd: threads");
        assert_eq!(database.pool("mariadbd", false, true), "mariadbd: connections");
        let server = program("node", "node\0app.js\0");
        assert_eq!(server.pool("libuv-worker-3", false, true), "node: libuv-worker");
    }

    #[test]
    fn pools_of_one_title_and_two_masters_have_names_of_their_own() {
        let mut worker = program("php-fpm", "php-fpm: pool www\0");
        assert_eq!(worker.pool("php-fpm", true, false), "php-fpm: pool www");
        worker.family = 1;
        assert_eq!(worker.pool("php-fpm", true, false), "php-fpm: pool www (2)");
        assert_eq!(worker.pool("helper", false, false), "php-fpm: pool www (2): helper");
    }

    #[test]
    fn variables_of_the_program_are_told_from_those_on_heap_and_stack() {
        let pid = std::process::id().cast_signed();
        let mut own = Program::sample(pid).unwrap();
        let (heap, stack) = (Box::new(7_u64), 7_u64);
        let address = |at: &u64| std::ptr::from_ref(at) as u64;
        assert!(own.is_static(pid, address(&STATIC)));
        assert!(!own.is_static(pid, address(&heap)) && !own.is_static(pid, address(&stack)));
    }
}
