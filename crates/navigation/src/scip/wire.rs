//! The part of protobuf's wire format that SCIP uses, over bytes in memory.

use super::error::{Error, Problem};

/// Bytes of the longest number.
pub(super) const VARINT_BYTES: usize = 10;

/// The value of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Value<'a> {
    /// A number.
    Varint(u64),
    /// A text, a message, or several numbers.
    Bytes(Message<'a>),
    /// A number of fixed size, which SCIP does not have.
    Fixed,
}

/// The bytes of a message, and where they are in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Message<'a> {
    bytes: &'a [u8],
    offset: u64,
}

/// A field's number and wire type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tag {
    pub(super) field: u32,
    pub(super) wire_type: u8,
}

/// Reads a field's tag from its number on the wire.
pub(super) fn tag(number: u64, offset: u64) -> Result<Tag, Error> {
    let wire_type = (number & 7) as u8;
    match u32::try_from(number >> 3) {
        Ok(field @ 1..0x2000_0000) => Ok(Tag { field, wire_type }),
        _ => Err(Error::new(Problem::FieldNumber, offset)),
    }
}

/// Adds a byte to a number that is being read; returns `true` if it was the last.
pub(super) fn push_varint(number: &mut u64, at: usize, byte: u8) -> Result<bool, Problem> {
    let low = u64::from(byte & 0x7f);
    // The tenth byte has room for one bit of a number of 64 bits.
    if at >= VARINT_BYTES || (at == VARINT_BYTES - 1 && byte > 1) {
        return Err(Problem::Varint);
    }
    *number |= low << (7 * at);
    Ok(byte < 0x80)
}

impl<'a> Message<'a> {
    pub(super) const fn new(bytes: &'a [u8], offset: u64) -> Self {
        Self { bytes, offset }
    }

    /// Returns the offset in the file at which it begins.
    pub(super) const fn offset(self) -> u64 {
        self.offset
    }

    /// Creates an error at its beginning.
    pub(super) const fn error(self, problem: Problem) -> Error {
        Error::new(problem, self.offset)
    }

    /// Takes off the next field; `None` at the end.
    pub(super) fn next_field(&mut self) -> Result<Option<(u32, Value<'a>)>, Error> {
        if self.bytes.is_empty() {
            return Ok(None);
        }
        let start = self.offset;
        let Tag { field, wire_type } = tag(self.varint()?, start)?;
        let value = match wire_type {
            0 => Value::Varint(self.varint()?),
            1 => self.take(8).map(|_| Value::Fixed)?,
            2 => {
                let length = self.varint()?;
                Value::Bytes(self.take(length)?)
            }
            5 => self.take(4).map(|_| Value::Fixed)?,
            other => return Err(Error::new(Problem::WireType(other), start)),
        };
        Ok(Some((field, value)))
    }

    /// Takes off the next number.
    fn varint(&mut self) -> Result<u64, Error> {
        let mut number = 0;
        for (at, byte) in self.bytes.iter().enumerate() {
            if push_varint(&mut number, at, *byte).map_err(|problem| self.error(problem))? {
                self.bytes = &self.bytes[at + 1..];
                self.offset += at as u64 + 1;
                return Ok(number);
            }
        }
        Err(self.error(Problem::Truncated))
    }

    /// Takes off the next bytes.
    fn take(&mut self, length: u64) -> Result<Self, Error> {
        let split = usize::try_from(length).ok().and_then(|length| self.bytes.split_at_checked(length));
        let (taken, rest) = split.ok_or_else(|| self.error(Problem::Truncated))?;
        let taken = Self::new(taken, self.offset);
        self.bytes = rest;
        self.offset += length;
        Ok(taken)
    }

    /// Passes the numbers that it consists of to `each`, one after the other.
    pub(super) fn numbers(mut self, mut each: impl FnMut(u64) -> Result<(), Error>) -> Result<(), Error> {
        while !self.bytes.is_empty() {
            each(self.varint()?)?;
        }
        Ok(())
    }

    /// Returns its text, which may have at most `max` bytes.
    pub(super) fn text(self, what: &'static str, max: u64) -> Result<&'a str, Error> {
        if self.bytes.len() as u64 > max {
            return Err(self.error(Problem::Limit { what, max }));
        }
        let text = std::str::from_utf8(self.bytes).map_err(|_| self.error(Problem::Utf8(what)))?;
        if text.contains('\0') { Err(self.error(Problem::Nul(what))) } else { Ok(text) }
    }
}

impl<'a> Value<'a> {
    /// Returns the bytes of a field that is a text or a message.
    pub(super) fn bytes(self, what: &'static str, offset: u64) -> Result<Message<'a>, Error> {
        match self {
            Self::Bytes(message) => Ok(message),
            _ => Err(Error::new(Problem::FieldType(what), offset)),
        }
    }

    /// Returns the number of a field that is a number.
    pub(super) const fn number(self, what: &'static str, offset: u64) -> Result<u64, Error> {
        match self {
            Self::Varint(number) => Ok(number),
            _ => Err(Error::new(Problem::FieldType(what), offset)),
        }
    }
}
