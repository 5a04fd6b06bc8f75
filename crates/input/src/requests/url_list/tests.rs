//! What lists are read as, in each of their forms.

use super::*;
use model::Request;
use std::os::unix::fs::symlink;

/// What a list of this name has.
fn named(name: &str, lines: &str) -> Result<Listed, String> {
    parse(lines, &Path::new("/nowhere").join(name), None).map_err(|error| error.message)
}

/// Method, path and body of each request.
fn seen(listed: &Listed) -> Vec<(&str, &str, &str)> {
    let requests = listed.requests.iter();
    requests.map(|one| (one.method.as_str(), one.path.as_str(), str::from_utf8(&one.body).unwrap())).collect()
}

/// Headers of a request as lines.
fn headers(request: &Request) -> Vec<String> {
    request.headers.iter().map(|(name, value)| format!("{name}: {value}")).collect()
}

fn listed(lines: &str) -> Result<Listed, String> {
    parse(lines, Path::new("/nowhere/list"), None).map_err(|error| error.message)
}

#[test]
fn a_line_has_weight_method_place_and_body() {
    let listed = listed("# mix\n\n/a\n  3 /b?x=1\nPOST /c {\"a\": 1}\n2 DELETE http://h:81/d\n").unwrap();
    let seen: Vec<_> =
        listed.requests.iter().map(|r| (r.weight, r.method.as_str(), r.path.as_str(), r.body.as_slice())).collect();
    let expected: [(u32, &str, &str, &[u8]); 4] =
        [(1, "GET", "/a", b""), (3, "GET", "/b?x=1", b""), (1, "POST", "/c", b"{\"a\": 1}"), (2, "DELETE", "/d", b"")];
    assert_eq!(seen, expected);
    assert_eq!(listed.origin.unwrap().authority, "h:81");
}

#[test]
fn a_body_without_a_method_is_posted() {
    let listed = listed("/cart {\"a\": 1}\nGET /search q\n/\n").unwrap();
    let methods: Vec<_> = listed.requests.iter().map(|request| request.method.as_str()).collect();
    assert_eq!(methods, ["POST", "GET", "GET"]);
}

#[test]
fn a_body_file_lies_beside_the_list_or_below() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("bodies")).unwrap();
    std::fs::write(folder.path().join("b.json"), "{}").unwrap();
    std::fs::write(folder.path().join("bodies/c.json"), "[]").unwrap();
    let list = folder.path().join("list");
    let listed = parse("POST /x @b.json\nPOST /y @bodies/c.json\nPOST /z @./b.json\n", &list, None).unwrap();
    let bodies: Vec<_> = listed.requests.iter().map(|request| request.body.as_slice()).collect();
    assert_eq!(bodies, [b"{}", b"[]", b"{}"]);
}

#[test]
fn a_foreign_list_cannot_send_files_from_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("inner");
    std::fs::create_dir(&inner).unwrap();
    std::fs::write(folder.path().join("secret"), "s3cret").unwrap();
    std::fs::write(inner.join("own"), "mine").unwrap();
    symlink(folder.path().join("secret"), inner.join("link")).unwrap();
    symlink(inner.join("own"), inner.join("own-link")).unwrap();
    let read = |name: &str| parse(&format!("POST /x @{name}\n"), &inner.join("list"), None);
    for name in ["/etc/shadow", "../secret", "a/../../secret", "link"] {
        let message = read(name).unwrap_err().message;
        assert!(message.contains("line 1") && message.contains("names nothing outside"), "{name}: {message}");
    }
    assert_eq!(read("own-link").unwrap().requests[0].body, b"mine");
}

/// A list that somebody had sent held plimsoll up without an end, with a pipe beside it that nobody wrote to.
#[test]
fn a_pipe_in_place_of_a_body_holds_nobody_up() {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    let folder = tempfile::tempdir().unwrap();
    mknodat(CWD, folder.path().join("pipe"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    let message = parse("POST /x @pipe\n", &folder.path().join("list"), None).unwrap_err().message;
    assert!(message.contains("line 1") && message.contains("pipe: cannot read the file: it is no file"), "{message}");
}

#[test]
fn the_bodies_of_a_list_are_bounded_together() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("ten"), "0123456789").unwrap();
    let read = |lines: &str| parse_within(40, lines, &folder.path().join("list"), None);
    assert_eq!(read(&"POST /x @ten\n".repeat(4)).unwrap().requests.len(), 4);
    let message = read(&"POST /x @ten\n".repeat(5)).unwrap_err().message;
    assert!(message.contains("line 5") && message.contains("at most 40 bytes together"), "{message}");
}

