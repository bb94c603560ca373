//! Rules of Cursor: `.cursor/rules/*.mdc`, with `description`, `globs` and `alwaysApply`.

use super::front_matter::{Fields, globs_value};
use super::header::{Activation, Header, HeaderForm};
use super::place::Place;
use super::{AgentFormat, FileKind, Layout};
use crate::yaml;

/// `.cursor/rules/*.mdc`.
pub(super) const FORMAT: AgentFormat = AgentFormat {
    name: "cursor",
    readers: "Cursor",
    id_prefix: "cursor",
    kinds: &[FileKind {
        place: Place::Below { folder: ".cursor/rules", suffix: ".mdc" },
        header: Some(&HeaderForm { read, write, has_globs: true, needs_description: false }),
        layout: Layout::Rules,
    }],
    default_path: |target| format!(".cursor/rules/{}.mdc", target.stem),
};

fn read(fields: &Fields) -> Header {
    let (globs, description) = (fields.globs("globs"), fields.text("description"));
    // Cursor decides in the same way.
    let activation = Activation::from_header(fields.is_true("alwaysApply"), &globs, description.as_ref());
    Header { activation: Some(activation), globs, description, name: None }
}

fn write(header: &Header) -> String {
    let mut lines = String::new();
    let is_manual = header.activation == Some(Activation::Manual);
    // If there were a description, Cursor would let the agent decide.
    if let Some(description) = header.description.as_ref().filter(|_| !is_manual) {
        lines.push_str(&format!("description: {}\n", yaml::scalar(description)));
    }
    if !header.globs.is_empty() {
        lines.push_str(&format!("globs: {}\n", globs_value(&header.globs, false)));
    }
    let always = header.activation == Some(Activation::Always);
    lines.push_str(&format!("alwaysApply: {always}\n"));
    lines
}
