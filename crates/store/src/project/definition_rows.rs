//! Writes the rows of `definitions`, with their symbols.

use super::columns::{FlatLists, ROWS_MAX, column, int4, named};
use super::file_write::{ChunkWrite, DefinitionWrite, NewChunk};
use super::names::{KnownNames, NewNames};
use crate::postgres::sql;
use crate::transaction::ProjectTx;
use contract::Fault;

struct NewDefinition<'a> {
    chunk_id: i64,
    file_id: i64,
    ordinal: usize,
    symbol: Option<i64>,
    d: &'a DefinitionWrite,
}

/// Inserts the definitions of chunks.
pub(super) async fn insert<'a>(
    tx: &mut ProjectTx,
    rows: &[NewChunk<'a>],
    known: &mut KnownNames,
    fresh: &mut NewNames<'a>,
) -> Result<(), Fault> {
    let all: Vec<NewDefinition<'a>> = rows
        .iter()
        .flat_map(|row| {
            let chunk: &'a ChunkWrite = row.chunk;
            let definitions = chunk.definitions.iter().zip(&row.symbols).enumerate();
            definitions.map(move |(ordinal, (d, symbol))| NewDefinition {
                chunk_id: row.id,
                file_id: row.file_id,
                ordinal,
                symbol: *symbol,
                d,
            })
        })
        .collect();
    let text = format!(
        "INSERT INTO {} (chunk_id, ordinal, file_id, name, qualified, kind, signature, line, name_column, \
           start_line, end_line, exported, ids, symbol, name_id) \
         SELECT t.chunk_id, t.ordinal, t.file_id, t.name, t.qualified, t.kind, t.signature, t.line, \
           t.name_column, t.start_line, t.end_line, t.exported, CASE WHEN t.own \
           THEN ($1::int8[])[t.first:t.last] END, t.symbol, t.name_id \
         FROM unnest($2::int8[], $3::int4[], $4::int8[], $5::text[], $6::text[], $7::text[], $8::text[], \
           $9::int4[], $10::int4[], $11::int4[], $12::int4[], $13::bool[], $14::bool[], $15::int4[], \
           $16::int4[], $17::int8[], $18::int8[]) AS t (chunk_id, ordinal, file_id, name, qualified, kind, \
           signature, line, name_column, start_line, end_line, exported, own, first, last, symbol, name_id)",
        tx.table("definitions")
    );
    // The number of chunks is bounded by the caller; the number of their definitions is not.
    for rows in all.chunks(ROWS_MAX) {
        let facts = rows.iter().map(|NewDefinition { d, .. }| d.facts.as_deref().unwrap_or_default());
        let ids = FlatLists::from_lists(facts.map(|facts| known.ids(named(facts), fresh)));
        let query = sql(text.clone())
            .bind(ids.all)
            .bind(column(rows, |r| r.chunk_id))
            .bind(column(rows, |r| i32::try_from(r.ordinal).unwrap_or(i32::MAX)))
            .bind(column(rows, |r| r.file_id))
            .bind(column(rows, |r| r.d.name.as_str()))
            .bind(column(rows, |r| r.d.qualified.as_str()))
            .bind(column(rows, |r| r.d.kind))
            .bind(column(rows, |r| r.d.signature.as_deref()))
            .bind(column(rows, |r| int4(r.d.line)))
            .bind(column(rows, |r| int4(r.d.column)))
            .bind(column(rows, |r| int4(r.d.start_line)))
            .bind(column(rows, |r| int4(r.d.end_line)))
            .bind(column(rows, |r| r.d.exported))
            .bind(column(rows, |r| r.d.facts.is_some()))
            .bind(ids.first)
            .bind(ids.last)
            .bind(column(rows, |r| r.symbol))
            .bind(column(rows, |r| r.symbol.and(r.d.name_id)));
        tx.execute(query).await?;
    }
    Ok(())
}