#[test]
fn what_is_wrong_is_named_with_its_line() {
    for (lines, why) in [
        ("", "no request in the file"),
        ("# only this\n", "no request in the file"),
        ("/a\n0 /b\n", "line 2: the weight 0"),
        ("5\n", "line 1: no path"),
        ("CONNECT /x\n", "line 1: --method CONNECT"),
        ("http://a/\nhttp://b/x\n", "line 2: http://b is another server than http://a"),
        ("ftp://a/\n", "scheme is ftp"),
        ("POST /a @/nowhere\n", "line 1: /nowhere"),
        ("POST /a @nowhere\n", "line 1: /nowhere/nowhere: cannot read the file"),
    ] {
        let message = listed(lines).unwrap_err();
        assert!(message.contains(why) && message.contains("--urls"), "{lines:?}: {message}");
    }
}

#[test]
fn a_file_of_which_nothing_says_its_form_is_a_list_of_plimsoll() {
    for lines in [
        "GET http://h/\nPOST http://h/a\n",
        "/a\n3 /b?x=1&y=$(z)\nPOST /c POST a=b\n",
        "POST /log GET of yesterday\n7 POST /x HEAD\n",
        "h:81/a\nh:81/b {\"a\": 1}\n",
        "wrk.example.com/a\nwrk.example.com/b function\n",
        "/a NAME=value\nPOST /b Content-Type: text/plain\n",
    ] {
        assert_eq!(listed(lines).unwrap().note, "", "{lines}");
    }
}

#[test]
fn a_list_of_another_load_generator_is_named() {
    for (name, lines, shown) in [
        ("list", "http://h/ POST a=b\n", "a list of siege: 1 request"),
        ("list", "HOST=h\nhttp://$(HOST)/\nhttp://$(HOST)/a\n", "a list of siege: 2 requests"),
        ("list", "GET http://h/\nAccept: text/html\n", "targets of vegeta: 1 request"),
        ("list", "{\"method\": \"GET\", \"url\": \"http://h/\"}\n", "targets of vegeta in JSON: 1 request"),
        ("list", "wrk.method = \"POST\"\n", "a script of wrk: 1 request"),
        ("post.lua", "-- nothing\n", "a script of wrk: 1 request"),
    ] {
        let note = named(name, lines).unwrap().note;
        assert_eq!(note, format!("--urls /nowhere/{name} was read as {shown}"));
    }
}

/// It was sent as a body, by POST.
#[test]
fn a_comment_may_stand_behind_a_request() {
    let listed = listed("http://h/nf?a=1 # comment\n3 /b # more\n/c #x\n").unwrap();
    assert_eq!(seen(&listed), [("GET", "/nf?a=1", ""), ("GET", "/b", ""), ("GET", "/c", "")]);
}

#[test]
fn a_program_is_named_and_not_taken_for_a_list() {
    for (text, name) in [
        ("curl -X POST http://h/post -d '{\"a\":1}'\n", "a command of curl"),
        ("import http from 'k6/http';\nexport default function () {}\n", "a script of k6"),
        ("from locust import HttpUser, task\n", "a file of Locust"),
        ("<?xml version=\"1.0\"?>\n<jmeterTestPlan version=\"1.2\">\n", "a test plan of JMeter"),
    ] {
        let error = listed(text).unwrap_err();
        assert!(error.contains(&format!("it is {name}, which computes")) && error.contains("--har"), "{error}");
    }
}

/// They were GET of the first word, with a body that began with `POST`.
#[test]
fn a_line_of_siege_has_its_method_and_body_behind_the_url() {
    let lines = "# shop\nhttp://example.com/a\nhttp://example.com POST col1=666&col2=333\nexample.com/b DELETE\n\
                 http://example.com/c PUT\n";
    let listed = listed(lines).unwrap();
    let expected = [("GET", "/a", ""), ("POST", "/", "col1=666&col2=333"), ("DELETE", "/b", ""), ("PUT", "/c", "")];
    assert_eq!(seen(&listed), expected);
    assert_eq!(headers(&listed.requests[1]), ["Content-Type: application/x-www-form-urlencoded"]);
    assert_eq!(headers(&listed.requests[3]), [""; 0], "it has no body");
}

