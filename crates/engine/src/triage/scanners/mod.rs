//! Reports that scanners write in formats of their own. A format is a row of [`FORMATS`]: by which fields it is recognised, where its
//! lists are, and where an item keeps what a record needs.

mod formats;
mod gaps;
mod map;
mod walk;

use super::source::FindingSource;

pub(super) use formats::FORMATS;
pub(super) use map::scanner_record;
pub(super) use walk::{ItemParent, ScannerItem, ScannerItems, is_null_list, is_report, scanner_items};

/// The field by which an item of a scanner's report sees what is around it.
pub(super) const PARENT_FIELD: &str = "^";

/// Paths of fields, of which the first with a value counts. `^` is the object that contains the list of the item, without its own
/// lists and objects.
type Paths = &'static [&'static str];

/// Path to a field, as in [`ScannerFormat::lists`], by which a report says that something was not scanned, and the words that say so;
/// without words, each value does that is not empty.
type Gap = (&'static str, Paths);

/// What an item has that are findings of their own.
#[derive(Debug)]
struct Parts {
    /// The field with the list of them. Each of its objects is a finding; an item that lists none is one finding.
    list: &'static str,
    /// Lists and objects of the item of which they need something; of a list, only the first element.
    kept: Paths,
}

/// A format of a scanner.
#[derive(Debug)]
pub(super) struct ScannerFormat {
    pub(super) source: FindingSource,
    /// What people call a report of it, with its article.
    pub(super) name: &'static str,
    /// Groups of fields; a report, or each element of a list of reports, has all of a group.
    marks: &'static [Paths],
    /// Whether a file may be a list of reports, or of items.
    pub(super) is_list: bool,
    /// Paths to lists of items in a report: `[]` are the elements of a list, `{}` the values of an object; empty: the report is an item.
    lists: Paths,
    parts: Option<Parts>,
    /// Fields of a report that say what was scanned.
    target: Paths,
    gaps: &'static [Gap],
    fields: Fields,
}

/// Where an item keeps what.
#[derive(Debug)]
struct Fields {
    id: Paths,
    title: Paths,
    message: Paths,
    severity: Paths,
    file: Paths,
    line: Paths,
    end_line: Paths,
    column: Paths,
    code: Paths,
    fingerprint: Paths,
    package: Paths,
    version: Paths,
    fixed: Paths,
    ecosystem: Paths,
    purl: Paths,
    /// Facts that distinguish items of one rule in one place, such as the way to a dependency.
    part: Paths,
    cve: Paths,
    cwe: Paths,
    references: Paths,
    cvss: Paths,
}

impl ScannerFormat {
    /// The fields of its reports that an object lacks, for messages.
    pub(super) fn missing_marks(&self, has: impl Fn(&str) -> bool) -> String {
        let marks = self.marks.first().into_iter().flat_map(|marks| marks.iter());
        marks.filter(|mark| !has(mark)).map(|mark| format!("`{mark}`")).collect::<Vec<_>>().join(", ")
    }
}

/// The row of a source; `None` if it is not the format of a scanner.
pub(super) fn format_of(source: FindingSource) -> Option<&'static ScannerFormat> {
    FORMATS.iter().find(|format| format.source == source)
}
