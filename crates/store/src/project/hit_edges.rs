//! The resolved calls to and from the definitions that hits show.

use super::uses::{Certainty, UsePlace, UsedFor};
use crate::postgres::{Row, sql};
use crate::transaction::ProjectTx;
use contract::Fault;

/// Maximum number of callers, and of callees, of one definition.
const EDGES_MAX: u32 = 12;

/// The place of a definition's name: file and line.
pub type DefinitionPlace = (i64, i32);

/// A resolved call to or from the definition at a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HitEdge {
    /// Index of the place among those that were asked for.
    pub hit: usize,
    /// `true` if the other definition calls this one; else it is called by it.
    pub is_caller: bool,
    /// Qualified name of the other definition; `None` for calls outside of definitions.
    pub name: Option<String>,
    /// Path of the file with the call, or with the called definition.
    pub path: String,
    /// Line of the call, or of the called definition's name.
    pub line: u32,
    /// The certainty of the call's target.
    pub certainty: Certainty,
}

/// Those of some files whose names are known, so that calls in them are resolved.
pub async fn files_with_symbols(tx: &mut ProjectTx, files: &[i64]) -> Result<Vec<i64>, Fault> {
    let text = format!("SELECT s.file_id FROM {} s WHERE s.file_id = ANY($1)", tx.table("symbols"));
    tx.tx.scalars(sql(text).bind(files)).await
}

/// The calls to and from definitions at places.
pub async fn read(tx: &mut ProjectTx, places: &[DefinitionPlace]) -> Result<Vec<HitEdge>, Fault> {
    let (files, lines): (Vec<i64>, Vec<i32>) = places.iter().copied().unzip();
    let hits = "unnest($1::int8[], $2::int4[]) WITH ORDINALITY AS h (file_id, line, hit)";
    let text = format!(
        "SELECT h.hit, true AS is_caller, s.qualified AS name, f.path, u.place, NULL::int4 AS line, u.certainty \
         FROM {hits} \
         JOIN {definitions} d ON d.file_id = h.file_id AND d.line = h.line AND d.symbol IS NOT NULL \
         CROSS JOIN LATERAL (SELECT u.source, u.file_id, u.certainty, u.places[1] AS place FROM {uses} u \
           WHERE u.target = d.symbol AND u.kinds & $3 <> 0 AND u.source <> d.symbol LIMIT {EDGES_MAX}) u \
         JOIN {file_rows} f ON f.id = u.file_id \
         LEFT JOIN {definitions} s ON s.symbol = u.source \
         UNION ALL \
         SELECT h.hit, false, t.qualified, f.path, NULL, t.line, u.certainty \
         FROM {hits} \
         JOIN {definitions} d ON d.file_id = h.file_id AND d.line = h.line AND d.symbol IS NOT NULL \
         CROSS JOIN LATERAL (SELECT u.target, u.certainty FROM {uses} u \
           WHERE u.file_id = d.file_id AND u.source = d.symbol AND u.target IS NOT NULL AND u.kinds & $3 <> 0 \
           ORDER BY u.ordinal LIMIT {EDGES_MAX}) u \
         JOIN {definitions} t ON t.symbol = u.target \
         JOIN {file_rows} f ON f.id = t.file_id \
         ORDER BY hit, is_caller, path, place, line",
        definitions = tx.table("definitions"),
        uses = tx.table("uses"),
        file_rows = tx.table("files"),
    );
    let query = sql(text).bind(&files).bind(&lines).bind(UsedFor::Call.bit());
    tx.tx.all(query).await?.iter().map(decode).collect()
}

fn decode(row: &Row) -> Result<HitEdge, Fault> {
    let place: Option<i64> = row.try_get("place")?;
    let line: Option<i32> = row.try_get("line")?;
    let of_call = place.and_then(UsePlace::decode).map(|place| place.line);
    Ok(HitEdge {
        hit: usize::try_from(row.try_get::<i64>("hit")?.saturating_sub(1)).unwrap_or(0),
        is_caller: row.try_get("is_caller")?,
        name: row.try_get("name")?,
        path: row.try_get("path")?,
        line: of_call.or(line.and_then(|line| u32::try_from(line).ok())).unwrap_or(0),
        certainty: Certainty::parse(row.try_get("certainty")?),
    })
}
