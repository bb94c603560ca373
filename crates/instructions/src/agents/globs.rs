//! Globs in the files of agents: lists on one line, and globs that fit into a category.

use crate::entry::{CATEGORY_CHARS_MAX, Instruction};
use crate::scope::{SCOPE_PREFIX, encoded, is_valid_glob, scopes};

/// Maximum number of categories of an entry.
const CATEGORIES_MAX: usize = 32;
/// Longest glob whose braces are expanded, in bytes.
const EXPANDED_BYTES_MAX: usize = 512;

/// Returns the globs of an instruction that a file of an agent can hold. `None` if it has globs, but none of this kind: then it
/// applies to no file, and must not be exported as if it applied to all.
pub(super) fn portable_globs(instruction: &Instruction) -> Option<Vec<String>> {
    let all = scopes(instruction);
    let has_globs = !all.is_empty();
    let portable: Vec<String> = all.into_iter().filter(|glob| is_portable_glob(glob)).collect();
    (!has_globs || !portable.is_empty()).then_some(portable)
}

/// Checks whether a glob fits into a list on one line, separated by commas.
fn is_portable_glob(glob: &str) -> bool {
    let is_plain = |character: char| !character.is_control() && !matches!(character, '`' | '"' | '\'');
    glob.chars().all(is_plain) && split_globs(glob) == [glob] && is_valid_glob(glob)
}

/// Splits a list of globs at the commas outside braces.
pub(super) fn split_globs(list: &str) -> Vec<&str> {
    let mut globs = Vec::new();
    let mut depth = 0_usize;
    let mut start = 0;
    for (at, character) in list.char_indices() {
        match character {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                globs.push(&list[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    globs.push(&list[start..]);
    globs.into_iter().map(str::trim).filter(|glob| !glob.is_empty()).collect()
}

/// Returns the categories of a glob. A glob that is too long for a category is expanded at its braces: `*.{a,b}` becomes `*.a` and
/// `*.b`. `None` if an expanded glob is still too long.
pub(super) fn scope_categories(glob: &str) -> Option<Vec<String>> {
    let mut categories = Vec::new();
    let mut open = vec![glob.to_owned()];
    while let Some(glob) = open.pop() {
        let category = encoded(SCOPE_PREFIX, &glob);
        if category.chars().count() <= CATEGORY_CHARS_MAX {
            categories.push(category);
        } else {
            let (before, alternatives, after) = first_braces(&glob)?;
            open.extend(alternatives.iter().map(|alternative| format!("{before}{alternative}{after}")));
        }
        // Each brace doubles them, or more.
        if glob.len() > EXPANDED_BYTES_MAX || categories.len() + open.len() > CATEGORIES_MAX {
            return None;
        }
    }
    Some(categories)
}

/// Returns the text before the first braces, their alternatives, and the text behind them.
fn first_braces(glob: &str) -> Option<(&str, Vec<&str>, &str)> {
    let (before, rest) = glob.split_once('{')?;
    let mut depth = 0_usize;
    for (at, character) in rest.char_indices() {
        match character {
            '{' => depth += 1,
            '}' if depth == 0 => return Some((before, split_globs(&rest[..at]), &rest[at + 1..])),
            '}' => depth -= 1,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::Rules;
    use serde_json::json;

    #[test]
    fn lists_are_split_outside_braces() {
        assert_eq!(split_globs(" a/*.{ts,tsx}, b ,,c"), ["a/*.{ts,tsx}", "b", "c"]);
        assert_eq!(split_globs("a},b"), ["a}", "b"]);
        for glob in ["a,b", " a", "a`b", "a\"", "{a", "[", ""] {
            assert!(!is_portable_glob(glob), "{glob}");
        }
        assert!(is_portable_glob("src/**/*.{ts,tsx}"));
    }

    #[test]
    fn long_globs_are_expanded_at_their_braces() {
        let glob = |glob: &str| {
            let mut categories = scope_categories(glob)?;
            categories.sort();
            Some(categories.join(" "))
        };
        assert_eq!(glob("*.{a,b}").as_deref(), Some("scope:*.{a,b}"));
        let long = "x".repeat(CATEGORY_CHARS_MAX - 14);
        assert_eq!(
            glob(&format!("{long}/*.{{a,{{b,C}}}}")).unwrap(),
            format!("scope:{long}/*.%43 scope:{long}/*.a scope:{long}/*.b")
        );
        assert_eq!(glob(&format!("{{{long},y}}{{c,d,e,f,g,h}}")).unwrap().matches("scope:").count(), 7);
        for glob in [
            "x".repeat(CATEGORY_CHARS_MAX - 5),
            format!("{long}abcdef{{abcdef,b"),
            format!("{long}{{{}b}}", "a,".repeat(40)),
            "{a,b}".repeat(60),
        ] {
            assert_eq!(scope_categories(&glob), None, "{glob}");
        }
        assert_eq!(scope_categories(&"{a,b}".repeat(200_000)), None);
    }

    #[test]
    fn limits_are_those_of_entries() {
        let accepts = |categories: Vec<String>| {
            let entry = json!({ "id": "a", "title": "A", "body": "b", "priority": 5, "audience": "all",
                "requirement": "optional", "categories": categories });
            Instruction::check(entry, &Rules::default()).is_ok()
        };
        let category = |chars: usize| vec!["x".repeat(chars)];
        assert_eq!(
            (accepts(category(CATEGORY_CHARS_MAX)), accepts(category(CATEGORY_CHARS_MAX + 1))),
            (true, false)
        );
        let many = |count: usize| (0..count).map(|n| n.to_string()).collect::<Vec<_>>();
        assert_eq!((accepts(many(CATEGORIES_MAX)), accepts(many(CATEGORIES_MAX + 1))), (true, false));
    }
}
