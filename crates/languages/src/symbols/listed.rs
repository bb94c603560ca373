//! Tests of extractors over the samples: every listed definition is a symbol, and what is damaged does no harm.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use super::{FileSymbols, Place};
use crate::{ChunkLimits, Chunked, by_name, chunk};

const LANGUAGES: &[&str] = &["go", "rust"];

const LIMITS: ChunkLimits = ChunkLimits {
    chars_target: 100_000,
    chars_max: 200_000,
    chunks_max: 1000,
    parse_timeout: Duration::from_secs(60),
    facts: true,
};

fn file(language: &str, name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(language);
    std::fs::read_to_string(folder.join(name)).unwrap()
}

/// The sample, and the sources of all cases.
fn texts(language: &str) -> Vec<String> {
    let cases = file(language, "facts.cases");
    let sources = cases.split("\n=== ").map(|case| {
        let is_head = |line: &&str| line.starts_with("+ ") || line.starts_with("- ") || *line == "-";
        case.lines().skip(1).skip_while(is_head).collect::<Vec<_>>().join("\n")
    });
    std::iter::once(file(language, "sample.txt")).chain(sources).collect()
}

fn places(symbols: &FileSymbols) -> Vec<Place> {
    symbols.interface.symbols.iter().chain(&symbols.body.symbols).map(|symbol| symbol.place).collect()
}

fn chunked(text: &str, language: &str) -> Chunked {
    chunk(text, by_name(language), &LIMITS)
}

#[test]
fn every_listed_definition_is_a_symbol_at_the_same_place() {
    let (mut wrong, mut count) = (String::new(), 0);
    for language in LANGUAGES {
        for text in texts(language) {
            let chunked = chunked(&text, language);
            let places = places(chunked.symbols.as_ref().unwrap());
            for listed in chunked.chunks.iter().flat_map(|chunk| &chunk.definitions) {
                // Handlers that are passed to a call are listed by the call, and define no name.
                if matches!(listed.kind, "impl" | "section") || listed.name.contains('(') {
                    continue;
                }
                count += 1;
                if !places.contains(&Place { line: listed.line, column: listed.column }) {
                    writeln!(wrong, "{language}: {} in\n{text}", listed.qualified).unwrap();
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert!(count > 100, "{count}");
}

#[test]
fn damaged_samples_give_sound_symbols() {
    for language in LANGUAGES {
        let text = file(language, "sample.txt");
        let ends: Vec<usize> = text.char_indices().map(|(at, _)| at).step_by(7).collect();
        for (number, from) in ends.iter().enumerate() {
            let to = ends.get(number + 5).copied().unwrap_or(text.len());
            for insert in ["", "{", "})", "::", "(", " impl ", " func ", "\u{0}", "é<"] {
                let damaged = format!("{}{insert}{}", &text[..*from], &text[to..]);
                let symbols = chunked(&damaged, language).symbols.unwrap();
                assert!(symbols.is_sound(), "{language}: {damaged}");
            }
        }
    }
}

/// The rows of a text and of one four times as long.
fn rows(language: &str, text: impl Fn(usize) -> String) -> (usize, usize) {
    let count = |n: usize| {
        let symbols = chunked(&text(n), language).symbols.unwrap();
        assert!(symbols.is_sound());
        let FileSymbols { interface, body, .. } = symbols;
        interface.symbols.len()
            + interface.imports.len()
            + interface.arena.exprs.len()
            + body.symbols.len()
            + body.uses.len()
            + body.arena.exprs.len()
            + body.imports.len()
    };
    (count(50), count(200))
}

#[test]
fn rows_grow_linearly_with_the_text() {
    let nest = |open: &str, inside: &str, close: &str, n: usize| {
        format!("{}{inside}{}", open.repeat(n), close.repeat(n))
    };
    for (language, text) in [
        (
            "go",
            &(|n| format!("package a\nfunc f() {{ {} }}", nest("func() { x := y; g(x); ", "", " }()", n)))
                as &dyn Fn(usize) -> String,
        ),
        ("go", &|n| format!("package a\nfunc f() {{ x{} }}", ".a(1)".repeat(n))),
        ("go", &|n| format!("package a\nvar x = [][]T{}", nest("{", "{a: b}", "}", n))),
        ("rust", &|n| format!("fn f() {{ {} }}", nest("if let Some(x) = y { g(x); ", "", " }", n))),
        ("rust", &|n| format!("fn f() {{ x{} }}", ".a(|y| y.b())?".repeat(n))),
        ("rust", &|n| format!("use {};", nest("a::{", "b", "}", n))),
        ("rust", &|n| format!("fn f() {{ m!({}) }}", nest("g(a.b, ", "1", ")", n))),
        ("rust", &|n| nest("mod a { fn f() { super::g() } ", "", "}", n)),
    ] {
        let (small, large) = rows(language, text);
        assert!(large <= 5 * small, "{language}: {small} to {large} rows: {}", text(3));
    }
}