#[test]
fn variables_of_siege_are_filled_in_where_they_are_used() {
    let lines = "HOST = www.example.org\nSHOP=http://${HOST}/shop\n$(SHOP)/a\n${SHOP}/b POST host=$(HOST)&price=5$\n";
    let listed = listed(lines).unwrap();
    assert_eq!(seen(&listed), [("GET", "/shop/a", ""), ("POST", "/shop/b", "host=www.example.org&price=5$")]);
    assert_eq!(listed.origin.unwrap().authority, "www.example.org");
}

/// Each of thirty values is ten times the one before.
#[test]
fn values_that_grow_with_each_line_are_bounded() {
    let mut lines = "A0=0123456789\n".to_owned();
    for n in 1..30 {
        lines += &format!("A{n}={}\n", format!("$(A{})", n - 1).repeat(10));
    }
    let message = listed(&lines).unwrap_err();
    assert!(message.contains("more than 16777216 bytes where they are filled in"), "{message}");
}

#[test]
fn files_of_bodies_lie_beside_the_lists_of_others_too() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("b.json"), "{}").unwrap();
    for (lines, count) in [
        ("http://h/ POST <./b.json\nhttp://h/ PUT < b.json\n", 2),
        ("POST http://h/\n@b.json\n\nPUT http://h/\n@./b.json\nPATCH http://h/\n@b.json\n", 3),
    ] {
        let listed = parse(lines, &folder.path().join("list"), None).unwrap();
        let bodies: Vec<_> = listed.requests.iter().map(|request| request.body.as_slice()).collect();
        assert_eq!(bodies, vec![b"{}"; count], "{lines}");
    }
    for lines in ["http://h/ POST <../b.json\n", "http://h/ POST </etc/hostname\n", "POST http://h/\n@/etc/hostname\n"]
    {
        let message = listed(lines).unwrap_err();
        assert!(message.contains("names nothing outside"), "{lines}: {message}");
    }
}

/// `"Content-Type:" cannot be measured: its port is not 1 to 65535`.
#[test]
fn a_target_of_vegeta_has_its_headers_below_and_an_empty_line_behind() {
    let lines = "# first\nPOST http://h:81/a\nContent-Type: application/json\nX-Id:8675309\n\n\n\
                 GET http://h:81/b\n# a comment\nAccept: text/html\nX-Id: 1\nX-Id: 2\nHEAD http://h:81/c\n";
    let listed = listed(lines).unwrap();
    assert_eq!(seen(&listed), [("POST", "/a", ""), ("GET", "/b", ""), ("HEAD", "/c", "")]);
    let [first, second, third] = &listed.requests[..] else { panic!("three: {listed:?}") };
    assert_eq!(headers(first), ["Content-Type: application/json", "X-Id: 8675309"]);
    assert_eq!(headers(second), ["Accept: text/html", "X-Id: 1", "X-Id: 2"]);
    assert_eq!(headers(third), [""; 0]);
}

#[test]
fn a_target_of_vegeta_in_json_has_its_body_in_base64() {
    let lines = r#"
{"method":"POST","url":"http://h/","header":{"Content-Type":["text/plain"],"X":["1","2"]},"body":"aGVsbG8="}
{"url": "http://h/a\u0062", "method": "get"}
"#;
    let listed = listed(lines).unwrap();
    assert_eq!(seen(&listed), [("POST", "/", "hello"), ("GET", "/ab", "")]);
    assert_eq!(headers(&listed.requests[0]), ["Content-Type: text/plain", "X: 1", "X: 2"]);
}

#[test]
fn a_script_of_wrk_that_only_sets_texts_is_a_request() {
    let script = "-- posts JSON\nwrk.method = \"POST\"\nwrk.body   = '{\"a\": \\'\\65\\x42\\n\\'}'; wrk.path='/cart'\n\
                  --[[ two\nlines ]] wrk.headers[\"Content-Type\"] = \"application/json\"\nwrk.headers.Accept = [[\n*/*]]\n";
    let listed = listed(script).unwrap();
    assert_eq!(seen(&listed), [("POST", "/cart", "{\"a\": 'AB\n'}")]);
    assert_eq!(headers(&listed.requests[0]), ["Content-Type: application/json", "Accept: */*"]);
    assert_eq!(listed.origin, None);
    let table = named("x.lua", "wrk.headers = {[\"A\"] = \"b\", C = [==[d]]]==],}\n").unwrap();
    assert_eq!(headers(&table.requests[0]), ["A: b", "C: d]]"]);
}

