//! Fuzzing entry points: chunking a text in each language, and reading a repository's own risk rules.

use std::path::Path;
use std::time::Duration;

use super::chunking::chunk_until;
use super::risk::{RuleSet, analyse};
use super::stop::Stop;
use super::syntax::parse;
use super::{Chunk, ChunkLimits, Chunked, ChunkingMethod, Language, PARSED};

/// Small sizes, so that short texts are split and merged. The fuzzer limits the time itself.
const LIMITS: ChunkLimits = ChunkLimits {
    chars_target: 60,
    chars_max: 120,
    chunks_max: 1000,
    parse_timeout: Duration::from_secs(60),
    facts: true,
    cells: false,
};
/// Languages whose grammars take minutes for some short texts, in C code that cannot be interrupted. An index run kills such a
/// parser process (`tests/it/parsing.rs`); here it would keep the fuzzer from finding anything else.
const NEVER_ENDING: [&str; 1] = ["kotlin"];
/// Maximum number of steps, and of bytes of output, for a text: a number for each byte of the text, and a constant that is added.
const STEPS: (u64, u64) = (4000, 4_000_000);
const BYTES: (usize, usize) = (400, 100_000);

/// Seed inputs: a byte that selects a language, then its sample text.
pub fn samples() -> Vec<Vec<u8>> {
    let sample = |(at, language): (usize, &&Language)| {
        let text = super::fuzzing::sample(language.id);
        [vec![u8::try_from(at).unwrap_or(0)], text].concat()
    };
    PARSED.iter().enumerate().map(sample).collect()
}

fn sample(language: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(language);
    std::fs::read(folder.join("sample.txt")).unwrap_or_default()
}

/// Chunks a text. Every line that is not blank must be in one chunk, and steps and output must be bounded by its length.
pub fn chunks(data: &[u8]) {
    let [language, text @ ..] = data else { return };
    let language = PARSED[usize::from(*language) % PARSED.len()];
    if NEVER_ENDING.contains(&language.id) {
        return;
    }
    let text = String::from_utf8_lossy(text).replace('\0', " ");
    let stop = Stop::new(LIMITS.parse_timeout, &|| false);
    let chunked = chunk_until(&text, Some(language), &LIMITS, &stop);
    assert_ne!(chunked.how, ChunkingMethod::Lines("parse_failed"), "{}", language.id);
    covers(&text, &chunked.chunks, language.id);
    assert!(chunked.chunks.len() <= LIMITS.chunks_max, "{}", language.id);
    let (length, steps, size) = (text.len(), stop.steps(), size(&chunked));
    assert!(steps <= STEPS.0 * length as u64 + STEPS.1, "{}: {steps} steps for {length} bytes", language.id);
    assert!(size <= BYTES.0 * length + BYTES.1, "{}: {size} bytes out of {length}", language.id);
    drop(analyse(&text, language.id, &chunked.flow, RuleSet::defaults()));
}

/// Asserts that every line that is not blank is in exactly one chunk, and that line numbers, texts and order are right.
pub fn covers(text: &str, chunks: &[Chunk], what: &str) {
    let lines: Vec<&str> = text.split('\n').collect();
    let mut next = 1;
    let left_out = |from: usize, to: usize| {
        for (line, text) in lines.iter().enumerate().take(to).skip(from) {
            assert!(text.trim().is_empty(), "{what}: line {} is in no chunk: {text:?}", line + 1);
        }
    };
    for chunk in chunks {
        let (start, end) = (chunk.start_line as usize, chunk.end_line as usize);
        assert!(next <= start && start <= end && end <= lines.len(), "{what}: {start}-{end} after {next}");
        left_out(next - 1, start - 1);
        let expected = lines[start - 1..end].join("\n");
        assert_eq!(chunk.text, expected.strip_suffix('\r').unwrap_or(&expected), "{what}");
        assert!(!chunk.text.trim().is_empty(), "{what}: a blank chunk");
        let signature = chunk.signature.as_deref().unwrap_or_default();
        assert!(signature.chars().count() <= 200 && !signature.contains('\n'), "{what}: {signature:?}");
        assert!(chunk.name.as_deref().is_none_or(|name| !name.is_empty()), "{what}: an empty name");
        next = end + 1;
    }
    left_out(next - 1, lines.len());
}

