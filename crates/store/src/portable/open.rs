//! Validates and opens a portable file.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags};
use tokio_util::sync::CancellationToken;

use super::fault::{inaccessible, unusable};
use super::schema::{self, APPLICATION_ID, FORMAT};
use crate::postgres::OrFault;
use crate::workspace::ModelFacts;
use contract::config;
use contract::{ErrorCode, Fault, echo};
use platform::safe_open;
use platform::sha256::to_hex;

/// Size limits of a portable file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Largest file in bytes.
    pub file_bytes_max: u64,
    /// Maximum length of a text or vector in bytes.
    pub value_bytes_max: usize,
    /// Files up to this size in bytes are checked page by page when they are opened.
    pub check_bytes_max: u64,
    /// Size of SQLite's page cache in bytes.
    pub cache_bytes: usize,
}

impl From<&config::Portable> for Limits {
    fn from(settings: &config::Portable) -> Self {
        Self {
            file_bytes_max: settings.file_bytes_max,
            value_bytes_max: settings.value_bytes_max,
            check_bytes_max: settings.check_bytes_max,
            cache_bytes: settings.cache_bytes,
        }
    }
}

/// The metadata of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Meta {
    /// The project it was made from; `None`: the default workspace.
    pub project: Option<String>,
    /// The repository, if it holds only one.
    pub repository: Option<String>,
    /// The files that it holds: `all`, `code`, `prose`, `extracted-prose` or `records`.
    pub mode: String,
    /// The model of its vectors.
    pub model: ModelFacts,
    /// Time when it was made, UTC.
    pub built_at: String,
    /// Generation of the index it was made from.
    pub generation: i64,
    /// Time when that index was last published, milliseconds since the epoch.
    pub updated_ms: i64,
    /// Number of chunks that the document frequencies of [`WHOLE_PROJECT`](crate::statistics::WHOLE_PROJECT) count.
    pub statistics_chunks: i64,
    /// The commit, if it was made for one.
    pub commit: Option<ArtifactCommit>,
}

/// The commit that a file was made for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArtifactCommit {
    /// The commit, in hex.
    pub id: String,
    /// `true` if the indexed files differed from those of the commit.
    pub is_dirty: bool,
}

/// Returns `true` if a text is the id of a commit, in hex. Files may contain anything.
fn is_commit_id(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

impl Meta {
    pub(super) fn pairs(&self) -> Vec<(&'static str, String)> {
        let mut pairs = vec![
            ("format", FORMAT.to_string()),
            ("schemaVersion", contract::SCHEMA_VERSION.to_owned()),
            ("mode", self.mode.clone()),
            ("modelId", self.model.id.clone()),
            ("modelVariant", self.model.variant.clone()),
            ("modelHash", to_hex(&self.model.hash)),
            ("modelDimensions", self.model.dimensions.to_string()),
            ("builtAt", self.built_at.clone()),
            ("generation", self.generation.to_string()),
            ("updatedMs", self.updated_ms.to_string()),
            ("statisticsChunks", self.statistics_chunks.to_string()),
        ];
        pairs.extend(self.project.clone().map(|project| ("project", project)));
        pairs.extend(self.repository.clone().map(|repository| ("repository", repository)));
        if let Some(ArtifactCommit { id, is_dirty }) = &self.commit {
            pairs.push(("commit", id.clone()));
            pairs.push(("dirty", is_dirty.to_string()));
        }
        pairs
    }

    pub(super) fn read(connection: &Connection) -> Result<Self, Fault> {
        // Longer values are not ours, and would only take memory.
        let text = "SELECT key, value FROM meta WHERE length(key) <= 64 AND length(value) <= 4096 LIMIT 100";
        let mut statement = connection.prepare(text).or_fault()?;
        let rows = statement
            .query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))
            .or_fault()?;
        let pairs: BTreeMap<String, String> = rows.collect::<Result<_, _>>().or_fault()?;
        let text = |key: &str| {
            pairs.get(key).cloned().ok_or_else(|| unusable("its metadata is incomplete or malformed"))
        };
        let number = |key: &str| {
            text(key)?.parse::<i64>().map_err(|_| unusable("its metadata is incomplete or malformed"))
        };
        Ok(Self {
            project: pairs.get("project").cloned(),
            repository: pairs.get("repository").cloned(),
            mode: text("mode")?,
            model: ModelFacts {
                id: text("modelId")?,
                variant: text("modelVariant")?,
                hash: unhex(&text("modelHash")?).ok_or_else(|| unusable("its model is not known"))?,
                dimensions: usize::try_from(number("modelDimensions")?)
                    .map_err(|_| unusable("its model is not known"))?,
            },
            built_at: text("builtAt")?,
            generation: number("generation")?,
            updated_ms: number("updatedMs")?,
            statistics_chunks: number("statisticsChunks")?,
            commit: pairs.get("commit").filter(|id| is_commit_id(id)).map(|id| ArtifactCommit {
                id: id.clone(),
                is_dirty: pairs.get("dirty").is_some_and(|dirty| dirty == "true"),
            }),
        })
    }
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(text.get(at..at + 2)?, 16).ok()).collect()
}

