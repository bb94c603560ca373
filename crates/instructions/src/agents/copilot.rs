//! Instructions of GitHub Copilot: one file for all tasks, and `*.instructions.md` with `applyTo` for some files.

use super::front_matter::{Fields, globs_value};
use super::header::{Activation, Header, HeaderForm};
use super::place::Place;
use super::{AgentFormat, FileKind, Layout};
use crate::yaml;

const EVERYTHING: &str = "**";

/// `.github/copilot-instructions.md`.
pub(super) const ALL_FILES: AgentFormat = AgentFormat {
    name: "copilot",
    readers: "GitHub Copilot, in every task",
    id_prefix: "copilot",
    kinds: &[FileKind {
        place: Place::File(".github/copilot-instructions.md"),
        header: None,
        layout: Layout::Sections,
    }],
    default_path: |_| ".github/copilot-instructions.md".to_owned(),
};

/// `.github/instructions/*.instructions.md`.
pub(super) const SCOPED: AgentFormat = AgentFormat {
    name: "copilot-scoped",
    readers: "GitHub Copilot, for the files that `applyTo` names",
    id_prefix: "copilot",
    kinds: &[FileKind {
        place: Place::Below { folder: ".github/instructions", suffix: ".instructions.md" },
        header: Some(&HeaderForm { read, write, has_globs: true, needs_description: false }),
        layout: Layout::Rules,
    }],
    default_path: |target| format!(".github/instructions/{}.instructions.md", target.stem),
};

fn read(fields: &Fields) -> Header {
    let (mut globs, description) = (fields.globs("applyTo"), fields.text("description"));
    let applies_always = globs.iter().any(|glob| glob == EVERYTHING);
    if applies_always {
        globs.clear();
    }
    let activation = Activation::from_header(applies_always, &globs, description.as_ref());
    Header { activation: Some(activation), globs, description, name: None }
}

fn write(header: &Header) -> String {
    let mut lines = String::new();
    let is_manual = header.activation == Some(Activation::Manual);
    if let Some(description) = header.description.as_ref().filter(|_| !is_manual) {
        lines.push_str(&format!("description: {}\n", yaml::quoted(description)));
    }
    if !header.globs.is_empty() {
        lines.push_str(&format!("applyTo: {}\n", globs_value(&header.globs, true)));
    } else if header.activation == Some(Activation::Always) {
        lines.push_str(&format!("applyTo: {}\n", yaml::quoted(EVERYTHING)));
    }
    // An empty block would not be front matter.
    if lines.is_empty() { "description: \"\"\n".to_owned() } else { lines }
}
