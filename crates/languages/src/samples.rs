//! Chunks every language's `sample.txt` and compares the result with its `sample.chunks`.

use std::fmt::Write as _;
use std::path::Path;

use super::{ChunkLimits, Chunked, ChunkingMethod, PARSED, chunk};

/// Small, so that short samples are split and merged.
const LIMITS: ChunkLimits = ChunkLimits {
    chars_target: 160,
    chars_max: 320,
    chunks_max: 100,
    parse_timeout: std::time::Duration::from_secs(60),
    facts: true,
    cells: false,
};

fn listing(chunked: &Chunked) -> String {
    let mut listing = String::new();
    for chunk in &chunked.chunks {
        write!(listing, "{}-{} {}", chunk.start_line, chunk.end_line, chunk.kind).unwrap();
        if let Some(name) = &chunk.name {
            write!(listing, " `{name}`").unwrap();
        }
        writeln!(listing, " defines [{}]", chunk.defines.join(", ")).unwrap();
        if let Some(signature) = &chunk.signature {
            writeln!(listing, "    {signature}").unwrap();
        }
    }
    listing
}

#[test]
fn every_sample_has_the_expected_chunks() {
    let mut wrong = String::new();
    for language in PARSED {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(language.id);
        let sample = std::fs::read_to_string(folder.join("sample.txt")).unwrap_or_default();
        let expected = std::fs::read_to_string(folder.join("sample.chunks")).unwrap_or_default();
        let chunked = chunk(&sample, Some(language), &LIMITS);
        assert_eq!(chunked.how, ChunkingMethod::Syntax, "{}", language.id);
        let actual = listing(&chunked);
        if actual != expected || actual.is_empty() {
            writeln!(wrong, "=== {}\n{actual}", language.id).unwrap();
        }
    }
    assert!(wrong.is_empty(), "these differ from their sample.chunks:\n{wrong}");
}

#[test]
fn chunks_are_the_same_after_they_were_sent_to_another_process() {
    for language in PARSED {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(language.id);
        let sample = std::fs::read_to_string(folder.join("sample.txt")).unwrap();
        for text in [sample.as_str(), "", "\n\n", "x"] {
            let chunked = chunk(text, Some(language), &LIMITS);
            let sent = postcard::to_stdvec(&chunked).unwrap();
            let received: Chunked = postcard::from_bytes(&sent).unwrap();
            assert_eq!(received.with_text(text), Some(chunked), "{}", language.id);
        }
    }
}

/// Every definition of the languages with an extractor, except sections and `impl`s, has a symbol at the place of its name.
#[test]
fn every_definition_has_a_symbol_at_its_place() {
    let mut missing = String::new();
    for language in PARSED.iter().filter(|language| language.grammar.as_ref().unwrap().symbols.is_some()) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(language.id);
        for file in ["sample.txt", "facts.cases"] {
            let text = std::fs::read_to_string(folder.join(file)).unwrap();
            let chunked = chunk(&text, Some(language), &LIMITS);
            let symbols = chunked.symbols.unwrap();
            assert!(symbols.is_sound() && !symbols.truncated, "{}", language.id);
            let all = symbols.interface.symbols.iter().chain(&symbols.body.symbols);
            let places: std::collections::HashSet<_> =
                all.map(|symbol| (symbol.place.line, symbol.place.column)).collect();
            for definition in chunked.chunks.iter().flat_map(|chunk| &chunk.definitions) {
                let counts = !matches!(definition.kind, "section" | "impl");
                if counts && !places.contains(&(definition.line, definition.column)) {
                    let (id, at) = (language.id, (definition.line, definition.column));
                    writeln!(missing, "{id}/{file} {at:?} {} {}", definition.kind, definition.name).unwrap();
                }
            }
        }
    }
    assert!(missing.is_empty(), "{missing}");
}
