//! Columns of real indexers against the texts that they indexed.

use languages::symbols::Place;

use super::samples::{self, source};
use crate::scip::{Descriptor, Limits, Lines, Position, PositionEncoding, Reader, Roles, Symbol};

const fn position(line: u32, character: u32) -> Position {
    Position { line, character }
}

#[test]
fn each_encoding_counts_its_own_units() {
    let text = "ab\nä🙂x\r\n\n";
    for (encoding, x, end) in [
        (PositionEncoding::Utf8, 6, 8),
        (PositionEncoding::Unspecified, 6, 8),
        (PositionEncoding::Utf16, 3, 5),
        (PositionEncoding::Utf32, 2, 4),
    ] {
        let mut lines = Lines::new(text, encoding);
        assert_eq!(lines.place(position(0, 1)), Some(Place { line: 1, column: 2 }));
        assert_eq!(lines.place(position(1, x)), Some(Place { line: 2, column: 3 }), "{encoding:?}");
        assert!(lines.rest().starts_with('x'));
        assert_eq!(lines.place(position(1, end)), Some(Place { line: 2, column: 5 }));
        assert_eq!(lines.place(position(1, end + 1)), None);
        assert_eq!(lines.place(position(3, 0)), Some(Place { line: 4, column: 1 }));
        assert_eq!(lines.place(position(4, 0)), None);
        // Backwards is possible as well.
        assert_eq!(lines.place(position(0, 0)), Some(Place { line: 1, column: 1 }));
        assert_eq!(lines.place(position(0, 3)), None);
    }
    // A position inside of a character does not exist.
    assert_eq!(Lines::new(text, PositionEncoding::Utf8).place(position(1, 1)), None);
    assert_eq!(Lines::new(text, PositionEncoding::Utf16).place(position(1, 2)), None);
}

/// Returns the last name of a symbol that is written like its name.
fn written_name(symbol: &str) -> Option<String> {
    match Symbol::parse(symbol) {
        Ok(Symbol::Global { mut descriptors, .. }) => descriptors.pop().map(|Descriptor { name, .. }| name),
        _ => None,
    }
}

#[test]
fn names_of_real_indexers_are_where_they_say() {
    for (bytes, folder) in [
        (samples::TY_SCIP, "python"),
        (samples::SCIP_PYTHON, "python"),
        (samples::SCIP_TYPESCRIPT, "typescript"),
    ] {
        let mut reader = Reader::new(bytes, Limits::default()).unwrap();
        let metadata = reader.metadata().clone();
        let (mut after_emoji, mut checked) = (0, 0);
        while let Some(document) = reader.next_document().unwrap() {
            let text = source(folder, document.path);
            let mut lines = Lines::new(&text, document.encoding.or_of_tool(&metadata));
            for occurrence in &document.occurrences {
                let place = lines.place(occurrence.range.start).expect(occurrence.symbol);
                let name = written_name(occurrence.symbol).unwrap_or_default();
                // Modules, constructors and imports under another name are not written like their names.
                let is_name = lines.rest().starts_with(&name) && !name.is_empty();
                let line = text.lines().nth(place.line as usize - 1).unwrap_or_default();
                let before = line.chars().take(place.column as usize - 1).collect::<String>();
                if before.contains(['🙂', 'ß']) && !name.is_empty() && name != "<constructor>" {
                    assert!(is_name, "{} in {line}", occurrence.symbol);
                    after_emoji += 1;
                }
                checked += usize::from(is_name);
                let is_definition = occurrence.roles.contains(Roles::DEFINITION);
                let is_module = occurrence.symbol.ends_with(['/', ':']);
                let is_constructor = name == "<constructor>";
                assert!(is_name || !is_definition || name.is_empty() || is_module || is_constructor);
            }
        }
        assert!(after_emoji >= 1, "{folder}");
        assert!(checked >= 15, "{checked} in {folder}");
    }
}
