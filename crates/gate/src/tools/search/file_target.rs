//! Resolves the arguments of `show_file` to a file and lines: from a hit, the id of a hit, or a path.

use serde_json::{Map, Value, json};

use super::caller_suggestion::ShownRange;
use crate::tools::Call;
use crate::tools::repository::is_hidden;
use contract::{ErrorCode, Fault, escaped_invisible};
use store::{Access, ChunkSpan, Project, ProjectTx, chunks, revisions};

/// Number of lines shown if no end is given.
const LINES_DEFAULT: usize = 400;
/// Number of lines shown before and after a line that is in no chunk.
const AROUND_LINES: usize = 20;

/// The arguments that name a file.
#[derive(Debug, Default)]
pub(super) struct FileArguments {
    pub(super) hit: Map<String, Value>,
    pub(super) file: Option<String>,
    pub(super) path: Option<String>,
    pub(super) id: Option<i64>,
    pub(super) repo_path: Option<String>,
    pub(super) repo: Option<String>,
    pub(super) revision: Option<String>,
    pub(super) start_line: Option<usize>,
    pub(super) end_line: Option<usize>,
    pub(super) line: Option<usize>,
}

/// A file with the lines to show.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct FileTarget {
    /// Path relative to the repository; `None` until the id is looked up.
    pub(super) file: Option<String>,
    /// The repository, as the caller names it.
    pub(super) repo: Option<String>,
    /// The branch, tag or commit that has it; `None` for the default branch.
    pub(super) revision: Option<String>,
    /// Id of a chunk.
    id: Option<i64>,
    start_line: Option<usize>,
    end_line: Option<usize>,
    line: Option<usize>,
    /// The line of the definition of a hit or chunk; does not affect the range.
    definition_line: Option<usize>,
}

impl FileTarget {
    /// Parses the arguments. Arguments beside a hit take precedence over its fields.
    ///
    /// # Errors
    /// `INVALID_REQUEST`: no file and no id, both names of an argument with different values, a hit whose fields have wrong types.
    pub(super) fn parse(given: FileArguments) -> Result<Self, Fault> {
        let FileArguments { hit, file, path, id, repo_path, repo, revision, start_line, end_line, line } =
            given;
        let own_lines = start_line.is_some() || end_line.is_some() || line.is_some();
        let own_file = file.is_some() || path.is_some();
        let mut target = Self {
            file: either_argument("file", "path", file, path)?,
            repo: either_argument("repo", "repoPath", repo, repo_path)?,
            revision,
            id,
            start_line,
            end_line,
            line,
            definition_line: None,
        };
        // Another chunk may be of another revision.
        if target.revision.is_none() && target.id.is_none() {
            target.revision = hit_revision(&hit)?;
        }
        // The lines of the hit do not apply to another file or chunk.
        if !own_file && target.id.is_none() {
            target.file = hit_text(&hit, &["file", "file_path"])?;
            target.id = hit_number(&hit, &["id", "chunk_id"])?;
            if !own_lines {
                target.start_line = hit_line(&hit, &["startLine", "start_line"])?;
                target.end_line = hit_line(&hit, &["endLine", "end_line"])?;
                target.definition_line = hit_line(&hit, &["line"])?;
            }
        }
        if target.repo.is_none() {
            target.repo = hit_text(&hit, &["repo"])?;
        }
        if target.file.is_none() && target.id.is_none() {
            return Err(Fault::new(ErrorCode::InvalidRequest, "Neither a file nor a hit is named.")
                .with_hint("Give a search hit as `hit`, its `id`, or `file` with startLine and endLine."));
        }
        if target.end_line.is_some_and(|end| end < target.start_line.unwrap_or(1)) {
            return Err(Fault::new(ErrorCode::InvalidRequest, "endLine is before startLine."));
        }
        Ok(target)
    }