/// Length of SQLite's file header.
const HEADER_BYTES: usize = 100;
const MAGIC: &[u8] = b"SQLite format 3\0";

/// Returns `true` if the file has the header of a portable index, of any format version; `false` if it does not exist.
#[must_use]
pub fn is_portable(path: &Path) -> bool {
    header(path).is_ok_and(|header| number_at(&header, APPLICATION_ID_OFFSET) == APPLICATION_ID)
}

/// The path of the file with the checksum of a portable file, in the form of `sha256sum`: next to it, with `.sha256` after its name.
#[must_use]
pub fn checksum_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".sha256");
    PathBuf::from(name)
}

fn header(path: &Path) -> Result<[u8; HEADER_BYTES], Fault> {
    let mut header = [0; HEADER_BYTES];
    let read = safe_open::open_regular_file(path).and_then(|mut file| file.read_exact(&mut header));
    read.map_err(|error| unusable("it is too short or cannot be read").with_source(error))?;
    Ok(header)
}

fn number_at(header: &[u8; HEADER_BYTES], at: usize) -> i32 {
    i32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
}

/// The fault for a portable file that does not exist. Shows only its name: the folder may be the server's.
#[must_use]
pub fn no_such_file(path: &Path) -> Fault {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    Fault::new(ErrorCode::NoIndex, format!("There is no portable index file `{}`.", echo(&name)))
        .with_details(serde_json::json!({ "file": name }))
        .with_hint("Make one with `build_sqlite_index`.")
}

/// Offset of the user version in the header of an SQLite file.
const USER_VERSION_OFFSET: usize = 60;
/// Offset of the application id in the header of an SQLite file.
const APPLICATION_ID_OFFSET: usize = 68;

/// Checks size, file type and header before SQLite opens the file; returns its size in bytes.
fn check_header(path: &Path, limits: Limits) -> Result<u64, Fault> {
    let metadata = std::fs::metadata(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => no_such_file(path).with_source(error),
        _ => inaccessible().with_source(error),
    })?;
    if !metadata.is_file() {
        return Err(unusable("it is not a file"));
    }
    if metadata.len() > limits.file_bytes_max {
        return Err(unusable(&format!("it has {} bytes, more than allowed", metadata.len()))
            .with_hint("Raise portable.file_bytes_max if you trust the file."));
    }
    let header = header(path)?;
    if !header.starts_with(MAGIC) || number_at(&header, APPLICATION_ID_OFFSET) != APPLICATION_ID {
        return Err(unusable("it was not made by this program"));
    }
    let format = number_at(&header, USER_VERSION_OFFSET);
    if format != FORMAT {
        return Err(unusable(&format!("its format is {format}, this program reads {FORMAT}")));
    }
    Ok(metadata.len())
}

/// Characters to percent-encode in a URI for SQLite.
const ENCODED_IN_URI: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'.').remove(b'-').remove(b'_');

/// A file's description of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// The metadata of the file.
    pub meta: Meta,
    /// Names and commits of its repositories; at most 100.
    pub repositories: Vec<(String, Option<String>)>,
}

