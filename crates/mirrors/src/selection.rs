//! Selects the branches and tags that are fetched beside the default branch: those that match patterns, up to a limit.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::HashSet;

use super::git_program::LIST_BYTES_MAX;
use super::remote::{NAME_BYTES_MAX, RemoteAnswer, is_commit, is_usable_name};
use contract::{ErrorCode, Fault, escaped_line};
use history::{REVISIONS_MAX, Revision, RevisionKind, RevisionPatterns};

/// Lines of a list between two checks whether to stop. Patterns can be expensive.
const STOP_CHECK_LINES: usize = 64;

/// The selected branches and tags.
#[derive(Debug, Default)]
pub(super) struct Selection {
    /// Branches by name, then tags from the newest version to the oldest. No two have the same name, and none has that of the
    /// default branch.
    pub(super) revisions: Vec<Revision>,
    /// The omitted branches and tags, with the reasons.
    pub(super) notes: Vec<String>,
}

/// Selects from the list of a host.
///
/// # Errors
/// `CANCELLED`.
pub(super) fn select(
    answer: &RemoteAnswer,
    patterns: &RevisionPatterns,
    must_stop: &dyn Fn() -> bool,
) -> Result<Selection, Fault> {
    if patterns.is_empty() {
        return Ok(Selection::default());
    }
    let mut matching = Matching {
        patterns,
        default_branch: answer.head.branch(),
        found: Vec::new(),
        matched: HashSet::new(),
        unusable: 0,
    };
    // A line without an end was cut, and its name may be another one.
    let lines = answer.lines.split_inclusive(|byte| *byte == b'\n');
    for (number, line) in lines.filter_map(|line| line.strip_suffix(b"\n")).enumerate() {
        if number.is_multiple_of(STOP_CHECK_LINES) && must_stop() {
            return Err(Fault::new(ErrorCode::Cancelled, "Listing branches and tags was cancelled."));
        }
        matching.read(line);
    }
    Ok(matching.finish(answer.is_cut))
}

/// The matching lines so far.
struct Matching<'a> {
    patterns: &'a RevisionPatterns,
    default_branch: Option<&'a str>,
    found: Vec<Revision>,
    /// The patterns that matched a name.
    matched: HashSet<&'a str>,
    /// Names that match and cannot be used.
    unusable: usize,
}

impl<'a> Matching<'a> {
    /// Reads a line `<id><TAB><name>`; other lines are not about branches and tags.
    fn read(&mut self, line: &[u8]) {
        let mut parts = line.splitn(2, |byte| *byte == b'\t');
        let (Some(id), Some(reference)) = (parts.next(), parts.next()) else { return };
        let Some(id) = str::from_utf8(id).ok().filter(|id| is_commit(id)) else { return };
        if let Some(name) = reference.strip_prefix(b"refs/heads/") {
            self.add(RevisionKind::Branch, name, id);
        } else if let Some(name) = reference.strip_prefix(b"refs/tags/") {
            match name.strip_suffix(b"^{}") {
                Some(tag) => self.peel(tag, id),
                None => self.add(RevisionKind::Tag, name, id),
            }
        }
    }

    fn add(&mut self, kind: RevisionKind, name: &[u8], id: &str) {
        if name.len() > NAME_BYTES_MAX {
            self.unusable += 1;
            return;
        }
        let text = String::from_utf8_lossy(name);
        let patterns: Vec<&'a str> = self.patterns.matching(&text).collect();
        if patterns.is_empty() {
            return;
        }
        self.matched.extend(patterns);
        match text {
            Cow::Borrowed(name) if is_usable_name(name) => {
                if kind == RevisionKind::Tag || self.default_branch != Some(name) {
                    self.found.push(Revision { name: name.to_owned(), kind, commit: id.to_owned() });
                }
            }
            _ => self.unusable += 1,
        }
    }

