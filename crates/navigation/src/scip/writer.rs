//! Writes a SCIP file, one document at a time. The same documents give the same bytes.

use std::io::{self, Write};

use super::document::{Document, Occurrence, Relationship, SymbolInformation};
use super::metadata::Metadata;
use super::range::Range;

/// SCIP's number for texts in UTF-8.
const TEXT_IS_UTF8: u64 = 1;

/// A SCIP file that is being written.
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
    /// The current document; kept for its memory.
    buffer: Message,
}

impl<W: Write> Writer<W> {
    /// Begins the file.
    ///
    /// # Errors
    /// Those of the output.
    pub fn new(out: W, metadata: &Metadata) -> io::Result<Self> {
        let mut writer = Self { out, buffer: Message::default() };
        writer.buffer.message(2, |tool| {
            tool.text(1, &metadata.tool);
            tool.text(2, &metadata.tool_version);
        });
        writer.buffer.text(3, &metadata.project_root);
        writer.buffer.number(4, TEXT_IS_UTF8);
        writer.flush_field(1)?;
        Ok(writer)
    }

    /// Writes a document. Occurrences should be sorted by range, and symbols by name.
    ///
    /// # Errors
    /// Those of the output.
    pub fn document(&mut self, document: &Document<'_>) -> io::Result<()> {
        let message = &mut self.buffer;
        message.text(1, document.path);
        for occurrence in &document.occurrences {
            message.message(2, |out| write_occurrence(out, occurrence));
        }
        for symbol in &document.symbols {
            message.message(3, |out| write_symbol(out, symbol));
        }
        message.text(4, document.language);
        message.text(5, document.text);
        message.number(6, document.encoding.number());
        self.flush_field(2)
    }

    /// Ends the file.
    ///
    /// # Errors
    /// Those of the output.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }

    /// Writes the buffered message as a field of the file.
    fn flush_field(&mut self, field: u64) -> io::Result<()> {
        let mut head = Message::default();
        head.varint(field << 3 | 2);
        head.varint(self.buffer.0.len() as u64);
        self.out.write_all(&head.0)?;
        self.out.write_all(&self.buffer.0)?;
        self.buffer.0.clear();
        Ok(())
    }
}

fn write_occurrence(out: &mut Message, occurrence: &Occurrence<'_>) {
    out.message(1, |numbers| write_range(numbers, occurrence.range));
    out.text(2, occurrence.symbol);
    out.number(3, u64::from(occurrence.roles.0));
    if let Some(range) = occurrence.enclosing_range {
        out.message(7, |numbers| write_range(numbers, range));
    }
}

/// Writes the older form of a range, which all readers know.
fn write_range(out: &mut Message, Range { start, end }: Range) {
    out.varint(start.line.into());
    out.varint(start.character.into());
    if start.line != end.line {
        out.varint(end.line.into());
    }
    out.varint(end.character.into());
}

fn write_symbol(out: &mut Message, symbol: &SymbolInformation<'_>) {
    out.text(1, symbol.symbol);
    for relationship in &symbol.relationships {
        out.message(4, |out| write_relationship(out, relationship));
    }
    out.number(5, symbol.kind.0.into());
    out.text(6, symbol.display_name);
    out.text(8, symbol.enclosing_symbol);
}

fn write_relationship(out: &mut Message, relationship: &Relationship<'_>) {
    out.text(1, relationship.symbol);
    out.number(2, relationship.is_reference.into());
    out.number(3, relationship.is_implementation.into());
    out.number(4, relationship.is_type_definition.into());
    out.number(5, relationship.is_definition.into());
}

/// A message that is being written. Fields with default values are omitted, as protobuf requires.
#[derive(Debug, Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    fn number(&mut self, field: u64, number: u64) {
        if number != 0 {
            self.varint(field << 3);
            self.varint(number);
        }
    }

    fn bytes(&mut self, field: u64, bytes: &[u8]) {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    fn text(&mut self, field: u64, text: &str) {
        if !text.is_empty() {
            self.bytes(field, text.as_bytes());
        }
    }

    fn message(&mut self, field: u64, write: impl FnOnce(&mut Self)) {
        let mut inner = Self::default();
        write(&mut inner);
        self.bytes(field, &inner.0);
    }
}
