//! What is laid over a copy of WordPress, and what its pages have to hold.

use super::super::mariadb::SOCKET;
use super::super::redis;
use crate::layout::{Body, PAGE_END};
use crate::place::Place;
use crate::spec::Spec;

/// The folder of it, which the server reads.
pub(super) const OWN_FILES: &str = "www";

/// The configuration, and drop-ins for what is asked for.
pub(super) fn own_files(spec: &Spec, place: &Place) -> Vec<(String, Vec<u8>)> {
    let is = |name: &str, value: &str| spec.extras.text(name) == value;
    let htaccess = match spec.extras.text("htaccess") {
        "shipped" => concat!(include_str!("htaccess-types"), include_str!("htaccess")),
        _ => include_str!("htaccess"),
    };
    let files: [(bool, &str, String); 5] = [
        (true, "wp-config.php", configuration(spec, place)),
        (is("page_cache", "php"), "wp-content/advanced-cache.php", include_str!("advanced-cache.php").into()),
        (!is("object_cache", "off"), "wp-content/object-cache.php", include_str!("object-cache.php").into()),
        (!is("htaccess", "off"), ".htaccess", htaccess.into()),
        (spec.extras.time_ns("wait") > 0, "wp-content/mu-plugins/wait.php", include_str!("wait.php").into()),
    ];
    let wanted = files.into_iter().filter(|(wanted, ..)| *wanted);
    wanted.map(|(_, name, text)| (format!("{OWN_FILES}/{name}"), text.into_bytes())).collect()
}

fn configuration(spec: &Spec, place: &Place) -> String {
    let text = |name: &str, value: &str| format!("define('{name}', '{value}');\n");
    let mut more = String::new();
    if spec.extras.text("page_cache") == "php" {
        more.push_str("define('WP_CACHE', true);\n");
        more.push_str(&text("PLIMSOLL_PAGES", &place.text("tmp/pages")));
    }
    match spec.extras.text("object_cache") {
        "off" => {}
        store => {
            more.push_str(&text("PLIMSOLL_OBJECT_CACHE", store));
            more.push_str(&text("PLIMSOLL_REDIS", &place.text(redis::SOCKET)));
        }
    }
    match spec.extras.time_ns("wait") / 1000 {
        0 => {}
        us => more.push_str(&format!("define('PLIMSOLL_WAIT_US', {us});\n")),
    }
    let template = include_str!("wp-config.php.in").replace("{socket}", &place.text(SOCKET));
    template.replace("{secret}", &place.secret).replace("{more}", &more)
}

/// What a page has to hold: its end, and on the front page the title of the latest post, where that is known.
pub(super) fn expected(spec: &Spec, latest: Option<String>) -> Option<Body> {
    let path = spec.settings.path.split('?').next().unwrap_or_default();
    let is_page = path.ends_with('/') && !path.starts_with("/wp-json/");
    let latest = latest.filter(|_| spec.settings.path == "/");
    is_page.then(|| Body::Holds([Some(PAGE_END.to_owned()), latest].into_iter().flatten().collect()))
}

#[cfg(test)]
mod tests {
    use super::super::content::Amount;
    use super::super::tests::of;
    use super::*;

    #[test]
    fn the_configuration_is_as_stored() {
        let (spec, place) = of("wordpress page_cache=php object_cache=redis wait=20ms");
        insta::assert_snapshot!("wp_config", configuration(&spec, &place));
    }

    #[test]
    fn only_what_is_asked_for_is_laid_over_the_site() {
        let names = |text: &str| {
            let (spec, place) = of(text);
            own_files(&spec, &place).into_iter().map(|(name, _)| name).collect::<Vec<_>>()
        };
        assert_eq!(names("wordpress page_cache=nginx"), ["www/wp-config.php"]);
        assert_eq!(names("wordpress page_cache=php")[1..], ["www/wp-content/advanced-cache.php"]);
        assert_eq!(names("wordpress object_cache=apcu")[1..], ["www/wp-content/object-cache.php"]);
        assert_eq!(names("wordpress wait=1ms")[1..], ["www/wp-content/mu-plugins/wait.php"]);
        let (spec, place) = of("wordpress htaccess=trimmed");
        let [.., (name, trimmed)] = &own_files(&spec, &place)[..] else { panic!("no file") };
        let (spec, place) = of("wordpress htaccess=shipped");
        let [.., (_, shipped)] = &own_files(&spec, &place)[..] else { panic!("no file") };
        assert!(name == "www/.htaccess" && shipped.ends_with(trimmed) && shipped.len() > 8_000, "{}", shipped.len());
        let (spec, place) = of("wordpress");
        let text = configuration(&spec, &place);
        assert!(!text.contains("PLIMSOLL") && !text.contains("{more}"), "{text}");
    }

    #[test]
    fn pages_have_an_end_and_the_front_page_the_latest_post() {
        let holds = |text: &str| {
            let (spec, _) = of(text);
            match expected(&spec, Amount::of(&spec).expect("content").latest_title()) {
                Some(Body::Holds(texts)) => texts,
                other => panic!("{text}: {other:?}"),
            }
        };
        let front = holds("wordpress posts=20");
        assert!(front[0] == "</html>" && front[1].starts_with("Post 20 "), "{front:?}");
        assert_eq!(holds("wordpress path=/post-3/"), ["</html>"]);
        let (spec, _) = of("wordpress path=/wp-json/wp/v2/posts");
        assert_eq!(expected(&spec, None), None);
    }
}
