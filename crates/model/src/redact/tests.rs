//! Every place in which a secret is known to stand, as it is shown, and whatever surrounds it.

use super::promises::{ARGUMENTS, HEADERS, PLACES};
use super::*;
use crate::{Address, Arrivals, Contract, Event, Load, NS_PER_S, Plan, Request, Stop, Target};
use proptest::prelude::*;

/// Shapes that were told once, and what is shown of them.
const SHAPES: [(&str, &str); 34] = [
    // The first quote ended the value, and a blank before the colon hid the name.
    ("Cookie: theme=\"dark\"; session=s3cret", "Cookie: <redacted>"),
    ("Authorization: Digest username=\"u\", response=\"s3cret\"", "Authorization: <redacted>"),
    ("X-Api-Key : s3cret", "X-Api-Key : <redacted>"),
    (
        "curl -H \"Authorization: Digest username=\"u\", response=\"s3cret\"\" h",
        "curl -H \"Authorization: <redacted>\" h",
    ),
    ("curl -H 'Cookie: theme=\"dark\"; session=s3cret' h", "curl -H 'Cookie: <redacted>' h"),
    ("-H \"x-api-key: s3cret\"", "-H \"x-api-key: <redacted>\""),
    ("> X-CSRF-Token: s3cret", "> X-CSRF-Token: <redacted>"),
    ("Set-Cookie: sid=s3cret; Path=/", "Set-Cookie: <redacted>"),
    (
        "ab --add-header=\"Authorization: Basic s3cret==\\n\" --uri=/",
        "ab --add-header=\"Authorization: <redacted>\" --uri=/",
    ),
    // Parameters that were not known.
    ("/x?sig=s3cret&page=1", "/x?sig=<redacted>&page=1"),
    ("/x?page=1&session=s3cret", "/x?page=1&session=<redacted>"),
    ("/x?key=s3cret", "/x?key=<redacted>"),
    ("/x?api-key=s3cret&y=1", "/x?api-key=<redacted>&y=1"),
    ("/a;jsessionid=s3cret", "/a;jsessionid=<redacted>"),
    ("/login?next=%2Fa%3Ftoken%3Ds3cret", "/login?next=%2Fa%3Ftoken%3D<redacted>"),
    ("/cb#access_token=s3cret&type=x", "/cb#access_token=<redacted>&type=x"),
    // Sources of data.
    ("gunicorn postgres://app:s3cret@db/shop", "gunicorn postgres://<redacted>@db/shop"),
    ("postgres://app:s3/cret@db/shop", "postgres://<redacted>@db/shop"),
    ("app:s3cret@tcp(db:3306)/shop", "<redacted>@tcp(db:3306)/shop"),
    ("redis://:s3cret@h", "redis://<redacted>@h"),
    ("https://s3cret@git.example/x", "https://<redacted>@git.example/x"),
    ("Server=db;Password=s3cret;Port=1", "Server=db;Password=<redacted>"),
    // Specifications of servers.
    ("command env=DB_PASSWORD=s3cret -- ./server", "command env=DB_PASSWORD=<redacted> -- ./server"),
    ("nginx env='DB_PASSWORD=s3 cret' workers=2", "nginx env='DB_PASSWORD=<redacted>' workers=2"),
    ("nginx env=DB_PASSWORD='s3 cret' workers=2", "nginx env=DB_PASSWORD='<redacted>' workers=2"),
    ("nginx \"env=DB_PASSWORD=s3 cret\" workers=2", "nginx \"env=DB_PASSWORD=<redacted>\" workers=2"),
    ("./server --password s3cret --port 80 --no-auth", "./server --password <redacted> --port 80 --no-auth"),
    // Bodies and what is printed of them.
    ("--body '{\"name\":\"s3cret\"}' http://h/", "--body '<redacted>' http://h/"),
    ("{\"user\":\"u\",\"password\":\"s3cret\",\"page\":1}", "{\"user\":\"u\",\"password\":\"<redacted>\",\"page\":1}"),
    ("{\\\"password\\\":\\\"s3cret\\\",\\\"page\\\":1}", "{\\\"password\\\":\\\"<redacted>\\\",\\\"page\\\":1}"),
    ("'password' => 's3cret', 'a' => 'b'", "'password' => '<redacted>', 'a' => 'b'"),
    ("\"access_token\": 53210123, \"x\": 2", "\"access_token\": <redacted>, \"x\": 2"),
    ("sent Bearer s3cret-token to it", "sent Bearer <redacted> to it"),
    ("token=s3cret, and more", "token=<redacted>, and more"),
];

