//! Chooses the instructions that apply to a task and the files that it touches, within a budget of tokens.

use crate::agents::{MANUAL, ON_DEMAND};
use crate::entry::{Instruction, Stored};
use crate::levels::Requirement;
use crate::scope::{ALWAYS, ScopeMatch, TouchedFiles, has_category, matches_scope};

/// An instruction that applies, and why.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Applicable<'a> {
    /// The entry.
    pub stored: &'a Stored,
    /// The reason why it applies.
    pub reason: Reason,
}

/// The reason why an instruction applies to a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// It must be followed everywhere, or for one of the files.
    Required,
    /// One of its globs matches one of the files.
    Scope,
    /// It is about the task.
    Task,
}

impl Reason {
    /// Returns the reason in words, for the reader of the instructions.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Required => "always required",
            Self::Scope => "for these files",
            Self::Task => "about this task",
        }
    }
}

/// Applied instructions: those that fit the budget, best first, and those that did not.
#[derive(Debug, Default, PartialEq)]
pub struct Applied<'a> {
    /// The instructions that fit.
    pub entries: Vec<Applicable<'a>>,
    /// Ids of instructions that apply but did not fit.
    pub omitted: Vec<&'a str>,
    /// Tokens of those that fit.
    pub tokens: usize,
}

/// Chooses the instructions that apply.
///
/// Deprecated entries never do. Critical and mandatory ones do unless their globs limit them to other files. Others do if their
/// globs match one of the files, or if they are about the task: `scored` has the ids of those, best first. They are taken in this
/// order while they fit `tokens_max`, as `tokens` counts them; an entry that does not fit is passed over.
///
/// Returns `None` if `is_stopped` returns `true` before the end; it is called for each entry.
#[must_use]
pub fn apply<'a>(
    entries: &'a [Stored],
    paths: &[&str],
    scored: &[(String, f64)],
    tokens_max: usize,
    tokens: impl Fn(&Stored) -> usize,
    is_stopped: impl Fn() -> bool,
) -> Option<Applied<'a>> {
    let mut files = TouchedFiles::new(paths);
    let rank = |id: &str| scored.iter().position(|(scored, _)| scored == id);
    let mut holding: Vec<(Applicable<'a>, usize)> = Vec::new();
    for stored in entries {
        if is_stopped() {
            return None;
        }
        let entry = &stored.instruction;
        let rank = rank(&entry.id);
        let scope = matches_scope(entry, &mut files);
        let reason = match (entry.requirement, scope) {
            (Requirement::Deprecated, _) => continue,
            // Without files, a rule cannot be known to be about others.
            (_, ScopeMatch::No) if !paths.is_empty() => continue,
            _ if is_required(entry, scope) => Reason::Required,
            (_, ScopeMatch::Matches) => Reason::Scope,
            _ if rank.is_some() => Reason::Task,
            _ => continue,
        };
        holding.push((Applicable { stored, reason }, rank.unwrap_or(usize::MAX)));
    }
    holding.sort_by(|(one, one_rank), (other, other_rank)| {
        let key = |applicable: &Applicable<'a>, rank: usize| {
            let entry = &applicable.stored.instruction;
            let is_critical = entry.requirement == Requirement::Critical;
            // Entries about the task are ordered by how well they fit, all others by priority.
            let rank = if applicable.reason == Reason::Task { rank } else { 0 };
            (applicable.reason, !is_critical, rank, entry.priority)
        };
        key(one, *one_rank)
            .cmp(&key(other, *other_rank))
            .then_with(|| one.stored.instruction.id.cmp(&other.stored.instruction.id))
    });
    let mut applied = Applied::default();
    for (applicable, _) in holding {
        if is_stopped() {
            return None;
        }
        let needed = tokens(applicable.stored);
        if applied.tokens + needed > tokens_max {
            applied.omitted.push(&applicable.stored.instruction.id);
            continue;
        }
        applied.tokens += needed;
        applied.entries.push(applicable);
    }
    Some(applied)
}

