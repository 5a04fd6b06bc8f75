//! Go, Java and Rust.

use super::super::setup::{Pages, Setup};
use crate::install::Origin::{Crates, Debian, Go, Here};
use xtask::packages::Tool;

#[rustfmt::skip]
pub(super) static SETUPS: [Setup; 8] = [
    Setup::new("net/http", "Go", Go(&[]), "./server {port}").files(&[("main.go", include_str!("../apps/nethttp.go"))]),
    Setup::new("fasthttp", "Go", Go(&["github.com/valyala/fasthttp"]), "./server {port}").files(&[("main.go", include_str!("../apps/fasthttp.go"))]),
    Setup::new("gin", "Go on net/http", Go(&["github.com/gin-gonic/gin"]), "./server {port}").files(&[("main.go", include_str!("../apps/gin.go"))]),
    Setup::new("echo", "Go on net/http", Go(&["github.com/labstack/echo/v4"]), "./server {port}").files(&[("main.go", include_str!("../apps/echo.go"))]),
    Setup::new("jdk", "Java, its own server", Debian(&[Tool::new("javac", &["default-jdk-headless"])]), "java Pages.java {port}").files(&[("Pages.java", include_str!("../apps/Pages.java"))]),
    Setup::new("miniserve", "Rust, actix", Crates("miniserve"), "{crates}/miniserve -i 127.0.0.1 -p {port} {site} > /dev/null").pages(Pages::Files),
    Setup::new("static-web-server", "Rust, hyper", Crates("static-web-server"), "{crates}/static-web-server -a 127.0.0.1 -p {port} -d {site} -g error").pages(Pages::Files),
    Setup::new("built-in", "Rust, this program", Here, "{plimsoll} target --listen 127.0.0.1:{port}").pages(Pages::Hello).at("/bytes/64"),
];