/// Texts without a secret, some of which have held one up for one.
const PLAIN: [&str; 16] = [
    "Running 30s test @ http://h/x?size=1 and mail@example.org",
    "Server Temp Key: X25519 253 bits",
    "cannot read /etc/ssl/key.pem: permission denied",
    "nginx workers=2 gzip=on keepalive-requests=100",
    "mysql://looker@127.0.0.1:3306?password-file=secret",
    "http://[::1]:80/a@b",
    "plimsoll: --auth: the variable X is not set; is it exported?",
    "it asks for a password; PLIMSOLL_REDIS_PASSWORD or ?password-file=PATH gives one",
    "--body @cart.json http://h/",
    "with Basic authentication",
    "(--auth basic:file:PATH, --token env:VAR)",
    "/sleep?dist=lognormal&mean=5ms&sigma=1",
    "\"fast\" in \"nginx fast\" is not key=value",
    "env=DB_PASSWORD: env is NAME=VALUE",
    "token=<redacted>",
    "",
];

#[test]
fn shapes_that_were_told_are_not() {
    for (text, shown) in SHAPES {
        assert_eq!(Redacted::text(text).as_str(), shown, "{text}");
        assert_eq!(count_secrets(shown), 0, "what is redacted has no secret: {shown}");
    }
    for text in PLAIN {
        assert_eq!((Redacted::text(text).as_str(), count_secrets(text)), (text, 0));
    }
}

#[test]
fn lines_are_apart_and_secrets_are_counted() {
    let text = "httperf --add-header=\"Authorization: Basic dXNlcjpwdw==\\n\" --uri=/\r\n\
                wrk -H 'Cookie: sid=abc' http://user:pw@h/x?token=abc&y=1\nüber: token=ä\u{a0}\n";
    assert_eq!(count_secrets(text), 5);
    assert_eq!(
        Redacted::text(text).as_str(),
        "httperf --add-header=\"Authorization: <redacted>\" --uri=/\r\n\
         wrk -H 'Cookie: <redacted>' http://<redacted>@h/x?token=<redacted>&y=1\nüber: token=<redacted>\u{a0}\n"
    );
}

#[test]
fn arguments_are_replaced_as_a_whole() {
    let shown = |arguments: &[&str]| Redacted::own_command(arguments).join("|");
    assert_eq!(
        shown(&[
            "plimsoll",
            "run",
            "http://me:pw@h/x?token=t0p&y=1",
            "-H",
            "Authorization: Bearer t0p",
            "-HCookie: a=b; c=\"d e\"",
            "-qH",
            "X-Api-Key : a b",
            "-H",
            "X-A: b",
            "-b",
            "x=1",
            "-bx=1",
            "--body=x=1",
            "--body",
            "@file",
            "--auth",
            "basic:env:LOGIN",
            "--serve",
            "command env=DB_PASSWORD=x -- ./server",
            "--status=http://h/s?token=x",
        ]),
        "plimsoll|run|http://<redacted>@h/x?token=<redacted>&y=1|-H|Authorization: <redacted>|-HCookie: <redacted>|-qH|\
         X-Api-Key : <redacted>|-H|X-A: b|-b|<redacted>|-b<redacted>|--body=<redacted>|--body|@file|--auth|basic:env:LOGIN|\
         --serve|command env=DB_PASSWORD=<redacted> -- ./server|--status=http://h/s?token=<redacted>"
    );
    let words =
        ["--port=80", "--db-Password=x y", "API_TOKEN=y", "--auth", "z", "quiet", "--key=k", "-b", "127.0.0.1:80"];
    assert_eq!(
        Redacted::command(words).join(" "),
        "--port=80 --db-Password=<redacted> API_TOKEN=<redacted> --auth <redacted> quiet --key=<redacted> -b 127.0.0.1:80"
    );
}

