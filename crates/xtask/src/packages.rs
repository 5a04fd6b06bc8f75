//! Programs that come from Debian packages: found, installed, or named in one clear line.

use std::path::PathBuf;

use ::packages::Apt;
use anyhow::{Context, Result, bail};

/// A program, or a file by its full path, and the Debian packages that bring it, best first.
pub struct Tool {
    program: &'static str,
    packages: &'static [&'static str],
}

impl Tool {
    /// A program, or a file by its full path, and the packages that bring it.
    #[must_use]
    pub const fn new(program: &'static str, packages: &'static [&'static str]) -> Self {
        Self { program, packages }
    }
}

/// What the tests run beside the product: other servers, other clients, a browser, and the means to isolate them.
pub const FOR_TESTS: &[Tool] = &[
    Tool { program: "nginx", packages: &["nginx-light", "nginx"] },
    Tool { program: "/usr/lib/nginx/modules/ngx_http_lua_module.so", packages: &["libnginx-mod-http-lua"] },
    Tool { program: "apache2", packages: &["apache2-bin"] },
    Tool { program: "/usr/lib/apache2/modules/mod_evasive20.so", packages: &["libapache2-mod-evasive"] },
    Tool { program: "lighttpd", packages: &["lighttpd"] },
    Tool { program: "/usr/lib/lighttpd/mod_openssl.so", packages: &["lighttpd-mod-openssl"] },
    Tool { program: "/usr/lib/lighttpd/mod_deflate.so", packages: &["lighttpd-mod-deflate"] },
    Tool { program: "caddy", packages: &["caddy"] },
    Tool { program: "haproxy", packages: &["haproxy"] },
    Tool { program: "varnishd", packages: &["varnish"] },
    Tool { program: "php-fpm8.2", packages: &["php8.2-fpm"] },
    Tool { program: "php8.2", packages: &["php8.2-cli"] },
    Tool { program: "/usr/lib/php/20220829/mysqli.so", packages: &["php8.2-mysql"] },
    Tool { program: "/usr/lib/php/20220829/excimer.so", packages: &["php-excimer"] },
    Tool { program: "/usr/lib/php/20220829/apcu.so", packages: &["php-apcu"] },
    Tool { program: "/usr/lib/php/20220829/redis.so", packages: &["php-redis"] },
    Tool { program: "/usr/share/wordpress/wp-load.php", packages: &["wordpress"] },
    Tool {
        program: "/usr/share/wordpress/wp-content/themes/twentytwentythree/style.css",
        packages: &["wordpress-theme-twentytwentythree"],
    },
    Tool { program: "python3", packages: &["python3-minimal"] },
    Tool { program: "/usr/lib/python3.11/ctypes/__init__.py", packages: &["libpython3.11-stdlib"] },
    Tool { program: "redis-server", packages: &["redis-server"] },
    Tool { program: "mariadbd", packages: &["mariadb-server-core"] },
    Tool { program: "mariadb", packages: &["mariadb-client-core"] },
    Tool { program: "gunicorn", packages: &["gunicorn"] },
    Tool { program: "python3", packages: &["python3"] },
    Tool { program: "setpriv", packages: &["util-linux"] },
    Tool { program: "unshare", packages: &["util-linux"] },
    Tool { program: "prlimit", packages: &["util-linux"] },
    Tool { program: "setsid", packages: &["util-linux"] },
    Tool { program: "mkfs.ext2", packages: &["e2fsprogs"] },
    Tool { program: "perl", packages: &["perl-base"] },
    Tool { program: "wrk", packages: &["wrk"] },
    Tool { program: "ab", packages: &["apache2-utils"] },
    Tool { program: "httperf", packages: &["httperf"] },
    Tool { program: "curl", packages: &["curl"] },
    Tool { program: "chromium", packages: &["chromium"] },
    Tool { program: "iptables-legacy", packages: &["iptables"] },
    Tool { program: "ip", packages: &["iproute2"] },
    Tool { program: "ss", packages: &["iproute2"] },
    Tool { program: "tc", packages: &["iproute2"] },
    Tool { program: "pidstat", packages: &["sysstat"] },
    Tool { program: "vmstat", packages: &["procps"] },
    Tool { program: "pgrep", packages: &["procps"] },
    Tool { program: "time", packages: &["time"] },
    Tool { program: "perf", packages: &["linux-perf"] },
    Tool { program: "node", packages: &["nodejs"] },
    Tool { program: "/usr/sbin/sshd", packages: &["openssh-server"] },
    Tool { program: "ssh", packages: &["openssh-client"] },
    Tool { program: "slurmctld", packages: &["slurmctld"] },
    Tool { program: "slurmd", packages: &["slurmd"] },
    Tool { program: "srun", packages: &["slurm-client"] },
    Tool { program: "munged", packages: &["munge"] },
];

/// What the side-by-side measurement needs.
pub const FOR_PEERS: &[Tool] = &[
    Tool { program: "nginx", packages: &["nginx-light", "nginx"] },
    Tool { program: "wrk", packages: &["wrk"] },
    Tool { program: "h2load", packages: &["nghttp2-client"] },
    Tool { program: "ab", packages: &["apache2-utils"] },
    Tool { program: "httperf", packages: &["httperf"] },
    Tool { program: "hey", packages: &["hey"] },
    Tool { program: "siege", packages: &["siege"] },
    Tool { program: "ip", packages: &["iproute2"] },
    Tool { program: "taskset", packages: &["util-linux"] },
    Tool { program: "setpriv", packages: &["util-linux"] },
    Tool { program: "time", packages: &["time"] },
];

/// Makes sure every tool is there: installs what is missing when we are root, fails otherwise.
pub fn ensure(tools: &[Tool]) -> Result<()> {
    let missing: Vec<&Tool> = tools.iter().filter(|tool| find(tool.program).is_none()).collect();
    if missing.is_empty() {
        return Ok(());
    }
    if !rustix::process::geteuid().is_root() {
        let names: Vec<&str> = missing.iter().map(|tool| tool.packages[0]).collect();
        bail!("missing Debian package(s) {0}: run `apt-get install {0}` as root", names.join(" "));
    }
    let apt = Apt::begin().context("cannot keep packages from starting services")?;
    println!("     apt-get update");
    // The install below decides.
    let _ = apt.update();
    // All at once takes half the time; what has another name here is left for the next step.
    let first: Vec<&str> = missing.iter().map(|tool| tool.packages[0]).collect();
    println!("     apt-get install {}", first.join(" "));
    let _ = apt.install(&first);
    for tool in missing.into_iter().filter(|tool| find(tool.program).is_none()) {
        let installed = tool.packages.iter().any(|package| {
            println!("     apt-get install {package}");
            apt.install(&[*package]).is_ok() && find(tool.program).is_some()
        });
        if !installed {
            bail!("`{}` is missing and Debian package {} cannot be installed", tool.program, tool.packages[0]);
        }
    }
    Ok(())
}

/// Full path of a program; the sbin folders count even when PATH leaves them out.
pub fn find(program: &str) -> Option<PathBuf> {
    // Without the variable programs are looked for there (execvp(3)).
    let path = std::env::var_os("PATH").unwrap_or_else(|| "/bin:/usr/bin".into());
    let sbin = ["/usr/sbin", "/sbin"].map(PathBuf::from);
    std::env::split_paths(&path).chain(sbin).map(|folder| folder.join(program)).find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::{Tool, ensure, find};

    #[test]
    fn a_program_is_found_by_its_full_path() {
        assert!(find("sh").is_some_and(|path| path.is_absolute()));
        assert_eq!(find("no-such-program-anywhere"), None);
        assert_eq!(find("/etc/passwd"), Some("/etc/passwd".into()), "a full path stands for itself");
        assert_eq!(find("/usr/lib/no-such-file"), None);
    }

    #[test]
    fn nothing_is_installed_when_nothing_is_missing() {
        assert!(ensure(&[Tool { program: "sh", packages: &["no-such-package"] }]).is_ok());
    }
}
