//! The paths that an import names.

use super::values::{VALUE_BYTES_MAX, folded};

/// Extensions of files that are imported by name, without quotes.
const FILE_ENDINGS: &[&str] =
    &[".yml", ".yaml", ".css", ".js", ".json", ".html", ".htm", ".h", ".hpp", ".sh", ".toml", ".sql"];

/// The imported paths, without quotes: lists in braces are expanded (`a::{b, c}`), and parent paths are added.
pub(super) fn imported_paths(raw: &str) -> Vec<String> {
    let mut spread_out = Vec::new();
    let words = ["import ", "export ", "use ", "using ", "function ", "const ", "static "];
    let mut raw = raw.trim().trim_end_matches(';');
    while let Some(rest) = words.iter().find_map(|word| raw.strip_prefix(word)) {
        raw = rest.trim_start();
    }
    spread("", raw, 0, &mut spread_out);
    let mut found: Vec<String> = Vec::new();
    for path in spread_out {
        let is_file = FILE_ENDINGS.iter().any(|ending| path.ends_with(ending));
        let quoted = is_file || path.starts_with(['"', '\'', '`', '<']);
        let Some(path) = folded(path.trim().trim_matches(['"', '\'', '`', '<', '>', ';'])) else { continue };
        let mut above = path.as_str();
        // A quoted path, or one with a slash, is a file or the full name of a package and has no parents.
        let separator = if quoted || path.contains('/') {
            None
        } else {
            ["::", ".", "\\"].into_iter().find(|separator| path.contains(separator))
        };
        while let Some((parent, _)) = separator.and_then(|separator| above.rsplit_once(separator)) {
            if parent.is_empty() || parent.ends_with(['.', ':']) {
                break;
            }
            found.push(parent.to_owned());
            above = parent;
        }
        found.push(path);
    }
    found.sort();
    found.dedup();
    found
}

/// Deepest nesting of lists that is expanded.
const SPREAD_DEPTH_MAX: usize = 8;

fn spread(before: &str, raw: &str, depth: usize, found: &mut Vec<String>) {
    let mut level = 0usize;
    let mut from = 0;
    for (at, c) in raw.char_indices().chain([(raw.len(), ',')]) {
        match c {
            '{' => level += 1,
            '}' => level = level.saturating_sub(1),
            ',' if level == 0 => {
                let one = raw[from..at].trim();
                match one.split_once('{') {
                    Some((head, list)) if depth < SPREAD_DEPTH_MAX => {
                        let list = list.rsplit_once('}').map_or(list, |(list, _)| list);
                        let head = head.trim();
                        // A path with a longer prefix would be dropped anyway.
                        if before.len() + head.len() <= 8 * VALUE_BYTES_MAX {
                            spread(&format!("{before}{head}"), list, depth + 1, found);
                        }
                    }
                    _ => match unrenamed(one) {
                        "" => {}
                        "self" => found.push(before.trim_end_matches("::").to_owned()),
                        one => found.push(whole(before, one)),
                    },
                }
                from = at + 1;
            }
            _ => {}
        }
    }
}

/// A path without its local name: `a as b`, `A => B`.
fn unrenamed(one: &str) -> &str {
    let cut = [" as ", "=>"].iter().filter_map(|word| one.find(word)).min();
    one[..cut.unwrap_or(one.len())].trim()
}

/// A path without a trailing wildcard.
fn whole(before: &str, one: &str) -> String {
    let path = format!("{before}{one}");
    let everything = ["::*", ".*", "._", "._*", ".given", "\\*"];
    everything.iter().find_map(|mark| path.strip_suffix(mark)).unwrap_or(&path).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn import_lists_are_expanded_and_parents_added() {
        assert_eq!(imported_paths("a::{b, c::{d, self}}"), ["a", "a::b", "a::c", "a::c::d"]);
        assert_eq!(imported_paths("\"./x/y.js\""), ["./x/y.js"]);
        assert_eq!(imported_paths("os.path"), ["os", "os.path"]);
        assert_eq!(imported_paths("..pkg.mod"), ["..pkg", "..pkg.mod"]);
        assert_eq!(imported_paths("<stdio.h>"), ["stdio.h"]);
        assert_eq!(imported_paths("std::fmt::*"), ["std", "std::fmt"]);
        assert_eq!(
            imported_paths("std::{fmt, io::{self, Read as _}}"),
            ["std", "std::fmt", "std::io", "std::io::Read"]
        );
        assert_eq!(imported_paths("import a.b.{C => D, _}"), ["a", "a.b", "a.b.C"]);
        assert_eq!(imported_paths("use App\\{A, B\\C as D};"), ["App", "App\\A", "App\\B", "App\\B\\C"]);
    }

    proptest! {
        #[test]
        fn nothing_panics(raw in "\\PC{0,60}") {
            let _ = imported_paths(&raw);
        }
    }
}
