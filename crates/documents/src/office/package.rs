//! The zip file of an office document, read without trusting it: it may unpack to a bounded number of bytes in all, regardless of the sizes
//! that its entries declare.

use std::io::{self, Cursor, Read};

use zip::ZipArchive;
use zip::result::ZipError;

use super::xml::{self, Element, Handler};
use crate::Unreadable;

/// Maximum number of entries of a document; a presentation has a few for each slide.
const ENTRIES_MAX: usize = 20_000;
/// Limit of the bytes to which all parts that are read may unpack: this many times the size of the file, …
const UNPACKED_RATIO_MAX: u64 = 100;
/// … but at least as much as a small document with much repetition, …
const UNPACKED_BYTES_MIN: u64 = 8 * 1024 * 1024;
/// … and at most what can be read within the time limit.
const UNPACKED_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// The end of the kind of the relation to the main part. Strict Office Open XML has a different address before it.
const MAIN_PART: &str = "/officeDocument";
/// Maximum number of relations of one part.
const RELATIONS_MAX: usize = 20_000;

/// A document, from which parts are read.
pub(super) struct Package<'b> {
    zip: ZipArchive<Cursor<&'b [u8]>>,
    /// Bytes that may still be unpacked.
    left: u64,
}

/// A relation of a part to another one.
pub(super) struct Relation {
    /// Its id, the name that the XML of the part uses for it.
    pub(super) id: String,
    /// Its kind, an address whose end is significant: `…/notesSlide`.
    pub(super) kind: String,
    /// The name of the other part.
    pub(super) target: String,
}

impl<'b> Package<'b> {
    /// Opens a document.
    ///
    /// # Errors
    /// `Damaged` if it is not a zip file, or has too many entries.
    pub(super) fn open(bytes: &'b [u8]) -> Result<Self, Unreadable> {
        let zip = ZipArchive::new(Cursor::new(bytes)).map_err(|_| Unreadable::Damaged)?;
        if zip.len() > ENTRIES_MAX {
            return Err(Unreadable::Damaged);
        }
        let left = UNPACKED_RATIO_MAX.saturating_mul(bytes.len() as u64);
        Ok(Self { zip, left: left.clamp(UNPACKED_BYTES_MIN, UNPACKED_BYTES_MAX) })
    }

    /// Reads a part. Returns whether there is one.
    ///
    /// # Errors
    /// The reason why it cannot be read.
    pub(super) fn read(&mut self, name: &str, handler: &mut dyn Handler) -> Result<bool, Unreadable> {
        let Self { zip, left } = self;
        let part = match zip.by_name(name) {
            Ok(part) => part,
            Err(ZipError::FileNotFound) => return Ok(false),
            Err(ZipError::UnsupportedArchive(ZipError::PASSWORD_REQUIRED)) => {
                return Err(Unreadable::Encrypted);
            }
            Err(_) => return Err(Unreadable::Damaged),
        };
        xml::read(Bounded { part, left }, handler)?;
        Ok(true)
    }

    /// Reads a part that every document of its format has.
    ///
    /// # Errors
    /// As [`read`](Self::read), and `Damaged` if the part is missing.
    pub(super) fn require(&mut self, name: &str, handler: &mut dyn Handler) -> Result<(), Unreadable> {
        if self.read(name, handler)? { Ok(()) } else { Err(Unreadable::Damaged) }
    }

    /// Returns the name of the main part: the one that the package names, or the usual one if it names none that exists.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub(super) fn main_part(&mut self, usual: &str) -> Result<String, Unreadable> {
        // Only the first one is looked up, because the search for a name may go through all entries.
        let named = self.relations("")?.into_iter().find(|relation| relation.kind.ends_with(MAIN_PART));
        let existing = named.filter(|relation| self.zip.index_for_name(&relation.target).is_some());
        Ok(existing.map_or_else(|| usual.to_owned(), |relation| relation.target))
    }

    /// Returns the relations of a part to other parts, or of the package if the name is empty; an empty list if it has none.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub(super) fn relations(&mut self, part: &str) -> Result<Vec<Relation>, Unreadable> {
        let (folder, name) = part.rsplit_once('/').unwrap_or(("", part));
        let slash = if folder.is_empty() { "" } else { "/" };
        let mut relations = Relations { folder, found: Vec::new() };
        self.read(&format!("{folder}{slash}_rels/{name}.rels"), &mut relations)?;
        Ok(relations.found)
    }
}

