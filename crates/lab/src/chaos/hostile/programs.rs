//! Servers that mean harm to whoever starts and measures them. Each serves as it should beside that.

/// One of them, as a shell script. Its first argument is the port; `$PLIMSOLL` is plimsoll, `$CANARY` a file that is not its
/// business, and `$MISLEADING` plimsoll with a file that misleads whoever reads it.
pub(super) struct Program {
    pub(super) name: &'static str,
    /// In words, for the page.
    pub(super) made: &'static str,
    /// What it does before it serves.
    pub(super) deed: &'static str,
    /// How it serves; by default as plimsoll's built-in server does.
    pub(super) serves: &'static str,
    pub(super) is_profiled: bool,
}

/// A server of plimsoll's.
const SERVES: &str = r#"exec "$PLIMSOLL" target --listen 127.0.0.1:$1"#;
/// Says nothing of its own.
const PLAIN: Program = Program { name: "", made: "", deed: "", serves: SERVES, is_profiled: false };

/// All of them. What they start ends by itself within half a minute.
pub(super) const PROGRAMS: [Program; 9] = [
    Program {
        name: "chain",
        made: "a process that leaves its session, ignores signals, and forks and ends every 0.3 ms",
        deed: r#"perl -e 'use POSIX (); POSIX::setsid(); $SIG{$_} = "IGNORE" for qw(TERM HUP INT); my $end = time + 25;
while (time < $end) { my $pid = fork; exit if $pid; select undef, undef, undef, 0.0003 }' &"#,
        ..PLAIN
    },
    Program {
        name: "herd",
        made: "100 processes in sessions of their own that ignore signals and hold its output open",
        deed: r#"perl -e 'use POSIX (); for (1 .. 100) { next if fork; POSIX::setsid();
$SIG{$_} = "IGNORE" for qw(TERM HUP INT); sleep 25; exit }' &"#,
        ..PLAIN
    },
    Program {
        name: "names",
        made: "processes with names of control characters, brackets, line ends and no UTF-8",
        deed: r#"perl -e 'for my $n ("\xff\xfe", ") R 1 1 (", "a\nb", " ", "\e[31m\e]0;x\a") { next if fork; $0 = $n;
$SIG{TERM} = "IGNORE"; sleep 25; exit }' &"#,
        ..PLAIN
    },
    Program {
        name: "flood",
        made: "output without an end on stdout and stderr",
        deed: r#"perl -e 'my $x = "\e[2J" . "x" x 65536 . "\n"; my $end = time + 20; while (time < $end) { print $x; print STDERR $x }' &"#,
        ..PLAIN
    },
    Program {
        name: "links",
        made: "links to a file of somebody else's in the place of its directories and logs",
        deed: r#"for d in "$HOME" "$TMPDIR" "$HOME/../log" "$HOME/../run"; do
for f in "$d"/* "$d"/server.log "$d"/out "$d"/error.log; do rm -rf "$f"; ln -s "$CANARY" "$f"; done
mv "$d" "$d.old"; ln -s "$(dirname "$CANARY")" "$d"; done 2> /dev/null"#,
        ..PLAIN
    },
    Program {
        name: "misleading",
        made: "a program file whose debug information says that it has 64 TiB, under --profile",
        serves: r#"exec "$MISLEADING" target --listen 127.0.0.1:$1"#,
        is_profiled: true,
        ..PLAIN
    },
    Program {
        name: "stops",
        made: "a server that stops itself while it is measured, and with it whoever else is in its group",
        deed: "(sleep 0.7; kill -STOP 0) &",
        ..PLAIN
    },
    Program {
        name: "dies",
        made: "a server that is killed while it is measured, and whose children go on",
        deed: "(trap '' TERM HUP; sleep 0.7; kill -KILL $$; sleep 25) &",
        ..PLAIN
    },
    Program {
        name: "closes",
        made: "a server that closes what it was given, and writes into all that it can reach of its starter",
        deed: r#"perl -e 'for my $fd (glob "/proc/*/fd/*") { next unless -w $fd; next unless -p $fd || -S $fd; open my $f, ">>", $fd or next;
$f->blocking(0); syswrite $f, "{\"Ended\":0}\n\xff" }' > /dev/null 2>&1 < /dev/null & exec < /dev/null"#,
        ..PLAIN
    },
];

impl Program {
    /// The script as a whole.
    pub(super) fn script(&self, plimsoll: &str, canary: &str, misleading: &str) -> String {
        let names = [("PLIMSOLL", plimsoll), ("CANARY", canary), ("MISLEADING", misleading)];
        let names: String = names.iter().map(|(name, path)| format!("{name}='{path}'\n")).collect();
        format!("{names}export PLIMSOLL CANARY MISLEADING\n{}\n{}\n", self.deed, self.serves)
    }
}
