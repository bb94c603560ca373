//! Checks that the repository still supports the claims of pages, by comparing the files that claims cite with the cited lines.
//!
//! A claim is still supported if it follows from the file by the rules of [`crate::derivation`]; lines that only moved, or are wrapped
//! differently, still support it.

mod likeness;
mod shown_lines;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::likeness::most_alike;
use self::shown_lines::LINES_MAX;
pub use self::shown_lines::ShownLines;
use crate::claim::{Citation, Claim, marked_id, marked_statement, normalised, span_sha256, statement};
use crate::derivation::{Proof, defined, simple_name};
use crate::evidence::{Evidence, Questions};
use crate::forms::CitedLines;
use crate::gate::SecretFinder;
use crate::site::{LineKind, PAGE_ITEMS_MAX, Page};

/// Maximum number of bytes of the lines of all claims that a run keeps.
const CITED_BYTES_MAX: usize = 512 << 10;
/// Maximum number of stale sentences that are listed, and of their bytes as JSON; all are counted.
const LISTED_MAX: usize = 50;
const LISTED_BYTES_MAX: usize = 64 << 10;

/// A sentence of a page that has the mark of a claim.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct MarkedSentence {
    /// Path of the page.
    pub page: String,
    /// Its line there, 1-based.
    pub line: u32,
    /// The claim.
    pub claim_id: String,
    /// The sentence on the page.
    pub says: String,
}

/// What became of the lines that a claim cites.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// They say something else now.
    Stale,
    /// The file does not have them any more, or is gone itself.
    Gone,
}

/// A sentence of a page that the repository does not say any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StaleSentence {
    /// The claim.
    pub claim_id: String,
    /// Path of the page in the site.
    pub page: String,
    /// Its line there, 1-based.
    pub line: u32,
    /// What it says.
    pub text: String,
    /// The file of the repository that said so.
    pub path: String,
    /// The lines that said so.
    pub old: ShownLines,
    /// What stands there now; null if nothing does.
    pub new: Option<ShownLines>,
    /// Whether the lines changed or are gone.
    pub verdict: Verdict,
}

/// The inputs of a comparison.
#[derive(Clone, Copy)]
pub struct Comparison<'a> {
    /// The sentences of the pages.
    pub sentences: &'a [MarkedSentence],
    /// The claims of the run that wrote them, by id.
    pub claims: &'a BTreeMap<String, Claim>,
    /// The lines that they cited.
    pub cited: &'a CitedLines,
    /// Name of the product.
    pub product_name: &'a str,
    /// The files to compare. All others are unchanged.
    pub paths: &'a BTreeSet<String>,
    /// The current content of these files.
    pub evidence: &'a dyn Evidence,
    /// Finds secrets, which are never shown.
    pub secrets: &'a dyn SecretFinder,
}

/// The result of a comparison.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Freshness {
    /// The stale sentences, by page and line; not all of many.
    pub stale: Vec<StaleSentence>,
    /// Number of all of them.
    pub stale_count: u32,
    /// The files that no longer support their claims.
    pub stale_paths: BTreeSet<String>,
}

/// Returns the lines that claims cite, for people who later ask for their original text. Lines with secrets are omitted.
#[must_use]
pub fn cited_lines(claims: &[Claim], evidence: &dyn Evidence, secrets: &dyn SecretFinder) -> CitedLines {
    let mut cited = CitedLines::default();
    let mut bytes_left = CITED_BYTES_MAX;
    for claim in claims {
        let Some(citation) = claim.citations.first() else { continue };
        let Some(lines) = evidence.lines(&citation.path, citation.start_line, citation.end_line) else {
            continue;
        };
        let shown =
            without_secrets(&citation.path, ShownLines::new(citation.start_line, lines.lines()), secrets);
        let Some(left) = bytes_left.checked_sub(shown.bytes()) else { break };
        bytes_left = left;
        cited.claims.insert(claim.claim_id.clone(), shown);
    }
    cited
}

/// Returns the sentences of a page that have marks of claims.
#[must_use]
pub fn marked_sentences(path: &str, text: String) -> Vec<MarkedSentence> {
    let page = Page::parse(path, text, PAGE_ITEMS_MAX);
    let mut marks: BTreeMap<u32, Vec<&str>> = BTreeMap::new();
    for comment in &page.comments {
        if let Some(id) = marked_id(&comment.text) {
            marks.entry(comment.line).or_default().push(id);
        }
    }
    let mut found = Vec::new();
    for (line, kind, written) in page.numbered_lines() {
        let Some(ids) = marks.get(&line).filter(|_| kind == LineKind::Text) else { continue };
        let says = marked_statement(written, ids);
        found.extend(ids.iter().map(|id| MarkedSentence {
            page: path.to_owned(),
            line,
            claim_id: (*id).to_owned(),
            says: says.clone(),
        }));
    }
    found
}

/// Returns the sentences that still say what their claims say. A sentence that was edited is the responsibility of its editor.
#[must_use]
pub fn claimed_sentences(
    sentences: Vec<MarkedSentence>,
    claims: &BTreeMap<String, Claim>,
    product_name: &str,
) -> Vec<MarkedSentence> {
    let name = Some(product_name);
    let is_claimed = |sentence: &MarkedSentence| {
        let claim = claims.get(&sentence.claim_id);
        claim.is_some_and(|claim| {
            normalised(&sentence.says, name) == normalised(&statement(&claim.text), name)
        })
    };
    let mut claimed: Vec<MarkedSentence> = sentences.into_iter().filter(is_claimed).collect();
    claimed.sort();
    claimed
}

