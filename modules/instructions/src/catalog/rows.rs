//! Rows of the store to entries, and back.

use contract::Fault;
use instructions::entry::SCHEMA_VERSION;
use instructions::import::Write;
use instructions::{Audience, Instruction, Requirement, Stored};
use store::instructions::{EntryRow, EntryWrite};

/// The entry in a row.
pub(super) fn stored(row: EntryRow) -> Result<Stored, Fault> {
    let malformed = |field: &str| {
        let cause = format!("{field} of {} is not one that this program writes", row.id);
        Fault::internal("An entry of the catalog is malformed.", cause)
    };
    let audience = Audience::parse(&row.audience).ok_or_else(|| malformed("audience"))?;
    let requirement = Requirement::parse(&row.requirement).ok_or_else(|| malformed("requirement"))?;
    let priority = u8::try_from(row.priority).map_err(|_| malformed("priority"))?;
    Ok(Stored {
        instruction: Instruction {
            id: row.id,
            title: row.title,
            body: row.body,
            rationale: row.rationale,
            priority,
            audience,
            requirement,
            categories: row.categories,
            deprecated_by: row.deprecated_by,
        },
        source_hash: row.source_hash,
        meta_hash: row.meta_hash,
        created_ms: row.created_ms,
        updated_ms: row.updated_ms,
    })
}

/// The row of an entry that is written at `now_ms`.
pub(super) fn written(write: &Write, now_ms: i64) -> EntryWrite {
    let entry = &write.instruction;
    let row = EntryRow {
        id: entry.id.clone(),
        title: entry.title.clone(),
        body: entry.body.clone(),
        rationale: entry.rationale.clone(),
        priority: entry.priority.into(),
        audience: entry.audience.as_str().to_owned(),
        requirement: entry.requirement.as_str().to_owned(),
        categories: entry.categories.clone(),
        deprecated_by: entry.deprecated_by.clone(),
        source_hash: entry.source_hash(),
        meta_hash: entry.meta_hash(),
        schema_version: SCHEMA_VERSION.to_owned(),
        created_ms: write.created_ms,
        updated_ms: now_ms,
    };
    EntryWrite { row, folded: entry.folded() }
}
