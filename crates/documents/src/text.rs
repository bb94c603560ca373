//! A text while it is put together: bounded, without control characters, with a mark before each page.

/// The last line of a text whose document has more.
const CUT_MARK: &str = "[the rest is left out]";
/// Longest mark of a page in characters, because a sheet can have any name.
const MARK_CHARS_MAX: usize = 100;

/// A text while it is put together.
#[derive(Debug)]
pub(crate) struct Text {
    text: String,
    bytes_max: usize,
    /// `true` if text was omitted because the limit was reached.
    is_cut: bool,
    /// `true` if it contains anything but marks and white space.
    has_words: bool,
}

impl Text {
    /// Creates an empty text of at most `bytes_max` bytes, apart from the line that says that it was cut.
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self { text: String::new(), bytes_max, is_cut: false, has_words: false }
    }

    /// Returns `true` if the limit was reached, so that reading can stop.
    pub(crate) fn is_full(&self) -> bool {
        self.is_cut
    }

    /// Begins a page: an empty line, and a line `[mark]`.
    pub(crate) fn page(&mut self, mark: &str) {
        self.paragraph();
        let is_unwanted = |c: char| c.is_control() || matches!(c, '[' | ']');
        let mark: String =
            mark.chars().take(MARK_CHARS_MAX).map(|c| if is_unwanted(c) { ' ' } else { c }).collect();
        self.add(&format!("[{}]\n", mark.trim()));
    }

    /// Appends a text. Line breaks are kept, control characters are not.
    pub(crate) fn push(&mut self, text: &str) {
        for c in text.chars() {
            match c {
                '\n' => self.line(),
                '\t' => self.add("\t"),
                // A soft hyphen would divide words, and a space that does not break would join them.
                '\u{ad}' | '\u{feff}' | '\r' => {}
                '\u{a0}' => self.space(),
                c if c.is_control() => {}
                c => {
                    self.has_words |= c.is_alphanumeric();
                    self.add(c.encode_utf8(&mut [0; 4]));
                }
            }
            if self.is_cut {
                return;
            }
        }
    }

    /// Appends a space, unless there is white space already.
    pub(crate) fn space(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with([' ', '\t', '\n']) {
            self.add(" ");
        }
    }

    /// Appends a tab, unless the line is empty. It replaces spaces.
    pub(crate) fn tab(&mut self) {
        self.text.truncate(self.text.trim_end_matches(' ').len());
        if !self.is_at_line_start() {
            self.add("\t");
        }
    }

    /// Ends the line. Two line breaks are the most in a row.
    pub(crate) fn line(&mut self) {
        if self.text.is_empty() || self.text.ends_with("\n\n") {
            return;
        }
        let end = self.text.trim_end_matches([' ', '\t']).len();
        self.text.truncate(end);
        self.add("\n");
    }

    /// Ends the line, if anything is on it.
    pub(crate) fn end_line(&mut self) {
        if !self.is_at_line_start() {
            self.line();
        }
    }

    /// Ends the line, and leaves an empty one.
    pub(crate) fn paragraph(&mut self) {
        self.end_line();
        self.line();
    }

    /// Returns `true` if nothing is on the current line.
    pub(crate) fn is_at_line_start(&self) -> bool {
        self.text.is_empty() || self.text.ends_with('\n')
    }

    /// Returns the text; `None` if it has no words.
    pub(crate) fn finish(mut self) -> Option<String> {
        self.text.truncate(self.text.trim_end().len());
        self.text.push('\n');
        if self.is_cut {
            self.text.push('\n');
            self.text.push_str(CUT_MARK);
            self.text.push('\n');
        }
        self.has_words.then_some(self.text)
    }

    fn add(&mut self, text: &str) {
        if self.text.len() + text.len() > self.bytes_max {
            self.is_cut = true;
        }
        if !self.is_cut {
            self.text.push_str(text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_marked_and_white_space_is_tidy() {
        let mut text = Text::new(1000);
        text.page("page 1");
        text.push("One\u{a0}\u{a0}two\u{ad}s \u{7}\0\n\n\n\nthree  ");
        text.page("sheet [A]\n");
        text.tab();
        text.push("four");
        text.tab();
        text.paragraph();
        text.paragraph();
        assert_eq!(text.finish().unwrap(), "[page 1]\nOne twos\n\nthree\n\n[sheet  A]\nfour\n");
    }

    #[test]
    fn a_text_without_words_yields_nothing() {
        let mut text = Text::new(1000);
        text.page("page 1");
        text.push(" .\n");
        assert_eq!(text.finish(), None);
    }

    #[test]
    fn a_long_text_is_cut_and_says_so() {
        let mut text = Text::new(12);
        text.push("éééé ");
        text.push("lange Wörter");
        assert!(text.is_full());
        text.push("x");
        assert_eq!(text.finish().unwrap(), "éééé lan\n\n[the rest is left out]\n");
    }
}
