//! Where redirects lead: the full URL that can be measured in place of the one that was named.

use url::Url;

/// How a URL writes the mark that stands for a secret, and how it is shown.
const MARKS: (&str, &str) = ("%3Credacted%3E", "<redacted>");

/// Of what can be measured.
const SCHEMES: [&str; 2] = ["http", "https"];

/// The URL at which the hops of a redirect end that begins at `url`, each as `Location` told it; none if there is no hop, or
/// one of them is no URL, or the end nothing that can be measured.
#[must_use]
pub fn redirected_to<'a>(url: &str, hops: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let base = Url::parse(url).ok()?;
    let mut end = None;
    for hop in hops {
        // The begin of a longer one is no URL.
        if hop.contains(' ') {
            return None;
        }
        // A part of a page is of no concern to the server.
        let mut next = end.as_ref().unwrap_or(&base).join(hop).ok()?;
        next.set_fragment(None);
        end = Some(next);
    }
    // What a server says is not taken for advice to measure a file.
    end.filter(|end| SCHEMES.contains(&end.scheme())).map(|end| end.as_str().replace(MARKS.0, MARKS.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// "Measure /home/ instead", which no command takes.
    #[test]
    fn the_end_of_a_redirect_is_a_full_url() {
        let of = |hops: &[&str]| redirected_to("http://127.0.0.1:8080/shop/?a=b", hops.iter().copied());
        for (hops, expected) in [
            (&["/home/"][..], "http://127.0.0.1:8080/home/"),
            (&["cart#top"], "http://127.0.0.1:8080/shop/cart"),
            (&["/a", "b", "https://example.org/c"], "https://example.org/c"),
            (&["//example.org/c", "/d?token=<redacted>"], "http://example.org/d?token=<redacted>"),
        ] {
            assert_eq!(of(hops).as_deref(), Some(expected), "{hops:?}");
        }
        for hop in ["http://:bad", "file:///etc/passwd", "javascript:alert(1)", "/xxx ... (60001 bytes)"] {
            assert_eq!(of(&[hop]), None, "{hop}");
        }
        assert_eq!(of(&[]), None);
    }
}
