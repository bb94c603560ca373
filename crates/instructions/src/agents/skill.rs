//! Skills: a folder with `SKILL.md`, whose front matter has `name` and `description`. Agents read the descriptions of all skills, and
//! the texts of those that fit the task.

use contract::truncate_chars;

use super::front_matter::Fields;
use super::header::{Activation, Header, HeaderForm};
use super::ids::slug;
use super::place::Place;
use super::{AgentFormat, FileKind, Layout};
use crate::yaml;

/// Longest name and description that agents accept, in characters.
const NAME_CHARS_MAX: usize = 64;
const DESCRIPTION_CHARS_MAX: usize = 1024;

/// `SKILL.md` in a folder of its own.
pub(super) const FORMAT: AgentFormat = AgentFormat {
    name: "skill",
    readers: "Claude Code, Codex, Cursor, GitHub Copilot and others",
    id_prefix: "skill",
    kinds: &[FileKind {
        place: Place::OwnFolder("SKILL.md"),
        header: Some(&HeaderForm { read, write, has_globs: false, needs_description: true }),
        layout: Layout::Whole,
    }],
    // The one folder that all of them read.
    default_path: |target| format!(".claude/skills/{}/SKILL.md", slug(target.stem, NAME_CHARS_MAX)),
};

fn read(fields: &Fields) -> Header {
    Header {
        activation: Some(Activation::OnDemand),
        globs: Vec::new(),
        description: fields.text("description"),
        name: fields.text("name"),
    }
}

fn write(header: &Header) -> String {
    let name = header.name.as_deref().unwrap_or_default();
    let description = header.description.clone().unwrap_or_default();
    // One less, for the ellipsis.
    let description = truncate_chars(description, DESCRIPTION_CHARS_MAX - 1);
    format!("name: {}\ndescription: {}\n", yaml::scalar(name), yaml::scalar(&description))
}
