//! Converts a chunk to its rows: term weights, facts, definitions and comments.

use std::collections::BTreeSet;
use std::path::Path;

use super::meaningful_comments;
use languages::facts::{Counts, DEFINED, Detail, Field};
use languages::risk::{ChunkRisk, Findings};
use languages::terms::{self, Document};
use languages::{Chunk, ChunkDefinition, Dictionary, Language, name_forms};
use store::{ChunkWrite, CommentWrite, DefinitionWrite, NamedFact, WordsWrite, fact_id};

/// Longest text of a chunk's comments, in bytes; longer ones are truncated.
const COMMENTS_BYTES_MAX: usize = 8_000;
/// Longest text of a chunk's signatures that is searchable, in bytes; further signatures are stored only with their
/// definitions.
const SIGNATURES_BYTES_MAX: usize = 32_000;

/// Returns the rows of one chunk of the file at `path`. Comments are extracted only from code, because documents are
/// prose.
pub(super) fn chunk_write(
    path: &str,
    chunk: Chunk,
    is_code: bool,
    findings: &Findings,
    dictionary: Option<&Dictionary>,
) -> ChunkWrite {
    let defines = &chunk.defines;
    let words = term_weights(
        &Document { path, defines, signature: chunk.signature.as_deref(), text: &chunk.text },
        dictionary,
    );
    let comment = if is_code { comment_write(path, &chunk, dictionary) } else { None };
    let risk = ChunkRisk::in_lines(findings, chunk.start_line, chunk.end_line);
    let risky = risk.as_ref().map(ChunkRisk::facts).unwrap_or_default();
    let detail = Detail { risk, ..Detail::from_facts(&chunk.facts) }.to_json();
    let kinds: BTreeSet<&str> =
        chunk.definitions.iter().map(|definition| definition.kind).chain([chunk.kind]).collect();
    let mut facts: Vec<NamedFact> =
        kinds.into_iter().map(|kind| (Field::Kind as i16, kind.to_owned())).collect();
    let signatures = signatures(&chunk);
    // If the chunk consists of exactly one definition, both have the same facts, which are stored once.
    let is_single_definition = match chunk.definitions.as_slice() {
        [definition] => {
            chunk.name.as_ref() == Some(&definition.qualified)
                && definition.start_line <= chunk.start_line
                && chunk.end_line <= definition.end_line
                && chunk.facts.values.iter().all(|fact| definition.facts.contains(fact))
        }
        _ => false,
    };
    let forms = chunk.definitions.iter().flat_map(ChunkDefinition::forms);
    let mut defined: Vec<i64> = forms.map(|form| fact_id(DEFINED, &form)).collect();
    defined.sort_unstable();
    defined.dedup();
    let definitions = chunk
        .definitions
        .into_iter()
        .map(|definition| definition_write(definition, is_single_definition))
        .collect();
    facts.extend(chunk.facts.values.into_iter().chain(risky).map(|(field, value)| (field as i16, value)));
    ChunkWrite {
        start_line: chunk.start_line,
        end_line: chunk.end_line,
        kind: chunk.kind,
        name: chunk.name,
        name_line: chunk.line,
        definitions,
        defined,
        signatures,
        defines: chunk.defines,
        signature: chunk.signature,
        content_hash: *blake3::hash(chunk.text.as_bytes()).as_bytes(),
        content: chunk.text,
        words,
        facts,
        counts: chunk.facts.counts.map(counts_write),
        detail,
        comment,
    }
}

/// Returns the signatures of a chunk's definitions, one per line and without repetitions, up to the size limit.
fn signatures(chunk: &Chunk) -> Option<String> {
    let mut all: Vec<&str> = chunk.signature.as_deref().into_iter().collect();
    // Names of the same declaration share their signature and are adjacent.
    all.extend(chunk.definitions.iter().filter_map(|definition| definition.signature.as_deref()));
    let main = chunk.signature.as_deref();
    let mut last = None;
    all.retain(|signature| last.replace(*signature) != Some(*signature));
    let repeats = |at: usize, signature: &str| at > 0 && Some(signature) == main;
    let mut bytes = 0;
    let mut fits = |signature: &&str| {
        bytes += signature.len() + 1;
        bytes <= SIGNATURES_BYTES_MAX
    };
    let all = all.into_iter().enumerate().filter(|(at, signature)| !repeats(*at, signature));
    let all: Vec<&str> =
        all.map(|(_, signature)| signature).take_while(|signature| fits(signature)).collect();
    (!all.is_empty()).then(|| all.join("\n"))
}

