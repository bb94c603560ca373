//! Where a call of `show_file` points to: a hit as it is, its id, or a file with lines.

use serde_json::{Map, Value, json};

use super::shown::Asked;
use crate::tools::Call;
use contract::{ErrorCode, Fault, revealed};
use store::{Access, ChunkSpan, Project, ProjectTx, chunks};

/// Lines shown when no end is given.
const LINES_DEFAULT: usize = 400;
/// Lines before and after a line that no definition holds.
const AROUND: usize = 20;

/// What the caller said.
#[derive(Debug, Default)]
pub(super) struct Given {
    pub(super) hit: Map<String, Value>,
    pub(super) file: Option<String>,
    pub(super) path: Option<String>,
    pub(super) id: Option<i64>,
    pub(super) repo_path: Option<String>,
    pub(super) repo: Option<String>,
    pub(super) start_line: Option<usize>,
    pub(super) end_line: Option<usize>,
    pub(super) line: Option<usize>,
}

/// A place in a file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    /// Path relative to the repository; known once the id was looked up.
    pub(super) file: Option<String>,
    /// The repository, as the caller names it.
    pub(super) repo: Option<String>,
    /// A chunk.
    id: Option<i64>,
    start_line: Option<usize>,
    end_line: Option<usize>,
    line: Option<usize>,
    /// The line that a hit or chunk is about, which says nothing about the range.
    about: Option<usize>,
}

impl Place {
    /// Reads what was given. A hit brings its own place; fields beside it win.
    ///
    /// # Errors
    /// `INVALID_REQUEST`: no file and no id, two spellings that differ, a hit whose fields have other types.
    pub(super) fn of(given: Given) -> Result<Self, Fault> {
        let Given { hit, file, path, id, repo_path, repo, start_line, end_line, line } = given;
        let own_lines = start_line.is_some() || end_line.is_some() || line.is_some();
        let own_file = file.is_some() || path.is_some();
        let mut place = Self {
            file: one("file", "path", file, path)?,
            repo: one("repo", "repoPath", repo, repo_path)?,
            id,
            start_line,
            end_line,
            line,
            about: None,
        };
        // Another file or chunk than the hit's has nothing to do with the hit's lines.
        if !own_file && place.id.is_none() {
            place.file = text(&hit, &["file", "file_path"])?;
            place.id = number(&hit, &["id", "chunk_id"])?;
            if !own_lines {
                place.start_line = line_of(&hit, &["startLine", "start_line"])?;
                place.end_line = line_of(&hit, &["endLine", "end_line"])?;
                place.about = line_of(&hit, &["line"])?;
            }
        }
        if place.repo.is_none() {
            place.repo = text(&hit, &["repo"])?;
        }
        if place.file.is_none() && place.id.is_none() {
            return Err(Fault::new(ErrorCode::InvalidRequest, "Neither a file nor a hit is named.")
                .with_hint("Give a search hit as `hit`, its `id`, or `file` with startLine and endLine."));
        }
        if place.end_line.is_some_and(|end| end < place.start_line.unwrap_or(1)) {
            return Err(Fault::new(ErrorCode::InvalidRequest, "endLine is before startLine."));
        }
        Ok(place)
    }