#[test]
fn a_typed_header_is_shown_by_its_name() {
    for (typed, shown) in [
        ("Authorization: Bearer s3cret", "Authorization: <redacted>"),
        ("Authorization Bearer s3cret", "Authorization <redacted>"),
        ("nocolon", "nocolon"),
        ("X Y: z", "X Y: z"),
        ("X: a\r\nCookie: s3cret", "X: a\r\nCookie: <redacted>"),
    ] {
        assert_eq!(Redacted::header(typed).as_str(), shown);
    }
}

#[test]
fn a_plan_is_recorded_without_bodies_and_values_of_secret_headers() {
    let load = Load::Open { rate_per_s: 1.0, arrivals: Arrivals::Constant, connections: 1 };
    let address = Address::Tcp(([127, 0, 0, 1], 80).into());
    let mut plan = Plan::new(Target::at(address), load, Stop::Duration { duration_ns: NS_PER_S });
    plan.target.url = "http://h/?token=s3cret".into();
    let headers =
        [("authorization", "s3cret"), ("Accept", "*/*"), ("X-Session-Id", "s3cret"), ("Referer", "/?sig=s3cret")];
    let body_text = Some("token=s3cret".to_owned());
    plan.requests = vec![Request {
        headers: headers.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
        body: b"s3cret".to_vec(),
        body_bytes: 6,
        contract: Contract { body_text, ..Contract::default() },
        ..Request::get("/?token=s3cret&page=1")
    }];
    let event = Redacted::new(Event::Started { started: String::new(), plan: Box::new(plan) });
    let Event::Started { plan, .. } = &*event else { panic!("{event:?}") };
    assert!(!format!("{plan:?}").contains("s3cret"), "{plan:?}");
    assert_eq!((plan.requests[0].body_bytes, plan.requests[0].body.len()), (6, 0));
    assert_eq!(plan.requests[0].path, "/?token=<redacted>&page=1");
    assert_eq!(plan.requests[0].headers[1].1, "*/*");
    let json = serde_json::to_string(&event).unwrap();
    assert_eq!(json, serde_json::to_string(&*event).unwrap(), "the type is not seen in what is written");
}

/// Begins of texts in which all sorts of ends are looked for.
const BEGINS: [&str; 14] = [
    "",
    "token=",
    "/x?key=",
    "Cookie: ",
    "'Cookie: ",
    "\"secret\": ",
    "http://",
    "--password ",
    "env='TOKEN=",
    "Bearer ",
    "mysql -",
    "curl -u a:",
    "redis-cli AUTH ",
    "/?p%61ss=",
];

