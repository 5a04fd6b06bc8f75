//! A script in the place of ssh, which runs on this machine what it is told to run on another.

use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Each host is a home directory, and the numbers of its processes are left there.
const REACH: &str = r#"#!/bin/sh
while [ "$1" != -- ]; do shift; done
host=$2; shift 2
unset XDG_CACHE_HOME
export HOME="@HOMES@/$host"
mkdir -p "$HOME"
echo $$ >> "$HOME/pid"
[ ! -f "@HOMES@/profile" ] || . "@HOMES@/profile"
echo "welcome to $host"
exec sh -c "$*"
"#;

/// Writes it into `homes`, below which the hosts will be. Each host begins with the lines in the file `profile` there, if any.
///
/// # Errors
/// When it cannot be written.
pub fn reach(homes: &Path) -> io::Result<PathBuf> {
    let script = homes.join("reach");
    std::fs::write(&script, REACH.replace("@HOMES@", &homes.to_string_lossy()))?;
    std::fs::set_permissions(&script, Permissions::from_mode(0o755))?;
    Ok(script)
}
