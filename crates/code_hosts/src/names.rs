//! Checks the names of owners and repositories. Hosts restrict them in the same way, so other names come from a server that is not what it
//! claims, and may be meant for a path, a command line or a terminal.

/// Longest part of a name: the limit of file systems.
const PART_BYTES_MAX: usize = 255;
/// Longest full name; subgroups of GitLab are nested up to 20 deep.
const FULL_NAME_BYTES_MAX: usize = 1024;
const TOPIC_CHARS_MAX: usize = 100;

/// Returns `true` if `text` is the name of an owner or a repository. A folder named `.git` would make its parent a repository.
pub(crate) fn is_name(text: &str) -> bool {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '-' | '_');
    !text.is_empty()
        && text.len() <= PART_BYTES_MAX
        && text.chars().all(is_plain)
        && !matches!(text, "." | "..")
        && !text.eq_ignore_ascii_case(".git")
}

/// Returns `true` if `text` is an owner and a name, or groups and a name, with slashes between them.
pub(crate) fn is_full_name(text: &str) -> bool {
    text.len() <= FULL_NAME_BYTES_MAX && text.contains('/') && is_path(text)
}

/// Returns `true` if `text` consists of names with slashes between them, and cannot be mistaken for an option.
pub(crate) fn is_path(text: &str) -> bool {
    !text.starts_with('-') && text.split('/').all(is_name)
}

/// Returns `true` if `text` is a topic: one line without hidden characters.
pub(crate) fn is_topic(text: &str) -> bool {
    !text.is_empty() && text.chars().count() <= TOPIC_CHARS_MAX && contract::escaped_line(text) == text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_names_are_plain_paths() {
        for good in ["acme/shop", "acme/shop.rs", "acme/-dash", "a/b/c/d_e", "acme/.github"] {
            assert!(is_full_name(good), "{good}");
        }
        for bad in [
            "", "acme", "/acme/shop", "acme/shop/", "acme//shop", "acme/..", "./shop", "-acme/shop",
            "acme/.git", "acme/.GIT", "acme/sh op", "acme/shop\n", "acme/shöp", "acme\\shop", "acme/$(id)",
            "acme/a:b",
        ] {
            assert!(!is_full_name(bad), "{bad:?}");
        }
        assert!(!is_full_name(&format!("acme/{}", "x".repeat(256))));
        assert!(!is_full_name(&["x"; 600].join("/")));
    }

    #[test]
    fn topics_are_short_lines() {
        assert!(is_topic("web-server") && is_topic("Machine Learning"));
        assert!(!is_topic("") && !is_topic("a\nb") && !is_topic("a\u{202e}b") && !is_topic(&"x".repeat(101)));
    }
}
