//! Plans an import: everything is decided for all entries before anything is written.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::canonical::Hash;
use crate::entry::{Instruction, Rules};
use contract::echo;

/// A prune that removes at most this many entries is not refused, if some entries were given.
const PRUNED_UNASKED_MAX: usize = 20;

/// What happens to entries that exist.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ImportMode {
    /// They stay as they are.
    #[default]
    Skip,
    /// They are replaced.
    Overwrite,
}

/// The fields of an existing entry that an import needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Existing {
    /// Stored hash of its body.
    pub source_hash: Hash,
    /// Stored hash of its metadata.
    pub meta_hash: Hash,
    /// Time of its creation, milliseconds since the epoch.
    pub created_ms: i64,
}

/// The treatment of entries that an import does not name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prune {
    /// They stay.
    No,
    /// They are removed, unless these are suspiciously many, or all because no entry was given.
    Guarded,
    /// They are removed, however many: the caller knows what the catalog contains.
    Confirmed,
}

/// An entry that was not imported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct EntryError {
    /// Its id, or `#` and its position, counted from 1, if it has none.
    pub id: String,
    /// What is wrong with it.
    pub error: String,
}

/// An entry to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Write {
    /// The entry.
    pub instruction: Instruction,
    /// Time of its creation; that of an existing entry is kept.
    pub created_ms: i64,
}

/// Everything that an import will do. `imported`, `skipped`, `overwritten` and the errors add up to `total`.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ImportPlan {
    /// New entries.
    pub imported: usize,
    /// Existing entries that stay.
    pub skipped: usize,
    /// Existing entries that are given again, changed or not.
    pub overwritten: usize,
    /// Entries that were given.
    pub total: usize,
    /// Entries that break a rule.
    pub errors: Vec<EntryError>,
    /// The rows to write: new entries and those that differ.
    pub writes: Vec<Write>,
    /// Ids of the entries to remove.
    pub removed: Vec<String>,
}

/// The reason why a prune does not happen; nothing is written then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PruneRefused {
    /// Some entries have errors, so it is not known which entries are missing.
    Errors(Vec<EntryError>),
    /// It would remove this many of the entries.
    TooMany {
        /// Entries that would be removed.
        removed: usize,
        /// Entries in the catalog.
        of: usize,
    },
}

/// Plans an import at the time `now_ms`.
///
/// # Errors
/// [`PruneRefused`] if entries would be removed that probably should not be.
pub fn plan(
    entries: Vec<Value>,
    existing: &BTreeMap<String, Existing>,
    mode: ImportMode,
    prune: Prune,
    rules: &Rules,
    now_ms: i64,
) -> Result<ImportPlan, PruneRefused> {
    let mut plan = ImportPlan { total: entries.len(), ..ImportPlan::default() };
    let mut named = BTreeSet::new();
    // A prune makes room: only the given entries stay.
    let mut size = if prune == Prune::No { existing.len() } else { given_and_existing(&entries, existing) };
    for (at, entry) in entries.into_iter().enumerate() {
        let id = entry["id"].as_str().map_or_else(|| format!("#{}", at + 1), echo);
        let mut fail = |error: String| plan.errors.push(EntryError { id: id.clone(), error });
        let checked = match Instruction::check(entry, rules) {
            Ok(checked) => checked,
            Err(error) => {
                fail(error);
                continue;
            }
        };
        let instruction = checked.instruction;
        if !named.insert(instruction.id.clone()) {
            fail("This id is given more than once; the first entry counts.".into());
            continue;
        }
        let created_ms = match existing.get(&instruction.id) {
            None if size >= rules.entries_max => {
                fail(format!("The catalog is full: it holds at most {} entries.", rules.entries_max));
                continue;
            }
            None => {
                plan.imported += 1;
                size += 1;
                checked.created_ms.unwrap_or(now_ms)
            }
            Some(_) if mode == ImportMode::Skip => {
                plan.skipped += 1;
                continue;
            }
            Some(known) => {
                plan.overwritten += 1;
                if (known.source_hash, known.meta_hash)
                    == (instruction.source_hash(), instruction.meta_hash())
                {
                    continue;
                }
                known.created_ms
            }
        };
        plan.writes.push(Write { instruction, created_ms });
    }
    if prune != Prune::No {
        plan.removed = removed(existing, &named, &plan.errors, prune)?;
    }
    Ok(plan)
}

/// Counts the given entries that exist.
fn given_and_existing(entries: &[Value], existing: &BTreeMap<String, Existing>) -> usize {
    let ids: BTreeSet<&str> = entries.iter().filter_map(|entry| entry["id"].as_str()).collect();
    ids.into_iter().filter(|id| existing.contains_key(*id)).count()
}

