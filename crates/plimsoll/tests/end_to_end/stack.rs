//! WordPress and PHP by `plimsoll stack`: up, measured, profiled, and gone.

use crate::support::{Answer, Endpoint, Stacks, count, exchange, number, text};
use serde_json::Value;

/// Small, so that nothing but the stack is looked at.
const SMALL: &str = "posts=12 comments=10 images=2 pages=2 innodb_buffer_pool_size=32MiB";

/// One GET; `headers` end with their line ends.
#[track_caller]
fn get(url: &str, path: &str, headers: &str) -> Answer {
    let authority = url.trim_start_matches("http://").trim_end_matches('/');
    let endpoint = Endpoint::plain(authority.parse().expect("an address"));
    let request = format!("GET {path} HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\n{headers}\r\n");
    exchange(&endpoint, request.as_bytes())
}

#[track_caller]
fn run(stacks: &Stacks, args: &[&str]) -> Value {
    let output = stacks.run([&["run"], args, &["--json", "-q", "-c", "2", "--warmup", "0s"]].concat());
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

#[test]
fn wordpress_is_up_measured_and_gone() {
    for front in ["nginx", "apache"] {
        let stacks = Stacks::new();
        let htaccess = if front == "apache" { "trimmed" } else { "off" };
        let caches = format!("page_cache={front} htaccess={htaccess}");
        let line = stacks.up(&format!("wordpress front={front} children=2 {caches} {SMALL}"));
        let url = text(&line, "url");
        for (path, holds) in [
            ("/", "Post 12 "),
            ("/post-3/", "Category"),
            ("/page-2/", "Page 2"),
            ("/?s=lorem", "Search results"),
            ("/wp-json/wp/v2/posts?per_page=1", "Post 12 "),
            ("/wp-content/uploads/2024/01/image-1.png", "PNG"),
        ] {
            let answer = get(url, path, "");
            let body = String::from_utf8_lossy(&answer.body);
            assert!(answer.status == 200 && body.contains(holds), "{front} {path}: {} {body:.300}", answer.status);
        }
        assert_eq!(get(url, "/no-such-page/", "").status, 404, "{front}");
        let to_login = get(url, "/wp-admin/", "").header("location").is_some_and(|to| to.contains("/wp-login.php"));
        assert!(to_login && get(url, "/fpm-status?json", "").body.starts_with(b"{"), "{front}");
        cached_as_it_should_be(front, url);
        let check: Value = serde_json::from_slice(&stacks.run(["check", url, "--json"]).stdout).expect("JSON");
        let mut rows = check["rows"].as_array().expect("a list").iter();
        let redirect = rows.find(|row| row["what"] == "redirect").expect("it is looked for");
        assert_eq!(text(redirect, "state"), "fine", "{redirect:#}");
        let record = run(&stacks, &[url, "-d", "500ms"]);
        let planned = count(&record, "requests.planned");
        assert!(planned > 0 && count(&record, "requests.good") == planned, "{front}: {:#}", record["requests"]);
        pages_can_be_written(front, &stacks, &line);
        assert!(stacks.fine(["stack", "status"]).ends_with(": up\n"), "{front}");
        stacks.fine(["stack", "down", "wordpress"]);
        assert!(stacks.left().is_empty(), "{:?}", stacks.left());
    }
}

/// What visitors see is kept, and nothing else.
#[track_caller]
fn cached_as_it_should_be(front: &str, url: &str) {
    let name = if front == "nginx" { "x-page-cache" } else { "x-cache" };
    let is_hit = |path: &str, headers: &str| {
        let answer = get(url, path, headers);
        answer.header(name).is_some_and(|value| value.starts_with("HIT"))
    };
    assert!(is_hit("/", ""), "{front}: the check of the page has filled it");
    for path in ["/?s=lorem", "/wp-json/wp/v2/posts/"] {
        get(url, path, "");
        assert!(!is_hit(path, ""), "{front}: {path}");
    }
    // Apache's quick handler knows no visitor.
    assert!(front == "apache" || !is_hit("/", "Cookie: wordpress_logged_in_x=1\r\n"), "{front}");
}

/// By REST with the password that the stack names.
#[track_caller]
fn pages_can_be_written(front: &str, stacks: &Stacks, line: &Value) {
    let posts = format!("{}wp-json/wp/v2/posts", text(line, "url"));
    let body = "{\"title\":\"Written {{counter}}\",\"status\":\"publish\",\"content\":\"text\"}";
    let auth = ["--auth", text(line, "auth"), "--expect", "status=201", "-H", "Content-Type: application/json"];
    let record =
        run(stacks, &[&[posts.as_str(), "-m", "POST", "--template", "-b", body, "-n", "4"][..], &auth].concat());
    assert_eq!(count(&record, "requests.good"), 4, "{front}: {:#}", record["requests"]);
    let without = run(stacks, &[posts.as_str(), "-m", "POST", "-b", body, "-n", "1", "--expect", "status=401"]);
    assert_eq!(count(&without, "requests.good"), 1, "{front}: {:#}", without["requests"]);
}

/// Each of the files sends every path to where it is sent without one.
#[test]
fn pages_are_found_by_htaccess_alone() {
    for htaccess in ["trimmed", "shipped"] {
        let stacks = Stacks::new();
        let line = stacks.up(&format!("wordpress front=apache children=2 htaccess={htaccess} {SMALL}"));
        let state = std::path::PathBuf::from(text(&line, "state"));
        let configuration = std::fs::read_to_string(state.join("conf/apache.conf")).expect("a configuration");
        assert!(
            configuration.contains("AllowOverride All") && !configuration.contains("RewriteRule"),
            "{configuration}"
        );
        let url = text(&line, "url");
        for (path, holds) in [("/", "Post 12 "), ("/post-3/", "Category"), ("/wp-json/wp/v2/posts", "Post 12 ")] {
            let answer = get(url, path, "");
            let body = String::from_utf8_lossy(&answer.body);
            assert!(answer.status == 200 && body.contains(holds), "{htaccess} {path}: {} {body:.300}", answer.status);
        }
        assert_eq!(get(url, "/no-such-page/", "").status, 404, "{htaccess}");
        assert!(get(url, "/fpm-status?json", "").body.starts_with(b"{"), "{htaccess}");
        stacks.fine(["stack", "down"]);
    }
}

/// One connection on one page: what its programs used and what is left are the time that it took.
#[test]
fn the_milliseconds_of_a_page_are_those_of_its_programs() {
    let stacks = Stacks::new();
    let file = format!(
        "serve = \"wordpress children=2 {SMALL}\"\n[flags]\nconnections = 1\nduration = \"5s\"\nwarmup = \"1s\"\n"
    );
    stacks.write("page.toml", &file);
    let output = stacks.run(["experiment", "page.toml", "-o", "out", "--json", "-q"]);
    let record: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"));
    let row = &record["rows"][0];
    let layers = row["layers"].as_array().expect("layers");
    let ms = |program: Option<&str>| {
        let layer = layers.iter().find(|layer| layer["program"].as_str() == program);
        layer.map(|layer| number(layer, "ns_per_response.value") / 1e6)
    };
    let [php, database, nginx] = ["php-fpm", "mariadbd", "nginx"].map(|name| ms(Some(name)).expect(name));
    // What nginx takes of some pages is less than the clock of the kernel tells.
    assert!(php > database && database > nginx, "{layers:#?}");
    let sum: f64 = layers.iter().map(|layer| number(layer, "ns_per_response.value")).sum();
    let mean = number(row, "response_mean_ns.value");
    // At one connection a page comes after the other, and nothing else is served: one second over the goodput, too.
    assert!((sum / mean - 1.0).abs() < 0.1 && layers.len() == 4, "{sum} of {mean}: {layers:#?}");
    let between_pages = 1e9 / number(row, "goodput_per_s.value");
    // Where others took time, what is cut out of it takes the longest pages with it.
    assert!((0.7..1.1).contains(&(mean / between_pages)), "{mean} and {between_pages}");
    let shown = stacks.run(["report", "out", "--format", "markdown"]);
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(shown.contains("php-fpm") && shown.contains("waiting, network, client"), "{shown}");
}

#[test]
fn the_experiments_that_come_with_the_program_can_be_measured_here() {
    let stacks = Stacks::new();
    for (name, holds) in [("wordpress-ladder", ".htaccess trimmed"), ("wordpress-tables", "cached against uncached")] {
        let planned = stacks.fine(["experiment", name, "--dry-run"]);
        assert!(planned.contains(holds) && planned.contains("6 shuffled blocks"), "{planned}");
    }
    let without = stacks.run(["experiment", "wordpress-ladder", "--dry-run"]);
    let said = String::from_utf8_lossy(&without.stderr).into_owned();
    let is_here = stacks.run(["stack", "up", "mysql"]).status.success();
    assert!(is_here || said.contains("MySQL is left out") && said.contains("MySQL is not installed"), "{said}");
}

#[test]
fn a_wordpress_that_fails_is_told_in_one_line() {
    let stacks = Stacks::new();
    stacks.fails(
        ["stack", "up", "wordpress", "source=/no/such"],
        2,
        &["/no/such/wp-load.php", "apt-get install wordpress"],
    );
    stacks.fails(["stack", "up", "wordpress", "posts=0"], 2, &["comments=100: there is no post"]);
    // Without its slash the page is a redirect to itself with one.
    let up = format!("stack up wordpress {SMALL} path=/post-1");
    stacks.fails(up.split(' '), 3, &["nginx answers 301", "a redirect to http://127.0.0.1:", "/post-1/"]);
    assert!(stacks.left().is_empty(), "{:?}", stacks.left());
}

/// An export with a script in it, and with what WordPress would unserialize or fetch.
const EXPORT: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\" ?>\n<rss><channel><wp:wxr_version>1.2</wp:wxr_version>\n\
    <item><title><![CDATA[Imported \\ post]]></title><content:encoded><![CDATA[<p>kept</p><script>alert(1)</script>]]>\
    </content:encoded><wp:post_name>imported-post</wp:post_name><wp:post_date>2020-02-03 04:05:06</wp:post_date>\
    <wp:status>publish</wp:status><wp:post_type>post</wp:post_type><category domain=\"category\">Ships</category>\
    <wp:postmeta><wp:meta_key>x</wp:meta_key><wp:meta_value>O:8:\"Evil\":0:{}</wp:meta_value></wp:postmeta>\
    <wp:comment><wp:comment_author>Eve</wp:comment_author><wp:comment_content>said &lt;script&gt;it()&lt;/script&gt;\
    </wp:comment_content><wp:comment_approved>1</wp:comment_approved></wp:comment></item>\n\
    <item><title>Imported page</title><content:encoded>text</content:encoded><wp:post_name>imported-page</wp:post_name>\
    <wp:status>publish</wp:status><wp:post_type>page</wp:post_type></item>\n\
    <item><title>a file</title><wp:post_type>attachment</wp:post_type></item></channel></rss>\n";

#[test]
fn an_export_is_imported_without_its_scripts_and_new_pages_are_measured() {
    let stacks = Stacks::new();
    stacks.write("export.xml", EXPORT);
    let up =
        ["stack", "up", "wordpress", "children=2", "innodb_buffer_pool_size=32MiB", "--import", "export.xml", "--json"];
    let output = stacks.run(up);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let line: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"));
    assert!(said.contains("import: 1 posts, 1 pages, 1 comments; left out: 1 attachment\n"), "{said}");
    let page = |path: &str| {
        let answer = get(text(&line, "url"), path, "");
        (answer.status, String::from_utf8_lossy(&answer.body).into_owned())
    };
    let (status, post) = page("/imported-post/");
    assert_eq!(status, 200, "{post}");
    for holds in ["Imported \\ post", "<p>kept</p>", "Ships", "February 3, 2020", "said it()"] {
        assert!(post.contains(holds), "{holds}: {post}");
    }
    assert!(!post.contains("<script>alert") && !post.contains("<script>it") && !post.contains("Evil"), "{post}");
    assert_eq!(page("/imported-page/").0, 200);
    let (_, front) = page("/");
    assert!(front.contains("imported-post") && !front.contains("Post 50"), "{front}");
    stacks.fine(["stack", "down"]);
    // Pages with names of their own, by the server's own request.
    let serve = format!("wordpress children=2 request=new-page {SMALL}");
    let record = run(&stacks, &["--serve", &serve, "-d", "1s"]);
    let planned = count(&record, "requests.planned");
    assert!(planned > 4 && count(&record, "requests.good") == planned, "{:#}", record["requests"]);
    assert!(text(&record, "plan.target.url").ends_with("/wp-json/wp/v2/pages"), "{:#}", record["plan"]["target"]);
    let typed = ["run", "--serve", &serve, "-m", "POST", "-d", "1s"];
    stacks.fails(typed, 2, &["the server that is started says what is requested"]);
}

/// A copy of WordPress by links, whose only theme fails after its first bytes are sent.
#[test]
fn an_error_of_php_and_a_full_disk_are_told_and_leave_nothing() {
    let stacks = Stacks::new();
    // Sent at once, and so with status 200.
    let sent =
        "echo '<html><body>Post 12', str_repeat(' ', 99999); while (ob_get_level()) { ob_end_flush(); } flush();";
    let theme = format!("<?php {sent} no_such_function();");
    let source = stacks.work().join("broken");
    let theme_dir = source.join("wp-content/themes/broken");
    std::fs::create_dir_all(&theme_dir).expect("a directory");
    std::fs::write(theme_dir.join("index.php"), theme).expect("a file");
    std::fs::write(theme_dir.join("style.css"), "/*\nTheme Name: Broken\n*/\n").expect("a file");
    for entry in std::fs::read_dir("/usr/share/wordpress").expect("WordPress").flatten() {
        let name = entry.file_name();
        if name != "wp-content" {
            std::os::unix::fs::symlink(entry.path(), source.join(name)).expect("a link");
        }
    }
    let up = format!("stack up wordpress {SMALL} source=broken");
    stacks.fails(up.split(' '), 3, &["answers 200", "without \"</html>\" in it", "no_such_function"]);
    assert!(stacks.left().is_empty(), "{:?}", stacks.left());
    let small =
        "mount -t tmpfs -o size=100m none /mnt && TMPDIR=/mnt exec \"$0\" stack up wordpress posts=2000 images=200";
    let output = std::process::Command::new("unshare")
        .args(["--mount", "sh", "-c", small, env!("CARGO_BIN_EXE_plimsoll")])
        .output()
        .expect("unshare");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let is_told =
        said.contains("is full") || said.contains("No space left") || said.contains("were left on the file system");
    assert!(output.status.code().is_some_and(|code| [2, 3].contains(&code)) && is_told, "{output:?}");
}

/// Two functions, one of which burns three times the CPU time of the other.
const BURNING: &str = "<?php\n\
    function burn(int $us): void {\n    \
        $used = fn (): int => ($u = getrusage())['ru_utime.tv_sec'] * 1000000 + $u['ru_utime.tv_usec']\n    \
            + $u['ru_stime.tv_sec'] * 1000000 + $u['ru_stime.tv_usec'];\n    \
        for ($end = $used() + $us; $used() < $end;) { for ($i = 0, $x = 0; $i < 500; $i++) { $x += $i; } }\n}\n\
    function three_parts(): void { burn(24000); }\n\
    function one_part(): void { burn(8000); }\n\
    three_parts(); one_part();\n\
    exit('done</html>');\n";

#[track_caller]
fn php_site(stacks: &Stacks, name: &str, page: &str) -> String {
    let folder = stacks.work().join(name);
    std::fs::create_dir(&folder).expect("a directory");
    std::fs::write(folder.join("index.php"), page).expect("a file");
    folder.display().to_string()
}

/// Share of all samples that a function and its callees have.
#[track_caller]
fn share(php: &Value, function: &str) -> f64 {
    let mut functions = php["functions"].as_array().expect("a list").iter();
    functions.find(|one| text(one, "name") == function).map_or(0.0, |one| number(one, "total_share"))
}

#[test]
fn php_functions_have_their_shares_of_the_cpu_time_in_the_window() {
    let stacks = Stacks::new();
    let root = php_site(&stacks, "site", BURNING);
    let line = stacks.up(&format!("php-fpm children=2 php_profile=cpu root={root}"));
    let url = text(&line, "url");
    let record = run(&stacks, &[url, "-d", "3s", "--profile", "-o", "out"]);
    let php = &record["profile"]["php"];
    let (samples, good) = (count(php, "samples"), count(&record, "requests.good"));
    // 32 ms each, and few of its ticks are elsewhere.
    let expected = good as f64 * 3.2;
    assert!((samples as f64 / expected - 1.0).abs() < 0.35, "{samples} of {expected}: {php:#}");
    let said = stacks.fine(["stack", "php-profile", "--json", "-o", "php"]);
    let shown: Value = serde_json::from_str(&said).expect("JSON");
    for php in [php, &shown["php"]] {
        let folded = ["out/php.folded", "php/php.folded"].map(|name| stacks.work().join(name));
        assert!(folded.iter().all(|path| path.exists()), "{folded:?}");
        assert!(text(php, "clock") == "cpu" && count(php, "sample_ns") == 10_000_000, "{php:#}");
        assert!(share(php, "burn") > 0.8, "{php:#}");
    }
    let folded = std::fs::read_to_string(stacks.work().join("out/php.folded")).expect("stacks");
    let of = |function: &str| {
        let lines = folded.lines().filter(|line| line.contains(&format!(";{function};")));
        lines.filter_map(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok()).sum::<f64>()
    };
    let (three, one) = (of("three_parts"), of("one_part"));
    let found = three / (three + one);
    // Four standard errors of so many samples.
    let error = 4.0 * (0.75 * 0.25 / (three + one)).sqrt();
    assert!((found - 0.75).abs() < error, "{found}: {folded}");
    let processes = record["profile"]["processes"].as_array().expect("a list");
    let fpm = processes.iter().find(|process| text(process, "name").starts_with("php-fpm")).expect("it used the CPU");
    assert!(text(fpm, "role") == "companion" && number(fpm, "cpu_us_per_good_request") > 0.0, "{fpm:#}");
    stacks.fine(["report", "out"]);
    let page = std::fs::read_to_string(stacks.work().join("out/report.html")).expect("a page");
    assert!(page.contains("<h3>PHP functions</h3>") && page.contains("three_parts") && page.contains("php.svg"));
    let checks = record["environment"]["check"].as_array().expect("a list");
    assert!(
        checks.iter().any(|row| text(row, "what") == "PHP functions" && text(row, "rule") == "PR-01"),
        "{checks:?}"
    );
    stacks.fine(["stack", "php-profile", "--clear"]);
    let none: Value = serde_json::from_str(&stacks.fine(["stack", "php-profile", "--json"])).expect("JSON");
    assert_eq!(count(&none, "php.samples"), 0, "{none:#}");
}

#[test]
fn a_stack_that_is_measured_without_a_front_has_its_php_functions() {
    let stacks = Stacks::new();
    let root = php_site(&stacks, "site", BURNING);
    let line = stacks.up(&format!("php-fpm front=none children=2 php_profile=cpu root={root}"));
    let url = text(&line, "url");
    assert!(url.starts_with("fastcgi+unix:"), "{url}");
    let record = run(&stacks, &[url, "-d", "2s", "--profile", "-o", "out"]);
    assert!(share(&record["profile"]["php"], "burn") > 0.8, "{:#}", record["profile"]);
}

/// What a program may put in the place of its samples breaks no page and reaches no other file.
#[test]
fn a_program_that_writes_its_samples_itself_breaks_nothing() {
    let stacks = Stacks::new();
    let page = "<?php $d = sys_get_temp_dir() . '/php-profile'; @mkdir($d);\n\
        file_put_contents(\"$d/0\", \"\\x1b[2Ja;<script> b 2;\\xff 3\\nno number\\nc 99999999999999999999\\n\");\n\
        for ($i = 1; $i < 16; $i++) { @unlink(\"$d/$i\"); symlink('/etc/passwd', \"$d/$i\"); }\n\
        $e = hrtime(true) + 3e7; while (hrtime(true) < $e) { $x = 1; }\n\
        echo 'fine';\n";
    let root = php_site(&stacks, "site", page);
    let line = stacks.up(&format!("php-fpm children=1 php_profile=cpu root={root}"));
    let url = text(&line, "url");
    for _ in 0..3 {
        let answer = get(url, "/", "");
        assert_eq!((answer.status, answer.body.as_slice()), (200, &b"fine"[..]));
    }
    let output = stacks.run(["stack", "php-profile", "-o", "php"]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && said.contains("2 lines of the files left out"), "{output:?}");
    assert!(!said.contains('\u{1b}') && !said.contains("root:"), "{said}");
    let svg = std::fs::read_to_string(stacks.work().join("php/php.svg")).expect("a graph");
    assert!(!svg.contains('\u{1b}') && !svg.contains("<script> b"), "{svg}");
    stacks.fails(["stack", "php-profile", "--clear"], 2, &["cannot empty", "tmp/php-profile"]);
    stacks.fine(["stack", "down"]);
    // A folder that nothing can be written to.
    let page = "<?php @mkdir(sys_get_temp_dir() . '/php-profile'); @chmod(sys_get_temp_dir() . '/php-profile', 0);\n\
        $e = hrtime(true) + 3e7; while (hrtime(true) < $e) { $x = 1; }\necho 'fine';\n";
    let root = php_site(&stacks, "closed", page);
    let line = stacks.up(&format!("php-fpm children=1 php_profile=real user=nobody root={root}"));
    let answer = get(text(&line, "url"), "/", "");
    assert_eq!((answer.status, answer.body.as_slice()), (200, &b"fine"[..]));
    stacks.fine(["stack", "php-profile"]);
    stacks.fine(["stack", "down"]);
    stacks.up("php-fpm children=1");
    stacks.fails(["stack", "php-profile"], 2, &["php-fpm samples no PHP functions", "php_profile=cpu"]);
}