    /// Looks up the chunk: fills in its file, lines and revision unless they were given. Returns the root of the repository: the
    /// chunk's, or the given one.
    ///
    /// # Errors
    /// `NOT_FOUND` if only an id was given and the chunk does not exist; storage faults.
    pub(super) async fn look_up(
        &mut self,
        call: &Call,
        project: &Project,
        root: Option<String>,
    ) -> Result<Option<String>, Fault> {
        let Some(id) = self.id else { return Ok(root) };
        let mut tx = ProjectTx::begin(call.app.store().await?, project, Access::Search).await?;
        let row = chunks::hydrate(&mut tx, &[id]).await?.into_iter().next();
        let mut row = row.filter(|row| {
            !is_hidden(call, &row.repository_root)
                && root.as_ref().is_none_or(|root| *root == row.repository_root)
                && self
                    .file
                    .as_ref()
                    .is_none_or(|file| *file == row.path || *file == escaped_invisible(&row.path))
        });
        if let Some(found) = row.as_ref().filter(|_| self.revision.is_none()) {
            match revision_of(&mut tx, found.file_id).await? {
                FileRevision::Default => {}
                FileRevision::Other(name) => self.revision = Some(name),
                FileRevision::Gone => row = None,
            }
        }
        tx.commit().await?;
        match row {
            Some(row) => {
                self.file = Some(row.path);
                if self.start_line.is_none() && self.end_line.is_none() && self.line.is_none() {
                    self.start_line = usize::try_from(row.span.start_line).ok();
                    self.end_line = usize::try_from(row.span.end_line).ok();
                    let name_line = row.span.name_line.and_then(|line| usize::try_from(line).ok());
                    self.definition_line = self.definition_line.or(name_line);
                }
                Ok(Some(row.repository_root))
            }
            // The file changed since the search, so its chunks have new ids: the path of the hit is enough.
            None if self.file.is_some() => Ok(root),
            None => Err(Fault::new(ErrorCode::NotFound, format!("The chunk {id} does not exist.")).with_hint(
                "The chunks of a file get new ids when it changes. Search again, or give `file` and lines.",
            )),
        }
    }

    /// The first and the last line to show.
    ///
    /// # Errors
    /// `INVALID_REQUEST` if the end is before the start.
    pub(super) fn range(&self, spans: &[ChunkSpan]) -> Result<(usize, usize), Fault> {
        let range = match (self.start_line, self.end_line, self.line) {
            (None, None, Some(line)) => lines_around(line, spans),
            (start, end, line) => {
                let first = start.unwrap_or(1);
                let last = end.unwrap_or(first.saturating_add(LINES_DEFAULT - 1));
                line.map_or((first, last), |line| (first.min(line), last.max(line)))
            }
        };
        if range.1 < range.0 {
            return Err(Fault::new(ErrorCode::InvalidRequest, "endLine is before startLine."));
        }
        Ok(range)
    }
}

impl FileTarget {
    /// The shown lines, and the requested line or definition if it is among them.
    pub(super) fn shown_range(&self, lines: (usize, usize)) -> ShownRange {
        let within = |line: &usize| (lines.0..=lines.1).contains(line);
        ShownRange {
            lines,
            definition_line: self.definition_line.filter(within),
            line: self.line.filter(within),
            is_part: self.start_line.is_some() || self.end_line.is_some(),
        }
    }

    /// The line of a range that is always shown, even if others are cut: the `line` argument, that of the hit's definition, or the
    /// first.
    pub(super) fn anchor(&self, range: (usize, usize)) -> usize {
        let within = |line: &usize| (range.0..=range.1).contains(line);
        self.line.or(self.definition_line).filter(within).unwrap_or(range.0)
    }
}

/// The revision that has a file.
enum FileRevision {
    /// The default branch.
    Default,
    /// Only other revisions: the first of them by name.
    Other(String),
    /// No revision any more.
    Gone,
}

async fn revision_of(tx: &mut ProjectTx, file_id: i64) -> Result<FileRevision, Fault> {
    let Some(of_file) = revisions::views_of(tx, &[file_id]).await?.pop() else {
        return Ok(FileRevision::Gone);
    };
    if of_file.is_default {
        return Ok(FileRevision::Default);
    }
    let mut indexed = revisions::list(tx).await?;
    indexed.retain(|row| row.repository_id == of_file.repository_id && row.view() & of_file.views != 0);
    let first = indexed.into_iter().next();
    Ok(first.map_or(FileRevision::Gone, |row| FileRevision::Other(row.name)))
}

