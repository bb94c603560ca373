//! The fuzz target of SCIP files.

use languages::symbols::Place;

use super::{Definitions, GivenDocument, Limits, Reader, Symbol, Writer};

/// A source file that documents are compared with.
const TEXT: &str = "def größe(a):\n    '🙂'; return a.b()\n\nclass C:\n    b = größe\n";

/// Returns seeds: files of real indexers, one with each form of a range, and an empty one.
#[must_use]
pub fn scip_seeds() -> Vec<Vec<u8>> {
    let document = b"\x12\x3a\x0a\x04a.py\x12\x10\x0a\x03\x00\x04\x08\x12\x07local 1\x18\x01\
        \x12\x0c\x42\x06\x08\x01\x10\x02\x18\x03\x12\x02s \x12\x0e\x4a\x08\x08\x01\x10\x00\x18\x02\x20\x01\x12\x02s \x30\x02";
    let metadata = b"\x0a\x08\x12\x06\x0a\x04tool";
    vec![
        include_bytes!("tests/fixtures/ty-scip.scip").to_vec(),
        include_bytes!("tests/fixtures/scip-typescript.scip").to_vec(),
        [metadata.as_slice(), document].concat(),
        metadata.to_vec(),
    ]
}

/// Reads a file, and checks that everything in it can be written and read back unchanged, that places lie in the text, that printed symbols
/// parse to the same symbols, and that stored documents decode to what was encoded.
///
/// # Panics
/// If one of these checks fails.
#[expect(clippy::unwrap_used, clippy::expect_used, reason = "panics report failures of the target")]
pub fn fuzz_scip(data: &[u8]) {
    let limits = Limits { document_bytes: 1 << 20, occurrences: 20_000, ..Limits::default() };
    let Ok(mut reader) = Reader::new(data, limits) else { return };
    let metadata = reader.metadata().clone();
    let mut writer = Writer::new(Vec::new(), &metadata).unwrap();
    let mut definitions = Definitions::default();
    let mut documents = 0;
    while let Ok(Some(document)) = reader.next_document() {
        let encoding = document.encoding.or_of_tool(&metadata);
        writer.document(&document).unwrap();
        documents += 1;
        for occurrence in &document.occurrences {
            if let Ok(symbol) = Symbol::parse(occurrence.symbol) {
                assert_eq!(Symbol::parse(&symbol.to_string()).as_ref(), Ok(&symbol));
            }
        }
        let _ = document.fits(encoding, TEXT);
        let _ = definitions.add(&document, document.path, encoding, Some(TEXT), limits.definitions);
        let given = GivenDocument::new(&document, encoding, TEXT, &definitions);
        assert_eq!(GivenDocument::decode(&given.encode()).as_ref(), Some(&given));
        assert!(given.occurrences().all(|one| is_in_text(one.place)), "a place outside of the text");
    }
    let written = writer.finish().unwrap();
    let mut again = Reader::new(&*written, limits).expect("what was written is read");
    while let Some(document) = again.next_document().expect("what was written is read") {
        assert!(!document.path.is_empty());
        documents -= 1;
    }
    assert_eq!(documents, 0);
}

fn is_in_text(place: Place) -> bool {
    let line = TEXT.split('\n').nth(place.line as usize - 1);
    line.is_some_and(|line| place.column as usize <= line.chars().count() + 1)
}
