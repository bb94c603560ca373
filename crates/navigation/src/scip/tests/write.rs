//! Written documents are read back unchanged.

use super::samples::REAL;
use crate::scip::{
    Document, Limits, Metadata, Occurrence, Position, PositionEncoding, Range, Reader, Relationship, Roles,
    SymbolInformation, SymbolKind, Writer,
};

const fn range(line: u32, character: u32, end_line: u32, end_character: u32) -> Range {
    Range { start: Position { line, character }, end: Position { line: end_line, character: end_character } }
}

#[test]
fn a_document_is_read_back() {
    let metadata = Metadata {
        tool: "tool".to_owned(),
        tool_version: "1.0".to_owned(),
        project_root: "file:///r".to_owned(),
    };
    let full = Document {
        path: "ä/b.py",
        language: "Python",
        encoding: PositionEncoding::Utf32,
        text: "x\n",
        occurrences: vec![
            Occurrence { range: range(0, 0, 0, 0), symbol: "local 1", ..Occurrence::default() },
            Occurrence {
                range: range(300, 2, 300, 70_000),
                symbol: "s . . . A#",
                roles: Roles::DEFINITION.with(Roles::TEST),
                enclosing_range: Some(range(299, 0, 310, 1)),
            },
        ],
        symbols: vec![SymbolInformation {
            symbol: "s . . . A#",
            kind: SymbolKind::CLASS,
            display_name: "A",
            enclosing_symbol: "s . . . B#",
            relationships: vec![Relationship {
                symbol: "s . . . C#",
                is_reference: true,
                is_implementation: true,
                ..Relationship::default()
            }],
        }],
    };
    let empty = Document { path: "c", ..Document::default() };
    let mut writer = Writer::new(Vec::new(), &metadata).unwrap();
    writer.document(&full).unwrap();
    writer.document(&empty).unwrap();
    let written = writer.finish().unwrap();
    let mut reader = Reader::new(&*written, Limits::default()).unwrap();
    assert_eq!(reader.metadata(), &metadata);
    assert_eq!(reader.next_document().unwrap(), Some(full));
    assert_eq!(reader.next_document().unwrap(), Some(empty));
    assert_eq!(reader.next_document().unwrap(), None);
}

/// Reads a file and writes it again.
fn rewrite(bytes: &[u8]) -> Vec<u8> {
    let mut reader = Reader::new(bytes, Limits::default()).unwrap();
    let mut writer = Writer::new(Vec::new(), &reader.metadata().clone()).unwrap();
    while let Some(document) = reader.next_document().unwrap() {
        writer.document(&document).unwrap();
    }
    writer.finish().unwrap()
}

#[test]
fn files_of_real_indexers_are_written_as_they_were_read() {
    for real in REAL {
        let once = rewrite(real);
        assert_eq!(rewrite(&once), once);
        let (mut before, mut after) =
            (Reader::new(real, Limits::default()).unwrap(), Reader::new(&*once, Limits::default()).unwrap());
        loop {
            let (one, other) = (before.next_document().unwrap(), after.next_document().unwrap());
            assert_eq!(one, other);
            if one.is_none() {
                break;
            }
        }
    }
}
