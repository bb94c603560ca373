//! Translates a path filter to a regular expression that means the same in Rust and in Postgres.
//!
//! A text between slashes is a regular expression (`/^src\/.*_test/`), matched anywhere in the path.
//! A text with `*`, `?`, `[` or `{` is a glob, anchored as in `.gitignore`: without `/` it may match at any depth.
//! Any other text is a substring. Matching ignores case unless the request says otherwise.

use globset::GlobBuilder;

use crate::search::filters::regex_filter::translated as translated_regex;

use contract::{ErrorCode, Fault};

/// Maximum length of a pattern in bytes.
const PATTERN_BYTES_MAX: usize = 512;

/// Returns the regular expression for one path filter.
///
/// # Errors
/// `INVALID_REQUEST` for an empty or over-long pattern and for a malformed glob.
pub(in crate::search) fn path_regex(pattern: &str, exact_case: bool) -> Result<String, Fault> {
    let regex = without_case_flag(pattern, exact_case)?;
    Ok(if exact_case || slashed_regex(pattern.trim()).is_some() { regex } else { format!("(?i){regex}") })
}

/// Returns the expression between the slashes of `/regex/` or `/regex/i`, and whether it has the flag `i`.
pub(in crate::search) fn slashed_regex(pattern: &str) -> Option<(&str, bool)> {
    let inner = pattern.strip_prefix('/')?;
    let (regex, ignores_case) = match inner.strip_suffix("/i") {
        Some(regex) => (regex, true),
        None => (inner.strip_suffix('/')?, false),
    };
    (!regex.is_empty()).then_some((regex, ignores_case))
}

fn without_case_flag(pattern: &str, exact_case: bool) -> Result<String, Fault> {
    let pattern = pattern.trim();
    if pattern.is_empty() || pattern.len() > PATTERN_BYTES_MAX {
        return Err(refused(pattern, &format!("A path filter has 1 to {PATTERN_BYTES_MAX} bytes.")));
    }
    if let Some((regex, ignores_case)) = slashed_regex(pattern) {
        // Languages that write expressions between slashes escape the slash as `\/`.
        return translated_regex(&regex.replace("\\/", "/"), ignores_case || !exact_case)
            .map_err(|why| refused(pattern, &format!("Not a usable regular expression: {why}.")));
    }
    // Shells complete to `./src`; Windows uses backslashes.
    let pattern = pattern.strip_prefix("./").filter(|rest| !rest.is_empty()).unwrap_or(pattern);
    if !pattern.contains(['*', '?', '[', '{']) {
        let slashed = if pattern.contains('/') { pattern.to_owned() } else { pattern.replace('\\', "/") };
        // No stored path begins with a slash, so a leading slash matches the start of any component.
        return Ok(match slashed.strip_prefix('/') {
            Some(rest) if !rest.is_empty() => format!("(^|/){}", escaped(rest)),
            _ => escaped(&slashed),
        });
    }
    glob(pattern).build().map_err(|error| refused(pattern, &format!("Malformed glob: {}.", error.kind())))?;
    let anchored = pattern.trim_start_matches('/');
    let start = if pattern.contains('/') { "^" } else { "^(.*/)?" };
    Ok(format!("{start}{}$", glob_regex(anchored)))
}

fn glob(pattern: &str) -> GlobBuilder<'_> {
    let mut builder = GlobBuilder::new(pattern);
    builder.literal_separator(true).backslash_escape(false).case_insensitive(true).empty_alternates(true);
    builder
}

/// Converts a glob that `globset` accepted to a regular expression. The expression of `globset` matches bytes, but Postgres matches code
/// points.
fn glob_regex(glob: &str) -> String {
    let mut regex = String::new();
    let mut rest = glob;
    let mut braces = 0_usize;
    while let Some(c) = rest.chars().next() {
        let at_start = rest.len() == glob.len() || glob[..glob.len() - rest.len()].ends_with('/');
        let (piece, length) = match c {
            '*' if at_start && rest.starts_with("**/") => ("(.*/)?".to_owned(), 3),
            '*' if at_start && rest == "**" => (".*".to_owned(), 2),
            '*' => ("[^/]*".to_owned(), rest.len() - rest.trim_start_matches('*').len()),
            '?' => ("[^/]".to_owned(), 1),
            '[' => class(rest),
            '{' => {
                braces += 1;
                ("(".to_owned(), 1)
            }
            '}' if braces > 0 => {
                braces -= 1;
                (")".to_owned(), 1)
            }
            ',' if braces > 0 => ("|".to_owned(), 1),
            c => (escaped(c.encode_utf8(&mut [0; 4])), c.len_utf8()),
        };
        regex.push_str(&piece);
        rest = &rest[length..];
    }
    regex
}

