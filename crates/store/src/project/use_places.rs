//! Places of uses, in pages: counted by file, then read for the files of a page.

use super::uses::{Certainty, UsePlace, UsedFor};
use crate::normal::{nfc, nfc_sql};
use crate::postgres::{Row, sql};
use crate::transaction::ProjectTx;
use contract::Fault;

/// Uses to count or to list.
#[derive(Debug, Clone, Copy)]
pub struct WantedPlaces<'a> {
    /// The targets of the uses.
    pub of: PlacesOf<'a>,
    /// Mask of kinds; places of other kinds do not count.
    pub kinds: i16,
    /// At least as certain as this.
    pub certainty: Certainty,
}

/// Targets of uses.
#[derive(Debug, Clone, Copy)]
pub enum PlacesOf<'a> {
    /// Symbols.
    Symbols(&'a [i64]),
    /// Names whose definition is not known.
    Names(&'a [i64]),
}

impl<'a> PlacesOf<'a> {
    fn column(self) -> &'static str {
        match self {
            Self::Symbols(_) => "target",
            Self::Names(_) => "name",
        }
    }

    fn ids(self) -> &'a [i64] {
        match self {
            Self::Symbols(ids) | Self::Names(ids) => ids,
        }
    }
}

/// The number of places in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePlaces {
    /// The file.
    pub file_id: i64,
    /// Its repository.
    pub repository_id: i64,
    /// Path relative to the root of the repository.
    pub path: String,
    /// The certainty of the uses.
    pub certainty: Certainty,
    /// Their kind, as in [`UsePlace`].
    pub kind: i16,
    /// Number of places.
    pub places: i64,
}

/// Numbers of places by file, certainty and kind, in no particular order. Reads at most `rows_max` uses (a source and its target),
/// and says whether there are more.
pub async fn by_file(
    tx: &mut ProjectTx,
    wanted: &WantedPlaces<'_>,
    rows_max: i64,
) -> Result<(Vec<FilePlaces>, bool), Fault> {
    // A place may be one of several targets, such as overloads. Materialized, so that the limit bounds what is read.
    let text = format!(
        "WITH u AS MATERIALIZED (SELECT u.file_id, u.certainty, u.places FROM {uses} u \
           WHERE u.{column} = ANY($1) AND u.kinds & $2 <> 0 AND u.certainty <= $3 LIMIT $4) \
         SELECT c.file_id, f.repository_id, f.path, c.certainty, c.kind, c.places, c.sources \
         FROM (SELECT p.file_id, min(p.certainty) AS certainty, p.kind, count(*) AS places, \
             (SELECT count(*) FROM u) AS sources \
           FROM (SELECT DISTINCT u.file_id, u.certainty, p.place, (p.place & 15)::int2 AS kind \
             FROM u CROSS JOIN unnest(u.places) AS p (place)) p \
           WHERE (1::int8 << p.kind::int4) & $2::int8 <> 0 \
           GROUP BY p.file_id, p.certainty, p.kind) c \
         JOIN {files} f ON f.id = c.file_id",
        uses = tx.table("uses"),
        files = tx.table("files"),
        column = wanted.of.column(),
    );
    let limit = rows_max.saturating_add(1);
    let query =
        sql(text).bind(wanted.of.ids()).bind(wanted.kinds).bind(wanted.certainty.number()).bind(limit);
    let rows = tx.tx.all(query).await?;
    let sources: i64 = rows.first().map_or(Ok(0), |row| row.try_get("sources"))?;
    let counts = rows.iter().map(|row| {
        Ok(FilePlaces {
            file_id: row.try_get("file_id")?,
            repository_id: row.try_get("repository_id")?,
            path: row.try_get("path")?,
            certainty: Certainty::parse(row.try_get("certainty")?),
            kind: row.try_get("kind")?,
            places: row.try_get("places")?,
        })
    });
    Ok((counts.collect::<Result<_, Fault>>()?, sources > rows_max))
}

