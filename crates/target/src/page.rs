//! The texts a target answers with. None depends on the clock or on chance.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::net::SocketAddr;

use model::Address;

use super::guard::Guard;
use super::query::BadParameter;

/// An endpoint as the page shows it.
struct Endpoint {
    /// Where its form goes.
    path: &'static str,
    /// Parameters with values that work.
    fields: &'static [(&'static str, &'static str)],
    does: &'static str,
}

const ENDPOINTS: [Endpoint; 14] = [
    Endpoint {
        path: "/bytes/64KiB",
        fields: &[("chunked", "no")],
        does: "a body of exactly the size in the path, up to 1 GiB; chunked=yes sends it in chunked transfer coding",
    },
    Endpoint { path: "/zero", fields: &[("size", "2048")], does: "exactly that many zero bytes, up to 1 GiB" },
    Endpoint {
        path: "/urandom",
        fields: &[("size", "2048"), ("seed", "1")],
        does: "exactly that many pseudo-random bytes, up to 1 GiB; the same seed gives the same bytes",
    },
    Endpoint {
        path: "/download",
        fields: &[("size", "20480"), ("chunk_size", "2048")],
        does: "exactly that many zero bytes in chunks of that size, up to 64 KiB; without chunk_size with their length",
    },
    Endpoint {
        path: "/sleep",
        fields: &[("time", "20ms")],
        does: "an answer after exactly that time, up to 60 s, without keeping a worker busy",
    },
    Endpoint {
        path: "/sleep",
        fields: &[("dist", "exp"), ("mean", "5ms"), ("seed", "1")],
        does: "an answer after an exponentially distributed time",
    },
    Endpoint {
        path: "/sleep",
        fields: &[("dist", "uniform"), ("min", "1ms"), ("max", "9ms")],
        does: "after a uniformly distributed time",
    },
    Endpoint {
        path: "/sleep",
        fields: &[("dist", "lognormal"), ("mean", "5ms"), ("sigma", "0.5")],
        does: "after a lognormally distributed time; sigma, up to 3, is the deviation of its logarithm",
    },
    Endpoint {
        path: "/cpu",
        fields: &[("us", "500")],
        does: "an answer after burning that much CPU time of a worker, up to 10 s",
    },
    Endpoint { path: "/status/404", fields: &[], does: "the status in the path, 200 to 599" },
    Endpoint {
        path: "/pool",
        fields: &[],
        does: "an answer from a pool of workers behind a bounded queue, when one is configured",
    },
    Endpoint {
        path: "/upload",
        fields: &[("expect", "5")],
        does: "reads a request body (POST or PUT), counts it and answers with its size and CRC-32 in JSON; with expect \
               another size is refused",
    },
    Endpoint { path: "/stats", fields: &[], does: "connections and requests by worker, and the pool as it is" },
    Endpoint { path: "/", fields: &[], does: "this page, also at /index.html" },
];

/// Faults that any endpoint takes, on one that shows them.
const FAULTS: [Endpoint; 6] = [
    Endpoint { path: "/bytes/64KiB", fields: &[("first_byte", "50ms")], does: "the answer comes later, up to 60 s" },
    Endpoint {
        path: "/bytes/64KiB",
        fields: &[("body_rate", "32KiB")],
        does: "the body of /bytes, /zero, /urandom or /download comes at that many bytes a second, in at most 10 minutes",
    },
    Endpoint {
        path: "/bytes/64KiB",
        fields: &[("fault", "half")],
        does: "half of the answer, then the connection closes",
    },
    Endpoint {
        path: "/bytes/64KiB",
        fields: &[("fault", "reset")],
        does: "up to half of the answer, then a reset (RST)",
    },
    Endpoint {
        path: "/bytes/64KiB",
        fields: &[("fault", "drop")],
        does: "no answer; the connection closes after 60 s",
    },
    Endpoint {
        path: "/bytes/64KiB",
        fields: &[("fault", "wrong-size")],
        does: "a complete answer with a body of half the size",
    },
];

