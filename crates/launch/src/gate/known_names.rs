//! Names in texts that a repository may have had, and whether it still has them.

use crate::evidence::{CodeName, Evidence, is_multiword};
use crate::site::Page;

/// How a repository knows a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Knowledge {
    /// It is known, or says too little to be sure.
    Known,
    /// It is unknown, and written as a name of this repository: as a call, or with one of its types.
    Gone,
    /// It is unknown, and may be a name of another program.
    Unknown,
}

/// What is known of a name between backticks.
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

/// Parts of paths of pages that speak of what was, and may name what is gone.
const HISTORIES: &[&str] = &[
    "changelog", "changes", "history", "release", "migrat", "upgrad", "deprecat", "news", "blog", "archive",
    "rfc", "adr",
];

/// Whether a page speaks of earlier versions, so that it may name what is gone.
pub(super) fn is_history(page: &Page) -> bool {
    let path = page.path.to_lowercase();
    path.split(['/', '.', '-', '_']).any(|part| HISTORIES.iter().any(|word| part.starts_with(word)))
}
