//! Names of functions as they are shown.

/// Characters of a function's name that are shown: as many of its end, which tells it apart.
const NAME_MAX: usize = 60;

/// The end of a long name, without the marks that flame graphs colour by, which go into words.
pub(crate) fn short(name: &str) -> String {
    let marks = [("_[k]", " (kernel)"), ("_[i]", " (inlined)"), ("_[j]", " (JIT)")];
    let found = marks.iter().find_map(|(mark, words)| Some((name.strip_suffix(mark)?, *words)));
    let (name, words) = found.unwrap_or((name, ""));
    let length = name.chars().count();
    match length > NAME_MAX {
        true => format!("...{}{words}", name.chars().skip(length - NAME_MAX + 3).collect::<String>()),
        false => format!("{name}{words}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_keep_their_end_and_marks_become_words() {
        assert_eq!(short("tcp_sendmsg_[k]"), "tcp_sendmsg (kernel)");
        let long = format!("{}::poll", "a".repeat(80));
        assert_eq!(short(&long), format!("...{}::poll", "a".repeat(NAME_MAX - 9)));
    }
}
