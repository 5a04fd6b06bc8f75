//! WordPress: a site with dummy content, on a database and php-fpm behind nginx or Apache.
//!
//! The site is a copy that belongs to the server's user, as the installation of a real site does. What the content is made of
//! is [`content`]'s; the scripts only store it.

mod cache;
mod content;
pub(crate) mod import;
mod needed;
mod site;

use super::mariadb::{BUFFER_POOL, FLUSH_LOG, MAX_CONNECTIONS, SOCKET};
use super::php_fpm::{self, Additions, CHILDREN, FRONT, Htaccess, LISTEN_BACKLOG, OPCACHE, PHP_PROFILE, PM, STATUS};
use super::{Server, redis};
use crate::error::StackError;
use crate::extra::{Extra, Takes};
use crate::layout::{Layout, Process};
use crate::place::Place;
use crate::programs;
use crate::spec::Spec;
use content::Amount;
use import::Imported;
use model::{Contract, Request};
use needed::{needed, php, source};
use site::{OWN_FILES, expected, own_files};
use std::path::Path;

pub(super) const WORDPRESS: Server = Server {
    name: "wordpress",
    about: "WordPress with dummy content on php-fpm and MariaDB, behind nginx or Apache (packages wordpress, php-mysql, ...)",
    knows: &[
        "workers",
        "worker-connections",
        "keepalive",
        "keepalive-requests",
        "access-log",
        "tls",
        "gzip",
        "sendfile",
        "backlog",
    ],
    extras: EXTRAS,
    programs: &["php-fpm", "nginx", "apache2", "mariadbd", "mysqld", "redis-server"],
    limits: php_fpm::limits,
    layout,
};

const EXTRAS: &[Extra] = &[
    FRONT,
    PM,
    CHILDREN,
    LISTEN_BACKLOG,
    OPCACHE,
    STATUS,
    PHP_PROFILE,
    Extra {
        name: "page_cache",
        default: "off",
        takes: Takes::Word(&["off", "nginx", "apache", "php"]),
        meaning: "pages kept for 10 minutes: by nginx (fastcgi_cache), Apache (mod_cache_disk) or PHP (a drop-in of plimsoll)",
    },
    Extra {
        name: "htaccess",
        default: "off",
        takes: Takes::Word(&["off", "trimmed", "shipped"]),
        meaning: "Apache's .htaccess: off, the rules are in its configuration; trimmed, WordPress's rules; shipped, 250 lines more",
    },
    Extra {
        name: "object_cache",
        default: "off",
        takes: Takes::Word(&["off", "apcu", "redis"]),
        meaning: "results of queries kept in APCu or Redis (a drop-in of plimsoll)",
    },
    Extra {
        name: "wait",
        default: "0s",
        takes: Takes::Time,
        meaning: "time each page waits, as for a slow answer from elsewhere",
    },
    Extra {
        name: "database",
        default: "mariadb",
        takes: Takes::Word(&["mariadb", "mysql"]),
        meaning: "server of its database",
    },
    BUFFER_POOL,
    FLUSH_LOG,
    MAX_CONNECTIONS,
    Extra {
        name: "request",
        default: "page",
        takes: Takes::Word(&["page", NEW_PAGE]),
        meaning: "what is measured with --serve: a GET of path, or a POST of a new page by REST, with password and names of its own",
    },
    Extra {
        name: "import",
        default: "",
        takes: Takes::Text,
        meaning: "file of a WordPress export (WXR), whose posts, pages and comments are the content",
    },
    Extra { name: "posts", default: "50", takes: Takes::Number(0, 5000), meaning: "posts of 12 paragraphs" },
    Extra { name: "pages", default: "10", takes: Takes::Number(0, 500), meaning: "pages of 12 paragraphs" },
    Extra { name: "comments", default: "100", takes: Takes::Number(0, 50_000), meaning: "comments, in all" },
    Extra {
        name: "images",
        default: "10",
        takes: Takes::Number(0, 200),
        meaning: "images of 60 kB, which the posts show in turns",
    },
    Extra { name: "seed", default: "1", takes: Takes::Number(0, u64::MAX), meaning: "what the content is made from" },
    Extra {
        name: "source",
        default: "/usr/share/wordpress",
        takes: Takes::Text,
        meaning: "directory with WordPress, which is copied",
    },
];