/// Returns the bracket expression at the start of `rest` and its length in the glob.
fn class(rest: &str) -> (String, usize) {
    let inner = &rest[1..];
    let negated = inner.starts_with(['!', '^']);
    let members = &inner[usize::from(negated)..];
    // A `]` at the first position is a member.
    let end = members.char_indices().skip(1).find(|(_, c)| *c == ']').map_or(members.len(), |(at, _)| at);
    let mut class = String::from(if negated { "[^/" } else { "[" });
    for c in members[..end].chars() {
        if matches!(c, '[' | ']' | '\\' | '^' | '&' | '~') {
            class.push('\\');
        }
        class.push(c);
    }
    class.push(']');
    (class, 1 + usize::from(negated) + end + 1)
}

/// Escapes a literal text for a regular expression, with escapes that Rust and Postgres have in common.
pub(in crate::search) fn escaped(text: &str) -> String {
    let mut literal = String::with_capacity(text.len());
    for c in text.chars() {
        if ".^$*+?()[]{}|\\".contains(c) {
            literal.push('\\');
        }
        literal.push(c);
    }
    literal
}

fn refused(pattern: &str, message: &str) -> Fault {
    Fault::new(ErrorCode::InvalidRequest, message)
        .with_details(serde_json::json!({ "pattern": pattern }))
        .with_hint("Give a part of a path (`src/auth`), a glob (`*.rs`, `src/**/mod.rs`) or a `/regular expression/`.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use regex::RegexBuilder;

    fn matches(pattern: &str, path: &str) -> bool {
        let regex = path_regex(pattern, false).unwrap();
        RegexBuilder::new(&regex).build().unwrap().is_match(path)
    }

    #[test]
    fn substrings_are_literal_and_ignore_case() {
        assert!(matches("Auth/lib", "src/auth/lib.rs"));
        assert!(matches("a.b", "x/a.b/c") && !matches("a.b", "x/aXb/c"));
        assert!(matches("c++ (old)", "src/C++ (old)/a.cpp"));
        assert!(matches("größe", "src/GRÖSSE/größe.rs"));
    }

    #[test]
    fn common_spellings_of_paths_match() {
        for pattern in ["./src/auth", "/src/auth", "src\\auth", "src/auth/"] {
            assert!(matches(pattern, "src/auth/lib.rs"), "{pattern}");
        }
        assert!(matches("/src/auth", "a/src/auth/b") && !matches("/src/auth", "a/xsrc/auth/b"));
        assert!(matches("./*.rs", "b.rs") && matches("/", "a/b") && !matches("/", "a"));
    }

    #[test]
    fn globs_match_names_at_any_depth_and_paths_from_the_root() {
        assert!(matches("*.rs", "src/a/b.rs") && matches("*.rs", "b.rs") && !matches("*.rs", "b.rst"));
        assert!(matches("src/*.rs", "src/b.rs") && !matches("src/*.rs", "src/a/b.rs"));
        assert!(matches("src/**/mod.rs", "src/mod.rs") && matches("src/**/mod.rs", "src/a/b/mod.rs"));
        assert!(matches("/src/**", "src/a/b.rs") && !matches("src/**", "lib/src/a.rs"));
        assert!(matches("*.{ts,tsx}", "a/b.tsx") && !matches("*.{ts,tsx}", "a/b.js"));
        assert!(matches("[!_]*.py", "a/x.py") && !matches("[!_]*.py", "_x.py"));
    }

    #[test]
    fn a_text_between_slashes_is_a_regular_expression() {
        assert!(matches("/^src\\/.*_test\\.go$/", "src/a_TEST.go") && !matches("/_test$/", "a_test.go"));
        assert!(matches("/src/", "a/src/b") && matches("/a|b/i", "B"));
        assert_eq!(path_regex("/a(/", false).unwrap_err().code, ErrorCode::InvalidRequest);
        assert!(!RegexBuilder::new(&path_regex("Src", true).unwrap()).build().unwrap().is_match("src"));
    }

    #[test]
    fn malformed_filters_are_refused() {
        for bad in ["", "  ", "a[b", "{a", &"x".repeat(600)] {
            assert_eq!(path_regex(bad, false).unwrap_err().code, ErrorCode::InvalidRequest, "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn globs_match_like_those_of_globset(pattern in "[ab*?/.{},!\\[\\]]{1,10}", path in "[ab.]{1,3}(/[ab.]{1,3}){0,3}") {
            // Anchored globs only: a slash within, none at the start.
            let pattern = format!("a/{pattern}");
            let path = format!("a/{path}");
            if let (Ok(glob), Ok(_)) = (glob(&pattern).build(), path_regex(&pattern, false))
                && pattern.contains(['*', '?', '[', '{'])
            {
                prop_assert_eq!(matches(&pattern, &path), glob.compile_matcher().is_match(&path), "{}", path_regex(&pattern, false).unwrap());
            }
        }

        #[test]
        fn any_accepted_filter_compiles(pattern in "\\PC{1,30}") {
            if let Ok(regex) = path_regex(&pattern, false) {
                prop_assert!(regex::Regex::new(&regex).is_ok(), "{}", regex);
            }
        }
    }
}