/// The lines of the smallest chunk that contains a line, else the lines around it.
fn lines_around(line: usize, spans: &[ChunkSpan]) -> (usize, usize) {
    let lines =
        |span: &ChunkSpan| (span.start_line.unsigned_abs() as usize, span.end_line.unsigned_abs() as usize);
    let holds = |(first, last): &(usize, usize)| *first <= line && line <= *last;
    let smallest = spans.iter().map(lines).filter(holds).min_by_key(|(first, last)| last - first);
    smallest.unwrap_or((line.saturating_sub(AROUND_LINES).max(1), line.saturating_add(AROUND_LINES)))
}

/// The value of an argument that has two names.
fn either_argument(
    name: &str,
    other: &str,
    value: Option<String>,
    same: Option<String>,
) -> Result<Option<String>, Fault> {
    match (value, same) {
        (Some(value), Some(same)) if value != same => Err(Fault::new(
            ErrorCode::InvalidRequest,
            format!("`{name}` and `{other}` are the same field, but their values differ."),
        )
        .with_hint(format!("Give `{name}` alone."))),
        (value, same) => Ok(value.or(same)),
    }
}

fn wrong_type(field: &str) -> Fault {
    Fault::new(
        ErrorCode::InvalidRequest,
        format!("`hit.{field}` does not have the type that it has in a search hit."),
    )
    .with_hint("Pass the hit as `search` returned it.")
}

/// A string of the hit, under its name in `search` or `search_code`.
pub(super) fn hit_text(hit: &Map<String, Value>, names: &[&str]) -> Result<Option<String>, Fault> {
    let found = names.iter().find_map(|name| Some((name, hit.get(*name)?)));
    match found {
        None | Some((_, Value::Null)) => Ok(None),
        Some((_, Value::String(text))) => Ok(Some(text.clone())),
        Some((name, _)) => Err(wrong_type(name)),
    }
}

/// The revision of a hit: the first of those that have it, else their commit.
fn hit_revision(hit: &Map<String, Value>) -> Result<Option<String>, Fault> {
    match hit.get("revisions") {
        None | Some(Value::Null) => hit_text(hit, &["commit"]),
        Some(Value::Array(names)) => match names.first() {
            None => hit_text(hit, &["commit"]),
            Some(Value::String(name)) => Ok(Some(name.clone())),
            Some(_) => Err(wrong_type("revisions")),
        },
        Some(_) => Err(wrong_type("revisions")),
    }
}

/// A positive number of the hit.
fn hit_number(hit: &Map<String, Value>, names: &[&str]) -> Result<Option<i64>, Fault> {
    let found = names.iter().find_map(|name| Some((name, hit.get(*name)?)));
    match found {
        None | Some((_, Value::Null)) => Ok(None),
        Some((name, Value::Number(number))) => match number.as_i64().filter(|number| *number > 0) {
            Some(number) => Ok(Some(number)),
            None => {
                let message =
                    format!("`hit.{name}` must be an integer from 1 to {}, not {number}.", i64::MAX);
                Err(Fault::new(ErrorCode::InvalidRequest, message)
                    .with_details(
                        json!({ "field": format!("hit.{name}"), "minimum": 1, "maximum": i64::MAX }),
                    )
                    .with_hint("Pass the hit as `search` returned it."))
            }
        },
        Some((name, _)) => Err(wrong_type(name)),
    }
}

