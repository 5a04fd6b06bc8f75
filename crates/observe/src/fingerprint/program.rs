//! The programs of the server and its companions: their files, their packages, how they were called and configured.

use super::{Facts, PROGRAM};
use crate::files::Files;
use model::{Redacted, known_program, names_secret};
use rustix::fs::{FileType, Mode, OFlags, fstat, open};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Read at once.
const PIECE_BYTES: usize = 16 << 10;
/// Name of the fact with the hash of a program.
pub(super) const HASH: &str = "sha256";
/// Name of the fact with the path of a program.
pub(super) const PATH: &str = "path";
/// What stands before the path of a file that the command line names.
pub(super) const COMMAND_FILE: &str = "file ";
/// What stands before a directory of configuration.
pub(super) const DIRECTORY: &str = "files in ";
/// Programs larger than this are not read.
const PROGRAM_MAX_BYTES: u64 = 128 << 20;
/// Larger files are no configuration.
pub(super) const CONFIG_MAX_BYTES: u64 = 1 << 20;
/// Files of a configuration that are read.
const CONFIG_FILES_MAX: usize = 500;
/// Words of a command line that are kept.
const WORDS_MAX: usize = 64;
/// Where each process finds files of its own.
const OF_EACH_PROCESS: [&str; 5] = ["/proc", "/dev/fd", "/dev/stdin", "/dev/stdout", "/dev/stderr"];
/// In place of the hash of a file that may be a secret: a short one would be found by trying.
pub(super) const SECRET: &str = "not read: it may be a secret";
/// The right of anybody to read a file.
const READ_BY_ALL: u32 = 0o004;
/// Where packages have their programs.
const PACKAGED: [&str; 5] = ["/usr/", "/bin/", "/sbin/", "/lib", "/opt/"];
/// A section for each program that one of the processes runs.
pub(super) fn programs(files: &Files, pids: &[i32]) -> BTreeMap<String, Facts> {
    let mut sections = BTreeMap::new();
    for pid in pids {
        let Ok(exe) = std::fs::read_link(format!("/proc/{pid}/exe")) else { continue };
        let name = exe.file_name().map_or_else(|| pid.to_string(), |name| name.to_string_lossy().into_owned());
        sections.entry(format!("{PROGRAM}{name}")).or_insert_with(|| program(files, *pid, &name, &exe));
    }
    sections
}

fn program(files: &Files, pid: i32, name: &str, exe: &Path) -> Facts {
    let path = exe.display().to_string();
    let mut facts = Facts::new();
    // The very file that runs, also when another has taken its name.
    facts.insert(HASH.into(), hash_of_program(Path::new(&format!("/proc/{pid}/exe"))));
    facts.extend(package(files, &path).map(|package| ("package".to_owned(), package)));
    let line = files.text(&format!("/proc/{pid}/cmdline")).unwrap_or_default();
    facts.insert("command".into(), command(&line));
    // Some programs write a title over their words, as one text.
    let words: Vec<&str> =
        line.split(|c: char| c == '\0' || c.is_whitespace()).filter(|word| !word.is_empty()).collect();
    facts.insert(PATH.into(), path);
    let cwd = std::fs::read_link(format!("/proc/{pid}/cwd")).unwrap_or_default();
    facts.extend(configuration(&cwd, exe, name, &words));
    facts
}

/// The first words of a command line whose arguments end with a zero each, without secrets.
fn command(line: &str) -> String {
    let arguments = Redacted::command(line.split('\0').filter(|argument| !argument.is_empty()));
    let words = arguments.iter().flat_map(|argument| argument.split_whitespace());
    words.take(WORDS_MAX).collect::<Vec<_>>().join(" ")
}

/// The files that the command line names, or else those in the usual place, with a hash of each or of all.
fn configuration(cwd: &Path, exe: &Path, name: &str, words: &[&str]) -> Facts {
    // Those of a process of its own are others here, such as /dev/stdout.
    let is_own = |path: &Path| OF_EACH_PROCESS.iter().any(|place| path.starts_with(place));
    let mut before = "";
    let mut facts = Facts::new();
    for word in words {
        let (flag, value) = word.rsplit_once('=').unwrap_or((before, word));
        before = word;
        let path = cwd.join(value);
        if is_own(&path) || !path.is_file() || path == exe {
            continue;
        }
        let told = if names_secret(flag) || is_secret(&path) {
            Some(SECRET.to_owned())
        } else {
            hash(&path, CONFIG_MAX_BYTES)
        };
        facts.extend(told.map(|told| (format!("{COMMAND_FILE}{}", path.display()), told)));
    }
    let usual = known_program(name).and_then(|program| program.configuration);
    match usual {
        Some(directory) if facts.is_empty() => hash_of_all(Path::new(directory))
            .map(|hash| (format!("{DIRECTORY}{directory}"), hash))
            .into_iter()
            .collect(),
        _ => facts,
    }
}

