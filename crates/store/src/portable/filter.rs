//! Evaluates filters on a portable file: each test yields the set of chunks that pass it, and the boolean operators combine sets.
//!
//! A value that is unknown passes no test, so it passes the negation of every test, as in Postgres (`project/condition.rs`).

use std::collections::HashSet;

use regex::Regex;
use rusqlite::params;

use super::reader::Reader;
use super::writer::json;
use crate::normal::nfc;
use crate::postgres::OrFault;
use crate::{ChunkSelection, Filter, LexicalSource, Test};
use contract::{ErrorCode, Fault};

pub(super) type ChunkIds = HashSet<i64>;

/// The columns of a file that tests use.
struct FileRow {
    id: i64,
    repository_id: i64,
    path: String,
    language: Option<String>,
    extension: Option<String>,
    mode: String,
    last_author: Option<String>,
    last_modified_s: Option<i64>,
    churn: Option<i64>,
    meta: Vec<String>,
}

/// Size limit in bytes of a compiled regular expression; far more than any filter of this program needs.
const REGEX_BYTES_MAX: usize = 10 * 1024 * 1024;

impl Reader {
    pub(crate) fn select_chunks(&self, filter: &Filter) -> Result<ChunkSelection, Fault> {
        if filter.is_empty() {
            return Ok(ChunkSelection::All);
        }
        let all: ChunkIds = self.rows("SELECT id FROM chunks", [], |row| row.get(0))?.into_iter().collect();
        let mut ids: Vec<i64> = self.passing(filter, &all)?.into_iter().collect();
        ids.sort_unstable();
        Ok(ChunkSelection::Listed(ids))
    }

    /// The chunks of `among` that pass the filter.
    pub(super) fn passing(&self, filter: &Filter, among: &ChunkIds) -> Result<ChunkIds, Fault> {
        Ok(match filter {
            Filter::All(all) => {
                // Tests that read texts run last, only on chunks that pass all others.
                let mut sorted: Vec<&Filter> = all.iter().collect();
                sorted.sort_by_key(|filter| reads_texts(filter));
                let mut left = among.clone();
                for filter in sorted {
                    left = self.passing(filter, &left)?;
                }
                left
            }
            Filter::Any(any) => {
                let mut found = ChunkIds::new();
                for filter in any {
                    found.extend(self.passing(filter, among)?);
                }
                found
            }
            Filter::Not(not) => {
                let passing = self.passing(not, among)?;
                among.difference(&passing).copied().collect()
            }
            Filter::OneDefinition(filter) => self.by_one_definition(filter, among)?,
            Filter::Is(test) => self.passing_test(test, among)?,
        })
    }

    fn passing_test(&self, test: &Test, among: &ChunkIds) -> Result<ChunkIds, Fault> {
        let found: Vec<i64> = match test {
            Test::Facts(ids) => self.chunks_with(ids, false)?,
            Test::Chunks { chunks, .. } => chunks.clone(),
            Test::Authors { ids, names } => return self.by_authors(ids, names, among),
            Test::AtLeast(counted, number) => {
                let sql = format!("SELECT id FROM chunks WHERE {} >= ?1", counted.column());
                self.rows(&sql, [number], |row| row.get(0))?
            }
            Test::Signature(text) => {
                let sql = "SELECT id \
                     FROM chunks \
                     WHERE instr(signature, ?1) > 0 \
                     UNION SELECT chunk_id \
                     FROM definitions \
                     WHERE instr(signature, ?1) > 0";
                self.rows(sql, [text], |row| row.get(0))?
            }
            Test::HasTerms(terms) => {
                let mut left = among.clone();
                for term in terms {
                    let with_term: ChunkIds =
                        self.chunks_with_term(LexicalSource::Chunks, *term)?.into_iter().collect();
                    left.retain(|id| with_term.contains(id));
                }
                return Ok(left);
            }
            Test::Text(pattern) => return self.matching_text(pattern, among),
            Test::HasComments => self.rows("SELECT chunk_id FROM comments", [], |row| row.get(0))?,
            Test::Files { ids, .. } => self.in_files(ids)?,
            Test::Imports(ids) => {
                let sql = "SELECT c.id \
                     FROM chunks c \
                     WHERE c.file_id IN (SELECT file_id FROM file_imports WHERE name_id IN \
                       (SELECT value FROM json_each(?1)))";
                self.rows(sql, [json(ids)?], |row| row.get(0))?
            }
            Test::Repositories(_)
            | Test::Views(_)
            | Test::Modes(_)
            | Test::Languages(_)
            | Test::Extensions(_)
            | Test::Paths(_)
            | Test::FileNames(_)
            | Test::LastAuthors(_)
            | Test::ModifiedFrom(_)
            | Test::ChurnFrom(_)
            | Test::Meta { .. } => self.in_files(&self.files_passing(test)?)?,
        };
        Ok(found.into_iter().filter(|id| among.contains(id)).collect())
    }

