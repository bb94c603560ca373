//! Property tests for any text in any language: the chunks cover its lines, and chunking terminates.

use std::path::Path;
use std::time::Duration;

use proptest::prelude::*;

use super::fuzzing::covers;
use super::{ChunkLimits, Chunked, ChunkingMethod, Language, PARSED, all, chunk};

const SMALL: ChunkLimits = ChunkLimits {
    chars_target: 60,
    chars_max: 120,
    chunks_max: 1000,
    parse_timeout: Duration::from_secs(60),
    facts: true,
    cells: false,
};

fn sample(language: &Language) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(language.id);
    std::fs::read_to_string(folder.join("sample.txt")).unwrap()
}

fn check(text: &str, chunked: &Chunked, what: &str) {
    covers(text, &chunked.chunks, what);
    assert!(chunked.symbols.as_ref().is_none_or(super::symbols::FileSymbols::is_sound), "{what}");
}

fn check_all(text: &str, limits: &ChunkLimits) {
    for language in PARSED {
        let chunked = chunk(text, Some(language), limits);
        check(text, &chunked, language.id);
        assert!(chunked.chunks.len() <= limits.chunks_max, "{}", language.id);
    }
    check(text, &chunk(text, None, limits), "no language");
}

/// Texts of keywords and punctuation that are meaningful to some grammar.
fn code() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "fn ", "def ", "class ", "function ", "struct ", "end", "{", "}", "(", ")", "[", "]", "<", ">", "=",
        ":", ";", "\"", "'", "`", "/*", "*/", "//", "#", "--", "<?php ", "<div>", "</div>", "\n", "\n\n",
        "\r\n", "  ", "\t", "name", "é", "🦀", "\\", "@", "|", "-", "- ", "# ", "===\n", "$", "module ",
        "where ", "do ", "if ", "\u{0}",
    ]);
    prop::collection::vec(word, 0..120).prop_map(|words| words.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn chunks_cover_arbitrary_text(text in "(?s).{0,400}") {
        check_all(&text, &SMALL);
    }

    #[test]
    fn chunks_cover_what_looks_like_code(text in code()) {
        check_all(&text, &SMALL);
    }

    #[test]
    fn chunks_cover_damaged_samples(
        at in 0..PARSED.len(), from in 0.0..1.0f64, length in 0usize..200, insert in code(), target in 1usize..800,
    ) {
        let sample = sample(PARSED[at]);
        let chars: Vec<char> = sample.chars().collect();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss,
            reason = "a position within a short sample")]
        let from = (chars.len() as f64 * from) as usize;
        let to = (from + length).min(chars.len());
        let damaged: String = chars[..from].iter().copied().chain(insert.chars()).chain(chars[to..].iter().copied()).collect();
        let limits = ChunkLimits { chars_target: target, chars_max: 2 * target, ..SMALL };
        check(&damaged, &chunk(&damaged, Some(PARSED[at]), &limits), PARSED[at].id);
    }
}

#[test]
fn samples_are_covered_whatever_the_sizes() {
    for language in PARSED {
        let sample = sample(language);
        for text in [sample.replace('\n', "\r\n"), sample.repeat(20), sample] {
            for (chars_target, chunks_max) in [(1, 1000), (1, 3), (30, 1000), (750, 1000), (100_000, 1000)] {
                let limits = ChunkLimits { chars_target, chars_max: 2 * chars_target, chunks_max, ..SMALL };
                let chunked = chunk(&text, Some(language), &limits);
                check(&text, &chunked, language.id);
                assert!(chunked.chunks.len() <= chunks_max, "{}", language.id);
            }
        }
    }
}

#[test]
fn hostile_text_neither_hangs_nor_overflows() {
    let limits = ChunkLimits { parse_timeout: Duration::from_millis(30), ..ChunkLimits::default() };
    // Deep enough to overflow the two megabytes of an ordinary thread's stack.
    let deep = 30_000;
    for text in [
        String::new(),
        "\n\n \t\n".to_owned(),
        "x".to_owned(),
        "(".repeat(100_000),
        "(\n".repeat(deep),
        format!("{}{}", "[".repeat(deep), "]".repeat(deep)),
        format!("{}{}", "{\n".repeat(deep), "}\n".repeat(deep)),
        "{ a: ".repeat(deep),
        "<div>\n".repeat(deep),
        "- ".repeat(deep),
        "> ".repeat(deep),
        (0..2000).map(|depth| format!("{}if x:\n", " ".repeat(depth))).collect(),
        "x = ".repeat(deep),
        "a".repeat(1_000_000),
        "\u{1}\u{7f}\u{0}\u{fffd}\n".repeat(1000),
        "\"\\".repeat(deep),
    ] {
        check_all(&text, &limits);
    }
}

/// The parser releases its stack by recursion where the grammar is ambiguous at every level.
#[test]
fn an_ambiguous_nest_does_not_overflow_the_stack() {
    let text = "{ a: ".repeat(30_000);
    let limits =
        ChunkLimits { parse_timeout: Duration::from_secs(60), facts: true, ..ChunkLimits::default() };
    for language in ["javascript", "typescript"] {
        check(&text, &chunk(&text, super::by_name(language), &limits), language);
    }
}

#[test]
fn without_time_or_grammar_files_are_split_by_lines_with_the_reason() {
    let text = sample(PARSED[0]).repeat(2000);
    let limits = ChunkLimits { parse_timeout: Duration::ZERO, chunks_max: 100_000, ..ChunkLimits::default() };
    let late = chunk(&text, Some(PARSED[0]), &limits);
    assert_eq!(late.how, ChunkingMethod::Lines("parse_timeout"));
    check(&text, &late, "late");
    let plain = all().find(|language| !language.has_grammar());
    assert_eq!(chunk("a\n", plain, &limits).how, ChunkingMethod::Lines("no_grammar"));
    assert!(chunk("", None, &limits).chunks.is_empty());
}
