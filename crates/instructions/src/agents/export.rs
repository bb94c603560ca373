//! Exports entries to the files of an agent.

use std::borrow::Cow;
use std::collections::BTreeMap;

use contract::truncate_chars;

use super::details::{Details, PRIORITY, requirement_in};
use super::globs::portable_globs;
use super::header::{Activation, Header, on_one_line};
use super::markdown::{heading_line, nested};
use super::visible::visible;
use super::{AgentFormat, FileKind, Layout, MARKER};
use crate::entry::{Instruction, Stored};
use crate::levels::Requirement;

/// Returns the files of a format that hold these entries, as path and text, sorted by path. Paths are relative to the root of the
/// repository.
///
/// Hidden characters of entries are escaped; see [`super::has_hidden_text`].
///
/// Within a file, entries are ordered by priority and id. Deprecated entries are omitted, and so are those whose globs are all
/// invalid: they apply to nothing. A file that agents read in every task only names the entries that are read on demand, such as
/// skills, with their descriptions.
#[must_use]
pub fn export(format: &AgentFormat, entries: &[&Stored]) -> Vec<(String, String)> {
    let shown: Vec<Cow<Instruction>> = entries.iter().map(|entry| visible(&entry.instruction)).collect();
    let mut rules: Vec<Rule> = shown.iter().filter_map(|instruction| Rule::new(instruction)).collect();
    rules.sort_by_key(|rule| (rule.instruction.priority, &rule.instruction.id));
    rules.dedup_by_key(|rule| &rule.instruction.id);
    let mut files = Files { format, by_path: BTreeMap::new() };
    for rule in rules {
        files.add(rule);
    }
    let mut texts: Vec<(String, String)> =
        files.by_path.into_values().map(|file| (file.path.clone(), file.to_text())).collect();
    texts.sort();
    texts
}

/// The heading of the entries that a file only names, and the comment below it, so that an import recognises them.
const NAMED_HEADING: &str = "On demand";
pub(super) const NAMED_COMMENT: &str = "<!-- instructions on demand -->";
const NAMED_LEAD: &str = "These are not always needed. When the description of one fits the task, or a person names it, read its file, \
    or get it by its id from the instruction catalog (`instructions_get`).";
/// Longest description of such an entry, in characters.
const NAMED_CHARS_MAX: usize = 300;

/// An entry to export.
struct Rule<'a> {
    instruction: &'a Instruction,
    globs: Vec<String>,
}

impl<'a> Rule<'a> {
    fn new(instruction: &'a Instruction) -> Option<Self> {
        let globs = portable_globs(instruction)?;
        (instruction.requirement != Requirement::Deprecated).then_some(Self { instruction, globs })
    }

    fn header(&self, kind: &FileKind, path: &str) -> Header {
        let activation = Activation::of(self.instruction, &self.globs);
        let rationale = self.instruction.rationale.as_deref();
        let needs_description = kind.needs_description() || activation == Activation::OnDemand;
        let title = Some(&*self.instruction.title).filter(|_| needs_description);
        let name = Some(kind.place.distinction(path)).filter(|name| !name.is_empty());
        Header {
            activation: Some(activation),
            globs: self.globs.clone(),
            description: rationale.or(title).map(on_one_line),
            name: name.or_else(|| Some(self.instruction.id.clone())),
        }
    }

    fn front_matter(&self, kind: &FileKind, path: &str) -> String {
        let write = kind.header.map(|form| form.write);
        write.map(|write| write(&self.header(kind, path))).unwrap_or_default()
    }

    /// Checks whether a file that agents read in every task only names the entry, because agents read it on demand.
    fn is_only_named(&self, kind: &FileKind) -> bool {
        let activation = Activation::of(self.instruction, &self.globs);
        // An entry that people made critical is read in every task.
        kind.layout == Layout::Sections
            && matches!(activation, Activation::OnDemand | Activation::Manual)
            && self.instruction.requirement != Requirement::Critical
    }