proptest! {
    #[test]
    fn a_secret_in_a_known_place_is_never_shown(
        place in 0..PLACES.len(),
        secret in "[A-Za-z0-9][A-Za-z0-9_.~+=-]{11,39}",
        before in "[ -~]{0,40}",
        behind in "[ -~]{0,40}",
    ) {
        prop_assume!(!before.contains(&secret) && !behind.contains(&secret));
        let (left, right) = PLACES[place];
        let text = format!("{before} {left}{secret}{right} {behind}");
        let shown = Redacted::text(&text);
        prop_assert!(!shown.contains(&secret), "{text} is shown as {shown}");
        prop_assert!(count_secrets(&text) > 0);
    }

    #[test]
    fn a_header_on_a_line_of_its_own_is_never_shown(
        header in 0..HEADERS.len(),
        secret in "[A-Za-z0-9][ -~]{11,60}",
        before in "[ -~]{0,40}",
    ) {
        // Blanks at the end of a line are not among its text.
        let secret = secret.trim_end();
        prop_assume!(secret.len() > 8 && !before.contains(secret));
        let shown = Redacted::text(&format!("{before}\n{}{secret}\r\n", HEADERS[header])).into_inner();
        prop_assert!(!shown.contains(secret), "{shown}");
    }

    #[test]
    fn a_secret_in_an_argument_is_never_shown(
        place in 0..ARGUMENTS.len(),
        secret in "[A-Za-z0-9][ -~]{11,39}",
        before in "[ -~]{0,20}",
        behind in "[ -~]{0,20}",
    ) {
        // A flag would take the next argument for its own.
        prop_assume!(!before.starts_with('-') && !before.contains(&secret) && !behind.contains(&secret));
        let (flag, left) = ARGUMENTS[place];
        let last = format!("{left}{secret}");
        let arguments = [before.as_str(), flag, &last, &behind];
        let shown = Redacted::own_command(arguments.iter().filter(|argument| !argument.is_empty()));
        prop_assert!(!shown.join("\n").contains(&secret), "{arguments:?} are shown as {shown:?}");
    }

    #[test]
    fn a_secret_in_a_url_is_never_shown(secret in "[A-Za-z0-9][ -%'-~]{11,39}", path in "[a-z/=:@'\"?]{0,20}") {
        prop_assume!(!path.contains(&secret));
        let shown = Redacted::url(&format!("http://h/{path}?page=1&token={secret}&y=1")).into_inner();
        prop_assert!(!shown.contains(&secret), "{shown}");
    }

    #[test]
    fn texts_with_secrets_in_all_places_keep_their_promises(
        place in any::<u8>(),
        begin in 0..BEGINS.len(),
        before in "[ -~]{0,30}",
        behind in "[\"'\\\\&@:;=,/? a-z-]{0,30}",
    ) {
        promises::keep(&[&[place], BEGINS[begin].as_bytes(), before.as_bytes(), b"\t", behind.as_bytes()].concat());
    }

    #[test]
    fn no_text_is_too_odd(begin in 0..BEGINS.len(), signs in "[\"'\\\\&@:;=,/? a-z-]{0,30}", odd in ".{0,30}") {
        let text = format!("{}{signs}{odd}{signs}", BEGINS[begin]);
        let shown = Redacted::text(&text);
        prop_assert_eq!(&Redacted::text(&shown), &shown);
        prop_assert_eq!(count_secrets(&shown), 0);
        let _ = (Redacted::url(&text), Redacted::header(&text), Redacted::own_command([&text]));
    }
}

#[test]
fn passwords_behind_short_flags_are_known_by_their_form_or_by_their_program() {
    for (command, shown) in [
        ("curl -u bob:s3cret http://h/", "curl -u bob:<redacted> http://h/"),
        ("web --user=bob:s3cret --proxy-user bob:s3cret", "web --user=bob:<redacted> --proxy-user bob:<redacted>"),
        ("ab -A bob:s3cret -P me:s3cret http://h/", "ab -A bob:<redacted> -P me:<redacted> http://h/"),
        ("/usr/bin/mysqldump -uroot -ps3cret shop", "/usr/bin/mysqldump -uroot -p<redacted> shop"),
        ("sudo mariadb -p shop", "sudo mariadb -p shop"),
        ("sshpass -p s3cret ssh host", "sshpass -p <redacted> ssh host"),
        ("redis-cli -a s3cret ping", "redis-cli -a <redacted> ping"),
        ("ldapsearch -w s3cret", "ldapsearch -w <redacted>"),
        ("web --code=s3cret --ticket s3cret --pin=1234", "web --code=<redacted> --ticket <redacted> --pin=<redacted>"),
        ("docker run -u 1000:1000 web -p 8080:80 -P", "docker run -u 1000:1000 web -p 8080:80 -P"),
        ("nginx -p /srv -u www", "nginx -p /srv -u www"),
        ("web --user http://h/ --status_code=200 -A 5", "web --user http://h/ --status_code=200 -A 5"),
    ] {
        assert_eq!(Redacted::command(command.split(' ')).join(" "), shown);
    }
}