/// Size of the output: bytes of texts, and an approximation for facts.
pub fn size(chunked: &Chunked) -> usize {
    let chunks = chunked.chunks.iter().map(|chunk| {
        let own = |one: &super::ChunkDefinition| {
            let facts: usize = one.facts.iter().map(|(_, value)| 8 + value.len()).sum();
            let named = one.name.len() + one.qualified.len() + one.signature.as_ref().map_or(0, String::len);
            facts + named
        };
        let facts: usize = chunk.facts.values.iter().map(|(_, value)| 8 + value.len()).sum();
        let definitions: usize = chunk.definitions.iter().map(own).sum();
        let comments: usize = chunk.comments.iter().map(|comment| comment.text.len()).sum();
        chunk.text.len() + facts + definitions + comments + 8 * chunk.facts.lint.len()
    });
    let params: usize = chunked.flow.functions.iter().map(|function| function.params.len()).sum();
    let arguments: usize = chunked.flow.calls.iter().map(|call| 1 + call.arguments.len()).sum();
    chunks.sum::<usize>() + params + arguments + chunked.imports.iter().map(String::len).sum::<usize>()
}

/// Seed inputs for risk rules.
pub fn rule_files() -> Vec<Vec<u8>> {
    let rule = "include_defaults = false\n[[rule]]\nid = \"own\"\nname = \"own\"\nkind = \"sink\"\ncategory = \"command\"\nseverity = \"high\"\n\
                confidence = 0.9\nlanguages = [\"javascript\"]\ncalls = [\"launch\"]\npattern = \"^a.*b{1,3}\"\n\
                [rule.examples.javascript]\npositive = [\"launch(x)\"]\nnegative = [\"land(x)\"]\n";
    vec![rule.as_bytes().to_vec(), include_bytes!("risk/rules/crypto.toml").to_vec()]
}

/// The leaves of a parsed text, and its errors.
#[derive(Debug, Default)]
pub struct Leaves {
    /// Number of places that the grammar cannot read: nodes that are errors or missing.
    pub errors: usize,
    /// The leaves of the tree that have text, in order, each with its kind and that of the node around it.
    pub leaves: Vec<(std::ops::Range<usize>, String, String)>,
}

/// Parses a text; `None` if the language has no grammar, the grammar would crash, or the time limit passed.
pub fn leaves(text: &str, language: &Language, limit: Duration) -> Option<Leaves> {
    let grammar = language.grammar.as_ref()?;
    if grammar.crash_check.is_some_and(|crashes| crashes(text)) {
        return None;
    }
    let stop = Stop::new(limit, &|| false);
    stop.begin();
    let tree = parse(text, grammar, &stop).ok()?;
    let mut found = Leaves::default();
    let mut cursor = tree.walk();
    let mut parents = vec![String::new()];
    loop {
        let node = cursor.node();
        found.errors += usize::from(node.is_error() || node.is_missing());
        if cursor.goto_first_child() {
            parents.push(node.kind().to_owned());
            continue;
        }
        if !node.byte_range().is_empty() {
            let parent = parents.last().cloned().unwrap_or_default();
            found.leaves.push((node.byte_range(), node.kind().to_owned(), parent));
        }
        while !cursor.goto_next_sibling() {
            parents.pop();
            if !cursor.goto_parent() {
                return Some(found);
            }
        }
    }
}

/// Reads a repository's risk rules. They must be accepted, or rejected with a message.
pub fn risk_rules(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    if let Err(why) = RuleSet::defaults().with(&text) {
        assert!(!why.is_empty());
    }
}
