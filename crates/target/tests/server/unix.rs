//! Over a Unix socket, and what becomes of its file.

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

use model::Address;
use target::{TargetConfig, start};

fn config(path: &Path) -> TargetConfig {
    TargetConfig { listen: Address::Unix(path.into()), ..TargetConfig::default() }
}

fn landing_page(path: &Path) -> String {
    let mut stream = UnixStream::connect(path).expect("the target listens");
    stream.write_all(b"GET / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n").expect("it reads");
    let mut page = String::new();
    stream.read_to_string(&mut page).expect("it answers");
    page
}

#[test]
fn the_file_is_there_while_it_serves_and_gone_afterwards() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("target.sock");
    let server = start(config(&path)).expect("it starts");
    assert_eq!(
        (server.address().to_string(), server.url().as_str()),
        (format!("unix:{}", path.display()), "http://localhost/")
    );
    let page = landing_page(&path);
    assert!(page.contains(&format!("--unix-socket &#39;{}&#39; 'http://a.test/stats'", path.display())), "{page}");
    server.stop();
    server.join().expect("it ends in good order");
    assert!(!path.exists());
}

#[test]
fn a_stale_file_is_replaced_and_anything_else_is_left_alone() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("target.sock");
    // Its file stays behind.
    drop(UnixListener::bind(&path).expect("a socket"));
    let server = start(config(&path)).expect("it starts");
    let refused = |path: &Path| start(config(path)).expect_err("it is taken").to_string();
    assert!(refused(&path).contains("another server listens there"));
    assert!(landing_page(&path).starts_with("HTTP/1.1 200 "), "the first still serves");
    // The file of a successor is not the first one's to remove.
    std::fs::remove_file(&path).expect("it is there");
    let successor = UnixListener::bind(&path).expect("a socket");
    drop(server);
    assert!(path.exists());
    drop(successor);
    let file = directory.path().join("file");
    std::fs::write(&file, "precious").expect("a file");
    assert!(refused(&file).contains("no socket"));
    assert_eq!(std::fs::read_to_string(&file).expect("it is there"), "precious");
    assert!(refused(&directory.path().join("x".repeat(109))).contains("at most 108 bytes"));
    assert!(refused(&directory.path().join("none/target.sock")).contains("No such file"));
}