#[test]
fn a_script_without_a_path_asks_for_that_of_the_command_line() {
    let url = TargetUrl::parse("http://127.0.0.1:81/cart?id=1").unwrap();
    let listed = parse("wrk.method = 'PUT'\n", Path::new("put.lua"), Some(&url)).unwrap();
    assert_eq!(seen(&listed), [("PUT", "/cart?id=1", "")]);
}

/// Nothing runs a script here, so that what it makes anew for each request would be the same each time.
#[test]
fn a_script_of_wrk_that_computes_is_refused_with_what_to_do_instead() {
    for (script, line, what) in [
        ("request = function()\n  return wrk.format('GET', '/' .. math.random(9))\nend\n", "line 1", "\"request\""),
        ("wrk.method = 'GET'\nfunction request()\nend\n", "line 2", "\"function\""),
        ("local n = 1\nwrk.path = '/a'\n", "line 1", "\"local\""),
        ("wrk.body = 'a' .. 'b'\n", "line 1", "the value of wrk.body"),
        ("wrk.path = '/' + 1\n", "line 1", "the value of wrk.path"),
        ("wrk.path = path\n", "line 1", "the value of wrk.path"),
        ("wrk.body = ('a')\n", "line 1", "the value of wrk.body"),
        ("wrk.headers['A'] = 5\n", "line 1", "the value of wrk.headers"),
        ("wrk.headers[name] = 'a'\n", "line 1", "a name of a header"),
        ("wrk.headers = {A = 'b' .. c}\n", "line 1", "the value of wrk.headers"),
        ("wrk.host = 'h'\n", "line 1", "wrk.host"),
        ("wrk.method = 'GET'\nwrk.path = '/a' or '/b'\n", "line 2", "\"or\""),
    ] {
        let message = listed(script).unwrap_err();
        let parts = [line, what, "read as a script of wrk", "--urls FILE", "--template", "{{random:8}}", "-H"];
        assert!(parts.iter().all(|part| message.contains(part)), "{script}: {message}");
        assert!(!message.contains('\n'), "{message}");
    }
}

#[test]
fn what_is_wrong_in_the_list_of_another_load_generator_is_named_with_its_line() {
    for (name, lines, why) in [
        ("s", "http://h/ POST a\nhttp://h/ post a\n", "line 2, read as a list of siege: a line begins with the URL"),
        ("s", "http://h/ POST a\nPOST /b\n", "line 2, read as a list of siege: a line begins with the URL"),
        ("s", "http://h/ POST a\n3 /b\n", "line 2, read as a list of siege: a line begins with the URL"),
        ("s", "HOST=h\nhttp://$(HOTS)/\n", "line 2, read as a list of siege: the variable HOTS has no value"),
        ("s", "HOST=h\n", "read as a list of siege: there is no request in the file; a line is URL"),
        ("s", "http://h/ POST a\nhttp://i/ POST a\n", "http://i is another server than http://h"),
        ("v", "Accept: text/html\nGET http://h/\n", "line 1, read as targets of vegeta: a target begins with"),
        ("v", "GET http://h/\nAccept: a\nhttp://h/b\n", "line 3, read as targets of vegeta: a URL has its method"),
        ("v", "POST http://h/ a=b\nAccept: a\n", "line 1, read as targets of vegeta: a line with method and URL has"),
        ("v", "GET http://h/\nAccept: a\nmore\n", "line 3, read as targets of vegeta: a line below"),
        (
            "v",
            "GET http://h/\nContent-Length: 5\n",
            "line 1, read as targets of vegeta: the header Content-Length is set",
        ),
        ("v", "CONNECT http://h/\nA: b\n", "line 1, read as targets of vegeta: --method CONNECT"),
        ("j", "{\"method\": \"GET\"}\n", "line 1, read as targets of vegeta in JSON: column"),
        (
            "j",
            "{\"method\": \"GET\", \"url\": \"/a\", \"bdy\": \"\"}\n",
            "line 1, read as targets of vegeta in JSON: column",
        ),
        ("j", "{\"method\": \"GET\", \"url\": \"/a\", \"body\": \"?\"}\n", "the body of a target is Base64"),
        (
            "j",
            "{\"method\": \"GET\", \"url\": \"/\", \"header\": {\"A\": [\"b\\r\\nC: d\"]}}\n",
            "forbidden characters",
        ),
        ("x.lua", "wrk.body = 'a\nb'\n", "line 1, read as a script of wrk: a text begins here and has no end"),
        ("x.lua", "wrk.body = 'a\n", "a text begins here and has no end"),
        ("x.lua", "--[[ a\n", "a text or comment in brackets begins here"),
        ("x.lua", "wrk.body = '\\q'\n", "a backslash with something unknown"),
        ("x.lua", "wrk.body = '\\999'\n", "a backslash with something unknown"),
        ("x.lua", "wrk.path = '/\\255'\n", "wrk.path is not UTF-8"),
        ("x.lua", "wrk.path = 'http://h/'\n", "wrk.path begins with a slash"),
        ("x.lua", "wrk.method = 'a b'\n", "is not an HTTP method"),
        ("x.lua", "wrk.headers['Transfer-Encoding'] = 'chunked'\n", "is set by plimsoll itself"),
        ("x.lua", "= 5\n", "line 1, read as a script of wrk: only constant texts"),
    ] {
        let message = named(name, lines).unwrap_err();
        assert!(message.contains(why) && message.starts_with("--urls /nowhere/"), "{lines:?}: {message}");
        assert!(!message.contains('\n'), "{message}");
    }
}

