//! Apache httpd in front of php-fpm.

use super::super::apache::{CONFIG, Parts, configuration, process};
use super::{Front, STATUS_SOCKET, facing, listen};
use crate::error::StackError;
use crate::place::Place;
use crate::settings::Settings;
use crate::spec::Spec;

pub(super) fn front(spec: &Spec, place: &Place) -> Result<Front, StackError> {
    if spec.settings.worker_connections != Settings::default().worker_connections {
        return Err(StackError::Wrong("worker-connections is nginx's: leave it out with front=apache".into()));
    }
    let text = format!("DirectoryIndex index.php index.html\nFallbackResource /index.php\n{}", php(spec, place));
    let parts = Parts { modules: &["proxy", "proxy_fcgi"], text: &text };
    let config = configuration(&facing("apache", spec)?, place, &parts)?;
    Ok(Front { process: process(place)?, name: CONFIG, config })
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
        let handler = format!("proxy:unix:{}|fcgi://fpm-status", place.text(STATUS_SOCKET));
        text.push_str(&format!("<Location /fpm-status>\n  SetHandler \"{handler}\"\n</Location>\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<String, StackError> {
        let spec = Spec::parse(text).expect("known");
        front(&spec, &Place::example(&spec, "plimsoll".into()).expect("a place")).map(|front| front.config)
    }

    #[test]
    fn php_is_passed_on() {
        let text = of("php-fpm front=apache workers=2 tls=on socket=tcp port=80").expect("it can be");
        for part in ["proxy_fcgi_module", "SSLEngine on", "proxy:fcgi://127.0.0.1:81\"", "fcgi://fpm-status"] {
            assert!(text.contains(part), "{part} in {text}");
        }
        let text = of("php-fpm front=apache status=off").expect("it can be");
        assert!(text.contains("run/php-fpm.sock|fcgi://php-fpm") && !text.contains("fpm-status"), "{text}");
    }

    #[test]
    fn what_apache_has_not_is_refused() {
        let error = of("php-fpm front=apache worker-connections=9").expect_err("nginx's").to_string();
        assert!(error.contains("leave it out with front=apache"), "{error}");
    }
}
