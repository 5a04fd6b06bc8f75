//! Apache httpd in front of php-fpm.

use super::super::{CERTIFICATE, KEY, on_off};
use super::{STATUS_SOCKET, listen};
use crate::error::StackError;
use crate::layout::Process;
use crate::place::Place;
use crate::settings::Settings;
use crate::spec::Spec;
use std::path::Path;

pub(super) const CONFIG: &str = "conf/apache.conf";
const MODULES: &str = "/usr/lib/apache2/modules";
/// Requests that one of its processes serves at once.
const THREADS: u32 = 64;

pub(super) fn process(place: &Place) -> Result<Process, StackError> {
    let program = place.helper(&["apache2", "httpd"], "apache2-bin")?;
    if !Path::new(MODULES).is_dir() {
        return Err(StackError::Wrong(format!(
            "{MODULES} is not there: apt-get install apache2-bin, or take front=nginx"
        )));
    }
    Ok(Process::new("apache", program).args(["-DFOREGROUND", "-f", &place.text(CONFIG)]))
}

pub(super) fn configuration(spec: &Spec, place: &Place) -> Result<String, StackError> {
    let settings = &spec.settings;
    if settings.worker_connections != Settings::default().worker_connections {
        return Err(StackError::Wrong("worker-connections is nginx's: leave it out with front=apache".into()));
    }
    let run = place.text("run");
    Ok(format!(
        "ServerRoot {state}\nServerName 127.0.0.1\nListen 127.0.0.1:{port}\nListenBackLog {backlog}\n\
         PidFile {run}/apache.pid\nDefaultRuntimeDir {run}\nMutex pthread default\nErrorLog {errors}\n\
         {modules}\
         StartServers {workers}\nServerLimit {workers}\nThreadsPerChild {THREADS}\nMaxRequestWorkers {all}\n\
         MaxSpareThreads {spare}\nMaxConnectionsPerChild 0\n\
         KeepAlive {keepalive}\nKeepAliveTimeout 75\nMaxKeepAliveRequests {requests}\nEnableSendfile {sendfile}\n\
         {extra}\
         DocumentRoot \"{root}\"\nDirectoryIndex index.php index.html\nFallbackResource /index.php\n\
         <Directory \"{root}\">\n  Options FollowSymLinks\n  AllowOverride None\n  Require all granted\n</Directory>\n\
         {php}",
        state = place.text(""),
        port = place.ports[0],
        backlog = settings.backlog,
        errors = place.text("log/error.log"),
        modules = modules(settings),
        workers = settings.workers,
        all = settings.workers * THREADS,
        // More than there are, so that none come and go under load.
        spare = (settings.workers + 1) * THREADS,
        keepalive = on_off(settings.keepalive),
        // 0 is without end.
        requests = settings.keepalive_requests.unwrap_or(0),
        sendfile = on_off(settings.sendfile),
        extra = log_gzip_tls(settings, place),
        root = place.docroot(spec),
        php = php(spec, place),
    ))
}

fn modules(settings: &Settings) -> String {
    let mut names = vec!["mpm_event", "authz_core", "dir", "proxy", "proxy_fcgi"];
    for (wanted, more) in [(settings.gzip, ["filter", "deflate"]), (settings.tls, ["socache_shmcb", "ssl"])] {
        names.extend(more.iter().filter(|_| wanted));
    }
    names.iter().map(|name| format!("LoadModule {name}_module {MODULES}/mod_{name}.so\n")).collect()
}

fn log_gzip_tls(settings: &Settings, place: &Place) -> String {
    let mut text = String::new();
    if settings.access_log {
        let path = place.text("log/access.log");
        text.push_str(&format!("LogFormat \"%h - - %t \\\"%r\\\" %>s %B\" common\nCustomLog {path} common\n"));
    }
    if settings.gzip {
        text.push_str(
            "AddOutputFilterByType DEFLATE text/html text/plain text/css application/javascript application/json\n",
        );
    }
    if settings.tls {
        let (chain, key) = (place.text(CERTIFICATE), place.text(KEY));
        text.push_str(&format!("SSLEngine on\nSSLCertificateFile {chain}\nSSLCertificateKeyFile {key}\n"));
        text.push_str(&format!("SSLSessionCache shmcb:{}(512000)\n", place.text("run/sessions")));
    }
    text
}

/// What is passed on: files only, so that a path that is none gets Apache's own 404 or the site's index.php.
fn php(spec: &Spec, place: &Place) -> String {
    let address = listen(spec, place);
    let pass = match spec.extras.text("socket") {
        "tcp" => format!("proxy:fcgi://{address}"),
        _ => format!("proxy:unix:{address}|fcgi://php-fpm"),
    };
    let mut text = format!(
        "<FilesMatch \"\\.php$\">\n  <If \"-f %{{REQUEST_FILENAME}}\">\n    SetHandler \"{pass}\"\n  </If>\n</FilesMatch>\n"
    );
    if spec.extras.on("status") {
        let socket = place.text(STATUS_SOCKET);
        text.push_str(&format!(
            "<Location /fpm-status>\n  SetHandler \"proxy:unix:{socket}|fcgi://fpm-status\"\n</Location>\n"
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<String, StackError> {
        let spec = Spec::parse(text).expect("known");
        configuration(&spec, &Place::example(&spec, "plimsoll".into()).expect("a place"))
    }

    #[test]
    fn it_loads_what_it_uses() {
        let text = of("php-fpm front=apache workers=2 tls=on gzip=on socket=tcp port=80").expect("it can be");
        for part in
            ["ssl_module", "deflate_module", "MaxRequestWorkers 128\n", "proxy:fcgi://127.0.0.1:81\"", "SSLEngine on"]
        {
            assert!(text.contains(part), "{part} in {text}");
        }
        let text = of("php-fpm front=apache status=off").expect("it can be");
        assert!(!text.contains("ssl") && !text.contains("deflate") && !text.contains("fpm-status"), "{text}");
    }

    #[test]
    fn what_apache_has_not_is_refused() {
        let error = of("php-fpm front=apache worker-connections=9").expect_err("nginx's").to_string();
        assert!(error.contains("leave it out with front=apache"), "{error}");
    }
}
