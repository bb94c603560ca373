//! Presents matching lines within a size limit, grouped by file.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::execute::{FileMatches, LineMatches};
use crate::search::present::budget::{Budget, Fitted, Shrinks, fit};
use crate::search::present::snippet::shorten;

/// Bytes of a line's text after it was shortened to fit.
const SHORT_TEXT_BYTES: usize = 80;

/// Lines that match exactly, grouped by file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Matches {
    /// Files with their lines, ordered by repository and path.
    pub files: Vec<PresentedFile>,
    /// Number of files with matching lines; with `totalRelation`, at least so many.
    pub total_files: usize,
    /// Files of the searched repositories that are not indexed, so not searched; absent if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_indexed: Option<NotIndexed>,
}

/// Files that were not searched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NotIndexed {
    /// How many; a folder counts as one.
    pub files: u64,
    /// How many for each reason.
    pub reasons: BTreeMap<String, u64>,
}

/// A file with matching lines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PresentedFile {
    /// Path relative to its repository.
    pub file: String,
    /// Name of the repository; if more than one was searched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repo: Option<String>,
    /// Language id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lang: Option<String>,
    /// The branches and tags that the query asked for (`rev:`) and that have it.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub revisions: Vec<String>,
    /// The commit of the first of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The lines, in order.
    pub lines: Vec<PresentedLine>,
}

/// A matching line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PresentedLine {
    /// Number of the line, 1-based.
    pub line: u32,
    /// Character at which its first match begins, 1-based.
    pub column: u32,
    /// Length of that match in characters.
    pub length: u32,
    /// Last line of the match, if it spans several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_line: Option<u32>,
    /// The line; a long one is cut around the match.
    pub text: String,
    /// Column at which `text` begins; absent if it is the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text_column: Option<u32>,
    /// Lines before it, as many as `context` asked for.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub before: Vec<String>,
    /// Lines after it.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub after: Vec<String>,
}

/// A line as an item of the size limit. The first line of a file pays for the file.
#[derive(Serialize)]
struct Item {
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<PresentedFile>,
    line: PresentedLine,
}

impl Shrinks for Item {
    fn shrink(&mut self) -> bool {
        let line = &mut self.line;
        if !line.before.is_empty() || !line.after.is_empty() {
            line.before.clear();
            line.after.clear();
            return true;
        }
        if line.text.len() > SHORT_TEXT_BYTES {
            line.text = shorten(&line.text, SHORT_TEXT_BYTES);
            return true;
        }
        let can_shrink = !line.text.is_empty();
        line.text.clear();
        can_shrink
    }
}

/// The lines that fit into a budget.
pub(in crate::search) struct FittedMatches {
    pub(in crate::search) matches: Matches,
    /// Lines shown.
    pub(in crate::search) shown: usize,
    /// Numbers of lines whose text was shortened, and of omitted lines.
    pub(in crate::search) omitted: (usize, usize),
}

/// Returns the answer without lines, whose size is reserved.
pub(in crate::search) fn frame(found: &LineMatches) -> Matches {
    let files = found.left_out.values().sum();
    let not_indexed = (files > 0).then(|| NotIndexed { files, reasons: found.left_out.clone() });
    Matches { files: Vec::new(), total_files: found.total_files, not_indexed }
}

/// Presents the lines of a page within a budget.
pub(in crate::search) fn present_matches(
    found: &LineMatches,
    with_repository: bool,
    budget: Budget,
) -> FittedMatches {
    let items = found.files.iter().flat_map(|file| items(file, with_repository));
    let Fitted { items, shrunk, dropped } = fit(items, budget);
    let shown = items.len();
    let mut matches = frame(found);
    for Item { file, line } in items {
        matches.files.extend(file);
        if let Some(file) = matches.files.last_mut() {
            file.lines.push(line);
        }
    }
    FittedMatches { matches, shown, omitted: (shrunk, dropped) }
}

fn items(file: &FileMatches, with_repository: bool) -> impl Iterator<Item = Item> {
    let header = PresentedFile {
        file: file.path.clone(),
        repo: with_repository.then(|| file.repository.clone()),
        lang: file.language.clone(),
        revisions: file.revisions.clone(),
        commit: file.revision_commit.clone(),
        lines: Vec::new(),
    };
    let mut header = Some(header);
    file.lines.iter().map(move |line| Item {
        file: header.take(),
        line: PresentedLine {
            line: line.matched.line,
            column: line.matched.column,
            length: line.matched.length,
            end_line: line.matched.end_line,
            text: line.matched.text.clone(),
            text_column: line.matched.text_column,
            before: line.before.clone(),
            after: line.after.clone(),
        },
    })
}