/// A place where something is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlacedUse {
    /// The file.
    pub file_id: i64,
    /// The symbol of the definition around it, or of the file.
    pub source: i64,
    /// The certainty of its target.
    pub certainty: Certainty,
    /// The place.
    pub place: UsePlace,
}

/// A page of the places in some files, in the order of `files`, then by line and column.
pub async fn page(
    tx: &mut ProjectTx,
    wanted: &WantedPlaces<'_>,
    files: &[i64],
    (offset, limit): (i64, i64),
) -> Result<Vec<PlacedUse>, Fault> {
    let text = format!(
        "SELECT p.file_id, p.source, p.certainty, p.place \
         FROM (SELECT DISTINCT ON (u.file_id, p.place) u.file_id, u.source, u.certainty, p.place \
           FROM {uses} u CROSS JOIN unnest(u.places) AS p (place) \
           WHERE u.{column} = ANY($1) AND u.file_id = ANY($4) AND u.kinds & $2 <> 0 AND u.certainty <= $3 \
             AND (1::int8 << (p.place & 15)::int4) & $2::int8 <> 0 \
           ORDER BY u.file_id, p.place, u.certainty) p \
         ORDER BY array_position($4::int8[], p.file_id), p.place OFFSET $5 LIMIT $6",
        uses = tx.table("uses"),
        column = wanted.of.column(),
    );
    let query = sql(text).bind(wanted.of.ids()).bind(wanted.kinds).bind(wanted.certainty.number());
    let rows = tx.tx.all(query.bind(files).bind(offset).bind(limit)).await?;
    let mut places = Vec::with_capacity(rows.len());
    for row in &rows {
        // A number that is not a place comes from a damaged archive.
        if let Some(place) = UsePlace::decode(row.try_get("place")?) {
            places.push(PlacedUse {
                file_id: row.try_get("file_id")?,
                source: row.try_get("source")?,
                certainty: Certainty::parse(row.try_get("certainty")?),
                place,
            });
        }
    }
    Ok(places)
}

/// A use between two symbols, with its first places.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edge {
    /// The file in which it is.
    pub file_id: i64,
    /// The symbol of the definition around it, or of the file.
    pub source: i64,
    /// The symbol that is used.
    pub target: i64,
    /// The certainty of the target.
    pub certainty: Certainty,
    /// Mask of the kinds of use.
    pub kinds: i16,
    /// The first places.
    pub places: Vec<UsePlace>,
}

/// Maximum number of places of an edge that are read.
const EDGE_PLACES_MAX: u32 = 8;

/// Conditions on the edges of a graph.
#[derive(Debug, Clone, Copy)]
pub struct WantedEdges {
    /// Mask of kinds.
    pub kinds: i16,
    /// At least as certain as this.
    pub certainty: Certainty,
    /// Maximum number of edges.
    pub limit: i64,
}

/// The edges that lead to symbols; the most certain first, then by file.
pub async fn edges_to(tx: &mut ProjectTx, targets: &[i64], wanted: WantedEdges) -> Result<Vec<Edge>, Fault> {
    let text = format!(
        "SELECT u.file_id, u.source, u.target, u.certainty, u.kinds, u.places[1:{EDGE_PLACES_MAX}] AS places \
         FROM (SELECT u.file_id, u.ordinal, u.source, u.target, u.certainty, u.kinds, u.places FROM {uses} u WHERE u.target = ANY($1) AND u.kinds & $2 <> 0 AND u.certainty <= $3 \
           LIMIT $4) u \
         ORDER BY u.certainty, u.file_id, u.ordinal",
        uses = tx.table("uses"),
    );
    let query = sql(text).bind(targets).bind(wanted.kinds).bind(wanted.certainty.number()).bind(wanted.limit);
    tx.tx.all(query).await?.iter().map(decode).collect()
}

