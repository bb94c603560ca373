//! Gate `schema`: artifacts match their schemas, and pages can be read.

use contract::echo;

use super::{Checked, Found, Gate, GateInput};
use crate::issue::{Rule, Severity, quote};
use crate::site::{SiteProblem, counted_by_extension};

pub(super) const GATE: Gate = Gate {
    name: "schema",
    about: "Artifacts fit their schemas, and pages can be read.",
    rules: &[ARTIFACT, UNREADABLE, TRUNCATED, UNREAD],
    check,
};

const ARTIFACT: Rule = Rule::new("artifact_schema", "An artifact does not fit its schema");
const UNREADABLE: Rule = Rule::new("unreadable_page", "A page cannot be read");
const TRUNCATED: Rule = Rule::new("truncated_page", "A page has more than is checked");

const UNREAD: Rule = Rule::new("unread_documents", "Documents in other formats than Markdown are not read");
/// Maximum number of unread files that are named.
const NAMED_MAX: usize = 3;

/// Maximum number of violations that are reported for one artifact.
const VIOLATIONS_MAX: usize = 20;

fn check(input: &GateInput<'_>, found: &mut Found) -> Checked {
    problems(input, found);
    if input.run.is_none() && !input.site.unread().is_empty() {
        found.add_to_site(&UNREAD, Severity::Info, "", unread(input.site.unread()));
    }
    for artifact in input.run.into_iter().flat_map(|run| run.artifacts) {
        let validator = match jsonschema::validator_for(artifact.schema) {
            Ok(validator) => validator,
            Err(_) => return Checked::Unable(format!("the schema of `{}` is malformed", artifact.name)),
        };
        for error in validator.iter_errors(artifact.content).take(VIOLATIONS_MAX) {
            let place = error.instance_path().to_string();
            // The value may be long, and may come from a third party.
            let message =
                format!("`{}` at `{}`: {}.", artifact.name, echo(&place), echo(&error.masked().to_string()));
            found.add_to_file(&ARTIFACT, Severity::Blocker, artifact.name, &place, message);
        }
    }
    Checked::Done
}

/// Returns the number of documents that are not read, and names some.
fn unread(paths: &[String]) -> String {
    let named: Vec<String> = paths.iter().take(NAMED_MAX).map(|path| quote(path)).collect();
    let more = if paths.len() > NAMED_MAX { ", …" } else { "" };
    format!("Not read, so not checked: {} ({}{more}).", counted_by_extension(paths), named.join(", "))
}

/// Reports the files of the site that could not be read; of a run, only those that it changes.
fn problems(input: &GateInput<'_>, found: &mut Found) {
    let scope = input.scope();
    // Unread files are not checked either, so no page that a run writes may be among them.
    let changes = input.run.into_iter().flat_map(|run| run.changes);
    let is_all_read = changes.map(|change| &change.path).all(|path| input.site.files().contains(path));
    for (path, problem) in input.site.problems() {
        let (rule, severity, what) = match problem {
            SiteProblem::TooManyFiles => {
                let in_run = if is_all_read { Severity::Warning } else { Severity::Error };
                let severity = input.severity(in_run, Severity::Error);
                (&UNREADABLE, severity, "and all after it are left out: the site has too many files")
            }
            _ if !scope.contains(path) => continue,
            SiteProblem::PageTooLarge => (&UNREADABLE, Severity::Error, "is too large"),
            SiteProblem::PageNotText => (&UNREADABLE, Severity::Error, "is not UTF-8 text"),
            SiteProblem::PageUnreadable => (&UNREADABLE, Severity::Error, "cannot be read"),
            SiteProblem::PageTruncated => {
                let severity = input.severity(Severity::Error, Severity::Warning);
                (&TRUNCATED, severity, "has more headings, links or code than are checked")
            }
        };
        found.add_to_file(rule, severity, path, what, format!("The page {what}."));
    }
}
