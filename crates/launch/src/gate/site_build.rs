//! Gate `site_build`: the command of this name in the site profile builds the patched site.

use super::checks::check_commands;
use super::{Checked, Found, Gate, GateInput};
use crate::issue::Rule;

pub(super) const GATE: Gate = Gate {
    name: "site_build",
    about: "The command that builds the site ends with success.",
    rules: &[FAILED, NOT_RUN],
    check,
};

const FAILED: Rule = Rule::new("build_failed", "The site cannot be built");
const NOT_RUN: Rule = Rule::new("build_not_run", "The command that builds the site could not run");

fn check(input: &GateInput<'_>, found: &mut Found) -> Checked {
    check_commands(input, |name| name == GATE.name, (&FAILED, &NOT_RUN), found)
}