/// Returns the target of the first relation of a kind; the usual name if there are no such relations.
pub(super) fn target_of<'r>(relations: &'r [Relation], kind: &str, usual: &'r str) -> &'r str {
    let relation = relations.iter().find(|relation| relation.kind.ends_with(kind));
    relation.map_or(usual, |relation| relation.target.as_str())
}

/// Reads a list of relations. Those that lead out of the package are skipped.
struct Relations<'p> {
    /// The folder of the part, to which targets are relative.
    folder: &'p str,
    found: Vec<Relation>,
}

impl Handler for Relations<'_> {
    fn start(&mut self, element: &Element<'_>) {
        let is_external = element.attribute("TargetMode").is_some_and(|mode| mode == "External");
        if element.name() != b"Relationship" || is_external {
            return;
        }
        let (id, kind) = (element.attribute("Id"), element.attribute("Type"));
        if let (Some(id), Some(kind), Some(target)) = (id, kind, element.attribute("Target"))
            && let Some(target) = resolve(self.folder, &target)
        {
            self.found.push(Relation { id, kind, target });
        }
    }

    fn is_done(&self) -> bool {
        self.found.len() >= RELATIONS_MAX
    }
}

/// The name of a part that is given relative to a folder, or from the top if it begins with `/`; `None` if it leads above the top.
fn resolve(folder: &str, target: &str) -> Option<String> {
    let (base, target) = match target.strip_prefix('/') {
        Some(target) => ("", target),
        None => (folder, target),
    };
    let mut parts: Vec<&str> = Vec::new();
    for part in base.split('/').chain(target.split('/')) {
        match part {
            "" | "." => {}
            ".." => _ = parts.pop()?,
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// A part whose bytes count towards the limit of the document.
struct Bounded<'p, R> {
    part: R,
    left: &'p mut u64,
}

impl<R: Read> Read for Bounded<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if *self.left == 0 {
            return Err(io::Error::other("the document unpacks to more than is allowed"));
        }
        let most = usize::try_from(*self.left).unwrap_or(usize::MAX).min(into.len());
        let read = self.part.read(into.get_mut(..most).unwrap_or_default())?;
        *self.left -= (read as u64).min(*self.left);
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_relative_to_the_folder_of_their_part() {
        for (folder, target, expected) in [
            ("ppt/slides", "../notesSlides/notesSlide1.xml", "ppt/notesSlides/notesSlide1.xml"),
            ("xl", "worksheets/sheet1.xml", "xl/worksheets/sheet1.xml"),
            ("xl", "/xl/worksheets/sheet1.xml", "xl/worksheets/sheet1.xml"),
            ("", "./word//document.xml", "word/document.xml"),
            ("word", "../x", "x"),
        ] {
            assert_eq!(resolve(folder, target).as_deref(), Some(expected), "{target}");
        }
        for (folder, target) in [("", "../x"), ("word", "../../word/document.xml"), ("word", "/../x")] {
            assert_eq!(resolve(folder, target), None, "{target}");
        }
    }

    #[test]
    fn the_bytes_of_all_parts_are_bounded_together() {
        let mut left = 5;
        let mut bytes = Vec::new();
        let first = Bounded { part: &b"abc"[..], left: &mut left }.read_to_end(&mut bytes);
        assert_eq!((first.unwrap(), left), (3, 2));
        assert!(Bounded { part: &b"defg"[..], left: &mut left }.read_to_end(&mut bytes).is_err());
        assert_eq!(bytes, b"abcde");
    }
}
