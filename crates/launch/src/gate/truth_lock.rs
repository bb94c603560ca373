//! Gate `truth_lock`: every statement of a page is that of a claim, and the claim follows from the lines that it cites.
//!
//! It does not trust the collected claims: each is derived from its lines again, by the rules of [`crate::derivation`].

use std::collections::HashMap;

use super::{Checked, Found, Gate, GateInput};
use crate::claim::{Claim, Claims, marked_id, marked_statement, normalised, span_sha256, statement};
use crate::derivation::Proof;
use crate::evidence::Evidence;
use crate::issue::{Rule, Severity, quote};
use crate::prose::{DESCRIPTION_KEYS, description};
use crate::site::{LineKind, Page};

pub(super) const GATE: Gate = Gate {
    name: "truth_lock",
    about: "Every statement of a page is that of a claim, and the cited lines say it.",
    rules: &[
        UNKNOWN_CLAIM, WRONG_QUOTE, UNCITED, UNCITED_DESCRIPTION, UNPLANNED_HEADING, STALE_CITATION, UNSAID,
        NOT_INDEXED, CONTRADICTED,
    ],
    check,
};

const UNKNOWN_CLAIM: Rule = Rule::fixable("unknown_claim", "A mark names a claim that does not exist");
const WRONG_QUOTE: Rule = Rule::fixable("wrong_quote", "A sentence is not what its claim says");
const UNCITED: Rule = Rule::fixable("uncited_line", "A sentence has no claim");
const UNCITED_DESCRIPTION: Rule =
    Rule::fixable("uncited_description", "The description is no claim of the page");
const UNPLANNED_HEADING: Rule = Rule::fixable("unplanned_heading", "A heading was not planned");
const UNSAID: Rule = Rule::fixable("unsaid_claim", "A claim does not follow from the cited lines");
const STALE_CITATION: Rule = Rule::fixable("stale_citation", "The cited lines do not say it any more");
const NOT_INDEXED: Rule = Rule::new("not_indexed", "The cited file is not in the index any more");
const CONTRADICTED: Rule = Rule::fixable("contradicted_claim", "Better evidence says otherwise");

fn check(input: &GateInput<'_>, found: &mut Found) -> Checked {
    if input.run.is_none() && !input.pages().any(has_marks) {
        return Checked::NotApplicable("no page marks its claims");
    }
    let Some(claims) = input.claims else {
        // A mark is a hash, so only the run that wrote it knows the claim.
        return match input.run {
            None => Checked::NotApplicable("only the run that marked the claims knows them"),
            Some(_) => Checked::Unable("the claims that pages make are not known".to_owned()),
        };
    };
    let evidence = match input.evidence {
        Ok(evidence) => evidence,
        Err(reason) => return Checked::Unable(reason.to_owned()),
    };
    let proof = Proof::new(evidence, claims.product_name.as_deref().unwrap_or_default());
    let mut checker = Checker { claims, evidence, proof, of_claim: HashMap::new() };
    for page in input.pages() {
        // Without a run, a page without marks was written by people.
        if input.run.is_some() || has_marks(page) {
            checker.check(page, found);
        }
    }
    Checked::Done
}

fn has_marks(page: &Page) -> bool {
    page.comments.iter().any(|comment| marked_id(&comment.text).is_some())
}

struct Checker<'a> {
    claims: &'a Claims,
    evidence: &'a dyn Evidence,
    proof: Proof<'a>,
    /// The fault of each claim's citations, by the claim's id.
    of_claim: HashMap<&'a str, Option<(&'static Rule, String)>>,
}

impl<'a> Checker<'a> {
    fn check(&mut self, page: &Page, found: &mut Found) {
        let mut marks: HashMap<u32, Vec<&str>> = HashMap::new();
        for comment in &page.comments {
            if let Some(id) = marked_id(&comment.text) {
                marks.entry(comment.line).or_default().push(id);
            }
        }
        for (number, kind, line) in page.numbered_lines() {
            let place = (page.path.as_str(), number);
            match marks.get(&number) {
                Some(ids) => {
                    // Outside of plain text, a statement is rendered differently from the claim.
                    let says = (kind == LineKind::Text).then(|| marked_statement(line, ids));
                    ids.iter().for_each(|id| self.check_mark(id, says.as_deref(), line, place, found));
                }
                None if !states_something(kind, line) || self.claims.is_template_line(line) => {}
                // The fixers of other gates come first: they may know how the heading was planned.
                None if kind == LineKind::Heading => {
                    let message = format!("{} was not planned.", quote(line));
                    found.add(&UNPLANNED_HEADING, Severity::Error, place, line, message);
                }
                None => {
                    let message = format!("{} has no claim.", quote(line));
                    found.add(&UNCITED, Severity::Blocker, place, line, message);
                }
            }
        }
        let ids: Vec<&str> = marks.into_values().flatten().collect();
        self.check_description(page, &ids, found);
    }

