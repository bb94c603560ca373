//! Tests of import and export together.

mod exports;
mod imports;
mod laws;

use serde_json::{Value, json};

use super::*;
use crate::entry::{Rules, Stored};
use crate::scope::{SCOPE_PREFIX, encoded};

fn stored(entry: Value) -> Stored {
    let instruction = Instruction::check(entry, &Rules::default()).unwrap().instruction;
    let (source_hash, meta_hash) = (instruction.source_hash(), instruction.meta_hash());
    Stored { instruction, source_hash, meta_hash, created_ms: 1, updated_ms: 2 }
}

fn imported(path: &str, text: &str) -> Vec<Stored> {
    let rules = import(path, text).unwrap_or_else(|error| panic!("{path}: {error}\n{text}"));
    rules.entries.into_iter().map(stored).collect()
}

fn exported(format: &AgentFormat, entries: &[Stored]) -> Vec<(String, String)> {
    export(format, &entries.iter().collect::<Vec<_>>())
}

fn all_imported(files: &[(String, String)]) -> Vec<Stored> {
    files.iter().flat_map(|(path, text)| imported(path, text)).collect()
}

fn entry_of(id: &str, body: &str) -> Stored {
    stored(
        json!({ "id": id, "title": "T", "body": body, "priority": 50, "audience": "all", "requirement": "recommended" }),
    )
}

fn scoped(id: &str, categories: &[&str]) -> Stored {
    let categories: Vec<String> = categories
        .iter()
        .map(|category| {
            category
                .strip_prefix("scope:")
                .map_or_else(|| (*category).to_owned(), |glob| encoded(SCOPE_PREFIX, glob))
        })
        .collect();
    stored(
        json!({ "id": id, "title": id, "body": "text", "priority": 50, "audience": "all", "requirement": "recommended",
        "categories": categories }),
    )
}

#[test]
fn formats_have_stable_names_and_paths() {
    let names: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
    assert_eq!(names, ["agents-md", "claude-md", "cursor", "copilot", "copilot-scoped", "windsurf", "skill"]);
    for (path, name) in [
        ("AGENTS.md", Some("agents-md")),
        ("web/app/AGENTS.md", Some("agents-md")),
        ("CLAUDE.md", Some("claude-md")),
        (".claude/CLAUDE.md", Some("claude-md")),
        (".cursor/rules/a.mdc", Some("cursor")),
        ("web/.cursor/rules/x/a.mdc", Some("cursor")),
        (".cursor/rules/a.md", None),
        (".github/copilot-instructions.md", Some("copilot")),
        ("web/.github/copilot-instructions.md", None),
        (".github/instructions/a.instructions.md", Some("copilot-scoped")),
        (".github/instructions/a.md", None),
        (".windsurfrules", Some("windsurf")),
        (".windsurf/rules/a.md", Some("windsurf")),
        (".claude/skills/pdf/SKILL.md", Some("skill")),
        ("README.md", None),
        ("../AGENTS.md", None),
        ("/AGENTS.md", None),
    ] {
        assert_eq!(AgentFormat::of_path(path).map(|format| format.name), name, "{path}");
        assert_eq!(name.is_none(), import(path, "x").is_err(), "{path}");
    }
    for format in FORMATS {
        assert_eq!(AgentFormat::by_name(format.name).map(|found| found.name), Some(format.name));
        assert_eq!(format.patterns().len(), format.kinds.len());
    }
}
