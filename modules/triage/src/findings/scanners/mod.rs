//! Reports that scanners write in formats of their own. A format is a row of [`FORMATS`]: the fields by which it is recognised, the paths
//! of its lists, and the fields of an item from which a record is made.

mod formats;
mod gaps;
mod map;
mod walk;

use super::source::FindingSource;

pub(super) use formats::FORMATS;
pub(super) use map::scanner_record;
pub(super) use walk::{ItemParent, ScannerItem, ScannerItems, is_null_list, is_report, scanner_items};

/// The field by which an item of a scanner's report sees its enclosing object.
pub(super) const PARENT_FIELD: &str = "^";

/// Paths of fields; the first with a value counts. `^` is the object that contains the list of the item, without its own lists and objects.
type Paths = &'static [&'static str];

/// Path to the field, as in [`ScannerFormat::lists`], in which a report says that something was not scanned, and the words that say so;
/// without words, any value that is not empty does.
type Gap = (&'static str, Paths);

/// Parts of an item that are findings of their own.
#[derive(Debug)]
struct Parts {
    /// The field with the list of them. Each of its objects is a finding; an item that lists none is one finding.
    list: &'static str,
    /// Lists and objects of the item from which they need something; of a list, only the first element.
    kept: Paths,
}

/// A format of a scanner.
#[derive(Debug)]
pub(super) struct ScannerFormat {
    pub(super) source: FindingSource,
    /// Common name of a report in this format, with its article.
    pub(super) name: &'static str,
    /// Groups of fields; a report, or each element of a list of reports, has all of a group.
    marks: &'static [Paths],
    /// `true` if a file may be a list of reports, or of items.
    pub(super) is_list: bool,
    /// Paths to lists of items in a report: `[]` are the elements of a list, `{}` the values of an object; empty: the report is an item.
    lists: Paths,
    parts: Option<Parts>,
    /// Fields of a report that name the scanned target.
    target: Paths,
    gaps: &'static [Gap],
    fields: Fields,
}

/// Paths in an item, for each field of a record.
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
    /// Returns the fields of its reports that an object lacks, for messages.
    pub(super) fn missing_marks(&self, has: impl Fn(&str) -> bool) -> String {
        let marks = self.marks.first().into_iter().flat_map(|marks| marks.iter());
        marks.filter(|mark| !has(mark)).map(|mark| format!("`{mark}`")).collect::<Vec<_>>().join(", ")
    }
}

/// Returns the row of a source; `None` if it is not the format of a scanner.
pub(super) fn format_of(source: FindingSource) -> Option<&'static ScannerFormat> {
    FORMATS.iter().find(|format| format.source == source)
}
