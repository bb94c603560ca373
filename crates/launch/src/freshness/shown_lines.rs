//! Excerpts of files for people: a few lines, and only the beginning of long ones.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Maximum number of lines that are shown of a place, and of bytes of each.
pub(super) const LINES_MAX: usize = 12;
const LINE_BYTES_MAX: usize = 400;

/// Lines of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ShownLines {
    /// The number of the first one, 1-based.
    pub start_line: u32,
    /// The lines.
    pub lines: Vec<String>,
    /// Whether something of them is left out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
}

impl ShownLines {
    /// The lines that begin at a line, as far as they are shown.
    #[must_use]
    pub fn new<'l>(start_line: u32, lines: impl IntoIterator<Item = &'l str>) -> Self {
        let mut shown = Self { start_line, ..Self::default() };
        for line in lines {
            if shown.lines.len() == LINES_MAX {
                shown.truncated = true;
                break;
            }
            let (line, is_cut) = cut(line.trim_end());
            shown.lines.push(line);
            shown.truncated |= is_cut;
        }
        shown
    }

    /// Bytes of the lines.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.lines.iter().map(String::len).sum()
    }
}

/// Returns the beginning of a line without terminal control characters, and `true` if it was shortened.
fn cut(line: &str) -> (String, bool) {
    let end = line.floor_char_boundary(LINE_BYTES_MAX);
    let visible = |c: char| if c.is_control() && c != '\t' { char::REPLACEMENT_CHARACTER } else { c };
    let mut text: String = line[..end].chars().map(visible).collect();
    let is_cut = end < line.len();
    if is_cut {
        text.push('…');
    }
    (text, is_cut)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_and_short_lines_are_shown_whole() {
        let shown = ShownLines::new(3, "one  \r\n\ttwo".lines());
        assert_eq!(
            (shown.lines.as_slice(), shown.truncated),
            (["one", "\ttwo"].map(str::to_owned).as_slice(), false)
        );
        assert_eq!(serde_json::to_string(&shown).unwrap(), r#"{"start_line":3,"lines":["one","\ttwo"]}"#);
        assert_eq!(shown.bytes(), 7);
    }

    #[test]
    fn many_and_long_lines_are_cut() {
        let many = ShownLines::new(1, std::iter::repeat_n("x", 1000));
        assert_eq!((many.lines.len(), many.truncated), (LINES_MAX, true));
        let long = "ä".repeat(5 << 20);
        let long = ShownLines::new(1, [long.as_str()]);
        assert_eq!((long.lines[0].len(), long.truncated), (LINE_BYTES_MAX + '…'.len_utf8(), true));
        // A cut never splits a character.
        let odd = format!("x{}", "ä".repeat(400));
        assert!(ShownLines::new(1, [odd.as_str()]).lines[0].ends_with("ä…"));
    }

    #[test]
    fn nothing_controls_a_terminal() {
        let shown = ShownLines::new(1, ["a\u{1b}[31mb\u{7}\u{0}"]);
        assert_eq!(shown.lines, ["a\u{fffd}[31mb\u{fffd}\u{fffd}"]);
    }
}
