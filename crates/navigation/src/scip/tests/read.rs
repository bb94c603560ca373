//! Files that the reader reads, and files that it refuses.

use std::io::{self, Read};

use super::samples::{self, REAL, bytes, document, file, metadata, number, occurrence, varint};
use crate::scip::{
    Error, Limits, Metadata, Position, PositionEncoding, Problem, Range, Reader, Roles, SymbolKind,
};

/// The content of a file, in an owned form.
#[derive(Debug, Default)]
struct Summary {
    metadata: Metadata,
    paths: Vec<String>,
    occurrences: usize,
    symbols: usize,
}

fn read_with(source: impl Read, limits: Limits) -> Result<Summary, Error> {
    let mut reader = Reader::new(source, limits)?;
    let mut summary = Summary { metadata: reader.metadata().clone(), ..Summary::default() };
    while let Some(document) = reader.next_document()? {
        summary.paths.push(document.path.to_owned());
        summary.occurrences += document.occurrences.len();
        summary.symbols += document.symbols.len();
    }
    Ok(summary)
}

fn read(source: &[u8]) -> Result<Summary, Error> {
    read_with(source, Limits::default())
}

/// Returns the problem of a file that is refused.
fn problem(source: &[u8]) -> String {
    format!("{:?}", read(source).unwrap_err().problem)
}

/// Returns a file with one occurrence.
fn of_occurrence(range: &[u64], fields: &[Vec<u8>]) -> Vec<u8> {
    file(&[document("a.py", &[occurrence(range, fields)])])
}

/// A source that gives one byte at a time, and is interrupted before each.
struct Slow<'a>(&'a [u8], bool);

impl Read for Slow<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.1 = !self.1;
        if self.1 {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let length = buffer.len().min(1);
        self.0.read(&mut buffer[..length])
    }
}

#[test]
fn files_of_real_indexers_are_read() {
    let ty = read(samples::TY_SCIP).unwrap();
    assert_eq!((ty.metadata.tool.as_str(), ty.paths.len(), ty.occurrences), ("ty-scip", 3, 77));
    let python = read(samples::SCIP_PYTHON).unwrap();
    assert_eq!((python.metadata.tool.as_str(), python.paths.len()), ("scip-python", 3));
    let typescript = read(samples::SCIP_TYPESCRIPT).unwrap();
    assert_eq!(typescript.metadata.tool, "scip-typescript");
    assert_eq!(typescript.paths, ["shapes.ts", "main.ts"]);
}

#[test]
fn a_source_may_be_slow_and_interrupted() {
    for real in REAL {
        let slow = read_with(Slow(real, false), Limits::default()).unwrap();
        assert_eq!(slow.occurrences, read(real).unwrap().occurrences);
    }
}

#[test]
fn a_document_is_read_with_all_its_fields() {
    let relationship = bytes(4, [bytes(1, "s . . . Base#"), number(3, 1)].concat());
    let information =
        [bytes(1, "s . . . A#"), number(5, 7), bytes(6, "A"), bytes(8, "s . . . B#"), relationship].concat();
    let definition = occurrence(&[4, 0, 6], &[bytes(2, "s . . . A#"), number(3, 1), bytes(7, [4, 0, 9, 2])]);
    let use_of_it = bytes(2, [bytes(8, [number(1, 7), number(3, 5)].concat()), bytes(2, "local 1")].concat());
    let several_lines = {
        let range = [number(1, 1), number(2, 2), number(3, 3), number(4, 4)].concat();
        bytes(2, [bytes(9, range), bytes(2, "local 2"), number(3, 2 | 8), number(99, 1)].concat())
    };
    let unpacked = [number(1, 1), number(1, 2), number(1, 3), bytes(2, "local 3")].concat();
    let fields = [
        definition,
        use_of_it,
        several_lines,
        bytes(2, unpacked),
        occurrence(&[0, 0, 0], &[number(5, 4)]),
        bytes(3, information),
        bytes(4, "Python"),
        bytes(5, "text"),
        number(6, 2),
        bytes(77, "unknown"),
        [varint(78 << 3 | 1), vec![0; 8]].concat(),
        [varint(79 << 3 | 5), vec![0; 4]].concat(),
    ];
    let source = file(&[bytes(3, "external"), number(9, 9), document("src/a.py", &fields)]);
    let mut reader = Reader::new(&*source, Limits::default()).unwrap();
    let document = reader.next_document().unwrap().unwrap();
    let position = |line, character| Position { line, character };
    let range = |a, b, c, d| Range { start: position(a, b), end: position(c, d) };
    assert_eq!((document.path, document.language, document.text), ("src/a.py", "Python", "text"));
    assert_eq!(document.encoding, PositionEncoding::Utf16);
    let places = document.occurrences.iter().map(|it| (it.range, it.symbol, it.roles)).collect::<Vec<_>>();
    assert_eq!(
        places,
        [
            (range(4, 0, 4, 6), "s . . . A#", Roles::DEFINITION),
            (range(7, 0, 7, 5), "local 1", Roles(0)),
            (range(1, 2, 3, 4), "local 2", Roles::IMPORT.with(Roles::READ)),
            (range(1, 2, 1, 3), "local 3", Roles(0)),
        ]
    );
    assert_eq!(document.occurrences[0].enclosing_range, Some(range(4, 0, 9, 2)));
    let symbol = &document.symbols[0];
    assert_eq!((symbol.symbol, symbol.kind, symbol.display_name), ("s . . . A#", SymbolKind(7), "A"));
    assert_eq!(symbol.enclosing_symbol, "s . . . B#");
    let relationship = symbol.relationships[0];
    assert_eq!((relationship.symbol, relationship.is_implementation), ("s . . . Base#", true));
    assert!(!relationship.is_reference && !relationship.is_definition);
    assert!(reader.next_document().unwrap().is_none());
}

