//! The documents of real indexers, in the stored form.

use languages::symbols::Place;

use super::samples::{self, bytes, document, file, metadata, number, occurrence, source};
use crate::scip::{
    Definitions, Document, GivenDocument, Limits, Occurrence, Position, PositionEncoding, Range, Reader,
    Roles, TooManyDefinitions,
};

/// Returns the stored form of all documents of a file, with their paths.
fn given(index: &[u8], text: impl Fn(&str) -> Option<String>) -> Vec<(String, GivenDocument)> {
    let mut definitions = Definitions::default();
    let mut reader = Reader::new(index, Limits::default()).unwrap();
    let metadata = reader.metadata().clone();
    while let Some(document) = reader.next_document().unwrap() {
        let encoding = document.encoding.or_of_tool(&metadata);
        let text = text(document.path);
        definitions.add(&document, document.path, encoding, text.as_deref(), usize::MAX).unwrap();
    }
    let mut reader = Reader::new(index, Limits::default()).unwrap();
    let mut all = Vec::new();
    while let Some(document) = reader.next_document().unwrap() {
        let encoding = document.encoding.or_of_tool(&metadata);
        let Some(text) = text(document.path) else { continue };
        let given = GivenDocument::new(&document, encoding, &text, &definitions);
        assert_eq!(GivenDocument::decode(&given.encode()).as_ref(), Some(&given));
        all.push((document.path.to_owned(), given));
    }
    all
}

/// Returns what a document says at a place: `path:line:column names` of each definition.
fn at(given: &GivenDocument, line: u32, column: u32) -> Vec<String> {
    let here = given.occurrences().filter(|one| one.place == Place { line, column });
    let mut said = Vec::new();
    for one in here {
        let Some(symbol) = one.symbol else {
            said.push("elsewhere".to_owned());
            continue;
        };
        let names = symbol.names().join(".");
        said.extend(symbol.definitions().map(|(path, place)| match place {
            Some(Place { line, column }) => format!("{path}:{line}:{column} {names}"),
            None => format!("{path} {names}"),
        }));
    }
    said.sort();
    said
}

#[test]
fn uses_lead_to_the_places_of_definitions() {
    let python = [
        (10, 19, "pkg/shapes.py:7:9 Shape.area"),
        (13, 33, "pkg/shapes.py:15:7 Square"),
        (14, 28, "main.py:9:5 größer"),
        (14, 1, "elsewhere"),
    ];
    let typescript = [
        (3, 72, "shapes.ts:2:3 Shape.area"),
        (9, 32, "shapes.ts:6:3 Square.<constructor>"),
        (6, 46, "main.ts:3:7 größe"),
        (6, 52, "elsewhere"),
    ];
    for (index, folder, path, places) in [
        (samples::TY_SCIP, "python", "main.py", python),
        (samples::SCIP_PYTHON, "python", "main.py", python),
        (samples::SCIP_TYPESCRIPT, "typescript", "main.ts", typescript),
    ] {
        let all = given(index, |path| Some(source(folder, path)));
        let (_, document) = all.iter().find(|(one, _)| one == path).unwrap();
        for (line, column, said) in places {
            assert_eq!(at(document, line, column), [said], "{folder} {line}:{column}");
        }
    }
}

#[test]
fn implementations_are_kept() {
    for (index, folder, path) in [
        (samples::TY_SCIP, "python", "pkg/shapes.py"),
        (samples::SCIP_PYTHON, "python", "pkg/shapes.py"),
        (samples::SCIP_TYPESCRIPT, "typescript", "shapes.ts"),
    ] {
        let all = given(index, |path| Some(source(folder, path)));
        let (_, document) = all.iter().find(|(one, _)| one == path).unwrap();
        let mut pairs = Vec::new();
        for one in document.occurrences().filter(|one| one.roles.contains(Roles::DEFINITION)) {
            let Some(symbol) = one.symbol else { continue };
            pairs.extend(symbol.implements().map(|base| (symbol.names().join("."), base.names().join("."))));
        }
        let all = [("Square", "Shape"), ("Square.area", "Shape.area")];
        // ty-scip does not list methods.
        let known = if index == samples::TY_SCIP { &all[..1] } else { &all };
        let known = known.iter().map(|(one, other)| (one.to_string(), other.to_string()));
        assert_eq!(pairs, known.collect::<Vec<_>>(), "{folder}");
    }
}

#[test]
fn a_definition_in_an_unknown_text_is_known_by_its_name() {
    let all = given(samples::TY_SCIP, |path| (path == "main.py").then(|| source("python", path)));
    let [(_, document)] = &all[..] else { panic!("one document has a text") };
    assert_eq!(at(document, 10, 19), ["pkg/shapes.py Shape.area"]);
}

