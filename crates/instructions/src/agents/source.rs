//! The source of an entry and its text when it was imported: the category `source:<repository>/<text>`, two hashes. With it, a later
//! import of the same repository finds out whether people changed the file, the catalog, or both.

use std::collections::BTreeSet;

use platform::sha256;
use serde_json::{Value, json};

use super::globs::portable_globs;
use super::header::{MANUAL, ON_DEMAND};
use super::{FILE_PREFIX, FORMATS, FROM_PREFIX};
use crate::entry::{CATEGORIES_MAX, Instruction, Stored};
use crate::scope::{ALWAYS, SCOPE_PREFIX, has_category};

/// Prefix of the category.
const SOURCE_PREFIX: &str = "source:";
const REPOSITORY_DIGITS: usize = 8;
const TEXT_DIGITS: usize = 12;

/// The side on which a section and its entry in the catalog have diverged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drift {
    /// People changed the file, and not the entry.
    InFile,
    /// People changed the file and the entry, or it is not known which.
    InBoth,
}

/// Returns the name under which entries know a repository, given its identity, such as the address that it was cloned from.
#[must_use]
pub fn repository_key(identity: &str) -> String {
    digits(identity, REPOSITORY_DIGITS)
}

fn digits(text: &str, count: usize) -> String {
    let mut digits = sha256::digest_hex(text.as_bytes());
    digits.truncate(count);
    digits
}

/// Checks whether a category is about the source of an entry rather than about the entry itself.
#[must_use]
pub fn is_origin(category: &str) -> bool {
    [FROM_PREFIX, FILE_PREFIX, SOURCE_PREFIX].iter().any(|prefix| category.starts_with(prefix))
}

/// Checks whether a category can come from the file of an agent.
fn is_of_file(category: &str) -> bool {
    category.starts_with(SCOPE_PREFIX) || [ALWAYS, ON_DEMAND, MANUAL].contains(&category)
}

/// Returns the hash of everything that the file of an agent says about an entry.
fn text_key(instruction: &Instruction) -> String {
    let Instruction { title, body, rationale, priority, requirement, categories, .. } = instruction;
    let categories: Vec<&String> = categories.iter().filter(|category| is_of_file(category)).collect();
    digits(
        &json!([title, body, rationale, priority, requirement.as_str(), categories]).to_string(),
        TEXT_DIGITS,
    )
}

/// Returns the two hashes of an entry, if it states where it was imported from.
fn source_of(instruction: &Instruction) -> Option<(&str, &str)> {
    instruction.categories.iter().find_map(|category| category.strip_prefix(SOURCE_PREFIX)?.split_once('/'))
}

/// Checks whether an entry was imported from this repository; `None` if it does not state its source.
#[must_use]
pub fn is_from_repository(instruction: &Instruction, repository_key: &str) -> Option<bool> {
    source_of(instruction).map(|(repository, _)| repository == repository_key)
}

/// Returns the file that an entry was imported from.
#[must_use]
pub fn file_of(instruction: &Instruction) -> Option<String> {
    let format =
        FORMATS.iter().find(|format| has_category(instruction, &format!("{FROM_PREFIX}{}", format.name)))?;
    let globs = portable_globs(instruction).unwrap_or_default();
    Some(
        format
            .own_path(instruction)
            .unwrap_or_else(|| format.default_path(instruction, &globs, &instruction.id)),
    )
}

/// Adds the source of an entry, if it has room for one more category.
pub fn add_source(entry: &mut Value, instruction: &Instruction, repository_key: &str) {
    let category = format!("{SOURCE_PREFIX}{repository_key}/{}", text_key(instruction));
    if let Some(categories) = entry["categories"].as_array_mut()
        && categories.len() < CATEGORIES_MAX
    {
        categories.push(category.into());
    }
}

/// Compares the entry of a section with the one in the catalog; `None` if the section is as it was imported, even if people changed
/// the entry.
#[must_use]
pub fn drift(known: &Stored, section: &Instruction) -> Option<Drift> {
    let (text, section) = (text_key(&known.instruction), text_key(section));
    if text == section {
        return None;
    }
    match source_of(&known.instruction) {
        Some((_, imported)) if imported == section => None,
        Some((_, imported)) if imported == text => Some(Drift::InFile),
        // Imported by an earlier version, and unchanged since.
        None if known.created_ms == known.updated_ms => Some(Drift::InFile),
        _ => Some(Drift::InBoth),
    }
}

