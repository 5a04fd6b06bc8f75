//! Machines that mean harm to the coordinator whose agents they run. A script in the place of ssh runs the agent as it should,
//! and a filter behind it damages what the agent says.

/// One of them.
pub(super) struct Agent {
    pub(super) name: &'static str,
    /// In words, for the page.
    pub(super) made: &'static str,
    /// What stands in the place of the agent. `$*` runs it, and `$AT` is a number of bytes.
    pub(super) script: &'static str,
}

/// A filter in perl that copies `$ENV{AT}` bytes, and then does something.
macro_rules! after {
    ($deed:literal) => {
        concat!(
            r#"sh -c "$*" | perl -e '$| = 1; my $left = $ENV{AT}; while (sysread STDIN, my $b, 4096) {
if ($left >= length $b) { $left -= length $b; syswrite STDOUT, $b; next } "#,
            $deed,
            " $left = 1 << 40; }'"
        )
    };
}

/// All of them.
pub(super) const AGENTS: [Agent; 9] = [
    Agent { name: "silent", made: "says nothing for 15 s, and ends", script: "exec sleep 15" },
    Agent { name: "zeros", made: "zeros without an end", script: "exec cat /dev/zero" },
    Agent { name: "noise", made: "random bytes without an end", script: "exec cat /dev/urandom" },
    Agent {
        name: "banner",
        made: "lines of a banner without an end",
        script: r"exec perl -e 'while (1) { print qq(welcome \e[31m token=hunter2\n) or exit }'",
    },
    Agent {
        name: "flipped",
        made: "an agent of which a byte is changed",
        script: after!("substr($b, $left, 1) ^= chr(1 << int rand 8); syswrite STDOUT, $b;"),
    },
    Agent {
        name: "cut",
        made: "an agent of which bytes are left out",
        script: after!("substr($b, $left, 1 + int rand 7, q()); syswrite STDOUT, $b;"),
    },
    Agent {
        name: "repeated",
        made: "an agent of which a piece comes twice",
        script: after!("syswrite STDOUT, $b; syswrite STDOUT, substr $b, $left;"),
    },
    Agent {
        name: "inserted",
        made: "an agent into which random bytes are put",
        script: after!(
            "syswrite STDOUT, substr $b, 0, $left; syswrite STDOUT, join q(), map { chr int rand 256 } 1 .. 1 + int rand 64; \
             syswrite STDOUT, substr $b, $left;"
        ),
    },
    Agent {
        name: "stopped",
        made: "an agent of which nothing more comes, while it goes on",
        script: after!("syswrite STDOUT, substr $b, 0, $left; while (sysread STDIN, $b, 4096) {} exit;"),
    },
];

impl Agent {
    /// The script in the place of ssh.
    pub(super) fn reach(&self, home: &str, at: u64) -> String {
        format!(
            "#!/bin/sh\nwhile [ \"$1\" != -- ]; do shift; done\nshift 2\nunset XDG_CACHE_HOME\nexport HOME='{home}' AT={at}\n{}\n",
            self.script
        )
    }
}