/// The value of `request` for a POST.
const NEW_PAGE: &str = "new-page";
/// The settings that php-fpm and its front have.
const OF_PHP: [&str; 7] = ["front", "pm", "children", "listen_backlog", "opcache", "status", PHP_PROFILE.name];
/// Those of dummy content.
const DUMMIES: [&str; 5] = ["posts", "pages", "comments", "images", "seed"];
/// The settings that the database has.
const OF_DATABASE: [&str; 3] = ["innodb_buffer_pool_size", "innodb_flush_log_at_trx_commit", "max_connections"];
/// The copy, in a folder of the server's own.
const SITE: &str = "home/site";
const CREDENTIALS: &str = "conf/admin.key";
const INSTALL: &str = "conf/install.php";
const FILL: &str = "conf/content.php";
const CONTENT: &str = "conf/content.jsonl";

fn layout(spec: &Spec, place: &Place) -> Result<Layout, StackError> {
    let amount = Amount::of(spec)?;
    let (source, imported) = (source(spec)?, imported(spec)?);
    programs::all(needed(spec, place, &source))?;
    let (database, pool) = (database(spec, place)?, pool(spec, place)?);
    let cache = object_cache(spec, place)?;
    let php = php(place)?;
    let origin = place.url(&spec.settings);
    let [site, own, socket, credentials] = [SITE, OWN_FILES, SOCKET, CREDENTIALS].map(|path| place.text(path));
    let copy = Process::new("wordpress-copy", place.helper(&["cp"], "coreutils")?).args([
        "--recursive",
        "--dereference",
        &source.display().to_string(),
        &site,
    ]);
    let script = |name: &str, path: &str| php_process(name, &php, place).args([place.text(path)]);
    let install = script("wordpress-install", INSTALL).args([&site, &own, &origin, &socket, &credentials]);
    let trust = if imported.is_some() { "foreign" } else { "own" };
    let fill = script("wordpress-content", FILL).args([&site, &origin, &place.text(CONTENT), trust]);
    let layout = Layout {
        provision: [vec![copy], database.provision].concat(),
        fill: vec![install, fill],
        services: [database.services, cache.services, pool.services].concat(),
        files: [database.files, cache.files, pool.files, own_files(spec, place)].concat(),
        data: database.data,
        body: expected(spec, amount.latest_title().filter(|_| imported.is_none())),
        warnings: imported.iter().filter_map(Imported::note).collect(),
        request: (spec.extras.text("request") == NEW_PAGE).then(|| new_page(&amount)),
        credentials: Some(CREDENTIALS),
        ..pool
    };
    Ok(layout
        .file(CREDENTIALS, format!("admin:{}\n", place.secret))
        .file(INSTALL, include_str!("install.php"))
        .file(FILL, include_str!("content.php"))
        .file(CONTENT, imported.map_or_else(|| amount.lines(), |imported| imported.lines)))
}

/// What is imported in the place of dummy content; none when nothing is.
fn imported(spec: &Spec) -> Result<Option<Imported>, StackError> {
    let path = spec.extras.text("import");
    if path.is_empty() {
        return Ok(None);
    }
    let mut dummies = EXTRAS.iter().filter(|extra| DUMMIES.contains(&extra.name));
    match dummies.find(|extra| spec.extras.text(extra.name) != extra.default) {
        Some(Extra { name, .. }) => Err(StackError::Wrong(format!(
            "{name} is of dummy content, and import has other content in its place: leave one out"
        ))),
        None => import::read(Path::new(path)).map(Some),
    }
}

/// A POST of a page, by REST. Of equal names WordPress tries one after the other: each request has its own.
fn new_page(amount: &Amount) -> Request {
    let body = amount.new_page().into_bytes();
    Request {
        method: "POST".into(),
        headers: vec![("Content-Type".into(), "application/json".into())],
        body_bytes: body.len() as u64,
        body,
        template: true,
        contract: Contract { status: Some(201), ..Contract::default() },
        ..Request::get("/wp-json/wp/v2/pages")
    }
}

