//! `AGENTS.md` and `CLAUDE.md`: Markdown without front matter. A file in a folder applies to the files of this folder.

use super::place::{Place, folder_of_glob};
use super::{AgentFormat, FileKind, Layout, Target};

/// `AGENTS.md`, which most agents read.
pub(super) const AGENTS_MD: AgentFormat = AgentFormat {
    name: "agents-md",
    readers: "Codex, Cursor, GitHub Copilot, Gemini CLI, Jules, Zed and others",
    id_prefix: "agents",
    kinds: &[FileKind { place: Place::AnyFolder("AGENTS.md"), header: None, layout: Layout::Sections }],
    default_path: |target| in_folder(target, "AGENTS.md"),
};

/// `CLAUDE.md`.
pub(super) const CLAUDE_MD: AgentFormat = AgentFormat {
    name: "claude-md",
    readers: "Claude Code",
    id_prefix: "claude",
    kinds: &[
        FileKind { place: Place::File(".claude/CLAUDE.md"), header: None, layout: Layout::Sections },
        FileKind { place: Place::AnyFolder("CLAUDE.md"), header: None, layout: Layout::Sections },
    ],
    default_path: |target| in_folder(target, "CLAUDE.md"),
};

/// Returns the path in the one folder that the instruction applies to, else at the root.
fn in_folder(target: &Target, name: &str) -> String {
    let folder = match target.globs {
        [glob] => folder_of_glob(glob),
        _ => None,
    };
    folder.map_or_else(|| name.to_owned(), |folder| format!("{folder}/{name}"))
}
