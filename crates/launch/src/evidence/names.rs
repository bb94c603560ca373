//! Names and paths of code between backticks in the text of pages.

use std::sync::LazyLock;

use regex::Regex;

use crate::pattern::pattern;

/// A name of code.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct CodeName {
    /// Its parts: `Store`, `open` of `Store::open()`.
    pub parts: Vec<String>,
    /// `true` if it is written as a call.
    pub is_call: bool,
}

impl CodeName {
    /// The last part.
    #[must_use]
    pub fn last(&self) -> &str {
        self.parts.last().map_or("", String::as_str)
    }

    /// Returns `true` if it has several parts.
    #[must_use]
    pub fn is_qualified(&self) -> bool {
        self.parts.len() > 1
    }
}

/// Longest code that is taken for a name, in bytes.
const NAME_BYTES_MAX: usize = 200;

/// A name with its parts, and perhaps the arguments of a call.
static NAME: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"^([A-Za-z_][A-Za-z0-9_]*(?:(?:::|\.|#|->)[A-Za-z_][A-Za-z0-9_]*)*)(\(.*\))?$")
});
/// Two or more parts of ordinary length: words separated by `_`, or by capitals.
static MULTIWORD: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"^_*(?:[a-z0-9]+(?:_[a-z0-9]+)+|[a-z][a-z0-9]*(?:[A-Z][a-z0-9]*)+|(?:[A-Z][a-z0-9]+){2,})_*$")
});
/// A relative path of at least two parts.
static PATH: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^(?:\./)?[A-Za-z0-9_.@+-]+(?:/[A-Za-z0-9_.@+-]+)+/?$"));

/// Parses code within a line as a single name. A name with a file extension, such as `a.rs`, is a file and gives `None`.
#[must_use]
pub fn name_in(code: &str) -> Option<CodeName> {
    let code = code.trim();
    if code.len() > NAME_BYTES_MAX {
        return None;
    }
    let found = NAME.captures(code)?;
    let name = found.get(1)?.as_str();
    let is_call = found.get(2).is_some();
    if !is_call && languages::detect(name, b"").is_some() {
        return None;
    }
    let name = name.replace("::", ".").replace("->", ".").replace('#', ".");
    let parts: Vec<String> = name.split('.').filter(|part| !part.is_empty()).map(str::to_owned).collect();
    (!parts.is_empty()).then_some(CodeName { parts, is_call })
}

/// Returns `true` if a name has several words, so that it is hardly a word of a language or of every library. Names in capitals alone do
/// not count, because they are environment variables and constants of other programs as often as not.
#[must_use]
pub fn is_multiword(name: &str) -> bool {
    MULTIWORD.is_match(name) && name.len() >= 5
}

/// Parses code within a line as a path: relative, with a slash, without a line number at its end.
#[must_use]
pub fn path_in_code(code: &str) -> Option<&str> {
    let code = code.trim();
    let (path, line) = code.rsplit_once(':').unwrap_or((code, ""));
    let path = if line.bytes().all(|digit| digit.is_ascii_digit()) { path } else { code };
    let is_path = path.len() <= NAME_BYTES_MAX && PATH.is_match(path) && !path.contains("..");
    is_path.then(|| path.strip_prefix("./").unwrap_or(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_cut_into_parts() {
        let parts = |code: &str| name_in(code).map(|name| (name.parts.join(" "), name.is_call));
        for (code, expected) in [
            ("Store::open", Some(("Store open", false))),
            ("store.open(path, &x)", Some(("store open", true))),
            ("Context#json", Some(("Context json", false))),
            ("parse_order()", Some(("parse_order", true))),
            ("main.rs", None),
            ("a + b", None),
            ("--flag", None),
            ("x/y", None),
            ("", None),
        ] {
            assert_eq!(parts(code), expected.map(|(name, call)| (name.to_owned(), call)), "{code}");
        }
        assert!(name_in(&"x".repeat(300)).is_none());
    }

    #[test]
    fn multiword_names_are_those_of_one_program() {
        for name in ["parse_order", "parseOrder", "OrderParser", "_load_all", "is_2d_array"] {
            assert!(is_multiword(name), "{name}");
        }
        for name in ["open", "HTTP_PROXY", "Order", "x_y", "JSON", "__init__"] {
            assert!(!is_multiword(name), "{name}");
        }
    }

    #[test]
    fn paths_have_a_slash_and_no_line() {
        for (code, expected) in [
            ("src/lib.rs", Some("src/lib.rs")),
            ("./src/lib.rs:12", Some("src/lib.rs")),
            ("docs/", None),
            ("docs/a/", Some("docs/a/")),
            ("/etc/passwd", None),
            ("a b/c", None),
            ("src/*.rs", None),
            ("<dir>/x", None),
            ("../x/y", None),
            ("http://x/y", None),
        ] {
            assert_eq!(path_in_code(code), expected, "{code}");
        }
    }
}