/// True of a file whose name says so, or that not everybody may read. A link is followed: it could have another name.
fn is_secret(path: &Path) -> bool {
    let says_so = |path: &Path| path.file_name().is_some_and(|name| names_secret(&name.to_string_lossy()));
    let real = path.canonicalize();
    let is_hidden = |path: &Path| path.metadata().is_ok_and(|file| file.mode() & READ_BY_ALL == 0);
    says_so(path) || real.is_ok_and(|real| says_so(&real)) || is_hidden(path)
}

/// A hash over the names and contents of all files below a directory; none when there are none, or too many.
pub(super) fn hash_of_all(directory: &Path) -> Option<String> {
    let mut found = Vec::new();
    let mut open = vec![directory.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
            let path: PathBuf = entry.path();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => open.push(path),
                _ => found.push(path),
            }
        }
        if found.len() > CONFIG_FILES_MAX {
            return None;
        }
    }
    found.sort();
    let mut all = Sha256::new();
    for path in &found {
        all.update(path.as_os_str().as_encoded_bytes());
        let content = if is_secret(path) { None } else { hash(path, CONFIG_MAX_BYTES) };
        all.update(content.unwrap_or_default());
    }
    (!found.is_empty()).then(|| hex(&all.finalize()))
}

/// SHA-256 of a file in hexadecimal, however large it is; none when it cannot be read.
#[must_use]
pub fn sha256(path: &Path) -> Option<String> {
    hash(path, u64::MAX)
}

/// SHA-256 of a program's file, or why there is none.
pub(super) fn hash_of_program(path: &Path) -> String {
    let unread = || format!("not read: larger than {} MiB, or not shown to this user", PROGRAM_MAX_BYTES >> 20);
    hash(path, PROGRAM_MAX_BYTES).unwrap_or_else(unread)
}

/// SHA-256 of a file; none when it cannot be read, is no regular file or is too large.
pub(super) fn hash(path: &Path, max_bytes: u64) -> Option<String> {
    let file = open_regular(path)?;
    if file.metadata().ok()?.len() > max_bytes {
        return None;
    }
    // It may grow meanwhile.
    let mut file = file.take(max_bytes.saturating_add(1));
    // In pieces: a whole program in memory would be most of what a load needs.
    let (mut digest, mut piece) = (Sha256::new(), [0; PIECE_BYTES]);
    loop {
        match file.read(&mut piece).ok()? {
            0 if file.limit() == 0 => return None,
            0 => return Some(hex(&digest.finalize())),
            length => digest.update(&piece[..length]),
        }
    }
}