#[test]
fn a_text_that_was_edited_does_not_fit() {
    for (index, folder) in [
        (samples::TY_SCIP, "python"),
        (samples::SCIP_PYTHON, "python"),
        (samples::SCIP_TYPESCRIPT, "typescript"),
    ] {
        let mut reader = Reader::new(index, Limits::default()).unwrap();
        let metadata = reader.metadata().clone();
        while let Some(document) = reader.next_document().unwrap() {
            let encoding = document.encoding.or_of_tool(&metadata);
            let text = source(folder, document.path);
            assert!(document.fits(encoding, &text), "{}", document.path);
            assert!(!document.fits(encoding, ""), "{}", document.path);
            assert!(!document.fits(encoding, &format!("# a line more\n{text}")), "{}", document.path);
            assert!(!document.fits(encoding, text.lines().next().unwrap()) || text.lines().count() == 1);
        }
    }
    // The text itself is exact, if it is there.
    let index = file(&[document("a.py", &[bytes(5, "x = 1\n")])]);
    let mut reader = Reader::new(&*index, Limits::default()).unwrap();
    let document = reader.next_document().unwrap().unwrap();
    assert!(document.fits(document.encoding, "x = 1\n") && !document.fits(document.encoding, "x = 2\n"));
}

#[test]
fn a_symbol_has_few_places_and_a_file_few_definitions() {
    let define = |line| occurrence(&[line, 0, 1], &[bytes(2, "s . . . a/"), number(3, 1)]);
    let index = file(&[document("a", &(0..100).map(define).collect::<Vec<_>>())]);
    let mut reader = Reader::new(&*index, Limits::default()).unwrap();
    let document = reader.next_document().unwrap().unwrap();
    let text = "x\n".repeat(100);
    let mut definitions = Definitions::default();
    definitions.add(&document, "a", document.encoding, Some(&text), 100).unwrap();
    let lines: Vec<u32> = definitions.of("s . . . a/").map(|one| one.place.unwrap().line).collect();
    assert_eq!(lines, [1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(definitions.of("s . . . b/").count(), 0);
    let too_many = Definitions::default().add(&document, "a", document.encoding, Some(&text), 99);
    assert_eq!(too_many, Err(TooManyDefinitions));
    assert!(metadata().len() < index.len());
}

proptest::proptest! {
    #[test]
    fn stored_bytes_of_others_are_harmless(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..300)) {
        if let Some(document) = GivenDocument::decode(&bytes) {
            for one in document.occurrences() {
                if let Some(symbol) = one.symbol {
                    let _ = (symbol.names(), symbol.definitions().count(), symbol.implements().count());
                }
            }
        }
    }
}

#[test]
fn uses_that_an_edit_has_moved_are_noticed() {
    const GO: &str = "s . . . go().";
    const TARGET: &str = "s . . . target().";
    let name = |line, character, symbol, roles| {
        let (start, units) = (Position { line, character }, if symbol == GO { 2 } else { 6 });
        let range = Range { start, end: Position { character: character + units, ..start } };
        Occurrence { range, symbol, roles, enclosing_range: None }
    };
    let occurrences = vec![
        name(0, 4, TARGET, Roles::DEFINITION),
        name(2, 4, GO, Roles::DEFINITION),
        name(3, 4, TARGET, Roles(0)),
    ];
    let document = Document { path: "a.py", occurrences, ..Document::default() };
    let (before, moved) =
        ("def target(): ...\n\ndef go():\n    target()\n", "def target(): ...\n\ndef go():\n    ");
    assert!(document.fits(PositionEncoding::Utf8, before));
    for line in ["other()\n    target()\n", "\n    target()\n"] {
        assert!(!document.fits(PositionEncoding::Utf8, &format!("{moved}{line}")), "{line}");
    }
    // Words of one length, so that only the names matter.
    for (line, uses) in [("remote()\n    target()\n", 0), ("return target()\n", 0), ("target()\n", 1)] {
        let text = format!("{moved}{line}");
        let mut definitions = Definitions::default();
        definitions.add(&document, "a.py", PositionEncoding::Utf8, Some(&text), 10).unwrap();
        let given = GivenDocument::new(&document, PositionEncoding::Utf8, &text, &definitions);
        let used = given.occurrences().filter(|one| !one.roles.contains(Roles::DEFINITION));
        assert_eq!(used.count(), uses, "{line}");
    }
}
