//! Imports a file of an agent as entries.

use contract::{echo, truncate_chars};
use serde_json::{Value, json};

use super::details::{Details, PRIORITY, requirement_in};
use super::export::NAMED_COMMENT;
use super::front_matter::Fields;
use super::globs::{portable_globs, scope_categories};
use super::header::{Header, on_one_line};
use super::ids::Ids;
use super::markdown::{Kind, Markdown, raised};
use super::sections::{self, Section};
use super::{AgentFormat, FROM_PREFIX, FileKind, Layout, without_marker};
use crate::canonical::normalised_text;
use crate::entry::{CATEGORY_CHARS_MAX, Instruction, Rules};
use crate::scope::SCOPE_PREFIX;
use crate::yaml::quoted_in_message;

/// Largest file that is imported, in bytes.
pub(super) const FILE_BYTES_MAX: usize = 1 << 20;
/// The number of included files that a note names.
const NAMES_SHOWN_MAX: usize = 5;
/// Longest title of an entry, in characters.
const TITLE_CHARS_MAX: usize = 200;

/// The rules of a file.
#[derive(Debug, Default)]
pub struct AgentRules {
    /// The entries, for `import::plan`.
    pub entries: Vec<Value>,
    /// Remarks on the file for the user, as sentences.
    pub notes: Vec<String>,
}

/// Reads the rules of a file. `path` is relative to the root of the repository.
///
/// # Errors
/// The reasons why the file, or one of its sections, cannot be imported, as sentences for people.
pub fn import(path: &str, text: &str) -> Result<AgentRules, String> {
    let known = AgentFormat::of_path(path).and_then(|format| Some((format, format.kind_of(path)?)));
    let Some((format, kind)) = known else {
        return Err(format!("{} is not a file of a known agent.", quoted_in_message(path)));
    };
    if text.len() > FILE_BYTES_MAX {
        return Err(format!("The file has {} bytes; at most {FILE_BYTES_MAX} are allowed.", text.len()));
    }
    let text = clean(text);
    let (header, below) = match kind.header {
        None => (Header::empty(), text.as_str()),
        Some(form) => {
            let (fields, below) = Fields::split(&text)?;
            ((form.read)(&fields), below)
        }
    };
    let marked = without_marker(below);
    let below = marked.unwrap_or(below);
    let is_generated = marked.is_some();
    let sections = match kind.layout {
        Layout::Whole => sections::whole(below).into_iter().collect(),
        _ if is_generated => sections::of_generated(below)?,
        _ => sections::of_people(below)?,
    };
    let distinction = kind.place.distinction(path);
    let ids = Ids::new(
        format.id_prefix,
        if distinction.is_empty() { header.name.as_deref().unwrap_or("") } else { &distinction },
    );
    let mut file = File { format, kind, path, header, is_generated, ids };
    let mut rules = AgentRules::default();
    let mut includes: Vec<String> = Vec::new();
    // Entries that a generated file only names belong to other files.
    let is_own = |section: &Section| !(is_generated && section.body.starts_with(NAMED_COMMENT));
    for mut section in sections.into_iter().filter(is_own) {
        let included = if is_generated { Vec::new() } else { take_includes(&mut section) };
        let is_empty = section.body.is_empty();
        if is_empty && !is_generated && included.is_empty() {
            let heading = quoted_in_message(section.heading.as_deref().unwrap_or_default());
            rules.notes.push(format!("Section {heading} has no text, so its heading is the whole rule."));
        }
        let has_only_includes = is_empty && !included.is_empty();
        includes.extend(included);
        if !has_only_includes {
            rules.entries.push(file.entry(section)?);
        }
    }
    if !includes.is_empty() {
        let shown: Vec<String> = includes.iter().take(NAMES_SHOWN_MAX).map(|name| echo(name)).collect();
        let more = match includes.len().saturating_sub(NAMES_SHOWN_MAX) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        rules
            .notes
            .push(format!("Lines that only include another file are left out: {}{more}.", shown.join(", ")));
    }
    Ok(rules)
}

/// Normalises line ends to line feeds, as Markdown counts lines, and removes characters that entries do not hold.
fn clean(text: &str) -> String {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    text.replace('\0', "").replace("\r\n", "\n").replace('\r', "\n")
}

/// Empties the lines of a section that only include another file, such as `@AGENTS.md` in a `CLAUDE.md`, and returns the includes.
/// An agent reads the file in their place; in an entry, they mean nothing.
fn take_includes(section: &mut Section) -> Vec<String> {
    if !section.body.contains('@') {
        return Vec::new();
    }
    let mut includes = Vec::new();
    let mut lines = Vec::new();
    for (line, kind) in Markdown::read(&section.body).lines {
        match include_of(line).filter(|_| kind == Kind::Text) {
            Some(include) => {
                includes.push(include.to_owned());
                // Without the line, the lines around it would mean something else.
                lines.push("");
            }
            None => lines.push(line),
        }
    }
    if !includes.is_empty() {
        section.body = normalised_text(&lines.join("\n"));
    }
    includes
}

