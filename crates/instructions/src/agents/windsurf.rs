//! Rules of Windsurf: one file `.windsurfrules`, and `.windsurf/rules/*.md` with `trigger`, `globs` and `description`.

use super::front_matter::{Fields, globs_value};
use super::header::{Activation, Header, HeaderForm};
use super::place::Place;
use super::{AgentFormat, FileKind, Layout};
use crate::yaml;

/// Names of the triggers.
const TRIGGERS: &[(Activation, &str)] = &[
    (Activation::Always, "always_on"),
    (Activation::Scoped, "glob"),
    (Activation::OnDemand, "model_decision"),
    (Activation::Manual, "manual"),
];

/// `.windsurfrules` and `.windsurf/rules/*.md`.
pub(super) const FORMAT: AgentFormat = AgentFormat {
    name: "windsurf",
    readers: "Windsurf",
    id_prefix: "windsurf",
    kinds: &[
        FileKind { place: Place::File(".windsurfrules"), header: None, layout: Layout::Sections },
        FileKind {
            place: Place::Below { folder: ".windsurf/rules", suffix: ".md" },
            header: Some(&HeaderForm { read, write, has_globs: true, needs_description: false }),
            layout: Layout::Rules,
        },
    ],
    default_path: |target| match target.activation {
        Activation::Always if target.globs.is_empty() => ".windsurfrules".to_owned(),
        _ => format!(".windsurf/rules/{}.md", target.stem),
    },
};

fn read(fields: &Fields) -> Header {
    // Both forms occur.
    let globs = [fields.globs("globs"), fields.globs("glob")].concat();
    let description = fields.text("description");
    let trigger = fields.text("trigger");
    let named =
        TRIGGERS.iter().find(|(_, name)| trigger.as_deref() == Some(name)).map(|(activation, _)| *activation);
    let activation = match named {
        Some(activation) if activation != Activation::Scoped => activation,
        _ if globs.is_empty() => Activation::OnDemand,
        _ => Activation::Scoped,
    };
    Header { activation: Some(activation), globs, description, name: None }
}

fn write(header: &Header) -> String {
    let trigger = TRIGGERS.iter().find(|(activation, _)| Some(*activation) == header.activation);
    let mut lines = trigger.map(|(_, name)| format!("trigger: {name}\n")).unwrap_or_default();
    if let Some(description) = &header.description {
        lines.push_str(&format!("description: {}\n", yaml::scalar(description)));
    }
    if !header.globs.is_empty() {
        lines.push_str(&format!("globs: {}\n", globs_value(&header.globs, false)));
    }
    lines
}
