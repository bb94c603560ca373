//! Finds the chain of names that ends at an identifier: members with their owners.

use tree_sitter::Node;

use super::values::{self, VALUE_BYTES_MAX};
use crate::identifier::Marks;

/// Maximum number of names of a chain.
const NAMES_MAX: usize = 8;
/// Kinds of nodes that may follow `->` as a member; elsewhere the arrow belongs to a function.
const AFTER_ARROWS: &[&str] = &["field_identifier", "name"];

/// The chain that ends at an identifier, such as `req.body` at `body`; `None` if it has no named owner. Omits
/// indexes in square brackets, and stops at a call: the chain of `load().user.name` is `user.name`.
pub(super) fn chain(text: &str, identifier: &Node<'_>, marks: &Marks) -> Option<String> {
    let start = identifier.start_byte();
    let from = chain_start(text, start, AFTER_ARROWS.contains(&identifier.kind()));
    if from == start {
        return None;
    }
    values::chain(&text[from..identifier.end_byte()], marks).filter(|chain| chain.contains('.'))
}

/// The byte where the chain begins whose last name starts at `start`.
fn chain_start(text: &str, start: usize, arrows: bool) -> usize {
    let mut at = start;
    for _ in 1..NAMES_MAX {
        let Some(owner) = owner_end(&text[..at], arrows) else { break };
        let Some(owner) = unindexed(&text[..owner]) else { break };
        let name = owner.trim_end_matches(|c: char| values::is_name_char(c) || matches!(c, '$' | '@'));
        if name.len() == owner.len() || start - name.len() > VALUE_BYTES_MAX {
            break;
        }
        at = name.len();
    }
    at
}

/// The end of the owner before a separator; `None` if `before` does not end with a separator.
fn owner_end(before: &str, arrows: bool) -> Option<usize> {
    if let Some(owner) = before.strip_suffix("::") {
        return Some(owner.len());
    }
    if let Some(owner) = before.strip_suffix("->").filter(|_| arrows) {
        return Some(owner.trim_end_matches('?').len());
    }
    // Two dots are a range, three a spread.
    let owner = before.strip_suffix('.').filter(|owner| !owner.ends_with('.'))?;
    Some(owner.trim_end_matches(['?', '!', '&']).len())
}

/// Removes indexes in square brackets from the end of a text; `None` if the opening bracket is not nearby.
fn unindexed(text: &str) -> Option<&str> {
    let mut text = text;
    while text.ends_with(']') {
        let near = text.floor_char_boundary(text.len().saturating_sub(VALUE_BYTES_MAX));
        let mut open = 0_usize;
        let bracket = text[near..].char_indices().rev().find(|(_, c)| {
            match c {
                ']' => open += 1,
                '[' => open = open.saturating_sub(1),
                _ => {}
            }
            open == 0
        });
        text = &text[..near + bracket?.0];
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn chained(text: &str) -> &str {
        let start = text.trim_end_matches(values::is_name_char).len();
        &text[chain_start(text, start, true)..]
    }

    #[test]
    fn chains_go_back_to_the_first_name() {
        for (text, expected) in [
            ("x = req.body.user", "req.body.user"),
            ("(self.name", "self.name"),
            ("a?.b!.c", "a?.b!.c"),
            ("rows[i + 1][\"k\"].id", "rows[i + 1][\"k\"].id"),
            ("load(x).user.name", "user.name"),
            ("0..n", "n"),
            ("f(...rest.a", "rest.a"),
            ("$this->db", "$this->db"),
            ("State::Sent", "State::Sent"),
            ("\"a\".b", "b"),
            (".leading", "leading"),
            ("].x", "x"),
            ("größe.breite", "größe.breite"),
        ] {
            assert_eq!(chained(text), expected, "{text}");
        }
        assert_eq!(chain_start("x->y", 3, false), 3, "that is a function");
        let long = "a.".repeat(20) + "b";
        assert_eq!(chained(&long).split('.').count(), NAMES_MAX);
    }

    proptest! {
        #[test]
        fn nothing_panics(text in "\\PC{0,40}") {
            let start = text.trim_end_matches(values::is_name_char).len();
            prop_assert!(chain_start(&text, start, true) <= start);
        }
    }
}
