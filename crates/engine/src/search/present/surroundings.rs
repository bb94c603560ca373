//! Assembles the lines around a hit from the neighbouring chunks of its file.

use std::collections::BTreeMap;

/// A chunk at or near the hit.
pub(in crate::search) struct NearbyChunk<'a> {
    /// First line, 1-based.
    pub(in crate::search) start_line: u32,
    /// Whole lines.
    pub(in crate::search) text: &'a str,
}

/// Returns up to `count` lines before `start` and after `end`. Only blank lines lie between chunks,
/// so a line in no chunk is returned as a blank one. Nothing follows the last chunk.
pub(in crate::search) fn surroundings(
    chunks: &[NearbyChunk<'_>],
    start: u32,
    end: u32,
    count: u32,
) -> (Vec<String>, Vec<String>) {
    let mut lines: BTreeMap<u32, &str> = BTreeMap::new();
    for chunk in chunks {
        lines.extend((chunk.start_line..).zip(chunk.text.lines()));
    }
    let last = lines.last_key_value().map_or(0, |(number, _)| *number);
    let shown = |number: u32| lines.get(&number).copied().unwrap_or("").to_owned();
    let before = (start.saturating_sub(count).max(1)..start).map(shown).collect();
    let after = (end.saturating_add(1)..=end.saturating_add(count).min(last)).map(shown).collect();
    (before, after)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fills_the_gaps_with_blank_lines() {
        let chunks = [
            NearbyChunk { start_line: 1, text: "a\nb" },
            NearbyChunk { start_line: 4, text: "d\ne" },
            NearbyChunk { start_line: 7, text: "g" },
        ];
        let (before, after) = surroundings(&chunks, 4, 5, 2);
        assert_eq!(
            (before, after),
            (vec!["b".to_owned(), String::new()], vec![String::new(), "g".to_owned()])
        );
        let (before, after) = surroundings(&chunks, 4, 5, 100);
        assert_eq!((before.len(), after.len()), (3, 2));
        assert_eq!(surroundings(&chunks, 1, 7, 3), (Vec::new(), Vec::new()));
        assert_eq!(surroundings(&chunks, 4, 5, 0), (Vec::new(), Vec::new()));
    }
}