    fn in_files(&self, files: &[i64]) -> Result<Vec<i64>, Fault> {
        let sql = "SELECT id FROM chunks WHERE file_id IN (SELECT value FROM json_each(?1))";
        self.rows(sql, [json(&files)?], |row| row.get(0))
    }

    /// Chunks with lines by one of these authors; where authors of lines are unknown, chunks in files last changed by one.
    fn by_authors(&self, ids: &[i64], names: &[String], among: &ChunkIds) -> Result<ChunkIds, Fault> {
        let sql = "SELECT chunk_id FROM chunk_authors WHERE name_id IN (SELECT value FROM json_each(?1))";
        let by_line: ChunkIds = self.rows(sql, params![json(&ids)?], |row| row.get(0))?.into_iter().collect();
        let sql = "SELECT DISTINCT chunk_id FROM chunk_authors";
        let with_line_authors: ChunkIds = self.rows(sql, [], |row| row.get(0))?.into_iter().collect();
        let files = self.files_passing(&Test::LastAuthors(names.to_vec()))?;
        let by_file: ChunkIds = self.in_files(&files)?.into_iter().collect();
        let passes =
            |id: &i64| by_line.contains(id) || (!with_line_authors.contains(id) && by_file.contains(id));
        Ok(among.iter().copied().filter(passes).collect())
    }

    fn matching_text(&self, pattern: &str, among: &ChunkIds) -> Result<ChunkIds, Fault> {
        let regex = compile_regex(pattern)?;
        let mut statement =
            self.connection.prepare_cached("SELECT content FROM chunks WHERE id = ?1").or_fault()?;
        let mut found = ChunkIds::new();
        for id in among {
            let mut rows = statement.query([id]).or_fault()?;
            if let Some(row) = rows.next().or_fault()?
                && row.get_ref(0).or_fault()?.as_str().is_ok_and(|text| regex.is_match(&nfc(text)))
            {
                found.insert(*id);
            }
        }
        Ok(found)
    }

