//! Gate `checks`: the commands of the site profile succeed. They ran before; see [`Observed`](crate::observed::Observed).

use super::{Checked, Found, Gate, GateInput};
use crate::issue::{Rule, Severity};
use crate::observed::{CommandOutcome, CommandResult};

pub(super) const GATE: Gate = Gate {
    name: "checks",
    about: "The commands of the site profile end with success.",
    rules: &[FAILED, NOT_RUN],
    check,
};

const FAILED: Rule = Rule::new("check_failed", "A command of the site profile failed");
const NOT_RUN: Rule = Rule::new("check_not_run", "A command of the site profile could not run");

fn check(input: &GateInput<'_>, found: &mut Found) -> Checked {
    check_commands(input, |name| name != super::site_build::GATE.name, (&FAILED, &NOT_RUN), found)
}

/// Reports the commands with these names, by the rules of those that failed and of those that did not run.
pub(super) fn check_commands(
    input: &GateInput<'_>,
    is_own: impl Fn(&str) -> bool,
    (failed, not_run): (&Rule, &Rule),
    found: &mut Found,
) -> Checked {
    let Some(run) = input.run else { return Checked::NotAsked("no run changes the site") };
    let own: Vec<&CommandResult> =
        run.observed.commands.iter().filter(|result| is_own(&result.name)).collect();
    if own.is_empty() {
        return Checked::NotAsked("the site profile has no such command");
    }
    for result in &own {
        let severity = if result.required { Severity::Error } else { Severity::Warning };
        let name = &result.name;
        match &result.outcome {
            CommandOutcome::Passed => {}
            CommandOutcome::Failed { how, output } if output.is_empty() => {
                found.add_to_site(failed, severity, name, format!("The command `{name}` {how}."));
            }
            CommandOutcome::Failed { how, output } => {
                let message = format!("The command `{name}` {how}. Its last lines:\n{output}");
                found.add_to_site(failed, severity, name, message);
            }
            CommandOutcome::NotRun(why) => {
                let message = format!("The command `{name}` did not run. {why}");
                found.add_to_site(not_run, severity, name, message);
            }
        }
    }
    // If only optional commands could not run, the gate neither passes nor fails.
    let is_skipped =
        own.iter().all(|result| !result.required && matches!(result.outcome, CommandOutcome::NotRun(_)));
    match is_skipped && !input.profile.fails_on(Severity::Warning) {
        true => Checked::NotApplicable("none of the commands could run"),
        false => Checked::Done,
    }
}
