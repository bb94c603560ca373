//! The files to which an instruction applies: globs, kept as categories `scope:<glob>`.
//!
//! The catalog folds categories to lower case, and a glob such as `**/Dockerfile` must come back unchanged. So the characters that
//! folding would change are percent-encoded: `scope:**/%44ockerfile`. A person who writes `scope:**/Dockerfile` by hand gets
//! `scope:**/dockerfile`; therefore paths are compared without regard to case, whatever the origin of the glob.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write;
use std::iter;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use crate::entry::Instruction;

/// Prefix of a category that holds a glob.
pub const SCOPE_PREFIX: &str = "scope:";
/// Category of an instruction that applies everywhere, even if it has globs.
pub const ALWAYS: &str = "always";
/// Longest glob that is matched, in bytes.
const GLOB_BYTES_MAX: usize = 256;

/// The relation of an instruction to some files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScopeMatch {
    /// It has no globs or the category `always`.
    Everywhere,
    /// One of its globs matches one of the files.
    Matches,
    /// It has globs, and none matches.
    No,
}

/// The globs of an instruction, sorted.
#[must_use]
pub fn scopes(instruction: &Instruction) -> Vec<String> {
    let globs: BTreeSet<String> =
        instruction.categories.iter().filter_map(|category| decoded(SCOPE_PREFIX, category)).collect();
    globs.into_iter().filter(|glob| !glob.is_empty()).collect()
}

/// Files that a task touches, with the results of the globs that were compared with them: entries share globs.
#[derive(Debug)]
pub struct TouchedFiles {
    paths: Vec<String>,
    matches: HashMap<String, bool>,
}

impl TouchedFiles {
    /// Creates it from paths relative to the root of the repository.
    #[must_use]
    pub fn new(paths: &[&str]) -> Self {
        Self { paths: paths.iter().map(|path| folded_path(path)).collect(), matches: HashMap::new() }
    }

    /// Checks whether a glob matches one of them.
    fn match_glob(&mut self, glob: String) -> bool {
        let paths = &self.paths;
        // Compiling takes much longer than matching, so it is skipped if there is nothing to match.
        let find = |glob: &String| {
            !paths.is_empty() && matcher(glob).is_some_and(|set| paths.iter().any(|path| set.is_match(path)))
        };
        *self.matches.entry(glob).or_insert_with_key(find)
    }
}

/// Checks whether an instruction applies to one of `files`.
///
/// A glob without a slash matches names in any folder, `*` stays within a folder, and the name of a folder matches everything in
/// it. A glob that is invalid or longer than 256 bytes matches nothing.
#[must_use]
pub fn matches_scope(instruction: &Instruction, files: &mut TouchedFiles) -> ScopeMatch {
    let globs = scopes(instruction);
    if globs.is_empty() || has_category(instruction, ALWAYS) {
        return ScopeMatch::Everywhere;
    }
    let matches = globs.into_iter().any(|glob| files.match_glob(glob));
    if matches { ScopeMatch::Matches } else { ScopeMatch::No }
}

pub(crate) fn has_category(instruction: &Instruction, category: &str) -> bool {
    instruction.categories.iter().any(|own| own == category)
}

/// Checks whether a glob can match a file.
pub(crate) fn is_valid_glob(glob: &str) -> bool {
    matcher(glob).is_some()
}

fn folded_path(path: &str) -> String {
    let path = path.replace('\\', "/").to_lowercase();
    path.trim_start_matches("./").trim_start_matches('/').to_owned()
}

/// Compiles a glob. Each glob has a set of its own, because a set fails as a whole.
fn matcher(glob: &str) -> Option<GlobSet> {
    let folded = glob.to_lowercase();
    let relative = folded.strip_prefix("./").unwrap_or(&folded);
    let anchored = relative.trim_start_matches('/');
    let base = anchored.trim_end_matches('/');
    if base.is_empty() || glob.len() > GLOB_BYTES_MAX {
        return None;
    }
    let base = if relative.contains('/') { base.to_owned() } else { format!("**/{base}") };
    let mut set = GlobSetBuilder::new();
    let mut add = |pattern: &str| {
        let glob = GlobBuilder::new(pattern).literal_separator(true).backslash_escape(true).build().ok()?;
        set.add(glob);
        Some(())
    };
    add(&base)?;
    if !base.rsplit('/').next().is_some_and(|name| name.contains(['*', '?', '{', '['])) {
        add(&format!("{base}/**"))?;
    }
    set.build().ok()
}

/// Returns the category that holds `value` after `prefix`, encoded so that folding does not change it.
pub(crate) fn encoded(prefix: &str, value: &str) -> String {
    let mut category = prefix.to_owned();
    for character in value.chars() {
        let is_kept = character != '%'
            && !character.is_whitespace()
            && !character.is_control()
            && character.to_lowercase().eq(iter::once(character));
        if is_kept {
            category.push(character);
            continue;
        }
        for byte in character.encode_utf8(&mut [0; 4]).bytes() {
            // Writing to a string cannot fail.
            let _ = write!(category, "%{byte:02x}");
        }
    }
    category
}