/// Opens a regular file. What a server can put in its place, such as a pipe that nobody writes to or a device without an end,
/// is not opened at all.
fn open_regular(path: &Path) -> Option<File> {
    let found = open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let is_regular = FileType::from_raw_mode(fstat(&found).ok()?.st_mode) == FileType::RegularFile;
    is_regular.then(|| File::open(format!("/proc/self/fd/{}", found.as_raw_fd())).ok()).flatten()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The Debian package that a file came with, and its version.
fn package(files: &Files, path: &str) -> Option<String> {
    if !PACKAGED.iter().any(|place| path.starts_with(place)) {
        return None;
    }
    let info = "/var/lib/dpkg/info";
    let lists = files.names(info).into_iter().filter(|name| name.ends_with(".list"));
    // A file may be listed without the /usr that it has since been moved to.
    let short = path.strip_prefix("/usr").unwrap_or(path);
    let is_it = |line: &[u8]| (line == path.as_bytes() || line == short.as_bytes()).then_some(());
    let list = lists.into_iter().find(|list| files.first(&format!("{info}/{list}"), is_it).is_some())?;
    let name = list.trim_end_matches(".list").split(':').next()?;
    let header = format!("Package: {name}");
    let mut in_entry = false;
    let version = files.first("/var/lib/dpkg/status", |line| {
        in_entry = if in_entry { !line.is_empty() } else { line == header.as_bytes() };
        let version = line.strip_prefix(b"Version: ").filter(|_| in_entry)?;
        Some(String::from_utf8_lossy(version).into_owned())
    })?;
    Some(format!("{name} {version}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_running_program_is_told_with_its_hash_and_its_files() {
        let directory = tempfile::tempdir().unwrap();
        let config = directory.path().join("server.conf");
        std::fs::write(&config, "workers 4\n").unwrap();
        let mut child = std::process::Command::new("sh")
            .args(["-c", "read line", "sh", "--password=hidden", "--config=server.conf"])
            .current_dir(directory.path())
            .stdin(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        // A program that is being replaced by another has the other's file some time before its arguments.
        while std::fs::read(format!("/proc/{}/cmdline", child.id())).unwrap().is_empty() {
            std::thread::yield_now();
        }
        let exe = std::fs::read_link(format!("/proc/{}/exe", child.id())).unwrap();
        let found = programs(&Files::default(), &[child.id().cast_signed(), i32::MAX]);
        child.kill().unwrap();
        child.wait().unwrap();
        let name = exe.file_name().unwrap().to_string_lossy().into_owned();
        let facts = &found[&format!("program/{name}")];
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(facts["sha256"], hex(&Sha256::digest(std::fs::read(&exe).unwrap())));
        assert!(facts["command"].ends_with("--password=<redacted> --config=server.conf"), "{facts:?}");
        let file = format!("file {}", directory.path().canonicalize().unwrap().join("server.conf").display());
        assert_eq!(facts[&file], hex(&Sha256::digest("workers 4\n")));
    }

    /// Where plimsoll's own output goes to a file, that is what `/dev/stdout` is to it.
    #[test]
    fn what_each_process_has_of_its_own_is_no_configuration() {
        let exe = Path::new("/usr/sbin/web");
        let named = |words: &[&str]| configuration(Path::new("/proc/self"), exe, "web", words).len();
        assert_eq!(named(&["--log=/dev/stdout", "/dev/fd/1", "/proc/self/status", "status"]), 0);
        assert_eq!(named(&["/etc/passwd"]), 1);
    }

    /// The SHA-256 of `hunter2` is found by trying.
    #[test]
    fn a_file_that_may_be_a_secret_has_no_hash() {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, mode: u32| {
            let path = directory.path().join(name);
            std::fs::write(&path, "hunter2\n").unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        for (name, mode) in [("pwfile", 0o600), ("web.conf", 0o644), ("site.key", 0o644), ("plain", 0o644)] {
            write(name, mode);
        }
        std::os::unix::fs::symlink("pwfile", directory.path().join("link")).unwrap();
        let exe = Path::new("/usr/sbin/web");
        let words = [
            "--config=web.conf",
            "pwfile",
            "--cert=site.key",
            "--password-file=plain",
            "--token-path",
            "plain",
            "link",
        ];
        let facts = configuration(directory.path(), exe, "web", &words);
        let told = |name: &str| facts[&format!("file {}", directory.path().join(name).display())].as_str();
        assert_eq!(["pwfile", "site.key", "plain", "link"].map(told), [SECRET; 4]);
        assert_eq!(told("web.conf"), hex(&Sha256::digest("hunter2\n")));
    }

    #[test]
    fn secrets_of_a_command_line_are_left_out_wherever_they_stand() {
        for (line, shown) in [
            (
                "gunicorn\0postgres://app:s3cret@db/shop\0-b\0localhost:80\0",
                "gunicorn postgres://<redacted>@db/shop -b localhost:80",
            ),
            ("web\0--password=s3 cret\0--token\0s3cret\0-v\0", "web --password=<redacted> --token <redacted> -v"),
            ("web\0-H\0Cookie: theme=\"dark\"; session=s3cret\0", "web -H Cookie: <redacted>"),
            ("web --key=s3cret --port 80", "web --key=<redacted> --port 80"),
            ("nginx: master process nginx -c /etc/nginx.conf\0\0\0", "nginx: master process nginx -c /etc/nginx.conf"),
        ] {
            assert_eq!(command(line), shown);
        }
    }

    #[test]
    fn a_change_in_any_file_of_a_configuration_is_another() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(hash_of_all(directory.path()), None);
        std::fs::create_dir(directory.path().join("sites")).unwrap();
        std::fs::write(directory.path().join("sites/a"), "1").unwrap();
        let first = hash_of_all(directory.path()).unwrap();
        assert_eq!(hash_of_all(directory.path()).unwrap(), first);
        std::fs::write(directory.path().join("sites/a"), "2").unwrap();
        assert_ne!(hash_of_all(directory.path()).unwrap(), first);
    }

    #[test]
    fn the_package_of_a_program_is_found_by_its_path() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("var/lib/dpkg/info")).unwrap();
        std::fs::write(root.path().join("var/lib/dpkg/info/web:amd64.list"), "/.\n/sbin/web\n").unwrap();
        let status = "Package: webby\nVersion: 9\n\nPackage: web\nStatus: install ok\nVersion: 1.2-3\n";
        std::fs::write(root.path().join("var/lib/dpkg/status"), status).unwrap();
        let files = Files::below(root.path());
        assert_eq!(package(&files, "/usr/sbin/web").as_deref(), Some("web 1.2-3"));
        assert_eq!(package(&files, "/usr/sbin/webby"), None);
    }
}