/// Returns the row of a definition. The facts are omitted if the chunk consists of only this definition.
fn definition_write(definition: ChunkDefinition, is_single_definition: bool) -> DefinitionWrite {
    let kind = (Field::Kind as i16, definition.kind.to_owned());
    // Text without folded forms is not a name in code.
    let is_name = !definition.forms().is_empty();
    let name_id = name_forms(&definition.name, &definition.name).pop().filter(|_| is_name);
    let facts = definition.facts.into_iter().map(|(field, value)| (field as i16, value));
    DefinitionWrite {
        name_id: name_id.map(|form| fact_id(DEFINED, &form)),
        name: definition.name,
        qualified: definition.qualified,
        kind: definition.kind,
        signature: definition.signature,
        line: definition.line,
        column: definition.column,
        start_line: definition.start_line,
        end_line: definition.end_line,
        exported: definition.exported,
        facts: (!is_single_definition).then(|| std::iter::once(kind).chain(facts).collect()),
    }
}

fn term_weights(document: &Document<'_>, dictionary: Option<&Dictionary>) -> WordsWrite {
    let row = terms::document(document, dictionary);
    WordsWrite { terms: row.terms, weights: row.weights }
}

fn counts_write(counts: Counts) -> [i16; 4] {
    [counts.branches, counts.loops, counts.breaks, counts.continues]
        .map(|count| i16::try_from(count).unwrap_or(i16::MAX))
}

fn comment_write(path: &str, chunk: &Chunk, dictionary: Option<&Dictionary>) -> Option<CommentWrite> {
    let mut content = String::new();
    let mut lines: Option<(u32, u32)> = None;
    for comment in &chunk.comments {
        let Some(text) = meaningful_comments::meaningful_text(comment) else { continue };
        let room = COMMENTS_BYTES_MAX.saturating_sub(content.len());
        let kept = &text[..text.floor_char_boundary(room)];
        if kept.is_empty() {
            break;
        }
        if !content.is_empty() {
            content.push_str("\n\n");
        }
        content.push_str(kept);
        lines = Some((lines.map_or(comment.start_line, |(first, _)| first), comment.end_line));
    }
    let (start_line, end_line) = lines?;
    let document = Document { path, defines: &chunk.defines, signature: None, text: &content };
    let words = term_weights(&document, dictionary);
    Some(CommentWrite { start_line, end_line, content, words })
}

/// Returns the import facts of the file at `path`: imports as written, and relative ones also as paths in the
/// repository.
pub(super) fn imports(path: &str, imports: &[String]) -> Vec<NamedFact> {
    let resolved = imports.iter().filter(|import| import.starts_with("./") || import.starts_with("../"));
    let resolved: Vec<String> = resolved.filter_map(|import| resolve(path, import)).collect();
    imports.iter().cloned().chain(resolved).map(|import| (Field::Import as i16, import)).collect()
}