/// Checks whether an entry must be followed, given how its globs match the files. Rules that agents read on demand, such as skills,
/// bind only the agents that need them.
fn is_required(entry: &Instruction, scope: ScopeMatch) -> bool {
    let has = |category: &str| has_category(entry, category);
    let is_on_demand = scope == ScopeMatch::Everywhere && !has(ALWAYS) && (has(ON_DEMAND) || has(MANUAL));
    match entry.requirement {
        Requirement::Critical => scope != ScopeMatch::No,
        Requirement::Mandatory => scope != ScopeMatch::No && !is_on_demand,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::Rules;
    use serde_json::json;

    fn stored(id: &str, requirement: &str, priority: u8, categories: &[&str]) -> Stored {
        let mut entry = json!({ "id": id, "title": id, "body": "x", "priority": priority, "audience": "all",
            "requirement": requirement, "categories": categories });
        if requirement == "deprecated" {
            entry["deprecatedBy"] = "new".into();
        }
        let instruction = Instruction::check(entry, &Rules::default()).unwrap().instruction;
        Stored { source_hash: [0; 32], meta_hash: [0; 32], created_ms: 0, updated_ms: 0, instruction }
    }

    fn catalog() -> Vec<Stored> {
        vec![
            stored("always", "mandatory", 50, &[]),
            stored("keys", "critical", 90, &[]),
            stored("old", "deprecated", 1, &[]),
            stored("other-task", "optional", 1, &[]),
            stored("sql", "mandatory", 2, &["scope:**/*.sql"]),
            stored("style", "recommended", 5, &["scope:src/**"]),
            stored("task-a", "recommended", 9, &[]),
            stored("task-b", "optional", 1, &[]),
        ]
    }

    fn applied(paths: &[&str], tokens_max: usize) -> (Vec<String>, Vec<String>) {
        let catalog = catalog();
        let scored = [("task-a".to_owned(), 0.9), ("task-b".to_owned(), 0.8), ("old".to_owned(), 0.7)];
        let applied = apply(&catalog, paths, &scored, tokens_max, |_| 10, || false).unwrap();
        let shown = |applicable: &Applicable<'_>| applicable.stored.instruction.id.clone();
        assert_eq!(applied.tokens, applied.entries.len() * 10);
        (
            applied.entries.iter().map(shown).collect(),
            applied.omitted.iter().map(|id| (*id).to_owned()).collect(),
        )
    }

    #[test]
    fn rules_hold_by_requirement_scope_and_task() {
        let (entries, omitted) = applied(&["src/main.rs"], 1000);
        assert_eq!(entries, ["keys", "always", "style", "task-a", "task-b"]);
        assert!(omitted.is_empty());
        let (entries, _) = applied(&["db/a.sql"], 1000);
        assert_eq!(entries, ["keys", "sql", "always", "task-a", "task-b"]);
    }

    #[test]
    fn what_is_read_on_demand_is_not_required() {
        let catalog = [
            stored("by-name", "mandatory", 1, &["manual"]),
            stored("in-all", "mandatory", 1, &["always", "on-demand"]),
            stored("never", "critical", 1, &["on-demand"]),
            stored("skill-pdf", "mandatory", 1, &["on-demand"]),
            stored("skill-sql", "mandatory", 1, &["on-demand"]),
            stored("sql", "mandatory", 1, &["on-demand", "scope:**/*.sql"]),
        ];
        let applied = |paths: &[&str]| -> Vec<(String, Reason)> {
            let scored = [("skill-sql".to_owned(), 0.9)];
            let applied = apply(&catalog, paths, &scored, 1000, |_| 10, || false).unwrap();
            applied.entries.iter().map(|one| (one.stored.instruction.id.clone(), one.reason)).collect()
        };
        let expected = |id: &str, reason: Reason| (id.to_owned(), reason);
        let required = [expected("never", Reason::Required), expected("in-all", Reason::Required)];
        assert_eq!(applied(&[]), [&required[..], &[expected("skill-sql", Reason::Task)]].concat());
        let sql = [expected("sql", Reason::Required), expected("skill-sql", Reason::Task)];
        assert_eq!(applied(&["a.sql"]), [&required[..], &sql].concat(), "its files are at hand");
    }

    #[test]
    fn without_files_a_rule_with_globs_holds_only_if_it_is_about_the_task() {
        let (entries, _) = applied(&[], 1000);
        assert_eq!(entries, ["keys", "always", "task-a", "task-b"]);
    }

    #[test]
    fn the_budget_cuts_the_least_important() {
        let (entries, omitted) = applied(&["src/main.rs"], 30);
        assert_eq!(entries, ["keys", "always", "style"]);
        assert_eq!(omitted, ["task-a", "task-b"]);
        assert_eq!(
            applied(&[], 5),
            (vec![], ["keys", "always", "task-a", "task-b"].map(str::to_owned).to_vec())
        );
    }
}
