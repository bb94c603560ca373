//! Gate `change_budget`: a run changes as little as people can review.

use super::{Checked, Found, Gate, GateInput};
use crate::issue::{Rule, Severity};

pub(super) const GATE: Gate = Gate {
    name: "change_budget",
    about: "A run changes as little as people can review.",
    rules: &[TOO_MANY_FILES, TOO_LONG, ONLY_SPACES],
    check,
};

const TOO_MANY_FILES: Rule = Rule::new("too_many_files", "The run changes too many files");
const TOO_LONG: Rule = Rule::new("too_many_lines", "A changed file is too long");
const ONLY_SPACES: Rule = Rule::new("only_white_space", "Most of a change is white space");

/// Part of the changed lines that may be white space alone: 4 of 5.
const SPACES_SHARE: (usize, usize) = (4, 5);
/// Fewest changed lines for which that is checked.
const SPACES_LINES_MIN: usize = 5;

fn check(input: &GateInput<'_>, found: &mut Found) -> Checked {
    let Some(run) = input.run else { return Checked::NotApplicable("no run changes the site") };
    let files = u32::try_from(run.changes.len()).unwrap_or(u32::MAX);
    if files > run.budgets.max_files_changed {
        let message = format!("{files} files are changed; {} are allowed.", run.budgets.max_files_changed);
        found.add_to_site(&TOO_MANY_FILES, Severity::Blocker, "", message);
    }
    for change in run.changes {
        let lines = u32::try_from(change.after.lines().count()).unwrap_or(u32::MAX);
        if lines > run.budgets.max_lines_per_file {
            let message =
                format!("The file has {lines} lines; {} are allowed.", run.budgets.max_lines_per_file);
            found.add_to_file(&TOO_LONG, Severity::Blocker, &change.path, "", message);
        }
        if let Some(before) = &change.before
            && is_mostly_spaces(before, &change.after)
        {
            let message = "More than four of five changed lines differ only in white space.".to_owned();
            found.add_to_file(&ONLY_SPACES, Severity::Blocker, &change.path, "", message);
        }
    }
    Checked::Done
}

/// Returns `true` if most changed lines have the same words as before. Compares lines at equal distance from the ends of the change.
fn is_mostly_spaces(before: &str, after: &str) -> bool {
    let (before, after): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let start = before.iter().zip(&after).take_while(|(one, other)| one == other).count();
    let rest = before.len().min(after.len()) - start;
    let end = before
        .iter()
        .rev()
        .zip(after.iter().rev())
        .take(rest)
        .take_while(|(one, other)| one == other)
        .count();
    let changed = |lines: &[&str]| -> Vec<String> {
        let lines = lines.get(start..lines.len() - end).unwrap_or_default();
        lines.iter().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
    };
    let (before, after) = (changed(&before), changed(&after));
    let total = before.len().max(after.len());
    let same =
        before.iter().filter(|line| !line.is_empty()).zip(after.iter().filter(|line| !line.is_empty()));
    let same = same.filter(|(one, other)| one == other).count();
    total >= SPACES_LINES_MIN && same * SPACES_SHARE.1 > total * SPACES_SHARE.0
}