#[test]
fn files_other_than_scip_are_refused() {
    assert_eq!(problem(b""), "MetadataMissing");
    assert_eq!(problem(&document("a.py", &[])), "MetadataMissing");
    assert_eq!(problem(&file(&[metadata()])), "MetadataTwice");
    assert_eq!(problem(b"\x1f\x8b\x08\x00"), "Gzip");
    // A group, in which others could be nested without end.
    assert_eq!(problem(&[0x0b; 1000]), "MetadataMissing");
    assert_eq!(problem(&file(&[vec![0x3b; 1000]])), "WireType(3)");
    assert_eq!(problem(&file(&[document("a.py", &[vec![0x3b; 1000]])])), "WireType(3)");
    assert_eq!(problem(&file(&[vec![0x3f]])), "WireType(7)");
    assert_eq!(problem(&file(&[vec![0x00]])), "FieldNumber");
    assert_eq!(problem(&file(&[number(1 << 29, 0)])), "FieldNumber");
    assert_eq!(problem(&file(&[number(2, 0)])), "FieldType(\"document\")");
    assert_eq!(problem(&file(&[document("a.py", &[number(2, 0)])])), "FieldType(\"occurrence\")");
}

#[test]
fn numbers_have_at_most_64_bits() {
    let longest = [vec![0xff; 9], vec![1]].concat();
    assert!(read(&file(&[[varint(9 << 3), longest.clone()].concat()])).is_ok());
    for long in [[vec![0xff; 9], vec![2]].concat(), vec![0x80; 11], vec![0xff; 100]] {
        assert_eq!(problem(&file(&[[varint(9 << 3), long.clone()].concat()])), "Varint");
        let inside = [varint(9 << 3), long].concat();
        assert_eq!(problem(&file(&[document("a.py", &[inside])])), "Varint");
    }
    let promised = [varint(2 << 3 | 2), longest].concat();
    assert_eq!(problem(&file(&[promised])), "Limit { what: \"bytes of a document\", max: 67108864 }");
}

#[test]
fn a_length_that_is_only_promised_takes_no_memory() {
    let promise = file(&[[varint(2 << 3 | 2), varint(64 << 20)].concat(), vec![0; 100]]);
    let mut reader = Reader::new(&*promise, Limits::default()).unwrap();
    assert!(matches!(reader.next_document().unwrap_err().problem, Problem::Truncated));
    let inner = file(&[document("a.py", &[[varint(2 << 3 | 2), varint(u64::MAX)].concat()])]);
    assert_eq!(problem(&inner), "Truncated");
}

#[test]
fn paths_stay_below_the_root() {
    for path in ["", "/a", "a/", "a//b", ".", "a/./b", "..", "../a", "a/../b"] {
        assert_eq!(problem(&file(&[document(path, &[])])), "Path", "{path}");
    }
    assert_eq!(problem(&file(&[document("a\0b", &[])])), "Nul(\"bytes of a path\")");
    assert_eq!(problem(&file(&[bytes(2, bytes(1, [0xff]))])), "Utf8(\"bytes of a path\")");
    for path in ["a", "..a/b..", "ä/…/ a", "C:/a"] {
        assert_eq!(read(&file(&[document(path, &[])])).unwrap().paths, [path]);
    }
}

#[test]
fn of_documents_with_the_same_path_the_first_counts() {
    let with = |path: &str, range: &[u64]| document(path, &[occurrence(range, &[bytes(2, "local 1")])]);
    let twice = read(&file(&[with("a", &[1, 2, 3]), document("b", &[]), with("a", &[4, 5, 6])])).unwrap();
    assert_eq!((twice.paths, twice.occurrences), (vec!["a".to_owned(), "b".to_owned()], 1));
    assert_eq!(problem(&file(&[with("a", &[1, 2, 3]), with("a", &[1, 5, 4])])), "Range", "all must be sound");
}

