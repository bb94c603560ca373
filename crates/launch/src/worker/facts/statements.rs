//! Statements of the repository: copied from its manifests, documents and comments, or derived from its definitions.

use std::sync::LazyLock;

use regex::Regex;

use crate::claim::{Citation, Claim, ClaimKind, claim_id, span_sha256};
use crate::coverage::is_for_others;
use crate::derivation::{SENTENCES_MAX, definition_text, licence_lines, licence_text, manifest_description};
use crate::doc_comment::doc_sentence;
use crate::evidence::{Evidence, KnownDefinition, is_readme};
use crate::pattern::pattern;
use crate::prose::{Sentence, is_limiting, sentences};
use crate::site::{PAGE_ITEMS_MAX, Page};

/// Maximum number of definitions.
const DEFINITIONS_MAX: usize = 400;

/// The priority of a source: of two statements that contradict each other, the one of higher priority counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Priority {
    /// A document beside the README.
    Document,
    /// The README.
    Readme,
    /// The code and its comments.
    Code,
    /// A manifest or a licence.
    Manifest,
}

/// A claim and its source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Statement {
    pub(super) claim: Claim,
    pub(super) priority: Priority,
}

/// Collects statements of one repository.
pub(super) struct Statements<'a> {
    evidence: &'a dyn Evidence,
    product_name: &'a str,
}

impl<'a> Statements<'a> {
    pub(super) fn new(evidence: &'a dyn Evidence, product_name: &'a str) -> Self {
        Self { evidence, product_name }
    }

    /// Returns the product descriptions of the manifests at the root.
    pub(super) fn of_manifests(&self) -> Vec<Statement> {
        let at_root = self.evidence.packages().iter().filter(|package| !package.manifest.contains('/'));
        let described = at_root.filter_map(|package| {
            let (said, line) = manifest_description(self.evidence.text(&package.manifest)?)?;
            let place = (package.manifest.as_str(), line, line);
            self.statement(said, ClaimKind::Feature, place, Priority::Manifest)
        });
        described.collect()
    }

    /// Returns the statement about the licence of the product.
    pub(super) fn of_licence(&self) -> Option<Statement> {
        let licence = self.evidence.licence()?;
        let text = licence_text(self.product_name, &licence.spdx);
        let (first, last) = licence_lines(self.evidence.text(&licence.path)?, &licence.spdx)?;
        self.statement(&text, ClaimKind::Other, (licence.path.as_str(), first, last), Priority::Manifest)
    }

    /// Returns the statements of documents, in their order.
    pub(super) fn of_documents(&self, paths: &[String]) -> Vec<Statement> {
        let mut found = Vec::new();
        for path in paths {
            let Some(text) = self.evidence.text(path) else { continue };
            let page = Page::parse(path, text.to_owned(), PAGE_ITEMS_MAX);
            let priority = if is_readme(path) { Priority::Readme } else { Priority::Document };
            for sentence in sentences(&page, SENTENCES_MAX - found.len()) {
                let kind = kind_of(&sentence, priority);
                let place = (path.as_str(), sentence.start_line, sentence.end_line);
                found.extend(self.statement(&sentence.text, kind, place, priority));
            }
            if found.len() >= SENTENCES_MAX {
                break;
            }
        }
        found
    }

    /// Returns statements about definitions and their places, each followed by that of its comment.
    pub(super) fn of_definitions(&self) -> Vec<Statement> {
        let public = self.evidence.public_definitions().iter().filter(|one| is_for_others(one));
        public.take(DEFINITIONS_MAX).flat_map(|definition| self.of_definition(definition)).collect()
    }

    fn of_definition(&self, definition: &KnownDefinition) -> Vec<Statement> {
        let (path, line) = (definition.path.as_str(), definition.line);
        let Some(text) = definition_text(definition) else { return Vec::new() };
        let is_there =
            self.evidence.lines(path, line, line).is_some_and(|shown| shown.contains(&definition.name));
        if !is_there {
            return Vec::new();
        }
        let mut found = Vec::new();
        found.extend(self.statement(&text, ClaimKind::Api, (path, line, line), Priority::Code));
        let comment = self.evidence.text(path).and_then(|text| doc_sentence(text, definition));
        if let Some(comment) = comment {
            let place = (path, comment.start_line, comment.end_line);
            found.extend(self.statement(&comment.text, ClaimKind::Api, place, Priority::Code));
        }
        found
    }

    /// A statement that cites lines; `None` if there are no such lines.
    fn statement(
        &self,
        text: &str,
        kind: ClaimKind,
        (path, start_line, end_line): (&str, u32, u32),
        priority: Priority,
    ) -> Option<Statement> {
        let lines = self.evidence.lines(path, start_line, end_line)?;
        let citation = Citation { path: path.to_owned(), start_line, end_line, sha256: span_sha256(&lines) };
        let claim = Claim {
            claim_id: claim_id(text, kind, Some(self.product_name)),
            text: text.to_owned(),
            kind,
            citations: vec![citation],
            replaced_by: None,
        };
        Some(Statement { claim, priority })
    }
}

/// Determines the kind of a sentence from its words and the headings above it.
fn kind_of(sentence: &Sentence, priority: Priority) -> ClaimKind {
    let text = sentence.text.to_lowercase();
    let headings = &sentence.headings;
    let below =
        |words: &[&str]| headings.iter().any(|heading| words.iter().any(|word| heading.contains(word)));
    let says = |words: &[&str]| words.iter().any(|word| text.contains(word));
    if says(LIMITING) || headings.iter().any(|heading| is_limiting(heading)) {
        ClaimKind::Limitation
    } else if below(&["install", "setup", "set up"]) {
        ClaimKind::Install
    } else if is_about_formats(&sentence.text) {
        ClaimKind::Format
    } else if below(&["usage", "using", "how to", "quick start", "quickstart", "guide", "tutorial"]) {
        ClaimKind::Workflow
    } else if below(&["licen", "contribut", "develop", "credit", "thank", "sponsor", "build", "test"]) {
        ClaimKind::Other
    } else if priority == Priority::Readme {
        ClaimKind::Feature
    } else {
        ClaimKind::Workflow
    }
}

/// Phrases about limitations.
const LIMITING: &[&str] = &[
    "not supported", "unsupported", "does not ", "doesn't ", "do not support", "cannot ", "can't ",
    "is not ", "are not ", "never ", "only supports", "not yet ", "deprecated",
];

/// Returns `true` if a sentence is about reading or writing a format.
fn is_about_formats(text: &str) -> bool {
    static DOES: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"(?i)\b(?:reads?|writes?|pars(?:es?|ing)|exports?|imports?|converts?|supports?|loads?|saves?)\b",
        )
    });
    static FORMAT: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"\b(?:CSV|TSV|JSON|JSONL|NDJSON|YAML|TOML|XML|HTML|PDF|XLSX?|DOCX?|PPTX?|ODT|EPUB|RTF|PNG|JPEG|SVG|SQL|SQLite|Parquet|Avro|Protobuf|Markdown|LaTeX|INI)\b|`\.[a-z0-9]{1,5}`",
        )
    });
    DOES.is_match(text) && FORMAT.is_match(text)
}
