//! The tables of a portable file: creates them, and checks that a file has exactly these.

use rusqlite::Connection;

use super::fault::unusable;
use crate::postgres::OrFault;
use contract::Fault;

/// `POCI`, in the header of each file.
pub(super) const APPLICATION_ID: i32 = 0x504F_4349;
/// Format version of the tables; a file of another version must be built again.
pub const FORMAT: i32 = 4;

/// Every object, in the order of creation; described in `docs/portable.md`. Lists are JSON arrays.
pub(super) const OBJECTS: &[&str] = &[
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE repositories (id INTEGER PRIMARY KEY, name TEXT NOT NULL, state TEXT NOT NULL, generation INTEGER NOT NULL, \
     terms_version INTEGER NOT NULL, facts_version INTEGER NOT NULL, branch TEXT, commit_id TEXT, indexed_ms INTEGER, \
     statistics_chunks INTEGER NOT NULL)",
    "CREATE TABLE files (id INTEGER PRIMARY KEY, repository_id INTEGER NOT NULL, path TEXT NOT NULL, language TEXT, extension TEXT, \
     mode TEXT NOT NULL, bytes INTEGER NOT NULL, lines INTEGER NOT NULL, content_hash BLOB NOT NULL, meta TEXT, last_author TEXT, \
     last_modified_s INTEGER, last_commit TEXT, churn_added INTEGER, churn_deleted INTEGER, churn_commits INTEGER, \
     first_chunk INTEGER NOT NULL, chunks INTEGER NOT NULL, UNIQUE (repository_id, path))",
    "CREATE TABLE chunks (id INTEGER PRIMARY KEY, file_id INTEGER NOT NULL, ordinal INTEGER NOT NULL, start_line INTEGER NOT NULL, \
     end_line INTEGER NOT NULL, kind TEXT NOT NULL, name TEXT, name_line INTEGER, defines TEXT NOT NULL, signature TEXT, content TEXT NOT NULL, \
     content_hash BLOB NOT NULL, detail TEXT, branches INTEGER, loops INTEGER, breaks INTEGER, continues INTEGER)",
    "CREATE INDEX chunks_file ON chunks (file_id)",
    "CREATE INDEX chunks_content ON chunks (content_hash)",
    "CREATE TABLE definitions (chunk_id INTEGER NOT NULL, ordinal INTEGER NOT NULL, name TEXT NOT NULL, qualified TEXT NOT NULL, \
     kind TEXT NOT NULL, signature TEXT, line INTEGER NOT NULL, name_column INTEGER NOT NULL, start_line INTEGER NOT NULL, \
     end_line INTEGER NOT NULL, exported INTEGER, ids TEXT, PRIMARY KEY (chunk_id, ordinal)) WITHOUT ROWID",
    "CREATE TABLE comments (chunk_id INTEGER PRIMARY KEY, start_line INTEGER NOT NULL, end_line INTEGER NOT NULL, content TEXT NOT NULL)",
    "CREATE TABLE postings (term INTEGER NOT NULL, chunk_id INTEGER NOT NULL, weight REAL NOT NULL, PRIMARY KEY (term, chunk_id)) WITHOUT ROWID",
    "CREATE TABLE comment_postings (term INTEGER NOT NULL, chunk_id INTEGER NOT NULL, weight REAL NOT NULL, PRIMARY KEY (term, chunk_id)) WITHOUT ROWID",
    "CREATE TABLE terms (repository_id INTEGER NOT NULL, term INTEGER NOT NULL, chunks INTEGER NOT NULL, \
     PRIMARY KEY (repository_id, term)) WITHOUT ROWID",
    "CREATE TABLE vectors (hash BLOB PRIMARY KEY, embedding BLOB NOT NULL)",
    "CREATE TABLE names (id INTEGER PRIMARY KEY, field INTEGER NOT NULL, name TEXT NOT NULL, folded TEXT NOT NULL)",
    "CREATE TABLE chunk_facts (name_id INTEGER NOT NULL, chunk_id INTEGER NOT NULL, PRIMARY KEY (name_id, chunk_id)) WITHOUT ROWID",
    "CREATE INDEX chunk_facts_chunk ON chunk_facts (chunk_id)",
    "CREATE TABLE chunk_authors (name_id INTEGER NOT NULL, chunk_id INTEGER NOT NULL, PRIMARY KEY (name_id, chunk_id)) WITHOUT ROWID",
    "CREATE INDEX chunk_authors_chunk ON chunk_authors (chunk_id)",
    "CREATE TABLE chunk_flows (name_id INTEGER NOT NULL, chunk_id INTEGER NOT NULL, PRIMARY KEY (name_id, chunk_id)) WITHOUT ROWID",
    "CREATE TABLE flows (chunk_id INTEGER PRIMARY KEY, detail TEXT NOT NULL)",
    "CREATE TABLE users (chunk_id INTEGER PRIMARY KEY, files INTEGER NOT NULL)",
    "CREATE TABLE file_imports (name_id INTEGER NOT NULL, file_id INTEGER NOT NULL, PRIMARY KEY (name_id, file_id)) WITHOUT ROWID",
    "CREATE VIEW search_text AS SELECT c.id AS id, f.path AS path, c.name AS name, c.signature AS signature, c.content AS body \
     FROM chunks c JOIN files f ON f.id = c.file_id",
    "CREATE VIRTUAL TABLE search USING fts5(path, name, signature, body, content='search_text', content_rowid='id', tokenize='porter unicode61')",
    "CREATE VIRTUAL TABLE comment_search USING fts5(content, content='comments', content_rowid='chunk_id', tokenize='porter unicode61')",
];

/// Creates the tables, and marks the file in its header as a portable index of this format.
pub(super) fn create(connection: &Connection) -> Result<(), Fault> {
    connection.pragma_update(None, "application_id", APPLICATION_ID).or_fault()?;
    connection.pragma_update(None, "user_version", FORMAT).or_fault()?;
    for object in OBJECTS {
        connection.execute_batch(object).or_fault()?;
    }
    Ok(())
}

/// Rejects a file that does not have exactly the objects of this format, because a view in place of a table would execute
/// SQL of the file's author.
pub(super) fn check(connection: &Connection) -> Result<(), Fault> {
    let model = Connection::open_in_memory().or_fault()?;
    create(&model)?;
    if objects(connection)? == objects(&model)? {
        Ok(())
    } else {
        Err(unusable("its tables are not those of this format"))
    }
}

/// Maximum number of objects that are read from a file; a valid one has fewer.
const OBJECTS_MAX: i64 = 200;

type Object = (String, String, String, Option<String>);

fn objects(connection: &Connection) -> Result<Vec<Object>, Fault> {
    let mut statement = connection
        .prepare("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY name, type LIMIT ?1")
        .or_fault()?;
    let rows = statement
        .query_map([OBJECTS_MAX], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))
        .or_fault()?;
    rows.collect::<Result<_, _>>().or_fault()
}
