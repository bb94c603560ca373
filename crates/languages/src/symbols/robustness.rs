//! Tests of the extractors of Go and Rust with damaged and with deeply nested texts.

use std::path::Path;
use std::time::Duration;

use super::FileSymbols;
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

fn chunked(text: &str, language: &str) -> Chunked {
    chunk(text, by_name(language), &LIMITS)
}

#[test]
fn damaged_samples_give_sound_symbols() {
    for language in LANGUAGES {
        let text = file(language, "sample.txt");
        let ends: Vec<usize> = text.char_indices().map(|(at, _)| at).step_by(17).collect();
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