fn php_process(name: &str, php: &Path, place: &Place) -> Process {
    let temporary = format!("sys_temp_dir={}", place.text("tmp"));
    // Errors go to stderr, without marks of HTML.
    let settings = ["display_errors=0", "log_errors=1", "html_errors=0", "memory_limit=512M", &temporary];
    Process::new(name, php.to_owned()).args(settings.iter().flat_map(|setting| ["-d", setting]))
}

/// The values of some of the settings, for a server that is a part of it.
fn pairs(spec: &Spec, names: &[&str]) -> Vec<(String, String)> {
    names.iter().map(|name| ((*name).to_owned(), spec.extras.text(name).to_owned())).collect()
}

fn database(spec: &Spec, place: &Place) -> Result<Layout, StackError> {
    let database = Spec::new(spec.extras.text("database"), &pairs(spec, &OF_DATABASE), Vec::new(), None)?;
    // A program that is named is php-fpm's.
    (database.server.layout)(&database, &Place { binary: None, ..place.clone() })
}

/// php-fpm and its front.
fn pool(spec: &Spec, place: &Place) -> Result<Layout, StackError> {
    let front = spec.extras.text("front");
    let needs =
        |name: &str, value: &str, server: &str| Err(StackError::Wrong(format!("{name}={value} needs front={server}")));
    match (spec.extras.text("page_cache"), spec.extras.text("htaccess")) {
        (cache @ ("nginx" | "apache"), _) if cache != front => return needs("page_cache", cache, cache),
        (_, file @ ("trimmed" | "shipped")) if front != "apache" => return needs("htaccess", file, "apache"),
        _ => {}
    }
    php_fpm::pool(&of_php(spec, place)?, place, &additions(spec, place))
}

/// What is added to the front.
fn additions(spec: &Spec, place: &Place) -> Additions {
    let htaccess = match (spec.extras.text("htaccess"), spec.extras.text("page_cache")) {
        ("off", _) => Htaccess::Ignored,
        // A path that .htaccess sends on to index.php would not be known to the cache by its own name.
        (_, "apache") => Htaccess::Read,
        _ => Htaccess::Routes,
    };
    let added = Additions { htaccess, ..Additions::default() };
    match spec.extras.text("page_cache") {
        "nginx" => Additions { http: cache::http(place), pass: cache::PASS, ..added },
        "apache" => Additions { apache: cache::apache(place), modules: cache::MODULES, ..added },
        _ => added,
    }
}

/// The server of the object cache, if it needs one.
fn object_cache(spec: &Spec, place: &Place) -> Result<Layout, StackError> {
    if spec.extras.text("object_cache") != "redis" {
        return Ok(Layout::default());
    }
    let pairs = [("maxmemory", "128MiB"), ("maxmemory-policy", "allkeys-lru")];
    let pairs = pairs.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let redis = Spec::new(redis::REDIS.name, &pairs, Vec::new(), None)?;
    (redis.server.layout)(&redis, &Place { binary: None, ..place.clone() })
}