    /// Looks the chunk up: its file and lines where none are named, and which repository is meant. The root of the
    /// repository, where one is named or found.
    ///
    /// # Errors
    /// `NOT_FOUND` when there is nothing but an id, and no such chunk; storage faults.
    pub(super) async fn look_up(
        &mut self,
        call: &Call,
        project: &Project,
        root: Option<String>,
    ) -> Result<Option<String>, Fault> {
        let Some(id) = self.id else { return Ok(root) };
        let mut tx = ProjectTx::begin(call.app.store().await?, project, Access::Search).await?;
        let row = chunks::hydrate(&mut tx, &[id]).await?.into_iter().next();
        tx.commit().await?;
        let row = row.filter(|row| {
            root.as_ref().is_none_or(|root| *root == row.repository_root)
                && self.file.as_ref().is_none_or(|file| *file == row.path || *file == revealed(&row.path))
        });
        match row {
            Some(row) => {
                self.file = Some(row.path);
                if self.start_line.is_none() && self.end_line.is_none() && self.line.is_none() {
                    self.start_line = usize::try_from(row.span.start_line).ok();
                    self.end_line = usize::try_from(row.span.end_line).ok();
                    self.about = row.span.name_line.and_then(|line| usize::try_from(line).ok());
                }
                Ok(Some(row.repository_root))
            }
            // The file changed since the hit was found, and its chunks got new ids: its place is as good.
            None if self.file.is_some() => Ok(root),
            None => Err(Fault::new(ErrorCode::NotFound, format!("There is no chunk {id} there.")).with_hint(
                "A file's chunks get new ids when it changes. Search again, or name `file` and lines.",
            )),
        }
    }

    /// The first and the last line to show.
    ///
    /// # Errors
    /// `INVALID_REQUEST` when the end is before the start.
    pub(super) fn range(&self, spans: &[ChunkSpan]) -> Result<(usize, usize), Fault> {
        let range = match (self.start_line, self.end_line, self.line) {
            (None, None, Some(line)) => around(line, spans),
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

impl Place {
    /// What was asked for, of which these lines are shown.
    pub(super) fn asked(&self, lines: (usize, usize)) -> Asked {
        let within = |line: &usize| (lines.0..=lines.1).contains(line);
        Asked {
            lines,
            about: self.about.filter(within),
            line: self.line.filter(within),
            is_part: self.start_line.is_some() || self.end_line.is_some(),
        }
    }

    /// The line of a range that is shown whatever else is cut: the one that was asked for, or the one that the hit is about,
    /// or the first.
    pub(super) fn anchor(&self, range: (usize, usize)) -> usize {
        let within = |line: &usize| (range.0..=range.1).contains(line);
        self.line.or(self.about).filter(within).unwrap_or(range.0)
    }
}

/// The smallest chunk that holds a line, or the lines near it.
fn around(line: usize, spans: &[ChunkSpan]) -> (usize, usize) {
    let lines =
        |span: &ChunkSpan| (span.start_line.unsigned_abs() as usize, span.end_line.unsigned_abs() as usize);
    let holds = |(first, last): &(usize, usize)| *first <= line && line <= *last;
    let smallest = spans.iter().map(lines).filter(holds).min_by_key(|(first, last)| last - first);
    smallest.unwrap_or((line.saturating_sub(AROUND).max(1), line.saturating_add(AROUND)))
}

/// One field under two names.
fn one(
    name: &str,
    other: &str,
    value: Option<String>,
    same: Option<String>,
) -> Result<Option<String>, Fault> {
    match (value, same) {
        (Some(value), Some(same)) if value != same => Err(Fault::new(
            ErrorCode::InvalidRequest,
            format!("`{name}` and `{other}` are one field, and they differ."),
        )
        .with_hint(format!("Give `{name}` alone."))),
        (value, same) => Ok(value.or(same)),
    }
}

fn wrong(field: &str) -> Fault {
    Fault::new(ErrorCode::InvalidRequest, format!("`hit.{field}` has another type than in a search hit."))
        .with_hint("Pass the hit on as `search` answered it.")
}

/// A text of the hit, under the name that `search` or `search_code` gives it.
fn text(hit: &Map<String, Value>, names: &[&str]) -> Result<Option<String>, Fault> {
    let found = names.iter().find_map(|name| Some((name, hit.get(*name)?)));
    match found {
        None | Some((_, Value::Null)) => Ok(None),
        Some((_, Value::String(text))) => Ok(Some(text.clone())),
        Some((name, _)) => Err(wrong(name)),
    }
}

/// A number of the hit, from 1 on.
fn number(hit: &Map<String, Value>, names: &[&str]) -> Result<Option<i64>, Fault> {
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
                    .with_hint("Pass the hit on as `search` answered it."))
            }
        },
        Some((name, _)) => Err(wrong(name)),
    }
}