/// The text was cut before its secrets were looked for, and a password without the `@` behind it is none.
#[test]
fn a_secret_that_is_cut_off_is_not_shown_in_part() {
    let url = format!("the page went to http://user:s3cret{}@h/ by itself", "x".repeat(300));
    assert_eq!(Redacted::line(&url, 200).as_str(), "the page went to http://<redacted>@h/ by itself");
    assert_eq!(Redacted::line("\u{1b} a\r\n\u{1b}[2J ", 200).as_str(), "a   [2J");
    assert_eq!(Redacted::line(&"é".repeat(1_000_000), 200).chars().count(), 200);
}

/// Redacted again, what had been a header behind a tab was a flag, and took the next argument with it.
#[test]
fn arguments_that_are_redacted_again_stay_as_they_are() {
    let once = Redacted::command(["web", "--password\tSet-Cookie:s3cret", "page"]);
    assert_eq!(once.join("|"), "web|--password\t<redacted>|page");
    assert_eq!(Redacted::command(once.iter()), once);
}

/// Command lines of programs, in which passwords stand behind flags and words whose names do not tell it.
const CALLS: [(&str, &str); 79] = [
    ("curl -ubob:s3cret http://h/", "curl -ubob:<redacted> http://h/"),
    ("curl -sSubob:s3cret http://h/", "curl -sSubob:<redacted> http://h/"),
    ("curl -sSu bob:s3cret http://h/", "curl -sSu bob:<redacted> http://h/"),
    ("curl -Ubob:s3cret http://h/", "curl -Ubob:<redacted> http://h/"),
    ("curl -U bob:s3cret http://h/", "curl -U bob:<redacted> http://h/"),
    ("curl --proxy-user=bob:s3cret http://h/", "curl --proxy-user=bob:<redacted> http://h/"),
    ("curl http://h/ -E c.pem:s3cret", "curl http://h/ -E c.pem:<redacted>"),
    ("curl --cert c.pem:s3cret http://h/", "curl --cert c.pem:<redacted> http://h/"),
    ("curl -kE c.pem http://h/", "curl -kE c.pem http://h/"),
    ("curl -b s3cret http://h/", "curl -b <redacted> http://h/"),
    ("curl -skbsid=s3cret http://h/", "curl -skb<redacted> http://h/"),
    ("curl --cookie s3cret http://h/", "curl --cookie <redacted> http://h/"),
    ("curl --pass s3cret http://h/", "curl --pass <redacted> http://h/"),
    ("curl --oauth2-bearer s3cret http://h/", "curl --oauth2-bearer <redacted> http://h/"),
    ("curl -d name=s3cret http://h/", "curl -d <redacted> http://h/"),
    ("curl -d @cart.json http://h/", "curl -d @cart.json http://h/"),
    ("wget --password=s3cret -U agent -b http://h/", "wget --password=<redacted> -U agent -b http://h/"),
    ("redis-cli -as3cret ping", "redis-cli -a<redacted> ping"),
    ("redis-cli --pass s3cret ping", "redis-cli --pass <redacted> ping"),
    ("redis-cli -h db AUTH s3cret", "redis-cli -h db AUTH <redacted>"),
    ("redis-cli auth bob s3cret", "redis-cli auth <redacted> <redacted>"),
    ("valkey-cli CONFIG SET requirepass s3cret", "valkey-cli CONFIG SET requirepass <redacted>"),
    ("redis-cli ACL SETUSER bob on >s3cret ~*", "redis-cli ACL SETUSER bob on ><redacted> ~*"),
    ("redis-server --requirepass s3cret --port 1", "redis-server --requirepass <redacted> --port 1"),
    ("redis-server --masterauth s3cret", "redis-server --masterauth <redacted>"),
    ("redis-server --user bob on >s3cret ~*", "redis-server --user bob on ><redacted> ~*"),
    ("redis-benchmark -a s3cret -n 5", "redis-benchmark -a <redacted> -n 5"),
    ("bin/mysql -u root -ps3cret", "bin/mysql -u root -p<redacted>"),
    ("mysql -vvBps3cret shop", "mysql -vvBp<redacted> shop"),
    ("mariadb-dump -u mysql -ps3cret shop", "mariadb-dump -u mysql -p<redacted> shop"),
    ("mysql -u curl -ps3cret", "mysql -u curl -p<redacted>"),
    ("mysql -p", "mysql -p"),
    ("mysql -P 3306 -h db shop", "mysql -P 3306 -h db shop"),
    ("mysqladmin -u root password s3cret", "mysqladmin -u root password <redacted>"),
    ("mongosh -u bob -ps3cret", "mongosh -u bob -p<redacted>"),
    ("mongodump -u bob -p s3cret --db shop", "mongodump -u bob -p <redacted> --db shop"),
    ("mongorestore --password s3cret", "mongorestore --password <redacted>"),
    ("psql -p 5432 -U bob shop", "psql -p 5432 -U bob shop"),
    ("ldapsearch -xws3cret -b dc=x", "ldapsearch -xw<redacted> -b dc=x"),
    ("ldapmodify -D cn=x -w s3cret", "ldapmodify -D cn=x -w <redacted>"),
    ("smbclient //h/s -U bob%s3cret", "smbclient //h/s -U bob%<redacted>"),
    ("smbclient //h/s --user=bob%s3cret", "smbclient //h/s --user=bob%<redacted>"),
    ("lftp -p 21 -u bob,s3cret h", "lftp -p 21 -u bob,<redacted> h"),
    ("http -a bob:s3cret h/x", "http -a <redacted> h/x"),
    ("xh -abob:s3cret h/x", "xh -a<redacted> h/x"),
    ("hey -n 5 -a bob:s3cret http://h/", "hey -n 5 -a bob:<redacted> http://h/"),
    ("ab -kA bob:s3cret -Pme:s3cret http://h/", "ab -kA bob:<redacted> -Pme:<redacted> http://h/"),
    ("ab -C sid=s3cret http://h/", "ab -C <redacted> http://h/"),
    ("wrk -t 2 -c 10 -d 5s http://h/", "wrk -t 2 -c 10 -d 5s http://h/"),
    ("docker login -u bob -p s3cret r.io", "docker login -u bob -p <redacted> r.io"),
    ("podman login -ps3cret", "podman login -p<redacted>"),
    ("docker run -p 80:80 -p8080:80 web", "docker run -p 80:80 -p8080:80 web"),
    ("sqlcmd -S db -P s3cret", "sqlcmd -S db -P <redacted>"),
    ("cqlsh -u bob -p s3cret", "cqlsh -u bob -p <redacted>"),
    ("mosquitto_pub -P s3cret -t x", "mosquitto_pub -P <redacted> -t x"),
    ("mosquitto_sub -P s3cret -t x", "mosquitto_sub -P <redacted> -t x"),
    ("ipmitool -U bob -P s3cret power", "ipmitool -U bob -P <redacted> power"),
    ("snmpget -v3 -A s3cret -X s3cret h x", "snmpget -v3 -A <redacted> -X <redacted> h x"),
    ("snmpwalk -v2c -c s3cret h", "snmpwalk -v2c -c <redacted> h"),
    ("snmpset -v2c -cs3cret h", "snmpset -v2c -c<redacted> h"),
    ("7z a -ps3cret x.7z", "7z a -p<redacted> x.7z"),
    ("7za x -ps3cret x.7z", "7za x -p<redacted> x.7z"),
    ("zip -rP s3cret x.zip x", "zip -rP <redacted> x.zip x"),
    ("unzip -o -P s3cret x.zip", "unzip -o -P <redacted> x.zip"),
    ("openssl enc -aes-256-cbc -k s3cret", "openssl enc -aes-256-cbc -k <redacted>"),
    ("openssl enc -K s3cret -iv 0", "openssl enc -K <redacted> -iv 0"),
    ("openssl enc -pass pass:s3cret", "openssl enc -pass <redacted>"),
    ("openssl rsa -passin pass:s3cret -passout env:X", "openssl rsa -passin <redacted> -passout env:X"),
    ("openssl passwd -6 s3cret", "openssl passwd -6 <redacted>"),
    ("openssl passwd -6 -salt x s3cret", "openssl passwd -6 -salt <redacted> <redacted>"),
    ("htpasswd -b file bob s3cret", "htpasswd -b file <redacted> <redacted>"),
    ("htpasswd -nb bob s3cret", "htpasswd -nb bob <redacted>"),
    ("htpasswd -bc file bob s3cret", "htpasswd -bc file <redacted> <redacted>"),
    ("htpasswd -nbB -C 10 bob s3cret", "htpasswd -nbB -C 10 <redacted> <redacted>"),
    ("rabbitmqctl add_user bob s3cret", "rabbitmqctl add_user bob <redacted>"),
    ("rabbitmqctl -n x change_password bob s3cret", "rabbitmqctl -n x change_password bob <redacted>"),
    ("vault login -no-store s3cret", "vault login -no-store <redacted>"),
    ("consul agent -encrypt s3cret", "consul agent -encrypt <redacted>"),
    ("consul agent -encrypt=s3cret", "consul agent -encrypt=<redacted>"),
];