    /// Compares the description in the front matter with the claims that the page makes.
    fn check_description(&self, page: &Page, ids: &[&str], found: &mut Found) {
        let name = self.claims.product_name.as_deref();
        let made: Vec<String> = ids
            .iter()
            .filter_map(|id| self.claims.by_id.get(*id))
            .filter_map(|claim| description(&claim.text))
            .map(|text| normalised(&text, name))
            .collect();
        for key in DESCRIPTION_KEYS {
            let Some(text) = page.front_matter.text(key) else { continue };
            if !made.contains(&normalised(text, name)) {
                let message = format!("{} is no claim of the page: {}.", quote(key), quote(text));
                found.add(&UNCITED_DESCRIPTION, Severity::Blocker, (&page.path, 1), key, message);
            }
        }
    }

    /// Checks the mark of a claim on a line; `says` is the statement of the line, if it is a line of text.
    fn check_mark(
        &mut self,
        id: &str,
        says: Option<&str>,
        line: &str,
        place: (&str, u32),
        found: &mut Found,
    ) {
        let claims = self.claims;
        let Some((known_id, claim)) = claims.by_id.get_key_value(id) else {
            let message = format!("There is no claim {}.", quote(id));
            return found.add(&UNKNOWN_CLAIM, Severity::Blocker, place, id, message);
        };
        let name = claims.product_name.as_deref();
        let should = statement(&claim.text);
        if says.is_none_or(|says| normalised(says, name) != normalised(&should, name)) {
            let says = says.unwrap_or(line);
            let message = format!("The line says {}, the claim {}.", quote(says), quote(&should));
            found.add(&WRONG_QUOTE, Severity::Blocker, place, id, message);
        }
        if let Some(winner) = &claim.replaced_by {
            let message = format!("Better evidence says otherwise: claim {}.", quote(winner));
            found.add(&CONTRADICTED, Severity::Blocker, place, id, message);
        }
        let (evidence, proof) = (self.evidence, &mut self.proof);
        let wrong = self.of_claim.entry(known_id).or_insert_with(|| wrong_citation(claim, evidence, proof));
        if let Some((rule, message)) = wrong {
            found.add(rule, Severity::Blocker, place, id, message.clone());
        }
    }
}

/// Returns the fault of the citations of a claim.
fn wrong_citation(
    claim: &Claim,
    evidence: &dyn Evidence,
    proof: &mut Proof<'_>,
) -> Option<(&'static Rule, String)> {
    if claim.citations.is_empty() {
        return Some((&STALE_CITATION, "The claim cites no lines.".to_owned()));
    }
    claim.citations.iter().find_map(|citation| {
        let shown = format!("{}:{}-{}", citation.path, citation.start_line, citation.end_line);
        if !evidence.is_indexed(&citation.path) {
            return Some((&NOT_INDEXED, format!("The index does not have {}.", quote(&shown))));
        }
        let lines = evidence.lines(&citation.path, citation.start_line, citation.end_line);
        match lines {
            None => Some((&STALE_CITATION, format!("{} does not exist.", quote(&shown)))),
            Some(lines) if span_sha256(&lines) != citation.sha256 => {
                Some((&STALE_CITATION, format!("{} says something else now.", quote(&shown))))
            }
            Some(_) if !proof.says(&claim.text, citation) => {
                let message = format!("{} does not say {}.", quote(&shown), quote(&claim.text));
                Some((&UNSAID, message))
            }
            Some(_) => None,
        }
    })
}

/// Returns `true` if a line of a page states something. Code is compared with that of the repository by another gate; the title of a
/// reference is shown to readers.
fn states_something(kind: LineKind, line: &str) -> bool {
    let is_text = match kind {
        LineKind::Text | LineKind::Html | LineKind::Heading | LineKind::Reference => true,
        LineKind::Table => !line.chars().all(|c| matches!(c, '|' | '-' | ':' | ' ')),
        LineKind::Blank | LineKind::FrontMatter | LineKind::Code => false,
    };
    is_text && statement(line).contains(char::is_alphanumeric)
}