/// The edges that lead from symbols, each in one of `files`; the most certain first, then by file.
pub async fn edges_from(
    tx: &mut ProjectTx,
    files: &[i64],
    sources: &[i64],
    wanted: WantedEdges,
) -> Result<Vec<Edge>, Fault> {
    let text = format!(
        "SELECT u.file_id, u.source, u.target, u.certainty, u.kinds, u.places[1:{EDGE_PLACES_MAX}] AS places \
         FROM {uses} u \
         WHERE u.file_id = ANY($1) AND u.source = ANY($2) AND u.target IS NOT NULL AND u.kinds & $3 <> 0 \
           AND u.certainty <= $4 \
         ORDER BY u.certainty, u.file_id, u.ordinal LIMIT $5",
        uses = tx.table("uses"),
    );
    let query = sql(text).bind(files).bind(sources).bind(wanted.kinds).bind(wanted.certainty.number());
    tx.tx.all(query.bind(wanted.limit)).await?.iter().map(decode).collect()
}

/// The edges to symbols from outside of all definitions, one for each place, by file and place; at most `limit`.
pub async fn edges_without_source(
    tx: &mut ProjectTx,
    targets: &[i64],
    wanted: WantedEdges,
) -> Result<Vec<Edge>, Fault> {
    let text = format!(
        "SELECT u.file_id, u.source, u.target, u.certainty, (1::int4 << (p.place & 15)::int4)::int2 AS kinds, \
           ARRAY[p.place] AS places \
         FROM {uses} u CROSS JOIN unnest(u.places) AS p (place) \
         WHERE u.target = ANY($1) AND u.kinds & $2 <> 0 AND u.certainty <= $3 \
           AND (1::int8 << (p.place & 15)::int4) & $2::int8 <> 0 \
           AND NOT EXISTS (SELECT 1 FROM {definitions} d WHERE d.symbol = u.source) \
         ORDER BY u.file_id, p.place, u.target LIMIT $4",
        uses = tx.table("uses"),
        definitions = tx.table("definitions"),
    );
    let query = sql(text).bind(targets).bind(wanted.kinds).bind(wanted.certainty.number()).bind(wanted.limit);
    tx.tx.all(query).await?.iter().map(decode).collect()
}

/// Returns the uses in a line of a file, as (target or name, place), at most 200; targets first in the order of columns.
pub async fn in_line(
    tx: &mut ProjectTx,
    file_id: i64,
    line: u32,
) -> Result<Vec<(Option<i64>, UsePlace)>, Fault> {
    let text = format!(
        "SELECT DISTINCT p.place, u.target \
         FROM {uses} u CROSS JOIN unnest(u.places) AS p (place) \
         WHERE u.file_id = $1 AND p.place >= $2 AND p.place < $3 \
         ORDER BY p.place, u.target LIMIT 200",
        uses = tx.table("uses"),
    );
    let first = i64::from(line) << 24;
    let rows = tx.tx.all(sql(text).bind(file_id).bind(first).bind(first + (1 << 24))).await?;
    let mut found = Vec::with_capacity(rows.len());
    for row in &rows {
        if let Some(place) = UsePlace::decode(row.try_get("place")?) {
            found.push((row.try_get("target")?, place));
        }
    }
    Ok(found)
}

/// The chunks in which symbols are used in one of these ways, with any certainty but that of names, each with the line of the
/// first use; of at most `limit` uses.
pub async fn chunks_of_uses(
    tx: &mut ProjectTx,
    symbols: &[i64],
    kinds: i16,
    limit: i64,
) -> Result<Vec<(i64, i32)>, Fault> {
    let text = format!(
        "SELECT c.id AS chunk_id, min(n.line) AS line \
         FROM (SELECT u.file_id, (p.place >> 24)::int4 AS line \
           FROM {uses} u CROSS JOIN unnest(u.places) AS p (place) \
           WHERE u.target = ANY($1) AND u.kinds & $2 <> 0 AND (1::int8 << (p.place & 15)::int4) & $2::int8 <> 0 \
           LIMIT $3) n \
         JOIN {chunks} c ON c.file_id = n.file_id AND c.start_line <= n.line AND c.end_line >= n.line \
         GROUP BY c.id ORDER BY c.id",
        uses = tx.table("uses"),
        chunks = tx.table("chunks"),
    );
    let rows = tx.tx.all(sql(text).bind(symbols).bind(kinds).bind(limit)).await?;
    rows.iter().map(chunk_line).collect()
}

