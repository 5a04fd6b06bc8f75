//! Line for the shell of a host: it takes the program if it is not there, checks it, and becomes the agent.
//!
//! Before that it says one line that begins with [`MARK`], among whatever the shell's start files print: that the program is
//! wanted, that the agent follows, or what is wrong ([`agent::shell`]). Nothing but a POSIX shell and the usual small programs is needed.

use agent::shell::MARK;

/// The command for a program of so many bytes, with this SHA-256, for this processor. The text is safe in single quotes, so
/// that it is the same whatever shell the user has.
pub(crate) fn command(sha256: &str, bytes: u64, architecture: &str) -> String {
    let script = SCRIPT
        .replace("@MARK@", MARK)
        .replace("@SHA256@", sha256)
        .replace("@BYTES@", &bytes.to_string())
        .replace("@ARCH@", architecture);
    let line = script.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
    format!("exec /bin/sh -c '{line}'")
}

/// The copy is checked once and run twice. In between nobody may put another in its place: every folder up to the root is this
/// user's or root's, and nobody else can write to it, or rename in it what is not theirs.
///
/// One statement a line; they are joined to one. Without single quotes. The shell stays, to tell how the agent has ended: ssh
/// returns 255 for a program that a signal ended, as for a connection that broke. What it says when the copy does not come whole has nobody
/// to read it where the connection is gone, and ends it by SIGPIPE (13).
const SCRIPT: &str = r#"
umask 077;
fail() { echo "@MARK@error $*"; exit 1; };
a=$(uname -m);
[ "$a" = "@ARCH@" ] || fail "its processor is $a, this program is for @ARCH@";
d="${XDG_CACHE_HOME:-$HOME/.cache}/plimsoll/agents/@SHA256@";
p="$d/plimsoll"; t="$p.$$";
e=$(mkdir -p "$d" 2>&1) || fail "$e";
d=$(cd -P "$d" && pwd -P) || fail "cannot enter $d";
[ -O "$d" ] || fail "$d belongs to another user";
u=$(id -u); x="$d"; h="set XDG_CACHE_HOME there to a folder in which nobody else can rename anything";
while :; do
set -- $(ls -ldn "$x/.");
[ "$3" = "$u" ] || [ "$3" = 0 ] || fail "$x belongs to another user; $h";
case "$1" in
?????????[tT]*) ;;
????????w*) fail "all users can write to ${x:-/}; $h";;
?????w*) [ "$u" != 0 ] || fail "a group can write to ${x:-/}; $h";;
esac;
[ -n "$x" ] || break;
x="${x%/*}";
done;
same() { [ -f "$p" ] && if command -v sha256sum >/dev/null 2>&1;
then s=$(sha256sum < "$p"); [ "${s%% *}" = "@SHA256@" ]; else [ "$(wc -c < "$p")" -eq @BYTES@ ]; fi; };
if ! same; then
trap "rm -f \"$t\"" 0 1 2 13 15;
echo "@MARK@send";
e=$( { head -c @BYTES@ > "$t"; } 2>&1) || fail "cannot write to $d: $e";
[ "$(wc -c < "$t")" -eq @BYTES@ ] || fail "the program did not come whole";
e=$(chmod 700 "$t" 2>&1 && mv -f "$t" "$p" 2>&1) || fail "$e";
same || fail "$p is not the program that was sent";
fi;
e=$("$p" --version 2>&1) ||
fail "cannot run the copy below ${d%/*} (mounted noexec, or is a library missing?): ${e##*: }; set XDG_CACHE_HOME there";
trap - 0 1 2 13 15;
echo "@MARK@go";
"$p" agent; c=$?;
echo "@MARK@ended $c" >&2;
exit "$c"
"#;

#[cfg(test)]
mod tests {
    use super::*;
    use agent::shell::{Word, ended, word};
    use std::env::consts::ARCH;
    use std::io::{BufRead, BufReader, Write};
    use std::process::{Command, Stdio};

