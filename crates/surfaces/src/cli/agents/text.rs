//! Operations on whole texts: a replacement and its reversal, and the byte order mark and line endings that editing libraries do not keep.

use serde::{Deserialize, Serialize};

/// A replacement in a text: reversing it restores every byte.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Splice {
    /// The old text.
    pub(super) replaced: String,
    /// The new text.
    pub(super) inserted: String,
}

impl Splice {
    /// Computes the replacement between the longest common prefix and suffix.
    pub(super) fn between(old: &str, new: &str) -> Self {
        let start = old.bytes().zip(new.bytes()).take_while(|(a, b)| a == b).count();
        let start = (0..=start).rev().find(|at| old.is_char_boundary(*at) && new.is_char_boundary(*at));
        let start = start.unwrap_or(0);
        let (old_rest, new_rest) = (&old[start..], &new[start..]);
        let end = old_rest.bytes().rev().zip(new_rest.bytes().rev()).take_while(|(a, b)| a == b).count();
        let boundary = |at: &usize| {
            old_rest.is_char_boundary(old_rest.len() - at) && new_rest.is_char_boundary(new_rest.len() - at)
        };
        let end = (0..=end).rev().find(boundary).unwrap_or(0);
        // The inserted text must be found again, so it is extended by as much context as makes it unique.
        let (mut start, mut end, mut step) = (start, end, 16);
        loop {
            let inserted = &new[start..new.len() - end];
            let is_whole = start == 0 && end == 0;
            if is_whole || (!inserted.is_empty() && new.matches(inserted).nth(1).is_none()) {
                let replaced = old[start..old.len() - end].to_owned();
                return Self { replaced, inserted: inserted.to_owned() };
            }
            start = old.floor_char_boundary(start.saturating_sub(step));
            end = end.saturating_sub(step);
            end = (0..=end).rev().find(|end| old.is_char_boundary(old.len() - end)).unwrap_or(0);
            step = step.saturating_mul(2);
        }
    }

    /// Returns the text before the replacement, if the inserted text occurs exactly once in `text`.
    pub(super) fn reversed(&self, text: &str) -> Option<String> {
        let mut places = text.match_indices(&self.inserted);
        let (at, _) = places.next().filter(|_| !self.inserted.is_empty())?;
        if places.next().is_some() {
            return None;
        }
        Some(format!("{}{}{}", &text[..at], self.replaced, &text[at + self.inserted.len()..]))
    }

    /// Returns the replacement after our text was updated within it.
    pub(super) fn after_update(&self, old: &str, new: &str) -> Option<Self> {
        let at = old.find(&self.inserted)?;
        let (start, end) = (&old[..at], &old[at + self.inserted.len()..]);
        let inserted = new.strip_prefix(start)?.strip_suffix(end)?.to_owned();
        Some(Self { replaced: self.replaced.clone(), inserted })
    }
}

/// A text without byte order mark and with plain line endings, as the libraries read it, together with its original properties.
pub(super) struct Form {
    pub(super) original: String,
    pub(super) text: String,
    mark: bool,
    crlf: bool,
    pub(super) mixed: bool,
}

impl Form {
    pub(super) fn of(original: &str) -> Self {
        let (mark, text) = match original.strip_prefix('\u{feff}') {
            Some(text) => (true, text),
            None => (false, original),
        };
        let mixed = text.contains("\r\n") && text.replace("\r\n", "").contains('\n');
        let crlf = text.contains("\r\n") && !mixed;
        let text = if crlf { text.replace("\r\n", "\n") } else { text.to_owned() };
        Self { original: original.to_owned(), text, mark, crlf, mixed }
    }

    pub(super) fn restore(&self, text: &str) -> String {
        let mark = if self.mark { "\u{feff}" } else { "" };
        let text = if self.crlf { text.replace('\n', "\r\n") } else { text.to_owned() };
        format!("{mark}{text}")
    }
}

/// Hashes a text without its white space.
pub(super) fn hash(text: &str) -> String {
    let dense: String = text.split_whitespace().collect();
    blake3::hash(dense.as_bytes()).to_hex().to_string()
}

/// Checks whether `new` has all characters of `old`, in order and ignoring white space.
pub(super) fn is_subsequence(old: &str, new: &str) -> bool {
    let mut rest = new.chars();
    old.chars().filter(|char| !char.is_whitespace()).all(|char| rest.any(|other| other == char))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reversed_replacement_restores_every_byte() {
        for (old, new) in [
            ("", "a"),
            ("ab", "aXb"),
            ("{ \"a\": \"x\", \"b\": \"x\" }", "{ \"a\": \"x\", \"b\": \"yx\" }"),
            // The inserted text alone occurs twice, or is empty.
            ("one two one", "one two one one"),
            ("aaaa bbbb aaaa", "aaaa aaaa"),
            ("ü: é\nü: é\n", "ü: è\nü: é\n"),
        ] {
            let splice = Splice::between(old, new);
            assert_eq!(splice.reversed(new).as_deref(), Some(old), "{splice:?}");
        }
        assert_eq!(Splice::between("a", "abc").inserted, "bc", "no more than is needed");
    }
}
