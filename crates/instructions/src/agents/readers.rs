//! The files that agents read, including those in formats that cannot be imported.

use super::FORMATS;
use super::place::{Place, is_clean_path};

/// Files with these names that agents read in any folder, beside those of [`FORMATS`].
const OTHER_NAMES: &[&str] =
    &["AGENTS.override.md", "CLAUDE.local.md", "GEMINI.md", ".cursorrules", ".windsurfrules", ".clinerules"];
/// Suffix of the copy that an export leaves of a file that it replaces.
const COPY_SUFFIX: &str = ".bak";

/// Checks whether an agent reads the file as instructions, or did before an export replaced it. This covers the files of all formats,
/// those of agents that read a single file, and everything else in their folders for rules, but not the Markdown beside a `SKILL.md`,
/// which only the list of all files reveals. `path` is relative to the root of a repository.
#[must_use]
pub fn is_read_by_agents(path: &str) -> bool {
    let path = path.strip_suffix(COPY_SUFFIX).unwrap_or(path);
    let name = path.rsplit('/').next().unwrap_or(path);
    let places = || FORMATS.iter().flat_map(|format| format.kinds).map(|kind| kind.place);
    let is_in_folder_of_rules = |place: Place| match place {
        Place::Below { folder, .. } => {
            path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
                || path.contains(&format!("/{folder}/"))
        }
        _ => false,
    };
    is_clean_path(path)
        && (OTHER_NAMES.contains(&name)
            || places().any(|place| place.contains(path) || is_in_folder_of_rules(place)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_agents_are_distinguished_from_code() {
        for path in [
            "AGENTS.md",
            "web/app/AGENTS.md",
            "AGENTS.md.bak",
            "CLAUDE.md",
            ".claude/CLAUDE.md",
            "CLAUDE.local.md",
            "GEMINI.md",
            "web/GEMINI.md",
            ".cursorrules",
            ".cursor/rules/a.mdc",
            ".cursor/rules/old/a.md",
            "web/.cursor/rules/a.mdc",
            ".github/copilot-instructions.md",
            ".github/instructions/a.instructions.md",
            ".github/instructions/notes.md",
            ".windsurfrules",
            ".windsurf/rules/a.md",
            ".claude/skills/pdf/SKILL.md",
        ] {
            assert!(is_read_by_agents(path), "{path}");
        }
        for path in [
            "README.md", "src/agents.rs", "MY-AGENTS.md", ".cursor/mcp.json", ".cursor/rulesx/a.mdc",
            "x.cursor/rules/a.mdc", ".github/workflows/ci.yml", "docs/instructions/a.md", "AGENTS.md/x.rs",
            "../AGENTS.md",
        ] {
            assert!(!is_read_by_agents(path), "{path}");
        }
    }
}
