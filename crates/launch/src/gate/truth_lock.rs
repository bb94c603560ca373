//! Gate `truth_lock`: every statement of a page is that of a claim, and the cited lines still say it.

use std::collections::HashMap;

use super::{Checked, Found, Gate, GateInput};
use crate::claim::{Claim, Claims, marked_id, normalised, span_sha256, statement};
use crate::evidence::Evidence;
use crate::issue::{Rule, Severity, quote};
use crate::site::{LineKind, Page};

pub(super) const GATE: Gate = Gate {
    name: "truth_lock",
    about: "Every statement of a page is that of a claim, and the cited lines still say it.",
    rules: &[UNKNOWN_CLAIM, WRONG_QUOTE, UNCITED, STALE_CITATION, NOT_INDEXED, CONTRADICTED],
    check,
};

const UNKNOWN_CLAIM: Rule = Rule::fixable("unknown_claim", "A mark names a claim that does not exist");
const WRONG_QUOTE: Rule = Rule::fixable("wrong_quote", "A sentence is not what its claim says");
const UNCITED: Rule = Rule::fixable("uncited_line", "A sentence has no claim");
const STALE_CITATION: Rule = Rule::fixable("stale_citation", "The cited lines do not say it any more");
const NOT_INDEXED: Rule = Rule::new("not_indexed", "The cited file is not in the index any more");
const CONTRADICTED: Rule = Rule::fixable("contradicted_claim", "Better evidence says otherwise");

fn check(input: &GateInput<'_>, found: &mut Found) -> Checked {
    if input.run.is_none() && !input.pages().any(has_marks) {
        return Checked::NotApplicable("no page marks its claims");
    }
    let Some(claims) = input.claims else {
        return Checked::Unable("the claims that pages make are not known".to_owned());
    };
    let evidence = match input.evidence {
        Ok(evidence) => evidence,
        Err(reason) => return Checked::Unable(reason.to_owned()),
    };
    let mut checker = Checker { claims, evidence, of_claim: HashMap::new() };
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
    /// What is wrong with the citations of a claim, by its id.
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
                Some(ids) => ids.iter().for_each(|id| self.check_mark(id, line, place, found)),
                None if states_something(kind, line) && !self.claims.is_template_line(line) => {
                    let message = format!("{} has no claim.", quote(line));
                    found.add(&UNCITED, Severity::Blocker, place, line, message);
                }
                None => {}
            }
        }
    }

    fn check_mark(&mut self, id: &str, line: &str, place: (&str, u32), found: &mut Found) {
        let claims = self.claims;
        let Some((known_id, claim)) = claims.by_id.get_key_value(id) else {
            let message = format!("There is no claim {}.", quote(id));
            return found.add(&UNKNOWN_CLAIM, Severity::Blocker, place, id, message);
        };
        let name = claims.product_name.as_deref();
        let (says, should) = (statement(line), statement(&claim.text));
        if normalised(&says, name) != normalised(&should, name) {
            let message = format!("The line says {}, the claim {}.", quote(&says), quote(&should));
            found.add(&WRONG_QUOTE, Severity::Blocker, place, id, message);
        }
        if let Some(winner) = &claim.replaced_by {
            let message = format!("Better evidence says otherwise: claim {}.", quote(winner));
            found.add(&CONTRADICTED, Severity::Blocker, place, id, message);
        }
        let evidence = self.evidence;
        let wrong = self.of_claim.entry(known_id).or_insert_with(|| wrong_citation(claim, evidence));
        if let Some((rule, message)) = wrong {
            found.add(rule, Severity::Blocker, place, id, message.clone());
        }
    }
}

/// What is wrong with the citations of a claim.
fn wrong_citation(claim: &Claim, evidence: &dyn Evidence) -> Option<(&'static Rule, String)> {
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
            Some(_) => None,
        }
    })
}

/// Whether a line of a page states something: text and rows of tables do, headings and code do not.
fn states_something(kind: LineKind, line: &str) -> bool {
    let is_text = match kind {
        LineKind::Text | LineKind::Html => true,
        LineKind::Table => !line.chars().all(|c| matches!(c, '|' | '-' | ':' | ' ')),
        LineKind::Blank
        | LineKind::FrontMatter
        | LineKind::Heading
        | LineKind::Code
        | LineKind::Reference => false,
    };
    is_text && statement(line).contains(char::is_alphanumeric)
}
