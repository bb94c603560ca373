//! The form that records a decision.

use maud::{Markup, html};
use serde_json::{Map, Value, json};

use super::{STATUSES, finding_address};
use store::triage::{STATUS_FIXED, STATUS_OPEN};
use surfaces::http::pages::frame::{Asker, SentForm, project_field, single_use_field, token_field};

/// The user's input.
#[derive(Debug, Default)]
pub(super) struct Draft {
    status: String,
    justification: String,
    reviewer: String,
    expires: String,
    /// Codes, separated by commas.
    codes: String,
    /// Evidence, one item per line.
    evidence: String,
}

impl Draft {
    pub(super) fn read(sent: &SentForm) -> Self {
        let text = |name: &str| sent.text(name).to_owned();
        Self {
            status: text("status"),
            justification: text("justification"),
            reviewer: text("reviewer"),
            expires: text("expires"),
            codes: text("codes"),
            evidence: text("evidence"),
        }
    }

    /// Returns the arguments of `triage_decision`, without those that were left empty.
    pub(super) fn arguments(&self, project: &str, id: &str) -> Value {
        let mut arguments = Map::new();
        arguments.insert("project_id".to_owned(), project.into());
        arguments.insert("finding".to_owned(), id.into());
        arguments.insert("status".to_owned(), self.status.as_str().into());
        for (name, value) in
            [("justification", &self.justification), ("reviewer", &self.reviewer), ("expires", &self.expires)]
        {
            if !value.is_empty() {
                arguments.insert(name.to_owned(), value.as_str().into());
            }
        }
        for (name, value, separator) in [("codes", &self.codes, ','), ("evidence", &self.evidence, '\n')] {
            let parts: Vec<&str> =
                value.split(separator).map(str::trim).filter(|part| !part.is_empty()).collect();
            if !parts.is_empty() {
                arguments.insert(name.to_owned(), json!(parts));
            }
        }
        Value::Object(arguments)
    }
}

/// Checks whether this status is decided by people; the others follow from reports.
fn is_verdict(status: &str) -> bool {
    status != STATUS_OPEN && status != STATUS_FIXED
}

/// Renders the form, filled with the previous input.
pub(super) fn form(asker: &Asker, project: &str, id: &str, draft: &Draft) -> Markup {
    html! {
        section aria-labelledby="decide" {
            h2 id="decide" { "Decide" }
            form.stacked method="post" action=(finding_address::PATH) {
                (token_field(asker))
                (single_use_field())
                (project_field(project))
                input type="hidden" name="id" value=(id);
                label for="status" { "Decision" }
                select id="status" name="status" required {
                    option value="" { "Choose" }
                    @for (name, label) in STATUSES.iter().filter(|(name, _)| is_verdict(name)) {
                        option value=(name) selected[*name == draft.status] { (label) }
                    }
                }
                label for="justification" { "Why" }
                textarea id="justification" name="justification" rows="4" maxlength="8192" { (draft.justification) }
                label for="reviewer" { "Who decides" }
                input id="reviewer" name="reviewer" value=(draft.reviewer) maxlength="256" autocomplete="name";
                label for="expires" { "Last day on which it holds (UTC)" }
                input id="expires" name="expires" type="date" value=(draft.expires) aria-describedby="expires-hint";
                p.dim id="expires-hint" { "Without a day it holds until the next decision." }
                label for="codes" { "Reason codes, separated by commas" }
                input id="codes" name="codes" value=(draft.codes) autocomplete="off" spellcheck="false";
                label for="evidence" { "Evidence: a link or file on each line" }
                textarea id="evidence" name="evidence" rows="2" spellcheck="false" { (draft.evidence) }
                button { "Record the decision" }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_fields_are_no_arguments_and_lists_are_split() {
        let draft = Draft {
            status: "fix".into(),
            codes: " a , ,b".into(),
            evidence: "https://x\r\n\r\nfile.rs".into(),
            ..Draft::default()
        };
        let expected = json!({
            "project_id": "p", "finding": "f", "status": "fix", "codes": ["a", "b"], "evidence": ["https://x", "file.rs"],
        });
        assert_eq!(draft.arguments("p", "f"), expected);
    }
}