/// Returns the path that a line includes, if it does nothing else. A name such as `@alice` or `@Override` is not a path.
fn include_of(line: &str) -> Option<&str> {
    let line = line.trim();
    let line = line.strip_prefix("- ").or_else(|| line.strip_prefix("* ")).unwrap_or(line).trim_start();
    let path = line.strip_prefix('@')?;
    let is_constant = |path: &str| path.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
    let is_path = path.contains(['.', '/']) || is_constant(path);
    (!path.is_empty() && is_path && !path.contains(char::is_whitespace)).then_some(line)
}

/// A file whose sections become entries.
struct File<'a> {
    format: &'static AgentFormat,
    kind: &'static FileKind,
    path: &'a str,
    header: Header,
    is_generated: bool,
    ids: Ids,
}

impl File<'_> {
    fn entry(&mut self, section: Section) -> Result<Value, String> {
        let name = section.heading.clone().unwrap_or_else(|| self.path.to_owned());
        self.checked_entry(section).map_err(|error| format!("Section {}: {error}", quoted_in_message(&name)))
    }

    fn checked_entry(&mut self, section: Section) -> Result<Value, String> {
        let (details, body) = if self.is_generated {
            Details::split(&section.body)
        } else {
            (Details::default(), &*section.body)
        };
        let mut body = normalised_text(&raised(body, details.lowered));
        let heading = on_one_line(section.heading.as_deref().unwrap_or_default());
        let title = self.title(&heading);
        if title != heading && !heading.is_empty() {
            body = format!("{heading}\n\n{body}");
        }
        // The heading alone may be the rule.
        let body = if body.is_empty() { heading.clone() } else { body };
        let id = details.id.as_deref().and_then(|id| self.ids.given(id));
        let id = id.unwrap_or_else(|| self.ids.for_heading(section.is_named.then_some(&*heading)));
        let rationale =
            self.header.description.clone().filter(|description| on_one_line(description) != title);
        let mut categories = self.categories(details.globs)?;
        let requirement =
            details.requirement.unwrap_or_else(|| requirement_in(self.kind.layout, &title, &body));
        let mut entry = json!({ "id": id, "title": title, "body": body, "priority": details.priority.unwrap_or(PRIORITY),
            "audience": "all", "requirement": requirement.as_str(), "categories": categories });
        if let Some(rationale) = rationale {
            entry["rationale"] = rationale.into();
        }
        let instruction = Instruction::check(entry.clone(), &Rules::default())?.instruction;
        if let Some(category) = self.file_category(&instruction) {
            categories.push(category);
            entry["categories"] = categories.into();
            Instruction::check(entry.clone(), &Rules::default())?;
        }
        Ok(entry)
    }

    /// Returns the heading, or another name of the rule; a long one is truncated.
    fn title(&self, heading: &str) -> String {
        if !heading.is_empty() {
            return shortened(heading);
        }
        let description = self.header.description.as_deref().map(on_one_line).unwrap_or_default();
        let is_title =
            !self.kind.needs_description() && (1..=TITLE_CHARS_MAX).contains(&description.chars().count());
        if is_title {
            return description;
        }
        let name = self.header.name.as_deref().map(on_one_line).filter(|name| !name.is_empty());
        shortened(&name.unwrap_or_else(|| self.kind.file_title(self.path)))
    }

    fn categories(&self, globs: Option<Vec<String>>) -> Result<Vec<String>, String> {
        let globs = match globs {
            Some(globs) => globs,
            None if self.header.globs.is_empty() => self.kind.implied_globs(self.path),
            None => self.header.globs.clone(),
        };
        let mut categories = vec![format!("{FROM_PREFIX}{}", self.format.name)];
        categories
            .extend(self.header.activation.and_then(|activation| activation.category()).map(str::to_owned));
        for glob in globs {
            // Without the glob, the rule would apply to more files than it should.
            categories.extend(scope_categories(&glob).ok_or_else(|| {
                format!(
                    "The glob {} is too long: with `{SCOPE_PREFIX}`, a category holds at most {CATEGORY_CHARS_MAX} characters, \
                     and each capital letter counts as three.",
                    quoted_in_message(&glob)
                )
            })?);
        }
        Ok(categories)
    }

    /// Returns the category with the path of the file, unless an export would choose that path anyway. A path that is too long for a
    /// category is omitted: the entry is then exported to the default file.
    fn file_category(&self, instruction: &Instruction) -> Option<String> {
        let globs = portable_globs(instruction).unwrap_or_default();
        let category = self.format.file_category(self.path);
        let is_default = self.format.default_path(instruction, &globs, &instruction.id) == self.path;
        (!is_default && category.chars().count() <= CATEGORY_CHARS_MAX).then_some(category)
    }
}

fn shortened(title: &str) -> String {
    if title.chars().count() <= TITLE_CHARS_MAX {
        return title.to_owned();
    }
    truncate_chars(title.to_owned(), TITLE_CHARS_MAX - 1)
}
