//! Compares the symbols of each language's sample and of its facts' cases with the listed definitions, and extracts symbols from
//! damaged texts.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use proptest::prelude::*;

use super::FileSymbols;
use crate::chunking::chunk_until;
use crate::stop::Stop;
use crate::{ChunkLimits, Language, PARSED, chunk};

const LIMITS: ChunkLimits = ChunkLimits {
    chars_target: 800,
    chars_max: 1600,
    chunks_max: 1000,
    parse_timeout: Duration::from_secs(60),
    facts: true,
};

/// Languages that have an extractor.
fn extracted() -> Vec<&'static Language> {
    let has =
        |language: &&&Language| language.grammar.as_ref().is_some_and(|grammar| grammar.symbols.is_some());
    PARSED.iter().filter(has).copied().collect()
}

/// The sample of a language, and the texts of its cases.
fn texts(language: &Language) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(language.id);
    let read = |name| std::fs::read_to_string(folder.join(name)).unwrap();
    let mut texts = vec![read("sample.txt")];
    let cases = read("facts.cases");
    for case in cases.split("=== ").skip(1) {
        let lines = case.lines().skip(1).skip_while(|line| line.starts_with("+ ") || line.starts_with("- "));
        texts.push(lines.map(|line| format!("{line}\n")).collect());
    }
    texts
}

/// Definitions that have no symbol at their place.
fn missing(language: &'static Language, text: &str) -> Vec<String> {
    let chunked = chunk(text, Some(language), &LIMITS);
    let Some(FileSymbols { interface, body, .. }) = chunked.symbols else { return Vec::new() };
    let symbols = interface.symbols.iter().chain(&body.symbols);
    let places: HashSet<(u32, u32)> =
        symbols.map(|symbol| (symbol.place.line, symbol.place.column)).collect();
    let definitions = chunked.chunks.iter().flat_map(|chunk| &chunk.definitions);
    let definitions = definitions.filter(|definition| !matches!(definition.kind, "impl" | "section"));
    definitions
        .filter(|definition| !places.contains(&(definition.line, definition.column)))
        .map(|definition| format!("{} {}:{}", definition.qualified, definition.line, definition.column))
        .collect()
}

#[test]
fn every_definition_has_a_symbol() {
    let mut wrong = String::new();
    for language in extracted() {
        for text in texts(language) {
            let missing = missing(language, &text);
            if !missing.is_empty() {
                writeln!(wrong, "{}: {missing:?} in\n{text}", language.id).unwrap();
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Extracting from a text that is twice as long may take a little more than twice the steps.
#[test]
fn work_grows_with_the_text() {
    for language in extracted() {
        let text = texts(language).concat();
        let steps = |times: usize| {
            let stop = Stop::new(LIMITS.parse_timeout, &|| false);
            drop(chunk_until(&text.repeat(times), Some(language), &LIMITS, &stop));
            stop.steps()
        };
        assert!(steps(8) < 3 * steps(4), "{}", language.id);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn symbols_of_damaged_texts_are_sound(
        at in 0.0..1.0f64, which in 0.0..1.0f64, from in 0.0..1.0f64, length in 0usize..80,
        insert in "[(){}\\[\\]<>=:;.,?!@\"a \n]{0,6}",
    ) {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss,
            reason = "positions in short lists")]
        let pick = |share: f64, count: usize| (count as f64 * share) as usize;
        let languages = extracted();
        let language = languages[pick(at, languages.len())];
        let texts = texts(language);
        let chars: Vec<char> = texts[pick(which * which, texts.len())].chars().collect();
        let from = pick(from, chars.len());
        let to = (from + length).min(chars.len());
        let damaged: String = chars[..from].iter().copied().chain(insert.chars()).chain(chars[to..].iter().copied()).collect();
        let chunked = chunk(&damaged, Some(language), &LIMITS);
        prop_assert!(chunked.symbols.is_none_or(|symbols| symbols.is_sound()), "{}: {damaged}", language.id);
    }
}
