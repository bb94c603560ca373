//! The coverage of an answer: the searched repositories, their files that are not indexed, and those with sought texts in them.
//!
//! Every sentence about files that are not indexed comes from this one value: each surface shows [`Coverage::sentence`].

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::{echo_within, escaped_line};

/// Maximum number of repositories, files and places that are named.
pub const COVERAGE_NAMES_MAX: usize = 3;
/// Maximum number of characters of a sought text that a sentence quotes.
const SOUGHT_CHARS_MAX: usize = 80;
/// Characters of a commit that a sentence shows.
const COMMIT_CHARS: usize = 8;

/// What an answer covers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Coverage {
    /// How many repositories were searched.
    pub repositories: usize,
    /// The first three of them, by name.
    pub searched: Vec<SearchedRepository>,
    /// What is not indexed there, so not searched; absent if nothing is known to be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_out: Option<LeftOut>,
}

/// A repository that was searched.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SearchedRepository {
    /// Its name.
    pub name: String,
    /// Searchable files.
    pub files: u64,
    /// Git commit of what is indexed; absent outside git.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// End of the last complete run, UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub indexed_at: Option<String>,
}

/// What is not indexed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LeftOut {
    /// Files, and whole folders, which count as one.
    pub count: u64,
    /// How many for each reason.
    pub reasons: BTreeMap<String, u64>,
    /// Up to three of them; a folder ends in `/`.
    pub examples: Vec<LeftOutFile>,
    /// What was looked for in those that are text.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub sought: Vec<String>,
    /// Those in which it occurs, up to three.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub occurrences: Vec<Occurrence>,
    /// Files of text in which it was not looked for, because there are too many or they are too large.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub not_looked_into: u64,
}

/// A file or folder that is not indexed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LeftOutFile {
    /// Path relative to its repository.
    pub file: String,
    /// The repository, if several were searched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repo: Option<String>,
    /// Why it is not indexed.
    pub reason: String,
}

/// A file that is not indexed and contains what was asked.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Occurrence {
    /// What occurs.
    pub text: String,
    /// In which file.
    #[serde(flatten)]
    pub file: LeftOutFile,
    /// In which line first, 1-based.
    pub line: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Coverage {
    /// Returns `true` if a sought text occurs in a file that is not indexed.
    #[must_use]
    pub fn has_occurrences(&self) -> bool {
        self.left_out.as_ref().is_some_and(|left_out| !left_out.occurrences.is_empty())
    }

    /// Returns the whole value as one line of text: first what was searched, then what is not indexed.
    #[must_use]
    pub fn sentence(&self) -> String {
        let parts = [self.searched_sentence(), self.left_out_sentence()];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }

    fn searched_sentence(&self) -> Option<String> {
        let named = self.searched.iter().map(SearchedRepository::described).collect::<Vec<_>>().join(", ");
        match self.repositories.saturating_sub(self.searched.len()) {
            _ if self.searched.is_empty() => None,
            0 => Some(format!("Searched {named}.")),
            more => Some(format!("Searched {named} and {more} more.")),
        }
    }

    /// Returns one or two sentences about files that are not indexed; `None` if there are no such files.
    #[must_use]
    pub fn left_out_sentence(&self) -> Option<String> {
        let left_out = self.left_out.as_ref()?;
        let whose = if self.repositories == 1 { "this repository" } else { "these repositories" };
        let has_folders = left_out.examples.iter().any(|example| example.file.ends_with('/'));
        let noun = match (left_out.count, has_folders) {
            (1, true) => "folder",
            (1, false) => "file",
            (_, true) => "files and folders",
            (_, false) => "files",
        };
        let verb = if left_out.count == 1 { "is" } else { "are" };
        let mut sentence =
            format!("{} {noun} of {whose} {verb} not indexed ({})", left_out.count, left_out.listed());
        if let Some(occurs) = left_out.occurs() {
            sentence.push_str(&format!("; {occurs}"));
        }
        sentence.push('.');
        if left_out.not_looked_into > 0 && left_out.occurrences.is_empty() {
            sentence.push_str(&format!(
                " In {} of them it was not looked for, because they are too many or too large.",
                left_out.not_looked_into
            ));
        }
        Some(sentence)
    }
}

impl SearchedRepository {
    fn described(&self) -> String {
        let files = if self.files == 1 { "file" } else { "files" };
        let state = match (&self.commit, &self.indexed_at) {
            (Some(commit), _) => {
                format!(", commit {}", escaped_line(commit.get(..COMMIT_CHARS).unwrap_or(commit)))
            }
            (None, Some(at)) => format!(", indexed {at}"),
            (None, None) => String::new(),
        };
        format!("{} ({} {files}{state})", escaped_line(&self.name), self.files)
    }
}