/// Reads an untrusted file's description of itself. Does not check its rows, so that it takes no longer for large files.
///
/// # Errors
/// `NO_INDEX` if it does not exist; `SCHEMA_VALIDATION_FAILED` if it is damaged, too large, or not of this format.
pub fn summarize(path: &Path, limits: Limits, stop: &CancellationToken) -> Result<Summary, Fault> {
    let (connection, _) = open_unchecked(path, limits, stop)?;
    let meta = Meta::read(&connection)?;
    let text =
        "SELECT substr(name, 1, 300), substr(commit_id, 1, 65) FROM repositories ORDER BY id LIMIT 100";
    let mut statement = connection.prepare(text).or_fault()?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).or_fault()?;
    let repositories: Vec<(String, Option<String>)> = rows.collect::<Result<_, _>>().or_fault()?;
    let known = |commit: Option<String>| commit.filter(|id| is_commit_id(id));
    let repositories = repositories.into_iter().map(|(name, commit)| (name, known(commit))).collect();
    Ok(Summary { meta, repositories })
}

/// Opens an untrusted file for reading: writes neither to it nor next to it, and executes nothing that it contains.
pub(super) fn open_read_only(
    path: &Path,
    limits: Limits,
    stop: &CancellationToken,
) -> Result<Connection, Fault> {
    let (connection, bytes) = open_unchecked(path, limits, stop)?;
    if bytes <= limits.check_bytes_max {
        check_pages(&connection, "quick_check")?;
    }
    check_paths(&connection)?;
    Ok(connection)
}

/// As [`open_read_only`], without a look at the rows; also returns the size of the file in bytes.
fn open_unchecked(path: &Path, limits: Limits, stop: &CancellationToken) -> Result<(Connection, u64), Fault> {
    let bytes = check_header(path, limits)?;
    let name = path.to_str().ok_or_else(|| unusable("its path is not UTF-8"))?;
    let uri = format!("file:{}?immutable=1", utf8_percent_encode(name, ENCODED_IN_URI));
    let flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    let mut connection = Connection::open_with_flags(uri, flags).or_fault()?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true).or_fault()?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false).or_fault()?;
    let value_bytes_max = i32::try_from(limits.value_bytes_max).unwrap_or(i32::MAX);
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, value_bytes_max).or_fault()?;
    connection.pragma_update(None, "query_only", true).or_fault()?;
    connection.pragma_update(None, "cell_size_check", true).or_fault()?;
    set_cache_and_cancellation(&mut connection, limits, stop)?;
    schema::check(&connection)?;
    Ok((connection, bytes))
}

/// Finds paths that may lead out of a repository: with an empty component, `.` or `..`, a slash at either end, a NUL, or more
/// than 4,096 bytes.
const STRAY_PATHS: &str = "SELECT EXISTS (SELECT 1 FROM files WHERE typeof(path) <> 'text' OR path = '' \
      OR length(CAST(path AS BLOB)) > 4096 OR instr(path, char(0)) > 0 \
      OR instr('/' || path || '/', '//') > 0 OR instr('/' || path || '/', '/./') > 0 \
      OR instr('/' || path || '/', '/../') > 0)";

/// Rejects paths that an index run would not write, because callers display them and open files by them.
fn check_paths(connection: &Connection) -> Result<(), Fault> {
    let stray: bool = connection.query_row(STRAY_PATHS, [], |row| row.get(0)).or_fault()?;
    if stray { Err(unusable("one of its paths may lead outside of its repository")) } else { Ok(()) }
}

/// Sets the cache size, and a handler that lets `stop` interrupt statements.
pub(super) fn set_cache_and_cancellation(
    connection: &mut Connection,
    limits: Limits,
    stop: &CancellationToken,
) -> Result<(), Fault> {
    let kib = i64::try_from(limits.cache_bytes / 1024).unwrap_or(i64::MAX);
    connection.pragma_update(None, "cache_size", -kib).or_fault()?;
    let stop = stop.clone();
    connection.progress_handler(STEPS_PER_CHECK, Some(move || stop.is_cancelled())).or_fault()?;
    Ok(())
}

/// Instructions of SQLite's virtual machine between two checks of `stop`; they take well below a millisecond.
const STEPS_PER_CHECK: std::ffi::c_int = 10_000;

/// Runs `integrity_check` or `quick_check`; the first problem becomes the source of the fault.
pub(super) fn check_pages(connection: &Connection, pragma: &str) -> Result<(), Fault> {
    let found: String =
        connection.query_row(&format!("PRAGMA {pragma}(1)"), [], |row| row.get(0)).or_fault()?;
    if found == "ok" { Ok(()) } else { Err(unusable("its pages are damaged").with_source(found)) }
}