/// A line of the hit.
pub(super) fn hit_line(hit: &Map<String, Value>, names: &[&str]) -> Result<Option<usize>, Fault> {
    // On a 32-bit machine a larger number is beyond the end of every file.
    Ok(hit_number(hit, names)?.map(|number| usize::try_from(number).unwrap_or(usize::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(hit: Value) -> FileArguments {
        FileArguments { hit: hit.as_object().cloned().unwrap_or_default(), ..FileArguments::default() }
    }

    fn span(start_line: i32, end_line: i32) -> ChunkSpan {
        ChunkSpan {
            id: 1,
            start_line,
            end_line,
            kind: "function".into(),
            name: None,
            defines: Vec::new(),
            signature: None,
            name_line: None,
        }
    }

    #[test]
    fn hits_of_both_tools_name_file_and_lines() {
        let of_search = json!({ "id": 7, "file": "a.rs", "startLine": 3, "endLine": 9, "line": 4, "score": 0.5,
            "kind": "function", "snippet": "x", "repo": "shop", "calls": ["y"] });
        let of_search_code = json!({ "chunk_id": 7, "file_path": "a.rs", "start_line": 3, "end_line": 9,
            "content": "x", "similarity_score": 0.5, "repo": "shop" });
        let target = FileTarget::parse(given(of_search)).unwrap();
        assert_eq!(
            (target.file.as_deref(), target.repo.as_deref(), target.id),
            (Some("a.rs"), Some("shop"), Some(7))
        );
        assert_eq!(target.range(&[]).unwrap(), (3, 9));
        assert_eq!((target.anchor((3, 9)), target.anchor((5, 9))), (4, 5));
        assert_eq!(
            FileTarget { definition_line: None, ..target },
            FileTarget::parse(given(of_search_code)).unwrap()
        );
    }

    #[test]
    fn arguments_beside_a_hit_take_precedence() {
        let hit = json!({ "id": 7, "file": "a.rs", "startLine": 3, "endLine": 9 });
        let lines = FileArguments { start_line: Some(1), ..given(hit.clone()) };
        assert_eq!(FileTarget::parse(lines).unwrap().range(&[]).unwrap(), (1, 400));
        let other = FileTarget::parse(FileArguments { file: Some("b.rs".into()), ..given(hit) }).unwrap();
        assert_eq!(
            (other.file.as_deref(), other.id, other.range(&[]).unwrap()),
            (Some("b.rs"), None, (1, 400))
        );
    }

    #[test]
    fn a_hit_is_shown_at_its_revision() {
        let hit =
            json!({ "id": 7, "file": "a.rs", "revisions": ["release/1.0", "v1"], "commit": "0123456789" });
        let revision = |given: FileArguments| FileTarget::parse(given).unwrap().revision;
        assert_eq!(revision(given(hit.clone())).as_deref(), Some("release/1.0"));
        assert_eq!(revision(given(json!({ "id": 7, "commit": "0123456" }))).as_deref(), Some("0123456"));
        assert_eq!(revision(given(json!({ "id": 7 }))), None);
        let other_file = FileArguments { file: Some("b.rs".into()), ..given(hit.clone()) };
        assert_eq!(revision(other_file).as_deref(), Some("release/1.0"));
        assert_eq!(revision(FileArguments { id: Some(8), ..given(hit.clone()) }), None, "another chunk");
        let named = FileArguments { revision: Some("v1".into()), ..given(hit) };
        assert_eq!(revision(named).as_deref(), Some("v1"));
    }

    #[test]
    fn a_line_selects_its_chunk_or_the_lines_around_it_or_widens_a_range() {
        let at = |line, start_line, end_line| {
            let target = FileTarget::parse(FileArguments {
                file: Some("a".into()),
                line: Some(line),
                start_line,
                end_line,
                ..FileArguments::default()
            });
            target.unwrap().range(&[span(1, 90), span(10, 20)]).unwrap()
        };
        assert_eq!(at(12, None, None), (10, 20));
        assert_eq!(at(50, None, None), (1, 90));
        assert_eq!(at(200, None, None), (180, 220));
        assert_eq!(at(5, Some(10), Some(12)), (5, 12));
        assert_eq!(at(usize::MAX, None, None).1, usize::MAX);
    }

    #[test]
    fn arguments_that_name_no_file_are_refused() {
        for (given, says) in [
            (FileArguments::default(), "Neither"),
            (FileArguments { line: Some(3), ..FileArguments::default() }, "Neither"),
            (
                FileArguments { file: Some("a".into()), path: Some("b".into()), ..FileArguments::default() },
                "differ",
            ),
            (given(json!({ "file": 3 })), "hit.file"),
            (given(json!({ "file": "a", "startLine": 0 })), "hit.startLine"),
            (given(json!({ "id": u64::MAX })), "9223372036854775807"),
            (given(json!({ "id": 1.5 })), "hit.id"),
            (given(json!({ "id": 1, "revisions": "v1" })), "hit.revisions"),
            (given(json!({ "id": 1, "revisions": [1] })), "hit.revisions"),
            (given(json!({ "file": "a", "startLine": 9, "endLine": 3 })), "before"),
        ] {
            let fault = FileTarget::parse(given).unwrap_err();
            assert!(fault.message.contains(says), "{fault}");
            assert_eq!(fault.code, ErrorCode::InvalidRequest);
        }
    }
}
