//! The servers of which the truth is known: each computes a response in a number of rounds that its files or flags say.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use xtask::packages::{self, Tool};

use crate::install::Origin;

/// What stands for the number of rounds in a file.
const ROUNDS: &str = "ROUNDS";
const GO: &str = include_str!("variants/server.go");
const NGINX: &str = include_str!("variants/nginx.conf");
const PHP: &str = include_str!("variants/index.php");

static FOR_NGINX: [Tool; 2] = [
    Tool::new("nginx", &["nginx-light", "nginx"]),
    Tool::new("/usr/lib/nginx/modules/ngx_http_lua_module.so", &["libnginx-mod-http-lua"]),
];
static FOR_PHP: [Tool; 2] = [Tool::new("nginx", &["nginx-light", "nginx"]), Tool::new("php-fpm8.2", &["php8.2-fpm"])];

/// A server that can be made a little slower.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub enum Server {
    /// Go's net/http with SHA-256 hashes; needs Go
    Go,
    /// nginx with MD5 hashes in Lua
    Nginx,
    /// php-fpm behind nginx with MD5 hashes in PHP
    Php,
}

impl Server {
    pub(super) const ALL: [Self; 3] = [Self::Go, Self::Nginx, Self::Php];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Go => "go",
            Self::Nginx => "nginx",
            Self::Php => "php",
        }
    }

    /// The server in a few words.
    pub(super) const fn about(self) -> &'static str {
        match self {
            Self::Go => "net/http of Go with SHA-256 hashes",
            Self::Nginx => "nginx with MD5 hashes in Lua",
            Self::Php => "php-fpm behind nginx with MD5 hashes in PHP",
        }
    }

    /// Rounds of a response before the change.
    pub(super) const fn rounds(self) -> u32 {
        match self {
            Self::Go | Self::Php => 2000,
            Self::Nginx => 1000,
        }
    }

    /// Rounds more by which it is measured how much CPU time rounds take: about 30 % more.
    pub(super) const fn rounds_of_truth(self) -> u32 {
        match self {
            Self::Go => 860,
            Self::Nginx => 360,
            Self::Php => 940,
        }
    }

    /// True if nothing has to be installed that this program does not install.
    #[must_use]
    pub fn can_be_had(self) -> bool {
        self != Self::Go || packages::find("go").is_some() || Path::new("/usr/local/go/bin/go").is_file()
    }

    fn origin(self) -> Origin {
        match self {
            Self::Go => Origin::Go(&[]),
            Self::Nginx => Origin::Debian(&FOR_NGINX),
            Self::Php => Origin::Debian(&FOR_PHP),
        }
    }

    /// Installs it, writes its files into a folder of `keep`, and returns the words that `--serve` takes for the variant before
    /// the change and for that with so many rounds more.
    pub(super) fn variants(self, keep: &Path, rounds_more: u32) -> Result<[String; 2]> {
        let folder = keep.join("variants").join(self.name());
        std::fs::create_dir_all(&folder).with_context(|| format!("creating {}", folder.display()))?;
        if self == Self::Go {
            write_source(&folder)?;
        }
        self.origin().install(&folder)?;
        let [before, after] = [0, rounds_more].map(|more| self.variant(&folder, self.rounds() + more));
        Ok([before?, after?])
    }

    /// The words of a variant with the path below the folder of this server: without the folders of this machine.
    pub(super) fn without_folders(self, variant: &str) -> String {
        let word = |word: &str| {
            let (key, value) = word.split_once('=').map_or(("", word), |(key, value)| (key, value));
            let folder = format!("/variants/{}/", self.name());
            let value = value.split_once(&folder).map_or(value, |(_, below)| below);
            if key.is_empty() { value.to_owned() } else { format!("{key}={value}") }
        };
        variant.split(' ').map(word).collect::<Vec<_>>().join(" ")
    }

    /// Writes what differs from variant to variant.
    fn variant(self, folder: &Path, rounds: u32) -> Result<String> {
        let write = |name: PathBuf, text: &str| -> Result<PathBuf> {
            let path = folder.join(name);
            let parent = path.parent().context("a file has a folder")?;
            std::fs::create_dir_all(parent)?;
            std::fs::write(&path, text.replace(ROUNDS, &rounds.to_string()))?;
            Ok(path)
        };
        Ok(match self {
            Self::Go => format!("command -- {} -rounds {rounds}", folder.join("server").display()),
            Self::Nginx => {
                let path = write(format!("{rounds}.conf").into(), NGINX)?;
                format!("nginx config={}", path.display())
            }
            Self::Php => {
                let page = write(Path::new(&rounds.to_string()).join("index.php"), PHP)?;
                format!("php-fpm root={}", page.parent().context("a file has a folder")?.display())
            }
        })
    }
}

/// Writes the program; the build of another source is removed, so that it is built again.
fn write_source(folder: &Path) -> Result<()> {
    let source = folder.join("main.go");
    if std::fs::read_to_string(&source).is_ok_and(|text| text == GO) {
        return Ok(());
    }
    match std::fs::remove_file(folder.join("server")) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error).context("removing an old build"),
        _ => std::fs::write(&source, GO).with_context(|| format!("writing {}", source.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::{Server, write_source};

    #[test]
    fn the_variants_of_a_server_differ_in_their_rounds_alone() {
        let folder = tempfile::tempdir().unwrap();
        for server in Server::ALL {
            let before = server.rounds();
            let [one, other] = [before, before + 7].map(|rounds| server.variant(folder.path(), rounds).unwrap());
            assert_eq!(one.replace(&before.to_string(), &(before + 7).to_string()), other);
        }
        let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
        assert!(read("1000.conf").contains("for _ = 1, 1000 do") && read("2000/index.php").contains("$round < 2000;"));
    }

    #[test]
    fn folders_of_a_machine_are_not_shown() {
        let nginx = Server::Nginx.without_folders("nginx config=/a/b/variants/nginx/1000.conf");
        assert_eq!(nginx, "nginx config=1000.conf");
        let go = Server::Go.without_folders("command -- /keep/variants/go/server -rounds 2000");
        assert_eq!(go, "command -- server -rounds 2000");
    }

    #[test]
    fn a_build_goes_when_its_source_changes() {
        let folder = tempfile::tempdir().unwrap();
        let build = folder.path().join("server");
        write_source(folder.path()).unwrap();
        std::fs::write(&build, "built").unwrap();
        write_source(folder.path()).unwrap();
        assert!(build.exists(), "the source is the same");
        std::fs::write(folder.path().join("main.go"), "package main").unwrap();
        write_source(folder.path()).unwrap();
        assert!(!build.exists());
    }
}
