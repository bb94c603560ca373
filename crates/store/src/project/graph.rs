//! The definitions of a repository and the uses between them, file by file, for export. All pages must be read in one snapshot.

use super::uses::UsePlace;
use crate::postgres::sql;
use crate::transaction::ProjectTx;
use contract::Fault;

/// A searchable file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GraphFile {
    /// Its id.
    pub id: i64,
    /// Path, relative to the root.
    pub path: String,
    /// Its language.
    pub language: Option<String>,
}

/// At most `limit` searchable files after a path, sorted by path.
pub async fn graph_files(
    tx: &mut ProjectTx,
    repository_id: i64,
    after: &str,
    limit: i64,
) -> Result<Vec<GraphFile>, Fault> {
    let text = format!(
        "SELECT id, path, language \
         FROM {} WHERE repository_id = $1 AND path > $2 AND skipped IS NULL AND chunks > 0 \
         ORDER BY path LIMIT $3",
        tx.table("files")
    );
    let rows = tx.tx.all(sql(text).bind(repository_id).bind(after).bind(limit)).await?;
    rows.iter()
        .map(|row| {
            Ok(GraphFile {
                id: row.try_get("id")?,
                path: row.try_get("path")?,
                language: row.try_get("language")?,
            })
        })
        .collect()
}

/// A definition that is a name of code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GraphDefinition {
    /// Its file.
    pub file_id: i64,
    /// Its symbol.
    pub symbol: i64,
    /// Simple name.
    pub name: String,
    /// Name, qualified with those of the enclosing definitions.
    pub qualified: String,
    /// `function`, `class`, `method` …
    pub kind: String,
    /// Line of the name, 1-based.
    pub line: i32,
    /// Column of the name in characters, 1-based.
    pub column: i32,
    /// First line, 1-based.
    pub start_line: i32,
    /// Last line, 1-based and inclusive.
    pub end_line: i32,
    /// `true` if other files can use it; `None` if that is unknown.
    pub exported: Option<bool>,
}

/// The definitions of these files that are names of code, sorted by file and place.
pub async fn graph_definitions(tx: &mut ProjectTx, file_ids: &[i64]) -> Result<Vec<GraphDefinition>, Fault> {
    let text = format!(
        "SELECT file_id, symbol, name, qualified, kind, line, name_column, start_line, end_line, exported \
         FROM {} WHERE file_id = ANY($1) AND symbol IS NOT NULL \
         ORDER BY file_id, line, name_column, chunk_id, ordinal",
        tx.table("definitions")
    );
    let rows = tx.tx.all(sql(text).bind(file_ids)).await?;
    rows.iter()
        .map(|row| {
            Ok(GraphDefinition {
                file_id: row.try_get("file_id")?,
                symbol: row.try_get("symbol")?,
                name: row.try_get("name")?,
                qualified: row.try_get("qualified")?,
                kind: row.try_get("kind")?,
                line: row.try_get("line")?,
                column: row.try_get("name_column")?,
                start_line: row.try_get("start_line")?,
                end_line: row.try_get("end_line")?,
                exported: row.try_get("exported")?,
            })
        })
        .collect()
}

/// The uses of a definition by another one, or by the code of a file outside of definitions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GraphUse {
    /// The file that contains the uses.
    pub file_id: i64,
    /// The symbol of the definition around it, or of the file.
    pub source: i64,
    /// The symbol that is used.
    pub target: i64,
    /// The places of the uses.
    pub places: Vec<UsePlace>,
}

/// The uses in these files whose targets are known, sorted by file and target.
pub async fn graph_uses(tx: &mut ProjectTx, file_ids: &[i64]) -> Result<Vec<GraphUse>, Fault> {
    let text = format!(
        "SELECT file_id, source, target, places \
         FROM {} WHERE file_id = ANY($1) AND target IS NOT NULL ORDER BY file_id, ordinal",
        tx.table("uses")
    );
    let rows = tx.tx.all(sql(text).bind(file_ids)).await?;
    rows.iter()
        .map(|row| {
            let places: Vec<i64> = row.try_get("places")?;
            Ok(GraphUse {
                file_id: row.try_get("file_id")?,
                source: row.try_get("source")?,
                target: row.try_get("target")?,
                places: places.into_iter().filter_map(UsePlace::decode).collect(),
            })
        })
        .collect()
}
