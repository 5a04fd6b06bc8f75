//! Apache httpd in front of php-fpm.

use super::super::apache::{CONFIG, Parts, configuration, process};
use super::super::on_off;
use super::{Additions, Front, Htaccess, STATUS_SOCKET, facing, listen};
use crate::error::StackError;
use crate::place::Place;
use crate::settings::Settings;
use crate::spec::Spec;

pub(super) fn front(spec: &Spec, place: &Place, added: &Additions) -> Result<Front, StackError> {
    if spec.settings.worker_connections != Settings::default().worker_connections {
        return Err(StackError::Wrong("worker-connections is nginx's: leave it out with front=apache".into()));
    }
    let htaccess = ("htaccess".to_owned(), on_off(added.htaccess != Htaccess::Ignored).to_owned());
    let config = config(spec, &facing("apache", spec, &[htaccess])?, place, added)?;
    Ok(Front { process: process(place)?, name: CONFIG, config })
}

/// Configuration of the Apache that `facing` asks for, in front of the php-fpm that `spec` asks for.
fn config(spec: &Spec, facing: &Spec, place: &Place, added: &Additions) -> Result<String, StackError> {
    let rewritten = if added.htaccess == Htaccess::Routes { "" } else { REWRITTEN };
    let text = format!("{rewritten}{}{}", php(spec, place), added.apache);
    let modules = [&["proxy", "proxy_fcgi", "rewrite"], added.modules].concat();
    configuration(facing, place, &Parts { modules: &modules, index: "index.php ", text: &text })
}

/// A path that is no file is the site's own affair. It is rewritten before anything else, not by an internal redirect, as a
/// cache would take all such paths for one; and not in subrequests (NS), with which the index of a directory is looked for:
/// `FallbackResource` answers `/folder/` by the site's index where the folder has an `index.php` and no `index.html`.
const REWRITTEN: &str = "RewriteEngine On\n\
    RewriteCond %{DOCUMENT_ROOT}%{REQUEST_URI} !-f\n\
    RewriteCond %{DOCUMENT_ROOT}%{REQUEST_URI} !-d\n\
    RewriteCond %{REQUEST_URI} !^/(fpm|server)-status\n\
    RewriteRule ^ /index.php [L,NS]\n";

/// What is passed on, credentials too as nginx does it: files only, so that a path that is none gets Apache's own 404 or the
/// site's index.php.
fn php(spec: &Spec, place: &Place) -> String {
    let address = listen(spec, place);
    let pass = match spec.extras.text("socket") {
        "tcp" => format!("proxy:fcgi://{address}"),
        _ => format!("proxy:unix:{address}|fcgi://php-fpm"),
    };
    let mut text = format!(
        "<Directory \"{root}\">\n  CGIPassAuth On\n</Directory>\n\
         <FilesMatch \"\\.php$\">\n  <If \"-f %{{REQUEST_FILENAME}}\">\n    SetHandler \"{pass}\"\n  </If>\n</FilesMatch>\n",
        root = place.docroot(&spec.settings),
    );
    if spec.extras.on("status") {
        let handler = format!("proxy:unix:{}|fcgi://fpm-status", place.text(STATUS_SOCKET));
        text.push_str(&format!("<Location /fpm-status>\n  SetHandler \"{handler}\"\n</Location>\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::super::tests::modules;
    use super::*;

    fn place(spec: &Spec) -> Place {
        Place::example(&spec.settings, "plimsoll".into()).expect("a place")
    }

    /// The configuration, with modules that are there.
    fn of(text: &str) -> String {
        configured(text, &Additions::default())
    }

    fn configured(text: &str, added: &Additions) -> String {
        let modules = modules(&[
            "mpm_event",
            "authz_core",
            "mime",
            "dir",
            "status",
            "socache_shmcb",
            "ssl",
            "proxy",
            "proxy_fcgi",
            "rewrite",
        ]);
        let spec = Spec::parse(text).expect("known");
        let mut facing = Spec::parse(&format!("apache modules={}", modules.path().display())).expect("known");
        facing.settings = spec.settings.clone();
        config(&spec, &facing, &place(&spec), added).expect("it can be")
    }

    #[test]
    fn php_is_passed_on() {
        let text = of("php-fpm front=apache workers=2 tls=on socket=tcp port=80");
        for part in ["proxy_fcgi_module", "SSLEngine on", "proxy:fcgi://127.0.0.1:81\"", "fcgi://fpm-status"] {
            assert!(text.contains(part), "{part} in {text}");
        }
        // A second directive adds to the first: index.html was served where a folder has both.
        assert_eq!(text.matches("DirectoryIndex").collect::<Vec<_>>().len(), 1, "{text}");
        assert!(text.contains("DirectoryIndex index.php index.html\n"), "{text}");
        let text = of("php-fpm front=apache status=off");
        assert!(text.contains("run/php-fpm.sock|fcgi://php-fpm") && !text.contains("fpm-status"), "{text}");
    }

    #[test]
    fn a_path_is_sent_to_the_site_by_the_configuration_or_by_htaccess() {
        let text = of("php-fpm front=apache");
        assert!(text.contains(REWRITTEN), "{text}");
        let routed =
            configured("php-fpm front=apache", &Additions { htaccess: Htaccess::Routes, ..Default::default() });
        assert!(!routed.contains("RewriteRule") && routed.contains("rewrite_module"), "{routed}");
    }

    #[test]
    fn what_apache_has_not_is_refused() {
        let spec = Spec::parse("php-fpm front=apache worker-connections=9").expect("known");
        let error = front(&spec, &place(&spec), &Additions::default()).err().expect("nginx's").to_string();
        assert!(error.contains("leave it out with front=apache"), "{error}");
    }
}