fn chunk_line(row: &Row) -> Result<(i64, i32), Fault> {
    Ok((row.try_get("chunk_id")?, row.try_get("line")?))
}

/// The chunks that define what symbols, and the definitions inside them, call, each with the line of the first such definition; of
/// at most `limit` calls.
pub async fn chunks_of_callees(
    tx: &mut ProjectTx,
    symbols: &[i64],
    limit: i64,
) -> Result<Vec<(i64, i32)>, Fault> {
    let text = format!(
        "SELECT t.chunk_id, min(t.line) AS line \
         FROM (SELECT u.target \
           FROM {definitions} d \
           JOIN {definitions} i ON i.file_id = d.file_id AND i.start_line >= d.start_line \
             AND i.end_line <= d.end_line \
           JOIN {uses} u ON u.file_id = d.file_id AND u.source = i.symbol AND u.kinds & $2 <> 0 \
           WHERE d.symbol = ANY($1) LIMIT $3) n \
         JOIN {definitions} t ON t.symbol = n.target GROUP BY t.chunk_id ORDER BY t.chunk_id",
        definitions = tx.table("definitions"),
        uses = tx.table("uses"),
    );
    let rows = tx.tx.all(sql(text).bind(symbols).bind(UsedFor::Call.bit()).bind(limit)).await?;
    rows.iter().map(chunk_line).collect()
}

/// The chunks of the types that derive from symbols, each with the line of the first such type; of at most `limit` types.
pub async fn chunks_of_derived(
    tx: &mut ProjectTx,
    symbols: &[i64],
    limit: i64,
) -> Result<Vec<(i64, i32)>, Fault> {
    let text = format!(
        "SELECT d.chunk_id, min(d.line) AS line \
         FROM (SELECT u.source FROM {uses} u WHERE u.target = ANY($1) AND u.kinds & $2 <> 0 LIMIT $3) n \
         JOIN {definitions} d ON d.symbol = n.source GROUP BY d.chunk_id ORDER BY d.chunk_id",
        definitions = tx.table("definitions"),
        uses = tx.table("uses"),
    );
    let rows = tx.tx.all(sql(text).bind(symbols).bind(UsedFor::Inherit.bit()).bind(limit)).await?;
    rows.iter().map(chunk_line).collect()
}

/// Numbers of uses of each symbol, each counted up to `most` sources.
pub async fn popularity(tx: &mut ProjectTx, symbols: &[i64], most: i64) -> Result<Vec<(i64, i64)>, Fault> {
    let text = format!(
        "SELECT s.symbol, c.places \
         FROM unnest($1::int8[]) AS s (symbol) \
         CROSS JOIN LATERAL (SELECT coalesce(sum(cardinality(n.places)), 0)::int8 AS places \
           FROM (SELECT u.places FROM {uses} u WHERE u.target = s.symbol AND u.kinds <> 64 LIMIT $2) n) c",
        uses = tx.table("uses"),
    );
    let rows = tx.tx.all(sql(text).bind(symbols).bind(most)).await?;
    rows.iter().map(|row| Ok((row.try_get("symbol")?, row.try_get("places")?))).collect()
}

