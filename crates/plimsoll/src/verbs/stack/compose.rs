//! `plimsoll stack compose`: the files of a stack for containers.

use super::spec;
use crate::cli::stack::ComposeArgs;
use crate::exit::{CommandError, Exit};
use crate::output::printer;
use crate::session::serving;
use model::Redacted;
use rustix::process::{getegid, geteuid};
use std::fs::{DirBuilder, OpenOptions, create_dir_all};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, chown};
use std::path::Path;

/// Writes them to a directory that is not there yet.
pub(super) fn compose(args: &ComposeArgs) -> Result<Exit, CommandError> {
    let spec = spec(&args.server, &args.settings, Vec::new())?;
    let caller = (geteuid().as_raw(), getegid().as_raw());
    let compose = stack::compose(&spec, caller).map_err(serving::command_error)?;
    let dir = &args.output;
    let shown = Redacted::text(&dir.display().to_string()).into_inner();
    write(dir, &compose).map_err(|error| CommandError::usage(format!("--output {shown}: {error}")))?;
    printer::result(&format!(
        "{shown}/compose.yaml\nstart   cd {shown} && podman-compose up -d     (or docker compose up -d)\n\
         url     {}\nauth    --auth basic:file:{shown}/conf/admin.key\n",
        compose.url
    ))?;
    Ok(Exit::Fine)
}

fn write(dir: &Path, compose: &stack::Compose) -> io::Result<()> {
    // Others have no business in it: there are passwords.
    DirBuilder::new().mode(0o700).create(dir)?;
    let own = |path: &Path| chown(path, Some(compose.owner.0), Some(compose.owner.1));
    own(dir)?;
    for folder in compose.folders {
        create_dir_all(dir.join(folder))?;
        own(&dir.join(folder))?;
    }
    for (name, content) in &compose.files {
        let path = dir.join(name);
        for folder in Path::new(name).ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty()) {
            create_dir_all(dir.join(folder))?;
            own(&dir.join(folder))?;
        }
        let mode = if name.ends_with(".key") { 0o600 } else { 0o644 };
        OpenOptions::new().write(true).create_new(true).mode(mode).open(&path)?.write_all(content)?;
        own(&path)?;
    }
    Ok(())
}
