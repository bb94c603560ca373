//! Gate `risk_disclosure`: no example shows how to do something dangerous, and pages about dangerous operations say so.

use languages::risk::Severity as Impact;

use super::{Checked, Found, Gate, GateInput};
use crate::evidence::{Evidence, name_in};
use crate::issue::{Rule, Severity, quote};
use crate::site::Page;

pub(super) const GATE: Gate = Gate {
    name: "risk_disclosure",
    about: "No example shows how to do something dangerous, and pages about dangerous operations say so.",
    rules: &[RISKY_EXAMPLE, UNDISCLOSED_RISK],
    check,
};

const RISKY_EXAMPLE: Rule =
    Rule::fixable("risky_example", "An example passes untrusted input to a dangerous operation");
const UNDISCLOSED_RISK: Rule =
    Rule::new("undisclosed_risk", "A page does not say that what it shows is dangerous");

/// Beginnings of words by which a page says that something is dangerous.
const WARNINGS: &[&str] = &[
    "untrusted", "security", "sanitiz", "sanitis", "injection", "unsafe", "danger", "vulnerab", "malicious",
    "attack", "never pass", "do not pass",
];

fn check(input: &GateInput<'_>, found: &mut Found) -> Checked {
    for page in input.pages() {
        let warns = warns(page);
        for snippet in input.snippets_of(page) {
            let Some(risk) = snippet.risk.as_ref().filter(|risk| risk.severity >= Impact::High) else {
                continue;
            };
            // A page with a warning may show what not to do; a page that a run writes has no need to.
            if input.run.is_some() || !warns {
                let severity = input.severity(Severity::Blocker, Severity::Warning);
                let message =
                    format!("Untrusted input reaches a dangerous operation: {}.", quote(&risk.flow));
                found.add(&RISKY_EXAMPLE, severity, (&page.path, risk.line), &risk.flow, message);
            }
        }
        if let (Ok(evidence), false) = (input.evidence, warns) {
            shown_definitions(input, page, evidence, found);
        }
    }
    match input.evidence {
        Ok(_) => Checked::Done,
        Err(reason) => Checked::Unable(reason.to_owned()),
    }
}

fn warns(page: &Page) -> bool {
    let text = page.text.to_lowercase();
    WARNINGS.iter().any(|word| text.contains(word))
}

/// Finds definitions that a page shows between backticks and in which input reaches a dangerous operation.
fn shown_definitions(input: &GateInput<'_>, page: &Page, evidence: &dyn Evidence, found: &mut Found) {
    let severity = input.severity(Severity::Blocker, Severity::Info);
    for span in &page.code_spans {
        let Some(name) = name_in(&span.code).filter(|name| name.is_call || name.is_qualified()) else {
            continue;
        };
        // If several definitions share a name, it is unclear which one is meant.
        let [definition] = evidence.definitions(name.last()) else { continue };
        let risk = evidence.risk_at(&definition.path, definition.line);
        if let Some(risk) = risk.filter(|risk| risk.severity >= Impact::High) {
            let operations = risk.operations.join(", ");
            let message = format!(
                "Input reaches {} in {}; the page does not say so.",
                quote(&operations),
                quote(name.last())
            );
            found.add(&UNDISCLOSED_RISK, severity, (&page.path, span.line), name.last(), message);
        }
    }
}
