//! Converts places of a document to characters, against the text of its file.

use languages::symbols::Place;

use super::metadata::Metadata;
use super::range::{Position, PositionEncoding};
use crate::is_in_identifier;

/// Indexers whose documents may lack a position encoding, and that count units of UTF-16, as the languages do in which they are written.
/// Documents of all other indexers without an encoding count bytes.
const UTF16_TOOLS: [&str; 5] = ["scip-typescript", "scip-python", "scip-java", "scip-dotnet", "scip-dart"];

impl PositionEncoding {
    /// Returns this encoding; if it is unspecified, the one that the document's tool uses.
    #[must_use]
    pub fn or_of_tool(self, metadata: &Metadata) -> Self {
        match self {
            Self::Unspecified if UTF16_TOOLS.contains(&metadata.tool.as_str()) => Self::Utf16,
            Self::Unspecified => Self::Utf8,
            known => known,
        }
    }

    /// Returns the number of units that a character takes.
    const fn units(self, character: char) -> u32 {
        match self {
            Self::Utf8 | Self::Unspecified => character.len_utf8() as u32,
            Self::Utf16 => character.len_utf16() as u32,
            Self::Utf32 => 1,
        }
    }
}

/// The lines of a text. Converting places in ascending order costs one walk over the text, whatever the places are.
#[derive(Debug)]
pub struct Lines<'a> {
    text: &'a str,
    encoding: PositionEncoding,
    /// The end of the last conversion: a byte of the text, and its place.
    at: usize,
    position: Position,
    column: u32,
}

impl<'a> Lines<'a> {
    /// Reads the lines of a text, in which a document counts `encoding`.
    #[must_use]
    pub const fn new(text: &'a str, encoding: PositionEncoding) -> Self {
        Self { text, encoding, at: 0, position: Position { line: 0, character: 0 }, column: 0 }
    }

    /// Converts a position to a place; `None` if the text has no such line, or the line has no such column.
    pub fn place(&mut self, position: Position) -> Option<Place> {
        if position < self.position {
            *self = Self::new(self.text, self.encoding);
        }
        while self.position.line < position.line {
            self.at += self.text[self.at..].find('\n')? + 1;
            self.position = Position { line: self.position.line + 1, character: 0 };
            self.column = 0;
        }
        for character in self.text[self.at..].chars() {
            if self.position.character >= position.character || character == '\n' {
                break;
            }
            self.at += character.len_utf8();
            self.position.character += self.encoding.units(character);
            self.column += 1;
        }
        (self.position == position).then_some(Place { line: position.line + 1, column: self.column + 1 })
    }

    /// Returns the identifier that begins at the last place, if there is one, and its length in units.
    #[must_use]
    pub fn identifier(&self) -> Option<(&'a str, u32)> {
        let rest = self.rest();
        let end = rest.find(|c: char| !is_in_identifier(c)).unwrap_or(rest.len());
        let begins = end > 0 && !self.text[..self.at].ends_with(is_in_identifier);
        begins.then(|| (&rest[..end], rest[..end].chars().map(|c| self.encoding.units(c)).sum()))
    }

    /// Returns the rest of the text from the last place on.
    #[must_use]
    pub fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }
}