/// The page of `/`: what there is, each with a command that works as it stands for who asked as `host`.
pub(super) fn landing(address: &Address, tls: bool, host: &str, guard: &Guard) -> String {
    let asks = Asks { options: escape(&options(address, tls)).into(), base: escape(&base(address, tls, host)).into() };
    let mut page = String::from(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>plimsoll target</title>\n\
         <style>body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}\
         code{background:#8882;padding:.1rem .3rem}li{margin:0 0 1rem}input{width:7rem}</style></head>\n\
         <body><h1>plimsoll target</h1>\n<p>A small, exact test server. Everything answers GET and HEAD, and POST and \
         PUT where that makes sense. What cannot be meant is answered 400 with the reason.</p>\n",
    );
    page.push_str(match guard {
        Guard::Open => "",
        Guard::Token(_) => {
            "<p>/cpu, /sleep, /pool and faults need <code>-H 'Authorization: Bearer TOKEN'</code>.</p>\n"
        }
        Guard::Closed => "<p>/cpu, /sleep, /pool and faults are off: this server has no token.</p>\n",
    });
    page.push_str("<ul>\n");
    ENDPOINTS.iter().for_each(|endpoint| endpoint.write(&asks, &mut page));
    page.push_str("</ul>\n<h2>Faults</h2>\n<p>Every endpoint takes these parameters too.</p>\n<ul>\n");
    FAULTS.iter().for_each(|fault| fault.write(&asks, &mut page));
    page.push_str("</ul></body></html>\n");
    page
}

/// What a command needs to reach this server, as HTML.
struct Asks {
    /// Before the address, with a blank behind each.
    options: String,
    /// Before the path.
    base: String,
}

impl Endpoint {
    fn target(&self) -> String {
        let mut target = self.path.to_owned();
        for (index, (name, value)) in self.fields.iter().enumerate() {
            target.extend([if index == 0 { "?" } else { "&" }, name, "=", value]);
        }
        target
    }

    /// One item of the list: what it does, a form and a command.
    fn write(&self, asks: &Asks, page: &mut String) {
        let upload = self.path == "/upload";
        let target = self.target();
        let (Asks { options, base }, target) = (asks, escape(&target));
        let body = if upload { "--data-binary hello " } else { "" };
        let mut item = |text: std::fmt::Arguments<'_>| page.write_fmt(text).expect("writing to a string does not fail");
        item(format_args!(
            "<li><b>{}</b>: {}<br><code>curl -i {options}{body}'{base}{target}'</code>",
            self.path, self.does
        ));
        if upload {
            // A form cannot send a file without framing of its own, and expect would have to count that.
            item(format_args!(
                "<form action=\"/upload\" method=\"post\" enctype=\"multipart/form-data\">\
                 <input type=\"file\" name=\"file\"> <button>POST</button> with the framing of the form</form>"
            ));
        } else {
            item(format_args!("<form action=\"{}\">", self.path));
            for (name, value) in self.fields {
                item(format_args!("<label>{name} <input name=\"{name}\" value=\"{value}\"></label> "));
            }
            item(format_args!("<button>GET</button></form>"));
        }
        item(format_args!("</li>\n"));
    }
}

/// What to put before a path. A Host header that is no host, or would end a shell's quotes, is not repeated.
pub(super) fn base(address: &Address, tls: bool, host: &str) -> String {
    let scheme = if tls { "https" } else { "http" };
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b".:-_[]".contains(&byte);
    if !host.is_empty() && host.bytes().all(plain) {
        return format!("{scheme}://{host}");
    }
    // A wildcard address cannot be connected to by name; loopback stands for it.
    match address {
        Address::Tcp(SocketAddr::V4(v4)) if v4.ip().is_unspecified() => format!("{scheme}://127.0.0.1:{}", v4.port()),
        Address::Tcp(SocketAddr::V6(v6)) if v6.ip().is_unspecified() => format!("{scheme}://[::1]:{}", v6.port()),
        Address::Tcp(other) => format!("{scheme}://{other}"),
        Address::Unix(_) => format!("{scheme}://localhost"),
    }
}

/// What curl has to be told besides: few machines trust the certificate of a test server.
fn options(address: &Address, tls: bool) -> String {
    let trust = if tls { "-k " } else { "" };
    match address {
        Address::Tcp(_) => trust.into(),
        Address::Unix(path) => {
            format!("{trust}--unix-socket '{}' ", path.display().to_string().replace('\'', "'\\''"))
        }
    }
}