/// Returns the files that the claims of these sentences cite, each with the claims.
#[must_use]
pub fn cited_files<'c>(
    sentences: &[MarkedSentence],
    claims: &'c BTreeMap<String, Claim>,
) -> BTreeMap<&'c str, BTreeSet<&'c str>> {
    let mut files: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for claim in sentences.iter().filter_map(|sentence| claims.get(&sentence.claim_id)) {
        for citation in &claim.citations {
            files.entry(citation.path.as_str()).or_default().insert(claim.claim_id.as_str());
        }
    }
    files
}

/// Returns the questions to answer about these files.
#[must_use]
pub fn questions(paths: &BTreeSet<String>, claims: &BTreeMap<String, Claim>) -> Questions {
    let mut questions = Questions::default();
    paths.iter().for_each(|path| questions.ask_text(path));
    for claim in claims.values() {
        let is_compared = claim.citations.iter().any(|citation| paths.contains(&citation.path));
        if let Some((qualified, _)) = defined(&claim.text).filter(|_| is_compared) {
            questions.ask_name(simple_name(qualified));
        }
    }
    questions
}

/// Finds the sentences that the compared files no longer support.
#[must_use]
pub fn compare(comparison: &Comparison<'_>) -> Freshness {
    let mut proof = Proof::new(comparison.evidence, comparison.product_name);
    let mut unsaid: BTreeMap<&str, Option<&Citation>> = BTreeMap::new();
    let mut changes: BTreeMap<&str, Change> = BTreeMap::new();
    let mut found = Freshness::default();
    let mut bytes_left = LISTED_BYTES_MAX;
    for sentence in comparison.sentences {
        let Some((id, claim)) = comparison.claims.get_key_value(&sentence.claim_id) else { continue };
        let citation = unsaid.entry(id).or_insert_with(|| unsaid_citation(claim, comparison, &mut proof));
        let Some(citation) = *citation else { continue };
        found.stale_count = found.stale_count.saturating_add(1);
        found.stale_paths.insert(citation.path.clone());
        // Replacements are searched for only where they are shown, because the search compares the whole file.
        if bytes_left == 0 || found.stale.len() == LISTED_MAX {
            continue;
        }
        let change = changes.entry(id).or_insert_with(|| changed(claim, citation, comparison));
        let stale = change.of(sentence, claim);
        let bytes = serde_json::to_string(&stale).map_or(usize::MAX, |text| text.len());
        match bytes_left.checked_sub(bytes) {
            Some(left) => {
                bytes_left = left;
                found.stale.push(stale);
            }
            None => bytes_left = 0,
        }
    }
    found
}

/// A change of the lines of a claim.
struct Change {
    path: String,
    old: ShownLines,
    new: Option<ShownLines>,
    verdict: Verdict,
}

impl Change {
    fn of(&self, sentence: &MarkedSentence, claim: &Claim) -> StaleSentence {
        StaleSentence {
            claim_id: claim.claim_id.clone(),
            page: sentence.page.clone(),
            line: sentence.line,
            text: claim.text.clone(),
            path: self.path.clone(),
            old: self.old.clone(),
            new: self.new.clone(),
            verdict: self.verdict,
        }
    }
}

/// Returns the first citation of a claim that no longer supports it.
fn unsaid_citation<'c>(
    claim: &'c Claim,
    comparison: &Comparison<'_>,
    proof: &mut Proof<'_>,
) -> Option<&'c Citation> {
    let mut compared = claim.citations.iter().filter(|citation| comparison.paths.contains(&citation.path));
    compared.find(|citation| !is_said(claim, citation, comparison.evidence, proof))
}

/// Checks whether a file still supports a claim: somewhere, or in lines that did not change.
fn is_said(claim: &Claim, citation: &Citation, evidence: &dyn Evidence, proof: &mut Proof<'_>) -> bool {
    let lines = evidence.lines(&citation.path, citation.start_line, citation.end_line);
    let is_unchanged = lines.is_some_and(|lines| span_sha256(&lines) == citation.sha256);
    (is_unchanged && proof.says(&claim.text, citation)) || proof.says_anywhere(&claim.text, &citation.path)
}

fn changed(claim: &Claim, citation: &Citation, comparison: &Comparison<'_>) -> Change {
    // Runs of older programs did not keep the lines.
    let unknown = ShownLines { start_line: citation.start_line, ..ShownLines::default() };
    let old = comparison.cited.claims.get(&claim.claim_id).cloned().unwrap_or(unknown);
    let sought: Vec<&str> = match old.lines.is_empty() {
        true => vec![claim.text.as_str()],
        false => old.lines.iter().map(String::as_str).collect(),
    };
    let count = citation.end_line.saturating_sub(citation.start_line).saturating_add(1);
    let count = usize::try_from(count).unwrap_or(LINES_MAX).min(LINES_MAX);
    let text = comparison.evidence.text(&citation.path).unwrap_or_default();
    let new = most_alike(&sought, text, count, citation.start_line).map(|(start_line, lines)| {
        without_secrets(&citation.path, ShownLines::new(start_line, lines), comparison.secrets)
    });
    let verdict = if new.is_some() { Verdict::Stale } else { Verdict::Gone };
    Change { path: citation.path.clone(), old, new, verdict }
}

/// Returns the lines, or none of them if one contains a secret.
fn without_secrets(path: &str, shown: ShownLines, secrets: &dyn SecretFinder) -> ShownLines {
    match secrets.find(path, &shown.lines.join("\n")).is_empty() {
        true => shown,
        false => ShownLines { lines: Vec::new(), truncated: true, ..shown },
    }
}