    fn files_passing(&self, test: &Test) -> Result<Vec<i64>, Fault> {
        let patterns = match test {
            Test::Paths(patterns) | Test::FileNames(patterns) => {
                patterns.iter().map(|pattern| compile_regex(pattern)).collect::<Result<Vec<_>, _>>()?
            }
            _ => Vec::new(),
        };
        let matches = |text: &str| patterns.iter().any(|regex| regex.is_match(&nfc(text)));
        let holds = |file: &FileRow| match test {
            Test::Repositories(ids) => ids.contains(&file.repository_id),
            // A portable file has the default branch only.
            Test::Views(_) => false,
            Test::Modes(modes) => modes.contains(&file.mode),
            Test::Languages(ids) => file.language.as_ref().is_some_and(|language| ids.contains(language)),
            Test::Extensions(known) => file.extension.as_ref().is_some_and(|one| known.contains(one)),
            Test::Paths(_) => matches(&file.path),
            Test::FileNames(_) => matches(file.path.rsplit('/').next().unwrap_or_default()),
            Test::LastAuthors(names) => file.last_author.as_ref().is_some_and(|author| {
                let author = author.to_lowercase();
                names.iter().any(|name| author.contains(name))
            }),
            Test::ModifiedFrom(seconds) => file.last_modified_s.is_some_and(|at| at >= *seconds),
            Test::ChurnFrom(churn) => file.churn.is_some_and(|lines| lines >= *churn),
            Test::Meta { key, value } => file.meta.iter().any(|pair| {
                let stored = pair.strip_prefix(key.as_str()).and_then(|rest| rest.strip_prefix('='));
                stored.is_some_and(|stored| {
                    !stored.is_empty() && value.as_ref().is_none_or(|part| stored.contains(part.as_str()))
                })
            }),
            Test::Imports(_)
            | Test::Facts(_)
            | Test::Chunks { .. }
            | Test::Authors { .. }
            | Test::AtLeast(..)
            | Test::Signature(_)
            | Test::HasTerms(_)
            | Test::Text(_)
            | Test::HasComments
            | Test::Files { .. } => false,
        };
        Ok(self.file_rows()?.into_iter().filter(|file| holds(file)).map(|file| file.id).collect())
    }

    fn file_rows(&self) -> Result<Vec<FileRow>, Fault> {
        let sql = "SELECT id, repository_id, path, language, extension, mode, last_author, last_modified_s, \
               churn_added + churn_deleted AS churn, meta \
             FROM files";
        self.rows(sql, [], |row| {
            let meta: Option<String> = row.get("meta")?;
            Ok(FileRow {
                id: row.get("id")?,
                repository_id: row.get("repository_id")?,
                path: row.get("path")?,
                language: row.get("language")?,
                extension: row.get("extension")?,
                mode: row.get("mode")?,
                last_author: row.get("last_author")?,
                last_modified_s: row.get("last_modified_s")?,
                churn: row.get("churn")?,
                meta: meta.and_then(|meta| serde_json::from_str(&meta).ok()).unwrap_or_default(),
            })
        })
    }
}

fn reads_texts(filter: &Filter) -> bool {
    match filter {
        Filter::All(filters) | Filter::Any(filters) => filters.iter().any(reads_texts),
        Filter::Not(filter) | Filter::OneDefinition(filter) => reads_texts(filter),
        Filter::Is(test) => matches!(test, Test::Text(_)),
    }
}

/// Compiles a regular expression written for Postgres, where word boundaries have other escapes and a dot also matches a line break.
fn compile_regex(pattern: &str) -> Result<Regex, Fault> {
    let mut translated = String::with_capacity(pattern.len());
    let mut rest = pattern.chars();
    while let Some(c) = rest.next() {
        match (c, if c == '\\' { rest.next() } else { None }) {
            ('\\', Some('m')) => translated.push_str("\\b{start}"),
            ('\\', Some('M')) => translated.push_str("\\b{end}"),
            ('\\', Some('y')) => translated.push_str("\\b"),
            ('\\', Some('Y')) => translated.push_str("\\B"),
            (c, escaped) => {
                translated.push(c);
                translated.extend(escaped);
            }
        }
    }
    let built =
        regex::RegexBuilder::new(&translated).dot_matches_new_line(true).size_limit(REGEX_BYTES_MAX).build();
    built.map_err(|error| {
        Fault::new(ErrorCode::InvalidRequest, "A pattern is too complex for a portable file.")
            .with_hint("Give a shorter pattern, or search the index in Postgres.")
            .with_source(error)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn word_boundaries_are_translated() {
        let matches = |pattern: &str, text: &str| compile_regex(pattern).unwrap().is_match(text);
        assert!(matches("(?i)\\mstore\\M", "the Store.") && !matches("\\mstore\\M", "restore stores"));
        assert!(matches("\\yfoo\\y", "a foo b") && !matches("\\Yfoo", "a foo"));
        assert!(matches("[\\U00000041-\\U00000043]\\.rs$", "B.rs") && matches("a\\\\m", "a\\m"));
    }
}