fn resolve(path: &str, import: &str) -> Option<String> {
    let mut parts: Vec<&str> = path.split('/').collect();
    parts.pop();
    for part in import.split('/') {
        match part {
            "." | "" => {}
            ".." => _ = parts.pop()?,
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// File extensions of logs and traces.
pub(super) const RECORD_EXTENSIONS: &[&str] =
    &["log", "out", "trace", "stack", "dmp", "gcov", "lcov", "coverage", "tap"];

/// Returns the mode of a file: `records` for logs and for documents whose metadata contains `recordType`, `prose` for
/// other documents, else `code`.
pub(super) fn mode(path: &str, language: Option<&'static Language>, meta: Option<&[String]>) -> &'static str {
    let extension = Path::new(path).extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let is_record = meta.is_some_and(|meta| meta.iter().any(|pair| pair.starts_with("recordtype=")));
    if is_record || RECORD_EXTENSIONS.contains(&extension.to_lowercase().as_str()) {
        "records"
    } else if language.is_some_and(Language::is_prose) {
        "prose"
    } else {
        "code"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use languages::facts::Comment;
    use languages::{ChunkLimits, by_name};

    #[test]
    fn relative_imports_are_also_paths() {
        let found =
            imports("src/a/b.ts", &["../c/d".to_owned(), "react".to_owned(), "../../../x".to_owned()]);
        let names: Vec<&str> = found.iter().map(|(_, name)| name.as_str()).collect();
        assert_eq!(names, ["../c/d", "react", "../../../x", "src/c/d"]);
    }

    #[test]
    fn modes() {
        assert_eq!(mode("a/b.rs", by_name("rust"), None), "code");
        assert_eq!(mode("docs/a.md", by_name("markdown"), None), "prose");
        assert_eq!(mode("ci/build.LOG", by_name("text"), None), "records");
        assert_eq!(mode("r/1.md", by_name("markdown"), Some(&["recordtype=finding".to_owned()])), "records");
    }

    #[test]
    fn details_round_trip() {
        let source = "function f(a) {\n  eval(a + \"\\u0000\");\n  db.query(a);\n}\n";
        let parsed = languages::chunk(source, by_name("javascript"), &ChunkLimits::default());
        let findings = Findings::default();
        for chunk in parsed.chunks {
            let written = chunk_write("a.js", chunk, true, &findings, None);
            let detail: Detail = serde_json::from_str(&written.detail.unwrap()).unwrap();
            let called: Vec<&str> = detail.calls.iter().map(|pair| pair.callee.as_str()).collect();
            assert_eq!(called, ["eval", "db.query"]);
        }
    }

    /// The facts of a field belong to the chunk, but not to the definition of the class.
    #[test]
    fn the_facts_of_a_field_are_not_facts_of_its_class() {
        for (language, source) in [
            ("typescript", "export class Jar {\n  #coins = 0\n  private lid: Lid\n}\n"),
            ("java", "public class Jar {\n  private int coins = 0;\n  @Inject private Lid lid;\n}\n"),
            ("rust", "struct Jar {\n    pub coins: u32,\n}\n"),
        ] {
            let parsed = languages::chunk(source, by_name(language), &ChunkLimits::default());
            let visibility = if language == "rust" { "public" } else { "private" };
            let fact = (Field::Visibility as i16, visibility.to_owned());
            let findings = Findings::default();
            let written: Vec<ChunkWrite> = parsed
                .chunks
                .into_iter()
                .map(|chunk| chunk_write("a", chunk, true, &findings, None))
                .collect();
            assert!(written.iter().any(|chunk| chunk.facts.contains(&fact)), "{language}");
            let jar =
                written.iter().flat_map(|chunk| &chunk.definitions).find(|one| one.name == "Jar").unwrap();
            let facts = jar.facts.as_ref().expect("the definition has facts");
            assert!(!facts.contains(&fact), "{language}: {facts:?}");
            let is_decorator = |(field, _): &NamedFact| *field == Field::Decorator as i16;
            assert!(!facts.iter().any(is_decorator), "{language}: {facts:?}");
        }
    }

    #[test]
    fn comments_are_kept_up_to_the_size_limit() {
        let comment = |line: u32, text: &str| Comment {
            start_line: line,
            end_line: line,
            doc: false,
            text: text.to_owned(),
        };
        let mut chunk =
            languages::chunk("fn f() {}\n", by_name("rust"), &ChunkLimits::default()).chunks.remove(0);
        chunk.comments = (1..=9).map(|line| comment(line, &format!("remark number {line}"))).collect();
        chunk.comments.insert(3, comment(3, "--------"));
        let written = comment_write("a.rs", &chunk, None).unwrap();
        assert_eq!(written.content.split("\n\n").count(), 9, "{}", written.content);
        assert_eq!((written.start_line, written.end_line), (1, 9));
        chunk.comments = (1..=99).map(|line| comment(line, &"größer als sonst ".repeat(20))).collect();
        let written = comment_write("a.rs", &chunk, None).unwrap();
        assert!(written.content.len() <= COMMENTS_BYTES_MAX + 2 * 99, "{}", written.content.len());
    }
}
