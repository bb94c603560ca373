//! Gate `allowed_paths`: a run changes only the paths that its site allows.

use super::{Checked, Found, Gate, GateInput};
use crate::issue::{Rule, Severity};

pub(super) const GATE: Gate = Gate {
    name: "allowed_paths",
    about: "A run changes only the paths that its site allows.",
    rules: &[OUTSIDE],
    check,
};

const OUTSIDE: Rule = Rule::new("outside_allowed_paths", "A changed file is outside of the allowed paths");

fn check(input: &GateInput<'_>, found: &mut Found) -> Checked {
    let Some(run) = input.run else { return Checked::NotApplicable("no run changes the site") };
    for change in run.changes.iter().filter(|change| !run.allowed_paths.admits(&change.path)) {
        let message = format!("The file is not below {}.", run.allowed_paths.allowed().join(", "));
        found.add_to_file(&OUTSIDE, Severity::Blocker, &change.path, "", message);
    }
    Checked::Done
}