/// Returns the entries that a prune removes.
fn removed(
    existing: &BTreeMap<String, Existing>,
    named: &BTreeSet<String>,
    errors: &[EntryError],
    prune: Prune,
) -> Result<Vec<String>, PruneRefused> {
    if !errors.is_empty() {
        return Err(PruneRefused::Errors(errors.to_vec()));
    }
    let removed: Vec<String> = existing.keys().filter(|id| !named.contains(*id)).cloned().collect();
    let are_many = removed.len() > PRUNED_UNASKED_MAX && removed.len() * 2 > existing.len();
    // An import without entries is more likely a folder that is not mounted, or that belongs to another branch, than a team without rules.
    let are_all = named.is_empty() && !removed.is_empty();
    if (are_many || are_all) && prune != Prune::Confirmed {
        return Err(PruneRefused::TooMany { removed: removed.len(), of: existing.len() });
    }
    Ok(removed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn entry(id: &str, body: &str) -> Value {
        json!({ "id": id, "title": id, "body": body, "priority": 5, "audience": "all", "requirement": "mandatory" })
    }

    fn catalog(entries: impl IntoIterator<Item = Value>) -> BTreeMap<String, Existing> {
        let checked = entries
            .into_iter()
            .map(|entry| Instruction::check(entry, &Rules::default()).unwrap().instruction);
        let row = |entry: Instruction| {
            (
                entry.id.clone(),
                Existing { source_hash: entry.source_hash(), meta_hash: entry.meta_hash(), created_ms: 7 },
            )
        };
        checked.map(row).collect()
    }

    fn import(
        entries: Vec<Value>,
        existing: &BTreeMap<String, Existing>,
        mode: ImportMode,
        prune: Prune,
    ) -> Result<ImportPlan, PruneRefused> {
        plan(entries, existing, mode, prune, &Rules { entries_max: 50, ..Rules::default() }, 100)
    }

    #[test]
    fn one_broken_entry_does_not_stop_the_others() {
        let deprecated = json!({ "id": "old", "title": "Old", "body": "x", "priority": 5, "audience": "all",
            "requirement": "deprecated" });
        let given = vec![entry("a", "A"), entry("../x", "B"), deprecated, entry("a", "again"), json!(1)];
        let plan = import(given, &BTreeMap::new(), ImportMode::Skip, Prune::No).unwrap();
        assert_eq!((plan.imported, plan.total, plan.writes.len()), (1, 5, 1));
        let failed: Vec<&str> = plan.errors.iter().map(|error| error.id.as_str()).collect();
        assert_eq!(failed, ["../x", "old", "a", "#5"]);
        assert_eq!(plan.writes[0].created_ms, 100);
    }

    #[test]
    fn equal_entries_are_not_written_again() {
        let existing = catalog([entry("a", "A"), entry("b", "B")]);
        let given = || vec![entry("a", "A"), entry("b", "changed"), entry("c", "C")];
        let plan = import(given(), &existing, ImportMode::Overwrite, Prune::No).unwrap();
        assert_eq!((plan.imported, plan.overwritten, plan.skipped), (1, 2, 0));
        let written: Vec<(&str, i64)> =
            plan.writes.iter().map(|write| (write.instruction.id.as_str(), write.created_ms)).collect();
        assert_eq!(written, [("b", 7), ("c", 100)]);
        let plan = import(given(), &existing, ImportMode::Skip, Prune::No).unwrap();
        assert_eq!((plan.imported, plan.skipped, plan.writes.len()), (1, 2, 1));
    }

    #[test]
    fn a_prune_is_refused_if_it_is_suspicious() {
        let ids: Vec<String> = (0..42).map(|n| format!("e{n}")).collect();
        let existing = catalog(ids.iter().map(|id| entry(id, "x")));
        let kept = |count: usize| ids[..count].iter().map(|id| entry(id, "x")).collect::<Vec<_>>();
        let prune = |count, prune| import(kept(count), &existing, ImportMode::Overwrite, prune);
        assert_eq!(prune(21, Prune::Guarded).unwrap().removed.len(), 21);
        assert_eq!(prune(20, Prune::Guarded).unwrap_err(), PruneRefused::TooMany { removed: 22, of: 42 });
        assert_eq!(prune(20, Prune::Confirmed).unwrap().removed.len(), 22);
        let small = catalog([entry("a", "x"), entry("b", "x")]);
        let emptied = import(vec![entry("c", "x")], &small, ImportMode::Overwrite, Prune::Guarded).unwrap();
        assert_eq!(emptied.removed, ["a", "b"]);
        let all = |prune| import(Vec::new(), &small, ImportMode::Overwrite, prune);
        assert_eq!(all(Prune::Guarded).unwrap_err(), PruneRefused::TooMany { removed: 2, of: 2 });
        assert_eq!(all(Prune::Confirmed).unwrap().removed, ["a", "b"]);
        let none = import(Vec::new(), &BTreeMap::new(), ImportMode::Overwrite, Prune::Guarded).unwrap();
        assert_eq!(none, ImportPlan::default());
        let broken = import(vec![json!({})], &small, ImportMode::Overwrite, Prune::Confirmed);
        assert!(matches!(broken, Err(PruneRefused::Errors(errors)) if errors.len() == 1));
    }

    #[test]
    fn a_full_catalog_takes_no_new_entries() {
        let existing = catalog((0..49).map(|n| entry(&format!("e{n}"), "x")));
        let given = vec![entry("e0", "new"), entry("x", "x"), entry("y", "x")];
        let plan = import(given, &existing, ImportMode::Overwrite, Prune::No).unwrap();
        assert_eq!((plan.imported, plan.overwritten, plan.errors.len()), (1, 1, 1));
        assert!(plan.errors[0].error.contains("full"));
        // A prune makes room for as many entries as the catalog holds.
        let other: Vec<Value> = (0..50).map(|n| entry(&format!("o{n}"), "x")).collect();
        let replaced = import(other, &existing, ImportMode::Overwrite, Prune::Confirmed).unwrap();
        assert_eq!((replaced.imported, replaced.removed.len(), replaced.errors.len()), (50, 49, 0));
    }
}