#[test]
fn passwords_on_command_lines_of_known_programs_are_known_by_the_manuals_of_these() {
    for (command, shown) in CALLS {
        assert_eq!(Redacted::command(command.split(' ')).join(" "), shown);
        // The words have nothing round them, so that a text reads in the same way.
        assert_eq!(Redacted::text(command).as_str(), shown);
        assert_eq!(count_secrets(shown), 0, "{shown}");
    }
}

/// Command lines were redacted only where the arguments of a process were known, and labels and messages have them too.
#[test]
fn a_command_line_within_a_text_is_redacted_as_that_of_a_process() {
    for (text, shown) in [
        ("server -- bin/mysql -u root -ps3cret on CPU 0", "server -- bin/mysql -u root -p<redacted> on CPU 0"),
        ("command env=X=1 -- bin/mysql -u root -ps3cret", "command env=X=1 -- bin/mysql -u root -p<redacted>"),
        ("command -- redis-cli -a s3cret", "command -- redis-cli -a <redacted>"),
        ("sshpass -p s3cret ssh h", "sshpass -p <redacted> ssh h"),
        ("sshpass -ps3cret ssh h", "sshpass -p<redacted> ssh h"),
        ("command -- ./web -u bob:s3cret", "command -- ./web -u bob:<redacted>"),
        (
            "bash ended with exit code 1: using mysql -u root -ps3cret",
            "bash ended with exit code 1: using mysql -u root -p<redacted>",
        ),
        ("bash -c \"mysql -u root -ps3cret\" x", "bash -c \"mysql -u root -p<redacted>\" x"),
        ("binary=/usr/bin/mysql -ps3cret", "binary=/usr/bin/mysql -p<redacted>"),
        ("mysql -p's3 cret' shop", "mysql -p'<redacted>' shop"),
        ("redis-cli -a 's3 cret' ping", "redis-cli -a '<redacted>' ping"),
        ("curl -u 'bob:s3 cret' h", "curl -u 'bob:<redacted>' h"),
        ("curl -u bob:'s3 cret' h", "curl -u bob:'<redacted>' h"),
        ("redis-server --user bob on '>s3cret' ~*", "redis-server --user bob on '><redacted>' ~*"),
        ("[\"mysql\", \"-ps3cret\", \"shop\"]", "[\"mysql\", \"-p<redacted>\", \"shop\"]"),
        ("[\"redis-cli\",\"-a\",\"s3cret\",\"ping\"]", "[\"redis-cli\",\"-a\",\"<redacted>\",\"ping\"]"),
        ("{\"run\":\"redis-cli -a s3cret\"}", "{\"run\":\"redis-cli -a <redacted>\"}"),
        ("x=$(mysql -ps3cret -e 1)", "x=$(mysql -p<redacted> -e 1)"),
        ("cat x|mysql -ps3cret; wget -ps3", "cat x|mysql -p<redacted>; wget -ps3"),
        ("mysql shop && mkdir -p /srv", "mysql shop && mkdir -p /srv"),
        ("mysql x | ssh -p22 h", "mysql x | ssh -p22 h"),
        ("mysql x; ssh -p22 h", "mysql x; ssh -p22 h"),
        ("mysql -ps3cret --token=s3cret", "mysql -p<redacted> --token=<redacted>"),
    ] {
        assert_eq!(Redacted::text(text).as_str(), shown, "{text}");
        assert_eq!(count_secrets(shown), 0, "what is redacted has no secret: {shown}");
    }
}

