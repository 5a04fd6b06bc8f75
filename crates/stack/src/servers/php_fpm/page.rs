//! The generated PHP page: of a known size, and with a known service time when it is asked for.

use super::super::page as bytes_of_page;
use crate::error::StackError;
use crate::spec::Spec;

/// The page and what it sends. The body lies in a file of its own, as PHP would keep a large one in memory.
pub(super) fn files(spec: &Spec) -> [(&'static str, Vec<u8>); 2] {
    [("www/index.php", script(spec).into_bytes()), ("www/index.txt", bytes_of_page(spec.settings.file_size))]
}

/// The body that must come; none when we cannot know it.
pub(super) fn expected(spec: &Spec) -> Result<Option<Vec<u8>>, StackError> {
    let settings = &spec.settings;
    let takes_time = ["sleep", "burn"].iter().any(|name| spec.extras.time_ns(name) > 0);
    if settings.root.is_some() && takes_time {
        return Err(StackError::Wrong(
            "sleep and burn are of the generated page: leave them out, or leave out root".into(),
        ));
    }
    let path = settings.path.split('?').next().unwrap_or_default();
    let is_ours = settings.root.is_none() && ["/", "/index.php", "/index.txt"].contains(&path);
    Ok(is_ours.then(|| bytes_of_page(settings.file_size)))
}

fn script(spec: &Spec) -> String {
    let (sleep_us, burn_us) = (spec.extras.time_ns("sleep") / 1000, spec.extras.time_ns("burn") / 1000);
    let mut text = String::from("<?php\n");
    if sleep_us > 0 {
        // usleep may not take more than a second everywhere.
        let (seconds, nanoseconds) = (sleep_us / 1_000_000, sleep_us % 1_000_000 * 1000);
        text.push_str(&format!("time_nanosleep({seconds}, {nanoseconds});\n"));
    }
    if burn_us > 0 {
        // CPU time, not time: a page that waits for its turn has not worked.
        text.push_str(&format!(
            "function used() {{\n    $u = getrusage();\n    \
             return ($u['ru_utime.tv_sec'] + $u['ru_stime.tv_sec']) * 1000000 + $u['ru_utime.tv_usec'] + $u['ru_stime.tv_usec'];\n}}\n\
             $end = used() + {burn_us};\n\
             while (used() < $end) {{\n    for ($i = 0, $x = 0; $i < 500; $i++) $x += $i;\n}}\n"
        ));
    }
    text.push_str(&format!(
        "header('Content-Type: text/plain');\nheader('Content-Length: {}');\nreadfile(__DIR__ . '/index.txt');\n",
        spec.settings.file_size
    ));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Spec {
        Spec::parse(text).expect("known")
    }

    #[test]
    fn a_page_takes_the_time_it_is_asked_to() {
        assert!(script(&of("php-fpm sleep=1200ms")).contains("time_nanosleep(1, 200000000);"));
        assert!(script(&of("php-fpm burn=3ms")).contains("$end = used() + 3000;"));
        let plain = script(&of("php-fpm file-size=64KiB"));
        assert!(
            plain.contains("Content-Length: 65536") && !plain.contains("sleep") && !plain.contains("used"),
            "{plain}"
        );
    }

    #[test]
    fn the_body_is_known_where_it_is_ours() {
        let body = |text: &str| expected(&of(text));
        assert_eq!(body("php-fpm file-size=10 path=/index.php?x=1").expect("fine").map(|body| body.len()), Some(10));
        assert_eq!(body("php-fpm path=/other").expect("fine"), None);
        assert_eq!(body("php-fpm root=/srv").expect("fine"), None);
        assert!(body("php-fpm root=/srv sleep=1ms").expect_err("whose page?").to_string().contains("leave out root"));
    }
}
