//! Finds out whether names in texts belong to the repository, and whether it still has them.

use crate::evidence::{CodeName, Evidence, is_multiword};
use crate::site::Page;

/// The repository's knowledge of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Knowledge {
    /// It is known, or too ambiguous to be reported.
    Known,
    /// It is unknown, and written as a name of this repository: as a call, or with one of its types.
    Gone,
    /// It is unknown, and may be a name of another program.
    Unknown,
}

/// Returns what is known about a name between backticks.
pub(super) fn knowledge(name: &CodeName, evidence: &dyn Evidence) -> Knowledge {
    let last = name.last();
    if evidence.mentions(last) {
        return Knowledge::Known;
    }
    if name.is_qualified() {
        let container = name.parts.iter().rev().nth(1).map_or("", String::as_str);
        let is_own = evidence.definitions(container).iter().any(|one| is_container(&one.kind));
        return if is_own { Knowledge::Gone } else { Knowledge::Known };
    }
    match (is_multiword(last), name.is_call) {
        (false, _) => Knowledge::Known,
        (true, true) => Knowledge::Gone,
        (true, false) => Knowledge::Unknown,
    }
}

fn is_container(kind: &str) -> bool {
    matches!(kind, "class" | "struct" | "interface" | "trait" | "enum" | "module" | "impl")
}

/// Parts of paths of pages about earlier versions, which may name removed code.
const HISTORIES: &[&str] = &[
    "changelog", "changes", "history", "release", "migrat", "upgrad", "deprecat", "news", "blog", "archive",
    "rfc", "adr",
];

/// Returns `true` if a page is about earlier versions, so that it may name removed code.
pub(super) fn is_history(page: &Page) -> bool {
    let path = page.path.to_lowercase();
    path.split(['/', '.', '-', '_']).any(|part| HISTORIES.iter().any(|word| part.starts_with(word)))
}