/// Merges the entry of a section with what people added in the catalog and files do not hold: its audience and other categories.
#[must_use]
pub fn taken_over(known: &Stored, mut section: Value) -> Value {
    let given = section["categories"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let mut categories: BTreeSet<String> = given.map(str::to_owned).collect();
    let own = known.instruction.categories.iter();
    categories.extend(own.filter(|category| !is_origin(category) && !is_of_file(category)).cloned());
    section["categories"] = categories.into_iter().collect::<Vec<_>>().into();
    section["audience"] = known.instruction.audience.as_str().into();
    section
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::import;
    use crate::entry::Rules;

    fn instruction(entry: &Value) -> Instruction {
        Instruction::check(entry.clone(), &Rules::default()).unwrap().instruction
    }

    fn stored(instruction: Instruction, updated_ms: i64) -> Stored {
        Stored { source_hash: [0; 32], meta_hash: [0; 32], created_ms: 1, updated_ms, instruction }
    }

    /// Returns the first section of a file, as an import stores it.
    fn imported(path: &str, text: &str) -> Value {
        let mut entry = import(path, text).unwrap().entries.swap_remove(0);
        let section = instruction(&entry);
        add_source(&mut entry, &section, &repository_key("https://example.com/a"));
        entry
    }

    #[test]
    fn it_is_known_who_changed_what() {
        let (before, after) = (
            imported("AGENTS.md", "## Style\n\nBe brief.\n"),
            imported("AGENTS.md", "## Style\n\nBe kind.\n"),
        );
        let (before, after) = (instruction(&before), instruction(&after));
        let mut edited = before.clone();
        edited.body = "Be short.".to_owned();
        let mut sorted = before.clone();
        sorted.categories.push("team".to_owned());
        let mut old = before.clone();
        old.categories.retain(|category| !category.starts_with("source:"));
        for (known, updated_ms, section, expected) in [
            (&before, 1, &before, None),
            (&before, 9, &after, Some(Drift::InFile)),
            (&sorted, 9, &after, Some(Drift::InFile)),
            (&edited, 9, &before, None),
            (&edited, 9, &after, Some(Drift::InBoth)),
            (&after, 9, &after, None),
            (&old, 1, &after, Some(Drift::InFile)),
            (&old, 9, &after, Some(Drift::InBoth)),
        ] {
            assert_eq!(drift(&stored(known.clone(), updated_ms), section), expected, "{known:?} {section:?}");
        }
    }

    #[test]
    fn an_entry_knows_its_file_and_repository() {
        for (path, text) in [
            ("AGENTS.md", "## A\n\nx\n"),
            ("web/AGENTS.md", "## A\n\nx\n"),
            (".claude/CLAUDE.md", "## A\n\nx\n"),
            (".cursor/rules/a.mdc", "---\nalwaysApply: true\n---\nx\n"),
            ("w/.cursor/rules/B.mdc", "x\n"),
            (".github/copilot-instructions.md", "x\n"),
            (".windsurfrules", "x\n"),
            ("tools/skills/pdf/SKILL.md", "---\nname: pdf\ndescription: d\n---\nx\n"),
        ] {
            let entry = instruction(&imported(path, text));
            assert_eq!(file_of(&entry).as_deref(), Some(path));
            assert_eq!(is_from_repository(&entry, &repository_key("https://example.com/a")), Some(true));
            assert_eq!(is_from_repository(&entry, &repository_key("https://example.com/b")), Some(false));
        }
    }

    #[test]
    fn what_is_taken_over_keeps_what_people_added() {
        let mut known = instruction(&imported(".cursor/rules/a.mdc", "---\nglobs: x/**\n---\nOld.\n"));
        known.audience = crate::levels::Audience::Group;
        known.categories.push("team".to_owned());
        let section = imported(".cursor/rules/a.mdc", "---\nglobs: y/**\n---\nNew.\n");
        let taken = instruction(&taken_over(&stored(known, 9), section));
        assert_eq!((taken.body.as_str(), taken.audience.as_str()), ("New.", "group"));
        let kept: Vec<&String> = taken.categories.iter().filter(|category| !is_origin(category)).collect();
        assert_eq!(kept, ["scope:y/**", "team"]);
    }
}