    #[test]
    fn the_command_is_one_line_in_single_quotes() {
        let command = command("ab", 7, "x86_64");
        assert_eq!(command.matches('\'').count(), 2, "{command}");
        assert!(!command.contains('\n') && !command.contains('@'), "{command}");
    }

    /// Whoever can rename a parent puts a program of their own between the check and the start.
    #[test]
    fn a_folder_whose_parents_others_can_change_holds_no_copy() {
        use std::fs::{Permissions, create_dir, set_permissions};
        use std::os::unix::fs::PermissionsExt;
        let place = tempfile::tempdir().unwrap();
        let parent = place.path().join("open");
        create_dir(&parent).unwrap();
        let said = |mode: u32, cache: &std::path::Path| {
            set_permissions(&parent, Permissions::from_mode(mode)).unwrap();
            let mut shell = Command::new("/bin/sh");
            shell.arg("-c").arg(command(&"a0".repeat(32), 7, ARCH)).env("XDG_CACHE_HOME", cache).stdin(Stdio::null());
            String::from_utf8(shell.output().unwrap().stdout).unwrap().lines().find_map(word)
        };
        let inner = parent.join("inner");
        let Some(Word::Error(error)) = said(0o777, &inner) else { panic!("it is taken") };
        assert!(error.contains("all users can write to") && error.contains("XDG_CACHE_HOME"), "{error}");
        // A link to it leads to the same place.
        std::os::unix::fs::symlink(&parent, place.path().join("link")).unwrap();
        assert!(matches!(said(0o777, &place.path().join("link")), Some(Word::Error(_))));
        for mode in [0o755, 0o1777] {
            assert_eq!(said(mode, &inner), Some(Word::Send), "{mode:o}");
        }
    }

    #[test]
    fn a_copy_that_breaks_off_is_removed_also_when_nobody_is_left_to_be_told() {
        let (home, sha256) = (tempfile::tempdir().unwrap(), "a0".repeat(32));
        let mut shell = Command::new("/bin/sh");
        shell.arg("-c").arg(command(&sha256, 1 << 20, ARCH)).env("HOME", home.path()).env_remove("XDG_CACHE_HOME");
        let mut shell = shell.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (mut stdout, mut line) = (BufReader::new(shell.stdout.take().unwrap()), String::new());
        stdout.read_line(&mut line).unwrap();
        assert_eq!(word(&line), Some(Word::Send));
        drop(stdout);
        let mut stdin = shell.stdin.take().unwrap();
        stdin.write_all(&[0; 4096]).unwrap();
        drop(stdin);
        assert!(!shell.wait().unwrap().success());
        let folder = home.path().join(".cache/plimsoll/agents").join(sha256);
        let left: Vec<_> = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
        assert!(left.is_empty(), "{left:?}");
    }

    /// That of a killed agent was taken for a connection that there had never been.
    #[test]
    fn how_the_agent_ended_is_told_last() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join(".cache/plimsoll/agents/ab");
        std::fs::create_dir_all(&folder).unwrap();
        let program = "#!/bin/sh\n[ \"$1\" = agent ] || exit 0\necho hello\nkill -9 $$\n";
        // A program that this process writes itself cannot be executed while another thread starts one.
        let mut writer = Command::new("sh");
        writer.args(["-c", "cat >\"$0\" && chmod 700 \"$0\""]).arg(folder.join("plimsoll")).stdin(Stdio::piped());
        let mut writer = writer.spawn().unwrap();
        writer.stdin.take().unwrap().write_all(program.as_bytes()).unwrap();
        assert!(writer.wait().unwrap().success());
        // Without sha256sum the number of bytes decides.
        let script = command("ab", program.len() as u64, ARCH).replace("command -v sha256sum", "false");
        let mut shell = Command::new("/bin/sh");
        let told = shell.arg("-c").arg(script).env("HOME", home.path()).env_remove("XDG_CACHE_HOME").output().unwrap();
        assert_eq!(String::from_utf8_lossy(&told.stdout), format!("{MARK}go\nhello\n"));
        assert_eq!((told.status.code(), ended(&String::from_utf8_lossy(&told.stderr))), (Some(137), Some(137)));
    }
}