    /// Formats the entry as a list item.
    fn named(&self) -> String {
        let Instruction { id, title, rationale, .. } = self.instruction;
        let description = rationale.as_deref().map(on_one_line).filter(|description| description != title);
        let description = description.map(|text| format!(": {}", truncate_chars(text, NAMED_CHARS_MAX)));
        let manual = match Activation::of(self.instruction, &self.globs) {
            Activation::Manual => ", only when a person names it",
            _ => "",
        };
        format!("- {title} (`{id}`{manual}){}\n", description.unwrap_or_default())
    }

    /// Formats the entry as a section of a file.
    fn section(&self, level: usize, kind: &FileKind, path: &str) -> String {
        let Instruction { id, title, body, priority, requirement, .. } = self.instruction;
        let nested = nested(body, level + 1);
        let has_globs = kind.header.is_some_and(|form| form.has_globs) && !self.globs.is_empty();
        let implied = if has_globs { self.globs.clone() } else { kind.implied_globs(path) };
        let details = Details {
            id: Some(id.clone()),
            priority: Some(*priority).filter(|priority| *priority != PRIORITY),
            lowered: nested.lowered,
            requirement: Some(*requirement)
                .filter(|own| *own != requirement_in(kind.layout, title, &nested.text)),
            globs: Some(&self.globs).filter(|globs| **globs != implied).cloned(),
        };
        format!("{}\n\n{}\n\n{}\n", heading_line(level, title), details.to_text(), nested.text)
    }
}

/// The files of an export.
struct Files<'a> {
    format: &'a AgentFormat,
    /// By path in lower case, because many file systems ignore case.
    by_path: BTreeMap<String, File<'a>>,
}

struct File<'a> {
    path: String,
    kind: &'static FileKind,
    front_matter: String,
    rules: Vec<Rule<'a>>,
}

impl<'a> Files<'a> {
    /// Adds an entry to the file of its group, or to a file named after its id.
    fn add(&mut self, rule: Rule<'a>) {
        let id = &rule.instruction.id;
        let own = self.format.own_path(rule.instruction);
        let stems = (1_usize..).map(|number| if number == 1 { id.clone() } else { format!("{id}-{number}") });
        let defaults = stems.map(|stem| self.format.default_path(rule.instruction, &rule.globs, &stem));
        for path in own.into_iter().chain(defaults) {
            let Some(kind) = self.format.kind_of(&path) else { return };
            let front_matter = rule.front_matter(kind, &path);
            let key = path.to_lowercase();
            match self.by_path.get_mut(&key) {
                None => {
                    self.by_path.insert(key, File { path, kind, front_matter, rules: vec![rule] });
                    return;
                }
                Some(file) if file.takes(kind, &path, &front_matter) => {
                    file.rules.push(rule);
                    return;
                }
                // The path is taken. Another number gives another path.
                Some(_) => {}
            }
        }
    }
}

impl File<'_> {
    fn takes(&self, kind: &FileKind, path: &str, front_matter: &str) -> bool {
        match kind.layout {
            Layout::Sections => true,
            Layout::Rules => self.path == path && self.front_matter == front_matter,
            Layout::Whole => false,
        }
    }

    fn to_text(&self) -> String {
        let level = match self.kind.layout {
            Layout::Sections => 2,
            Layout::Rules if self.rules.len() > 1 => 2,
            Layout::Rules | Layout::Whole => 1,
        };
        let mut text = String::new();
        if !self.front_matter.is_empty() {
            text.push_str(&format!("---\n{}---\n", self.front_matter));
        }
        text.push_str(MARKER);
        text.push('\n');
        let (named, whole): (Vec<&Rule>, Vec<&Rule>) =
            self.rules.iter().partition(|rule| rule.is_only_named(self.kind));
        for rule in whole {
            text.push('\n');
            text.push_str(&rule.section(level, self.kind, &self.path));
        }
        if !named.is_empty() {
            let items: String = named.into_iter().map(Rule::named).collect();
            let heading = heading_line(level, NAMED_HEADING);
            text.push_str(&format!("\n{heading}\n\n{NAMED_COMMENT}\n\n{NAMED_LEAD}\n\n{items}"));
        }
        text
    }
}