/// Different names of the definitions in some repositories whose length in characters is in a range; at most `limit`.
pub async fn defined_names(
    tx: &mut ProjectTx,
    repositories: &[i64],
    length: (i32, i32),
    limit: i64,
) -> Result<Vec<String>, Fault> {
    let text = format!(
        "SELECT DISTINCT n.name \
         FROM (SELECT d.name FROM {definitions} d JOIN {files} f ON f.id = d.file_id \
           WHERE d.name_id IS NOT NULL AND length(d.name) BETWEEN $2 AND $3 AND f.repository_id = ANY($1) \
           LIMIT $4) n",
        definitions = tx.table("definitions"),
        files = tx.table("files"),
    );
    tx.tx.scalars(sql(text).bind(repositories).bind(length.0).bind(length.1).bind(limit)).await
}

/// Searchable files with exactly this path, or else those whose path ends with it, as (file, repository, path); at most 20.
pub async fn files_at(
    tx: &mut ProjectTx,
    repositories: &[i64],
    path: &str,
) -> Result<Vec<(i64, i64, String)>, Fault> {
    // A path of ASCII letters is written in one way only; another one is compared in composed form.
    let composed = &*nfc(path);
    let own = if path.is_ascii() { "f.path".to_owned() } else { nfc_sql("f.path") };
    let select = |condition: &str, order: &str| {
        format!(
            "SELECT f.id, f.repository_id, f.path FROM {} f \
             WHERE f.repository_id = ANY($1) AND f.skipped IS NULL AND {condition} ORDER BY {order} LIMIT 20",
            tx.table("files")
        )
    };
    let mut queries = vec![(select("f.path = $2", "f.repository_id"), path)];
    if !path.is_ascii() {
        queries.push((select(&format!("{own} = $2"), "f.repository_id"), composed));
    }
    let ending = format!("right({own}, length($2) + 1) = '/' || $2");
    queries.push((select(&ending, "f.repository_id, f.path"), composed));
    let mut rows = Vec::new();
    for (text, wanted) in queries {
        rows = tx.tx.all(sql(text).bind(repositories).bind(wanted)).await?;
        if !rows.is_empty() {
            break;
        }
    }
    rows.iter()
        .map(|row| Ok((row.try_get("id")?, row.try_get("repository_id")?, row.try_get("path")?)))
        .collect()
}

/// Repositories and paths of files, as (file, repository, path).
pub async fn paths_of(tx: &mut ProjectTx, files: &[i64]) -> Result<Vec<(i64, i64, String)>, Fault> {
    if files.is_empty() {
        return Ok(Vec::new());
    }
    let text =
        format!("SELECT f.id, f.repository_id, f.path FROM {} f WHERE f.id = ANY($1)", tx.table("files"));
    let rows = tx.tx.all(sql(text).bind(files)).await?;
    rows.iter()
        .map(|row| Ok((row.try_get("id")?, row.try_get("repository_id")?, row.try_get("path")?)))
        .collect()
}

/// Number of files in repositories whose symbols are not all known, because there are too many.
pub async fn gaps(tx: &mut ProjectTx, repositories: &[i64]) -> Result<i64, Fault> {
    let text = format!(
        "SELECT count(*) FROM {} s WHERE s.repository_id = ANY($1) AND (s.truncated OR s.interface IS NULL)",
        tx.table("symbols")
    );
    tx.tx.scalar(sql(text).bind(repositories)).await
}

/// Returns `true` if the symbols of a file are known.
pub async fn has_symbols(tx: &mut ProjectTx, file_id: i64) -> Result<bool, Fault> {
    let text = format!("SELECT EXISTS (SELECT 1 FROM {} s WHERE s.file_id = $1)", tx.table("symbols"));
    tx.tx.scalar(sql(text).bind(file_id)).await
}

fn decode(row: &Row) -> Result<Edge, Fault> {
    let places: Vec<Option<i64>> = row.try_get("places")?;
    Ok(Edge {
        file_id: row.try_get("file_id")?,
        source: row.try_get("source")?,
        target: row.try_get::<Option<i64>>("target")?.unwrap_or_default(),
        certainty: Certainty::parse(row.try_get("certainty")?),
        kinds: row.try_get("kinds")?,
        places: places.into_iter().flatten().filter_map(UsePlace::decode).collect(),
    })
}