#[test]
fn the_headers_of_a_request_are_bounded() {
    let of = |lines: &dyn Fn(usize) -> String| (0..1001).map(lines).collect::<String>();
    let target = format!("GET http://h/\n{}", of(&|n| format!("A{n}: b\n")));
    for lines in [target, of(&|n| format!("wrk.headers.A{n} = 'b'\n"))] {
        assert!(listed(&lines).unwrap_err().contains("a request has at most 1000 headers"));
    }
}

#[test]
fn secrets_of_a_list_are_in_no_error() {
    for (name, lines) in [
        ("v", "GET http://h/\nAuthorization: Bearer s3cret\u{1}\n"),
        ("v", "GET http://h/\nA: b\ns3cret\n"),
        ("v", "GET http://user:s3cret@h/\nA: b\n"),
        ("s", "http://user:s3cret@h/ POST a\n"),
        ("s", "PASSWORD=s3cret\nhttp://h/ $(PASSWORD)\n"),
        ("j", "{\"method\": \"GET\", \"url\": [\"s3cret\"]}\n"),
        ("x.lua", "wrk.headers['A'] = 's3cret' .. x\n"),
    ] {
        let message = named(name, lines).unwrap_err();
        assert!(!message.contains("s3cret"), "{message}");
    }
}

/// The way to send requests with another host name to a server was not said.
#[test]
fn a_list_of_another_host_names_the_flag_that_sends_it_to_this_server() {
    let on = |url: &str, lines: &str| {
        let url = TargetUrl::parse(url).unwrap();
        parse(lines, Path::new("my list"), Some(&url)).unwrap_err().message
    };
    let message = on("http://127.0.0.1:8080/", "http://shop.example/a\n");
    assert!(
        message.ends_with("type plimsoll run http://shop.example/ --connect-to 127.0.0.1:8080 --urls 'my list'"),
        "{message}"
    );
    let message = on("http://[::1]/", "http://shop.example:81/a\n");
    assert!(message.contains("run http://shop.example:81/ --connect-to '[::1]:80' --urls"), "{message}");
    let message = on("http://127.0.0.1:8080/", "https://shop.example/a\n");
    assert!(message.contains("run https://shop.example/ --connect-to HOST:PORT --urls"), "{message}");
    let message = on("fastcgi://127.0.0.1:9000/a.php", "http://shop.example/a\n");
    assert!(!message.contains("--connect-to"), "{message}");
    let message = listed("http://a/\nhttp://b/\n").unwrap_err();
    assert!(message.ends_with("write a list for each"), "{message}");
}
