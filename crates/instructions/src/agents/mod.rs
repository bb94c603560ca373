//! Instructions in the files that agents read today: import into the catalog, and export from it, so that one catalog feeds every
//! agent of a team.
//!
//! [`FORMATS`] lists the known formats. Each rule of a file becomes an entry (`sections`). Its categories are:
//!
//! - `from:<format>`, the format that it comes from;
//! - `file:<path>`, the file to which an export returns it, if that is not the default;
//! - `scope:<glob>`, the files that it applies to (`crate::scope`);
//! - `always`, `on-demand` or `manual`, if the file says when an agent reads it;
//! - `source:<repository>/<text>`, its text when it was imported (`source`); the import command adds it.
//!
//! It has priority 50 and is for all. It is mandatory if its text says MUST, NEVER or ALWAYS in capitals and it is not a skill, else
//! recommended. The description in front matter becomes the rationale, or the title of a rule without a heading. Other front matter
//! is not kept.
//!
//! A generated file begins with [`MARKER`] and states the id of each entry (`details`), so that an import of it finds the same
//! entries again. It does not hold the audience, other categories, or the rationale unless it is the description: an import that
//! overwrites loses them. Hidden characters are escaped (`visible`), and stay so.

mod copilot;
mod cursor;
mod details;
mod export;
mod front_matter;
mod globs;
mod header;
mod ids;
mod import;
mod markdown;
mod place;
mod plain;
mod readers;
mod sections;
mod skill;
pub mod source;
mod visible;
mod windsurf;

use crate::entry::{Instruction, is_id};
use crate::files::split_front_matter;
use crate::scope::{decoded, encoded, has_category};
use header::{Activation, HeaderForm};
use place::{Place, is_clean_path};

pub use export::export;
pub use header::{MANUAL, ON_DEMAND};
pub use import::{AgentRules, import};
pub use readers::is_read_by_agents;
pub use visible::has_hidden_text;

/// The first line of a generated file, after its front matter.
pub const MARKER: &str =
    "<!-- Generated from the instruction catalog by pairofcleats; edit the catalog, not this file. -->";
/// Prefix of a category that names the format an entry was imported from.
pub const FROM_PREFIX: &str = "from:";
/// Prefix of a category that names the file an entry was imported from, percent-encoded like a glob. For a file in the folder of its
/// format, such as `.cursor/rules/react.mdc`, it is the name: `file:react`.
pub const FILE_PREFIX: &str = "file:";

/// All formats.
pub const FORMATS: &[AgentFormat] = &[
    plain::AGENTS_MD,
    plain::CLAUDE_MD,
    cursor::FORMAT,
    copilot::ALL_FILES,
    copilot::SCOPED,
    windsurf::FORMAT,
    skill::FORMAT,
];

/// A form of instructions that some agents read.
#[derive(Debug)]
pub struct AgentFormat {
    /// Its name, which is stable.
    pub name: &'static str,
    /// The agents that read it.
    pub readers: &'static str,
    /// Prefix of the ids of imported entries.
    id_prefix: &'static str,
    kinds: &'static [FileKind],
    /// Returns the path of an entry that does not state its own.
    default_path: fn(&Target) -> String,
}

/// A kind of file of a format.
#[derive(Debug)]
struct FileKind {
    place: Place,
    header: Option<&'static HeaderForm>,
    layout: Layout,
}

/// The number of entries that a file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layout {
    /// All, each in a section.
    Sections,
    /// Those with the same front matter that were imported from the same file; by default one.
    Rules,
    /// A single one.
    Whole,
}

/// The inputs that determine the path of an entry.
struct Target<'a> {
    /// Its id, or another name if this path is taken.
    stem: &'a str,
    activation: Activation,
    globs: &'a [String],
}

impl AgentFormat {
    /// Returns the format with this name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<&'static Self> {
        FORMATS.iter().find(|format| format.name == name)
    }

    /// Returns the format of a file, by its path relative to the root of the repository, with `/` between names. Also `None` for a path
    /// that leaves the repository.
    #[must_use]
    pub fn of_path(relative_path: &str) -> Option<&'static Self> {
        FORMATS.iter().find(|format| format.kind_of(relative_path).is_some())
    }

    /// Returns the paths of its files, as globs.
    #[must_use]
    pub fn patterns(&self) -> Vec<String> {
        self.kinds.iter().map(|kind| kind.place.pattern()).collect()
    }

    fn kind_of(&self, path: &str) -> Option<&'static FileKind> {
        self.kinds.iter().find(|kind| is_clean_path(path) && kind.place.contains(path))
    }

    /// Returns the path of an entry with these globs that does not state its own. Ids of imported entries begin with the prefix of the
    /// format; without it they are the names of the files that they come from.
    fn default_path(&self, instruction: &Instruction, globs: &[String], stem: &str) -> String {
        let own = stem.strip_prefix(self.id_prefix).and_then(|rest| rest.strip_prefix('-'));
        let stem = own.filter(|own| is_id(own)).unwrap_or(stem);
        (self.default_path)(&Target { stem, activation: Activation::of(instruction, globs), globs })
    }
}

impl AgentFormat {
    /// Returns the category that names a file of this format.
    fn file_category(&self, path: &str) -> String {
        let short = self.kinds.iter().find_map(|kind| kind.place.short_path(path));
        encoded(FILE_PREFIX, short.unwrap_or(path))
    }

    /// Returns the file of this format that an entry was imported from.
    fn own_path(&self, instruction: &Instruction) -> Option<String> {
        let is_from = has_category(instruction, &format!("{FROM_PREFIX}{}", self.name));
        let files = instruction.categories.iter().filter_map(|category| decoded(FILE_PREFIX, category));
        let mut paths = files.filter_map(|file| match self.kind_of(&file) {
            Some(_) => Some(file),
            None if is_from => self.kinds.iter().find_map(|kind| kind.place.long_path(&file)),
            None => None,
        });
        paths.find(|path| self.kind_of(path).is_some())
    }
}

impl FileKind {
    fn needs_description(&self) -> bool {
        self.header.is_some_and(|form| form.needs_description)
    }

    /// Returns the title of a file that has none: its path, or only the name of a rule's file.
    fn file_title(&self, path: &str) -> String {
        let is_rule = self.header.is_some();
        let name = Some(self.place.distinction(path)).filter(|name| is_rule && !name.is_empty());
        name.unwrap_or_else(|| path.to_owned())
    }

    /// Returns the globs of the folder to which the path limits a file; empty if it does not limit it.
    fn implied_globs(&self, path: &str) -> Vec<String> {
        let folder = self.place.limiting_folder(path);
        Some(folder).filter(|folder| !folder.is_empty()).map(place::folder_glob).into_iter().collect()
    }
}

/// Checks whether a file was generated, so that an export may overwrite it.
#[must_use]
pub fn is_generated(text: &str) -> bool {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    without_marker(split_front_matter(text).map_or(text, |(_, below)| below)).is_some()
}

/// Returns the text below the marker, if it begins with one.
fn without_marker(text: &str) -> Option<&str> {
    text.trim_start().strip_prefix(MARKER).filter(|rest| rest.is_empty() || rest.starts_with(['\n', '\r']))
}

#[cfg(test)]
mod tests;