#[test]
fn a_command_line_behind_our_own_is_that_of_another_program() {
    let shown = Redacted::own_command("plimsoll serve command -- mysql -u root -ps3cret".split(' ')).join(" ");
    assert_eq!(shown, "plimsoll serve command -- mysql -u root -p<redacted>");
}

#[test]
fn sentences_about_programs_are_no_command_lines() {
    for text in [
        "mysql -p asks for a password",
        "hey -a",
        "redis-server refuses AUTH without a password",
        "the mysql server on port 3306 -- see its log",
        "http://h/mysql -p80",
        "docker run -p 80:80 redis",
        "php -d memory_limit=1G and nginx -p /srv -c x -a",
        "curl: (7) Failed to connect to h port 80",
        "zip and 7z are not there - install them",
        "mongod is not ready: it has not written \"waiting for connections\"",
        "a user and a group: -u 1000:1000, or --user NAME",
    ] {
        assert_eq!((Redacted::text(text).as_str(), count_secrets(text)), (text, 0));
    }
}

/// A letter of the name was escaped.
#[test]
fn a_parameter_with_an_escaped_name_is_known_by_the_name_that_is_meant() {
    for (url, shown) in [
        ("http://h/?p%61ssword=s3cret", "http://h/?p%61ssword=<redacted>"),
        ("http://h/?%74oken=s3cret&x=1", "http://h/?%74oken=<redacted>&x=1"),
        ("http://h/?x=1&p%61ss=s3cret", "http://h/?x=1&p%61ss=<redacted>"),
        ("http://h/?p%2561ss=s3cret", "http://h/?p%2561ss=<redacted>"),
        ("/login?next=%2Fa%3Ft%256fken%3Ds3cret", "/login?next=%2Fa%3Ft%256fken%3D<redacted>"),
        ("http://h/?p%61ge=5&%zz=1&100%=2", "http://h/?p%61ge=5&%zz=1&100%=2"),
    ] {
        assert_eq!(Redacted::url(url).as_str(), shown);
        assert_eq!(Redacted::text(url).as_str(), shown);
        assert_eq!(Redacted::command([url]).join(" "), shown);
        let body = format!("x=1&{}", url.rsplit_once('?').unwrap().1);
        assert!(!Redacted::text(&body).contains("s3cret"), "{body}");
    }
}

