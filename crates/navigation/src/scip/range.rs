//! Places in a document, as SCIP counts them.

use super::error::{Error, Problem};
use super::wire::{Message, Value};

/// A place between two characters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// Line, 0-based.
    pub line: u32,
    /// Units of the document's encoding before it on its line.
    pub character: u32,
}

/// The text from one place up to another, which is not before it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Range {
    /// The place at which it begins.
    pub start: Position,
    /// The place before which it ends.
    pub end: Position,
}

/// The unit that a document counts on a line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum PositionEncoding {
    /// The document does not say.
    #[default]
    Unspecified,
    /// Bytes of UTF-8.
    Utf8,
    /// Units of UTF-16.
    Utf16,
    /// Code points.
    Utf32,
}

impl PositionEncoding {
    pub(super) const fn parse(number: u64, offset: u64) -> Result<Self, Error> {
        Ok(match number {
            0 => Self::Unspecified,
            1 => Self::Utf8,
            2 => Self::Utf16,
            3 => Self::Utf32,
            _ => return Err(Error::new(Problem::PositionEncoding, offset)),
        })
    }

    pub(super) const fn number(self) -> u64 {
        match self {
            Self::Unspecified => 0,
            Self::Utf8 => 1,
            Self::Utf16 => 2,
            Self::Utf32 => 3,
        }
    }
}

/// The numbers of a range while they are read: three on one line, four otherwise.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RangeNumbers {
    numbers: [u32; 4],
    count: usize,
}

impl RangeNumbers {
    /// Takes a field that has one of the numbers, or several.
    pub(super) fn push_field(&mut self, value: Value<'_>, offset: u64) -> Result<(), Error> {
        match value {
            Value::Varint(number) => self.push(number, offset),
            Value::Bytes(packed) => packed.numbers(|number| self.push(number, offset)),
            Value::Fixed => Err(Error::new(Problem::FieldType("range"), offset)),
        }
    }

    fn push(&mut self, number: u64, offset: u64) -> Result<(), Error> {
        let slot = self.numbers.get_mut(self.count).ok_or(Error::new(Problem::Range, offset))?;
        *slot = coordinate(number, offset)?;
        self.count += 1;
        Ok(())
    }

    /// Returns the range; `None` if there was no number.
    pub(super) fn finish(self, offset: u64) -> Result<Option<Range>, Error> {
        let [first, second, third, fourth] = self.numbers;
        match self.count {
            0 => Ok(None),
            3 => Range::new([first, second, first, third], offset).map(Some),
            4 => Range::new([first, second, third, fourth], offset).map(Some),
            _ => Err(Error::new(Problem::Range, offset)),
        }
    }
}

/// Converts a number of SCIP's type `int32`, which may not be negative here: a negative one has ten bytes and a high value.
fn coordinate(number: u64, offset: u64) -> Result<u32, Error> {
    match u32::try_from(number) {
        Ok(number) if i32::try_from(number).is_ok() => Ok(number),
        _ => Err(Error::new(Problem::Range, offset)),
    }
}

impl Range {
    fn new([line, character, end_line, end_character]: [u32; 4], offset: u64) -> Result<Self, Error> {
        let start = Position { line, character };
        let end = Position { line: end_line, character: end_character };
        if start <= end { Ok(Self { start, end }) } else { Err(Error::new(Problem::Range, offset)) }
    }

    /// Reads the message `SingleLineRange` or `MultiLineRange`.
    pub(super) fn parse(mut message: Message<'_>, single_line: bool) -> Result<Self, Error> {
        let offset = message.offset();
        let mut numbers = [0; 4];
        while let Some((field, value)) = message.next_field()? {
            if let Some(slot) = numbers.get_mut(field as usize - 1) {
                *slot = coordinate(value.number("range", offset)?, offset)?;
            }
        }
        let [line, character, third, fourth] = numbers;
        if single_line {
            Self::new([line, character, line, third], offset)
        } else {
            Self::new([line, character, third, fourth], offset)
        }
    }

    /// Checks whether a place is in it or at its end.
    #[must_use]
    pub fn contains(self, position: Position) -> bool {
        self.start <= position && position <= self.end
    }
}