/// What php-fpm is asked for.
fn of_php(spec: &Spec, place: &Place) -> Result<Spec, StackError> {
    let mut php = Spec::new(php_fpm::PHP_FPM.name, &pairs(spec, &OF_PHP), Vec::new(), None)?;
    php.settings = spec.settings.clone();
    php.settings.root = Some(place.path(SITE));
    Ok(php)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a text asks for, at a place with nothing of this machine in it.
    pub(super) fn of(text: &str) -> (Spec, Place) {
        let spec = Spec::parse(text).expect("known");
        let place = Place::example(&spec.settings, "/nonexistent".into()).expect("a place");
        (spec, place)
    }

    #[test]
    fn configurations_are_as_stored() {
        let (spec, place) = of("wordpress port=8080 children=3 pm=dynamic workers=2 page_cache=nginx tls=on");
        let php = of_php(&spec, &place).expect("known settings");
        let nginx = php_fpm::nginx_configuration(&php, &place, &additions(&spec, &place)).expect("it can be");
        insta::assert_snapshot!("nginx", nginx);
        insta::assert_snapshot!("php_fpm", php_fpm::configuration(&php, &place));
    }

    #[test]
    fn without_a_page_cache_every_request_reaches_php() {
        let (spec, place) = of("wordpress");
        let nginx =
            php_fpm::nginx_configuration(&of_php(&spec, &place).expect("known"), &place, &additions(&spec, &place));
        assert!(!nginx.expect("it can be").contains("fastcgi_cache"));
    }

    #[test]
    fn settings_reach_the_server_that_they_are_of() {
        let (spec, place) = of("wordpress children=7 opcache=off innodb_buffer_pool_size=32MiB max_connections=50");
        let php = of_php(&spec, &place).expect("known settings");
        assert_eq!((php.extras.number("children"), php.extras.on("opcache")), (7, false));
        let pairs = pairs(&spec, &OF_DATABASE);
        let database = Spec::new("mariadb", &pairs, Vec::new(), None).expect("known settings");
        assert_eq!(database.extras.bytes("innodb_buffer_pool_size"), 32 << 20);
        assert_eq!(database.extras.number("max_connections"), 50);
    }

    #[test]
    fn an_import_and_dummy_content_exclude_each_other() {
        let (spec, _) = of("wordpress import=/no/such.xml posts=3");
        let error = imported(&spec).expect_err("both").to_string();
        assert!(error.starts_with("posts is of dummy content, and import"), "{error}");
        let (spec, _) = of("wordpress import=/no/such.xml");
        assert!(imported(&spec).expect_err("not there").to_string().starts_with("import=/no/such.xml: "));
    }

    #[test]
    fn a_new_page_has_a_name_of_its_own_and_is_as_long_as_a_page() {
        let (spec, _) = of("wordpress request=new-page");
        let request = new_page(&Amount::of(&spec).expect("content"));
        let body = String::from_utf8(request.body.clone()).expect("text");
        assert!(request.template && body.matches("{{run}}-{{counter}}").count() == 2, "{body}");
        let page: serde_json::Value = serde_json::from_str(&body).expect("JSON");
        assert_eq!((&page["status"], request.contract.status), (&"publish".into(), Some(201)));
        assert!((5_500..7_000).contains(&request.body_bytes), "{}", request.body_bytes);
    }

    #[test]
    fn a_page_cache_of_nginx_needs_nginx() {
        let (spec, place) = of("wordpress page_cache=nginx front=apache");
        let error = pool(&spec, &place).expect_err("there is no nginx").to_string();
        assert_eq!(error, "page_cache=nginx needs front=nginx");
        let (spec, place) = of("wordpress htaccess=trimmed");
        assert_eq!(pool(&spec, &place).expect_err("nginx").to_string(), "htaccess=trimmed needs front=apache");
    }

    #[test]
    fn rules_are_in_one_place_but_for_a_page_cache() {
        let of = |text: &str| {
            let (spec, place) = of(text);
            additions(&spec, &place).htaccess
        };
        assert_eq!(of("wordpress front=apache"), Htaccess::Ignored);
        assert_eq!(of("wordpress front=apache htaccess=shipped"), Htaccess::Routes);
        assert_eq!(of("wordpress front=apache htaccess=trimmed page_cache=apache"), Htaccess::Read);
    }

    #[test]
    fn a_page_cache_of_apache_keeps_no_page_of_the_administration() {
        let (spec, place) = of("wordpress front=apache page_cache=apache");
        let added = additions(&spec, &place);
        assert_eq!(added.modules, ["cache", "cache_disk"]);
        for line in [
            "CacheEnable disk /\n",
            "CacheRoot /tmp/plimsoll-state/tmp\n",
            "CacheDisable /wp-admin\n",
            "CacheDisable /index.php\n",
        ] {
            assert!(added.apache.contains(line), "{line} in {}", added.apache);
        }
    }
}