/// A line of the hit.
fn line_of(hit: &Map<String, Value>, names: &[&str]) -> Result<Option<usize>, Fault> {
    // Beyond every file, on a machine of fewer bits.
    Ok(number(hit, names)?.map(|number| usize::try_from(number).unwrap_or(usize::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(hit: Value) -> Given {
        Given { hit: hit.as_object().cloned().unwrap_or_default(), ..Given::default() }
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
    fn a_hit_of_either_tool_says_its_place() {
        let of_search = json!({ "id": 7, "file": "a.rs", "startLine": 3, "endLine": 9, "line": 4, "score": 0.5,
            "kind": "function", "snippet": "x", "repo": "shop", "calls": ["y"] });
        let of_search_code = json!({ "chunk_id": 7, "file_path": "a.rs", "start_line": 3, "end_line": 9,
            "content": "x", "similarity_score": 0.5, "repo": "shop" });
        let place = Place::of(given(of_search)).unwrap();
        assert_eq!(
            (place.file.as_deref(), place.repo.as_deref(), place.id),
            (Some("a.rs"), Some("shop"), Some(7))
        );
        assert_eq!(place.range(&[]).unwrap(), (3, 9));
        assert_eq!((place.anchor((3, 9)), place.anchor((5, 9))), (4, 5));
        assert_eq!(Place { about: None, ..place }, Place::of(given(of_search_code)).unwrap());
    }

    #[test]
    fn what_stands_beside_a_hit_wins() {
        let hit = json!({ "id": 7, "file": "a.rs", "startLine": 3, "endLine": 9 });
        let lines = Given { start_line: Some(1), ..given(hit.clone()) };
        assert_eq!(Place::of(lines).unwrap().range(&[]).unwrap(), (1, 400));
        let other = Place::of(Given { file: Some("b.rs".into()), ..given(hit) }).unwrap();
        assert_eq!(
            (other.file.as_deref(), other.id, other.range(&[]).unwrap()),
            (Some("b.rs"), None, (1, 400))
        );
    }

    #[test]
    fn a_line_shows_its_definition_or_what_is_near_and_widens_a_range() {
        let at = |line, start_line, end_line| {
            let place = Place::of(Given {
                file: Some("a".into()),
                line: Some(line),
                start_line,
                end_line,
                ..Given::default()
            });
            place.unwrap().range(&[span(1, 90), span(10, 20)]).unwrap()
        };
        assert_eq!(at(12, None, None), (10, 20));
        assert_eq!(at(50, None, None), (1, 90));
        assert_eq!(at(200, None, None), (180, 220));
        assert_eq!(at(5, Some(10), Some(12)), (5, 12));
        assert_eq!(at(usize::MAX, None, None).1, usize::MAX);
    }

    #[test]
    fn what_is_no_place_is_refused_with_what_to_do() {
        for (given, says) in [
            (Given::default(), "Neither"),
            (Given { line: Some(3), ..Given::default() }, "Neither"),
            (Given { file: Some("a".into()), path: Some("b".into()), ..Given::default() }, "differ"),
            (given(json!({ "file": 3 })), "hit.file"),
            (given(json!({ "file": "a", "startLine": 0 })), "hit.startLine"),
            (given(json!({ "id": u64::MAX })), "9223372036854775807"),
            (given(json!({ "id": 1.5 })), "hit.id"),
            (given(json!({ "file": "a", "startLine": 9, "endLine": 3 })), "before"),
        ] {
            let fault = Place::of(given).unwrap_err();
            assert!(fault.message.contains(says), "{fault}");
            assert_eq!(fault.code, ErrorCode::InvalidRequest);
        }
    }
}