    /// Stores the target of an annotated tag. The line follows that of the tag itself.
    fn peel(&mut self, tag: &[u8], id: &str) {
        let last = self.found.last_mut();
        if let Some(last) = last.filter(|last| last.kind == RevisionKind::Tag && last.name.as_bytes() == tag)
        {
            id.clone_into(&mut last.commit);
        }
    }

    fn finish(mut self, is_cut: bool) -> Selection {
        let mut notes = Vec::new();
        if is_cut {
            let mebibytes = LIST_BYTES_MAX >> 20;
            notes.push(format!(
                "Only the first {mebibytes} MiB of the host's list of branches and tags were read."
            ));
        }
        if self.unusable > 0 {
            let count = self.unusable;
            notes
                .push(format!("{count} branches or tags were left out, because their names cannot be used."));
        }
        let without = self.patterns.texts().iter().filter(|pattern| !self.matched.contains(pattern.as_str()));
        notes.extend(
            without.map(|text| format!("No branch or tag matches the pattern `{}`.", escaped_line(text))),
        );
        self.found.sort_by(compare);
        // A host may list a name twice by mistake.
        self.found.dedup_by(|a, b| a.kind == b.kind && a.name == b.name);
        notes.extend(remove_ambiguous(&mut self.found, self.default_branch));
        if self.found.len() > REVISIONS_MAX {
            notes.push(format!(
                "{} branches and tags match the patterns; only {REVISIONS_MAX} are used: branches by name, then tags from the \
                 newest version on. Narrow the patterns to choose others.",
                self.found.len()
            ));
            self.found.truncate(REVISIONS_MAX);
        }
        Selection { revisions: self.found, notes }
    }
}

/// Removes tags with the name of a branch, because the name means the branch. Returns a note if there are any.
fn remove_ambiguous(found: &mut Vec<Revision>, default_branch: Option<&str>) -> Option<String> {
    let branches = found.iter().filter(|revision| revision.kind == RevisionKind::Branch);
    let branches: HashSet<String> =
        branches.map(|branch| branch.name.clone()).chain(default_branch.map(str::to_owned)).collect();
    let is_ambiguous =
        |revision: &mut Revision| revision.kind == RevisionKind::Tag && branches.contains(&revision.name);
    let removed: Vec<Revision> = found.extract_if(.., is_ambiguous).collect();
    let first = escaped_line(&removed.first()?.name);
    Some(match removed.len() {
        1 => format!("The tag `{first}` was left out, because a branch has the same name."),
        count => {
            format!("{count} tags were left out, because branches have the same names, such as `{first}`.")
        }
    })
}

/// The order of revisions.
fn compare(a: &Revision, b: &Revision) -> Ordering {
    a.kind.cmp(&b.kind).then_with(|| match a.kind {
        RevisionKind::Branch => a.name.cmp(&b.name),
        RevisionKind::Tag => compare_versions(&b.name, &a.name),
    })
}

/// Compares names, and the numbers in them by their value: `v1.9` is less than `v1.10`.
fn compare_versions(a: &str, b: &str) -> Ordering {
    version_parts(a).cmp(version_parts(b)).then_with(|| a.cmp(b))
}

/// A part of a version.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum VersionPart<'a> {
    Text(&'a [u8]),
    /// A number of this many digits; without zeros at the beginning, so that the longer number is the greater one.
    Number(usize, &'a [u8]),
}

fn version_parts(name: &str) -> impl Iterator<Item = VersionPart<'_>> {
    let parts = name.as_bytes().chunk_by(|a, b| a.is_ascii_digit() == b.is_ascii_digit());
    parts.map(|part| {
        if !part.first().is_some_and(u8::is_ascii_digit) {
            return VersionPart::Text(part);
        }
        let zeros = part.iter().take_while(|digit| **digit == b'0').count();
        let digits = part.get(zeros..).unwrap_or_default();
        VersionPart::Number(digits.len(), digits)
    })
}

#[cfg(test)]
mod tests;