#[test]
fn ranges_are_three_or_four_ordered_numbers() {
    let symbol = || vec![bytes(2, "local 1")];
    for range in [&[][..], &[1], &[1, 2], &[1, 2, 3, 4, 5], &[1, 5, 4], &[2, 0, 1, 9], &[1, 2, 1, 1]] {
        assert_eq!(problem(&of_occurrence(range, &symbol())), "Range", "{range:?}");
    }
    for range in [[0, 0, 1 << 31], [1 << 32, 0, 0], [0, u64::MAX, u64::MAX]] {
        assert_eq!(problem(&of_occurrence(&range, &symbol())), "Range", "{range:?}");
    }
    for range in [&[0, 0, 0][..], &[1, 5, 5], &[1, 5, 2, 0], &[0, 0, (1 << 31) - 1]] {
        assert!(read(&of_occurrence(range, &symbol())).is_ok(), "{range:?}");
    }
    let enclosing = [symbol(), vec![bytes(7, [1, 2])]].concat();
    assert_eq!(problem(&of_occurrence(&[1, 2, 3], &enclosing)), "Range");
    let reversed = bytes(10, [number(2, 3), number(3, 2)].concat());
    assert_eq!(problem(&of_occurrence(&[1, 2, 3], &[symbol(), vec![reversed]].concat())), "Range");
}

#[test]
fn symbols_and_encodings_are_checked() {
    assert_eq!(problem(&of_occurrence(&[0, 0, 0], &[bytes(2, "a\0")])), "Nul(\"bytes of a symbol\")");
    assert_eq!(problem(&of_occurrence(&[0, 0, 0], &[bytes(2, [0xc3])])), "Utf8(\"bytes of a symbol\")");
    assert_eq!(problem(&file(&[document("a", &[number(6, 4)])])), "PositionEncoding");
    assert_eq!(problem(&file(&[document("a", &[bytes(3, "")])])), "SymbolMissing");
    let nameless = bytes(3, [bytes(1, "local 1"), bytes(4, number(3, 1))].concat());
    assert_eq!(problem(&file(&[document("a", &[nameless])])), "SymbolMissing");
}

#[test]
fn each_limit_is_kept() {
    let occurrences = |count| vec![occurrence(&[0, 0, 0], &[bytes(2, "local 1")]); count];
    let symbols = |count| vec![bytes(3, bytes(1, "local 1")); count];
    let related = |count| {
        let relationships = vec![bytes(4, bytes(1, "local 2")); count].concat();
        bytes(3, [bytes(1, "local 1"), relationships].concat())
    };
    let limits = Limits {
        file_bytes: 200,
        document_bytes: 60,
        documents: 3,
        occurrences: 2,
        symbols: 2,
        definitions: 2,
        relationships: 2,
        symbol_bytes: 10,
        path_bytes: 5,
    };
    let refused = |fields: &[Vec<u8>]| match read_with(&*file(fields), limits) {
        Ok(_) => None,
        Err(Error { problem: Problem::Limit { what, .. }, .. }) => Some(what),
        Err(other) => panic!("{other}"),
    };
    let in_document = |fields: &[Vec<u8>]| refused(&[document("a", fields)]);
    assert_eq!(in_document(&occurrences(2)), None);
    assert_eq!(in_document(&occurrences(3)), Some("occurrences in a document"));
    assert_eq!(in_document(&symbols(2)), None);
    assert_eq!(in_document(&symbols(3)), Some("symbols in a document"));
    assert_eq!(in_document(&[related(2)]), None);
    assert_eq!(in_document(&[related(3)]), Some("relationships of a symbol"));
    assert_eq!(in_document(&[bytes(3, bytes(1, "local 12345"))]), Some("bytes of a symbol"));
    assert_eq!(in_document(&[bytes(9, [0; 60])]), Some("bytes of a document"));
    assert_eq!(refused(&[document("abcdef", &[])]), Some("bytes of a path"));
    assert_eq!(refused(&["a", "b", "c"].map(|path| document(path, &[]))), None);
    assert_eq!(refused(&["a", "b", "c", "d"].map(|path| document(path, &[]))), Some("documents"));
    assert_eq!(refused(&[bytes(9, [0; 250])]), Some("bytes of a file"));
}

#[test]
fn a_truncated_file_is_refused_or_ends_between_two_fields() {
    for real in REAL {
        let whole = read(real).unwrap();
        for end in 0..real.len() {
            match read(&real[..end]) {
                Ok(part) => assert!(part.paths.len() <= whole.paths.len()),
                Err(error) => assert!(error.offset <= end as u64, "{error}"),
            }
        }
    }
}

#[test]
fn an_edited_file_is_read_or_refused() {
    for at in 0..samples::SCIP_TYPESCRIPT.len() {
        for byte in [0x00, 0x01, 0x0b, 0x7f, 0x80, 0xff] {
            let mut edited = samples::SCIP_TYPESCRIPT.to_vec();
            edited[at] = byte;
            drop(read(&edited).map_err(|error| error.to_string()));
        }
    }
}

proptest::proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(tail in proptest::collection::vec(proptest::num::u8::ANY, 0..200)) {
        drop(read(&tail));
        drop(read(&file(std::slice::from_ref(&tail))));
        drop(read(&file(&[bytes(2, &tail)])));
        drop(read(&of_occurrence(&[1, 2, 3], &[tail])));
    }
}