/// Text as HTML, in attributes too.
fn escape(text: &str) -> Cow<'_, str> {
    if !text.contains(['&', '<', '>', '"', '\'']) {
        return Cow::Borrowed(text);
    }
    let escaped = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    Cow::Owned(escaped.replace('"', "&quot;").replace('\'', "&#39;"))
}

/// The JSON that answers an upload.
pub(super) fn upload(bytes: u64, crc32: u32) -> String {
    format!("{{\"received_bytes\":{bytes},\"crc32\":\"{crc32:08x}\"}}\n")
}

/// The JSON that answers a parameter that cannot be used.
pub(super) fn bad_parameter(bad: &BadParameter) -> String {
    format!(
        "{{\"error\":{},\"parameter\":{},\"example\":{}}}\n",
        json_string(&bad.error),
        json_string(bad.parameter),
        json_string(bad.example)
    )
}

/// The JSON of any other error.
pub(super) fn error(message: &str) -> String {
    format!("{{\"error\":{}}}\n", json_string(message))
}

/// RFC 8259 section 7.
pub(super) fn json_string(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => write!(out, "\\u{:04x}", u32::from(c)).expect("writing to a string does not fail"),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::Token;
    use crate::route::plan;

    #[test]
    fn the_landing_page_lists_commands_and_forms_that_work() {
        let page = landing(&"0.0.0.0:8080".parse().unwrap(), false, "shop.example:81", &Guard::Open);
        for endpoint in ENDPOINTS.iter().chain(&FAULTS) {
            let target = endpoint.target();
            assert!(page.contains(&format!("'http://shop.example:81{}'", target.replace('&', "&amp;"))), "{target}");
            assert!(plan(&target).is_ok(), "{target}");
            assert!(page.contains(&format!("<form action=\"{}\"", endpoint.path)), "{target}");
        }
        assert_eq!(page.matches("<li>").count(), page.matches("</form></li>").count());
    }

    #[test]
    fn a_host_that_is_none_is_not_repeated() {
        let (wildcard, v6) = ("0.0.0.0:8080".parse().unwrap(), "[::1]:80".parse().unwrap());
        assert!(landing(&v6, false, "", &Guard::Open).contains("'http://[::1]:80/stats'"));
        for host in ["", "<script>alert(1)</script>", "a'; rm x; '", "a\tb", "\u{e4}"] {
            let page = landing(&wildcard, false, host, &Guard::Open);
            assert!(page.contains("'http://127.0.0.1:8080/stats'"), "{host}");
            assert!(host.is_empty() || !page.contains(host), "{host}");
        }
        assert_eq!(escape("<a href=\"x\">'&"), "&lt;a href=&quot;x&quot;&gt;&#39;&amp;");
    }

    #[test]
    fn commands_say_how_to_get_there() {
        let page = landing(&"[::]:8443".parse().unwrap(), true, "", &Guard::Open);
        assert!(page.contains("<code>curl -i -k 'https://[::1]:8443/stats'"), "{page}");
        let page = landing(&"unix:/run/it's.sock".parse().unwrap(), true, "a.test", &Guard::Open);
        let path = "&#39;/run/it&#39;\\&#39;&#39;s.sock&#39;";
        assert!(page.contains(&format!("<code>curl -i -k --unix-socket {path} 'https://a.test/stats'")), "{page}");
        assert_eq!(base(&Address::Unix("/x".into()), false, ""), "http://localhost");
    }

    #[test]
    fn the_page_tells_of_the_guard_and_never_the_token() {
        let address = "0.0.0.0:8080".parse().unwrap();
        let page = |guard| landing(&address, false, "", &guard);
        let guarded = page(Guard::Token(Token::new("0123456789abcdef").unwrap()));
        assert!(guarded.contains("Authorization: Bearer TOKEN") && !guarded.contains("0123456789abcdef"), "{guarded}");
        assert!(page(Guard::Closed).contains("are off"));
        assert!(!page(Guard::Open).contains("token"));
    }

    #[test]
    fn json_strings_are_escaped() {
        let bad =
            BadParameter { error: "\"a\\\u{1}µ\" is wrong".into(), parameter: "time", example: "/sleep?time=20ms" };
        assert_eq!(
            bad_parameter(&bad),
            "{\"error\":\"\\\"a\\\\\\u0001µ\\\" is wrong\",\"parameter\":\"time\",\"example\":\"/sleep?time=20ms\"}\n"
        );
    }
}
