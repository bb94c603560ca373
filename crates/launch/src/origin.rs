//! Reads the address that a git directory was cloned from in its configuration.

/// Longest address that is read.
const URL_BYTES_MAX: usize = 2000;

/// Returns the `url` of the remote `origin` in the text of a git configuration. Included files are not followed.
#[must_use]
pub fn origin_url(config: &str) -> Option<String> {
    let mut in_origin = false;
    let mut url = None;
    for line in config.lines().map(str::trim) {
        if line.starts_with('[') {
            in_origin = is_origin(line);
        } else if in_origin
            && let Some((name, value)) = line.split_once('=')
            && name.trim().eq_ignore_ascii_case("url")
        {
            let value = value.trim();
            let unquoted = value.strip_prefix('"').and_then(|value| value.strip_suffix('"'));
            url = Some(unquoted.unwrap_or(value).to_owned());
        }
    }
    url.filter(|url| !url.is_empty() && url.len() <= URL_BYTES_MAX)
}

/// Returns `true` if a line is `[remote "origin"]`; section names are case-insensitive, subsection names are case-sensitive.
fn is_origin(line: &str) -> bool {
    let inner = line.strip_prefix('[').and_then(|line| line.split_once(']')).map(|(inner, _)| inner.trim());
    let parts = inner.and_then(|inner| inner.split_once(char::is_whitespace));
    parts.is_some_and(|(section, name)| section.eq_ignore_ascii_case("remote") && name.trim() == "\"origin\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_url_of_origin_is_found_among_others() {
        let config = "[core]\n\tbare = false\n[remote \"upstream\"]\n\turl = https://host/other\n[Remote \"origin\"]\n\t\
            fetch = +refs/heads/*:refs/remotes/origin/*\n\tURL = git@github.com:acme/shop.git\n[branch \"main\"]\n\turl = x\n";
        assert_eq!(origin_url(config).as_deref(), Some("git@github.com:acme/shop.git"));
        assert_eq!(
            origin_url("[remote \"origin\"]\nurl = \"https://host/a\"\n").as_deref(),
            Some("https://host/a")
        );
    }

    #[test]
    fn what_has_no_origin_has_no_url() {
        for config in [
            "", "url = x", "[remote \"Origin\"]\nurl = x", "[remote]\nurl = x",
            "[remote \"origin\"]\nurl =\n",
        ] {
            assert_eq!(origin_url(config), None, "{config:?}");
        }
        let long = format!("[remote \"origin\"]\nurl = {}\n", "x".repeat(3000));
        assert_eq!(origin_url(&long), None);
    }
}