#[test]
fn names_of_credentials_without_a_telling_part_are_known_as_a_whole() {
    for (text, shown) in [
        ("/cb?ticket=s3cret&x=1", "/cb?ticket=<redacted>&x=1"),
        ("/login?next=%2Fcb%3Fx%3D1%26ticket%3Ds3cret", "/login?next=%2Fcb%3Fx%3D1%26ticket%3D<redacted>"),
        ("/cb?client_assertion=s3cret&x=1", "/cb?client_assertion=<redacted>&x=1"),
        ("/cb?SAMLResponse=s3cret&bearer=s3cret", "/cb?SAMLResponse=<redacted>&bearer=<redacted>"),
        ("/x?code=200&pin=5&ticket_price=7&tickets=2", "/x?code=200&pin=5&ticket_price=7&tickets=2"),
        ("X-Bearer: s3cret", "X-Bearer: <redacted>"),
        ("DPoP: s3cret", "DPoP: <redacted>"),
        ("> x-ticket: s3cret", "> x-ticket: <redacted>"),
        ("X-Client-Cert: s3cret", "X-Client-Cert: <redacted>"),
        ("curl -H 'X-MS-CLIENT-PRINCIPAL: s3cret' h", "curl -H 'X-MS-CLIENT-PRINCIPAL: <redacted>' h"),
        ("X-MS-CLIENT-PRINCIPAL-NAME: bob", "X-MS-CLIENT-PRINCIPAL-NAME: bob"),
        ("Ticket: 5 are open", "Ticket: 5 are open"),
    ] {
        assert_eq!(Redacted::text(text).as_str(), shown);
    }
}