/// Returns the value of a category that begins with `prefix`. A `%` that does not begin an encoded byte is kept as it is.
pub(crate) fn decoded(prefix: &str, category: &str) -> Option<String> {
    let value = category.strip_prefix(prefix)?.trim();
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        match (first, after) {
            (b'%', [high, low, after @ ..]) if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                bytes.push(hex_digit(*high) * 16 + hex_digit(*low));
                rest = after;
            }
            _ => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    Some(String::from_utf8(bytes).unwrap_or_else(|_| value.to_owned()))
}

fn hex_digit(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        _ => digit.to_ascii_lowercase() - b'a' + 10,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::{Rules, folded_category};
    use proptest::prelude::*;
    use serde_json::json;

    fn matched(instruction: &Instruction, paths: &[&str]) -> ScopeMatch {
        matches_scope(instruction, &mut TouchedFiles::new(paths))
    }

    fn instruction(categories: &[&str]) -> Instruction {
        let entry = json!({ "id": "a", "title": "A", "body": "b", "priority": 5, "audience": "all",
            "requirement": "optional", "categories": categories });
        Instruction::check(entry, &Rules::default()).unwrap().instruction
    }

    #[test]
    fn globs_match_as_the_agents_match_them() {
        for (glob, path, expected) in [
            ("**/*.ts", "a.ts", true),
            ("**/*.ts", "web/src/a.ts", true),
            ("*.ts", "web/src/a.ts", true),
            ("src/*.ts", "src/a.ts", true),
            ("src/*.ts", "src/b/a.ts", false),
            ("src/*", "src/b/a.ts", false),
            ("/src/*.ts", "src/a.ts", true),
            ("./src/**", "./src/a.ts", true),
            ("/a.ts", "web/a.ts", false),
            ("web", "web/a.ts", true),
            ("web/", "apps/web/b/a.ts", false),
            ("docs", "apps/docs/a.md", true),
            ("**/*.{ts,tsx}", "a/b.tsx", true),
            ("**/Dockerfile", "a/dockerfile", true),
            ("**/dockerfile", "A/Dockerfile", true),
            ("größe/**", "GRÖSSE/x", false),
            ("grö/**", "GRÖ/x", true),
            ("web\\**", "web/a", false),
            ("src/**", "src\\a.ts", true),
            ("app/[[]slug[]]/**", "app/[slug]/page.tsx", true),
            ("[", "[", false),
            ("{a", "{a", false),
            ("!a", "b", false),
            ("/", "a", false),
        ] {
            let scoped = instruction(&[&encoded(SCOPE_PREFIX, glob)]);
            let matches = matched(&scoped, &["other.rs", path]) == ScopeMatch::Matches;
            assert_eq!(matches, expected, "{glob} {path}");
        }
    }

    #[test]
    fn without_globs_it_applies_everywhere() {
        assert_eq!(matched(&instruction(&["git"]), &[]), ScopeMatch::Everywhere);
        assert_eq!(matched(&instruction(&["scope:web/**", "always"]), &["a"]), ScopeMatch::Everywhere);
        assert_eq!(matched(&instruction(&["scope:web/**"]), &["a"]), ScopeMatch::No);
        assert_eq!(matched(&instruction(&["scope:web/**"]), &[]), ScopeMatch::No);
        assert_eq!(matched(&instruction(&["scope:"]), &["a"]), ScopeMatch::Everywhere);
        assert_eq!(scopes(&instruction(&["scope:B/**", "scope:a", "x"])), ["a", "b/**"]);
    }

    #[test]
    fn long_and_nested_globs_are_bounded() {
        for glob in
            ["*".repeat(1000), "{".repeat(250), "{a,".repeat(80), "**/".repeat(80), "[a-z]{1000}".repeat(20)]
        {
            let mut scoped = instruction(&["x"]);
            scoped.categories = vec![format!("{SCOPE_PREFIX}{glob}")];
            let _ = matched(&scoped, &[&"a/".repeat(500)]);
        }
        assert!(is_valid_glob(&"a".repeat(256)) && !is_valid_glob(&"a".repeat(257)));
    }

    proptest! {
        #[test]
        fn folding_keeps_what_is_encoded(value in "([a-cA-C/*%.Σß ÜİǅΑ\u{a0}4]|%4|  ){0,12}") {
            let category = encoded(SCOPE_PREFIX, &value);
            prop_assert_eq!(&folded_category(&category), &category);
            prop_assert_eq!(decoded(SCOPE_PREFIX, &category), Some(value));
        }

        #[test]
        fn no_glob_makes_the_matcher_panic(glob in ".{0,60}", path in ".{0,30}") {
            let mut scoped = instruction(&["x"]);
            scoped.categories = vec![format!("{SCOPE_PREFIX}{glob}")];
            let _ = matched(&scoped, &[&path]);
        }
    }
}