impl LeftOut {
    /// Lists the names with their reasons; if there are more than three, the counts by reason first.
    fn listed(&self) -> String {
        let is_whole = self.examples.len() as u64 == self.count;
        let named = |example: &LeftOutFile| match is_whole {
            true => format!("{}: {}", example.path(), in_words(&example.reason)),
            false => example.path(),
        };
        let names = self.examples.iter().map(named).collect::<Vec<_>>().join(", ");
        if is_whole {
            return names;
        }
        let mut counts: Vec<(&String, &u64)> = self.reasons.iter().collect();
        counts.sort_by(|a, b| b.1.cmp(a.1));
        let counts: Vec<String> =
            counts.into_iter().map(|(reason, count)| format!("{count} {}", in_words(reason))).collect();
        match names.is_empty() {
            true => counts.join(", "),
            false => format!("{}; {names}, …", counts.join(", ")),
        }
    }

    /// Returns "`X` occurs in it", or the names of the files in which it occurs.
    fn occurs(&self) -> Option<String> {
        let first = self.occurrences.first()?;
        let text = echo_within(&first.text, SOUGHT_CHARS_MAX);
        let of_first: Vec<&Occurrence> =
            self.occurrences.iter().filter(|occurrence| occurrence.text == first.text).collect();
        let places = match (self.count, of_first.as_slice()) {
            (1, [only]) => format!("it, in line {}", only.line),
            (_, all) => all
                .iter()
                .map(|occurrence| format!("{}:{}", occurrence.file.path(), occurrence.line))
                .collect::<Vec<_>>()
                .join(", "),
        };
        Some(format!("`{text}` occurs in {places}"))
    }
}

impl LeftOutFile {
    fn path(&self) -> String {
        let repo = self.repo.as_deref().map(|repo| format!("{}: ", escaped_line(repo))).unwrap_or_default();
        format!("{repo}{}", escaped_line(&self.file))
    }
}

/// Returns a reason in words.
fn in_words(reason: &str) -> String {
    match reason {
        "not_utf8" => "unknown encoding".to_owned(),
        other => escaped_line(other).replace('_', " "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, reason: &str) -> LeftOutFile {
        LeftOutFile { file: path.to_owned(), repo: None, reason: reason.to_owned() }
    }

    fn coverage(left_out: LeftOut) -> Coverage {
        let searched = SearchedRepository {
            name: "shop".to_owned(),
            files: 214,
            commit: Some("1a2b3c4d5e6f".to_owned()),
            indexed_at: None,
        };
        Coverage { repositories: 1, searched: vec![searched], left_out: Some(left_out) }
    }

    #[test]
    fn one_file_is_named_with_its_reason_and_what_occurs_in_it() {
        let badges = file("src/badges.js", "minified");
        let occurrence = Occurrence { text: "draw".to_owned(), file: badges.clone(), line: 3 };
        let left_out = LeftOut {
            count: 1,
            reasons: BTreeMap::from([("minified".to_owned(), 1)]),
            examples: vec![badges],
            occurrences: vec![occurrence],
            ..LeftOut::default()
        };
        assert_eq!(
            coverage(left_out).sentence(),
            "Searched shop (214 files, commit 1a2b3c4d). 1 file of this repository is not indexed (src/badges.js: minified); \
             `draw` occurs in it, in line 3."
        );
    }

    #[test]
    fn many_are_counted_by_reason() {
        let left_out = LeftOut {
            count: 9,
            reasons: BTreeMap::from([("too_large".to_owned(), 2), ("vendored".to_owned(), 7)]),
            examples: vec![file("a.sql", "too_large"), file("node_modules/", "vendored")],
            not_looked_into: 2,
            ..LeftOut::default()
        };
        assert_eq!(
            coverage(left_out).left_out_sentence().unwrap(),
            "9 files and folders of this repository are not indexed (7 vendored, 2 too large; a.sql, node_modules/, …). \
             In 2 of them it was not looked for, because they are too many or too large."
        );
    }

    #[test]
    fn the_searched_repositories_are_named_if_nothing_is_left_out() {
        let whole = Coverage { left_out: None, ..coverage(LeftOut::default()) };
        assert_eq!(whole.sentence(), "Searched shop (214 files, commit 1a2b3c4d).");
        assert_eq!(Coverage::default().sentence(), "");
    }

    #[test]
    fn names_stay_on_their_line() {
        let left_out =
            LeftOut { count: 1, examples: vec![file("a\nb.js", "minified")], ..LeftOut::default() };
        assert!(!coverage(left_out).sentence().contains('\n'));
    }
}
