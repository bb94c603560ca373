//! `uses`: the uses of definitions, and of names whose definition is not known, by definitions and files.

use super::columns::FlatLists;
use super::index_state::{self, Fence};
use crate::postgres::{Row, sql};
use crate::transaction::ProjectTx;
use contract::Fault;

/// The kind of a use. A mask of kinds is the sum of their bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum UsedFor {
    /// It is called, or instantiated.
    Call = 0,
    /// It is read.
    Read = 1,
    /// It is assigned.
    Write = 2,
    /// It is imported.
    Import = 3,
    /// It is named as a type.
    Type = 4,
    /// A type derives from it or implements it.
    Inherit = 5,
    /// A method overrides or implements it; the place is that of the method's name.
    Override = 6,
}

impl UsedFor {
    /// All kinds, in order of their numbers.
    pub const ALL: [Self; 7] =
        [Self::Call, Self::Read, Self::Write, Self::Import, Self::Type, Self::Inherit, Self::Override];
    /// The mask of all kinds.
    pub const ANY: i16 = (1 << 7) - 1;

    /// Its bit in a mask.
    #[must_use]
    pub fn bit(self) -> i16 {
        1 << (self as u8)
    }
}

/// The certainty that a use means its target; a smaller number is more certain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Certainty {
    /// A compiler or type checker said so, in an uploaded SCIP index of the same text.
    Scip = 1,
    /// Scopes, imports and types of the text say so.
    Resolved = 2,
    /// Only the name is known.
    Name = 3,
}

impl Certainty {
    pub(super) fn parse(number: i16) -> Self {
        match number {
            1 => Self::Scip,
            2 => Self::Resolved,
            _ => Self::Name,
        }
    }

    /// Its number in the database.
    #[must_use]
    pub fn number(self) -> i16 {
        i16::from(self as u8)
    }
}

/// The place of a use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UsePlace {
    /// Line, 1-based.
    pub line: u32,
    /// Column in characters, 1-based; at most 1,048,575.
    pub column: u32,
    /// The kind of use.
    pub kind: UsedFor,
}

/// Largest column of a place.
const COLUMN_MAX: u32 = (1 << 20) - 1;

impl UsePlace {
    pub(super) fn encode(self) -> i64 {
        (i64::from(self.line) << 24)
            | (i64::from(self.column.min(COLUMN_MAX)) << 4)
            | i64::from(self.kind as u8)
    }

    /// `None` for a number that is not a place; it may come from an archive.
    pub(super) fn decode(place: i64) -> Option<Self> {
        Some(Self {
            line: u32::try_from(place >> 24).ok()?,
            column: u32::try_from((place >> 4) & i64::from(COLUMN_MAX)).ok()?,
            kind: *UsedFor::ALL.get(usize::try_from(place & 15).ok()?)?,
        })
    }
}

/// The target of a use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum UseTarget {
    /// A symbol.
    Symbol(i64),
    /// A name, as [`super::symbols::used_name_id`], whose definition is not known.
    Name(i64),
}

/// All uses of one target by one source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UseWrite {
    /// The symbol of the definition around it, or of the file.
    pub source: i64,
    /// The target.
    pub target: UseTarget,
    /// The certainty of the target.
    pub certainty: Certainty,
    /// The places, sorted; at least one.
    pub places: Vec<UsePlace>,
}

/// Maximum number of rows of one INSERT.
const ROWS_MAX: usize = 4000;

/// Replaces the uses of files, as (file, uses), and records that these are resolved.
///
/// # Errors
/// `ILLEGAL_STATE` when another run took over.
pub async fn replace(tx: &mut ProjectTx, fence: Fence, files: &[(i64, Vec<UseWrite>)]) -> Result<(), Fault> {
    index_state::check_fence(tx, fence).await?;
    let ids: Vec<i64> = files.iter().map(|(id, _)| *id).collect();
    remove(tx, &ids).await?;
    let rows: Vec<(i64, usize, &UseWrite)> = files
        .iter()
        .flat_map(|(id, uses)| uses.iter().enumerate().map(|(ordinal, one)| (*id, ordinal, one)))
        .collect();
    for rows in rows.chunks(ROWS_MAX) {
        insert(tx, rows).await?;
    }
    let text = format!(
        "UPDATE {} s SET resolved = true, scip_uses = t.scip, resolved_uses = t.resolved, name_uses = t.name \
         FROM unnest($1::int8[], $2::int4[], $3::int4[], $4::int4[]) AS t (file_id, scip, resolved, name) \
         WHERE s.file_id = t.file_id",
        tx.table("symbols")
    );
    let count = |certainty: Certainty| -> Vec<i32> {
        let number = |uses: &[UseWrite]| uses.iter().filter(|one| one.certainty == certainty).count();
        files.iter().map(|(_, uses)| i32::try_from(number(uses)).unwrap_or(i32::MAX)).collect()
    };
    let query = sql(text).bind(ids).bind(count(Certainty::Scip)).bind(count(Certainty::Resolved));
    tx.execute(query.bind(count(Certainty::Name))).await?;
    Ok(())
}

/// Removes the uses in files.
pub(super) async fn remove(tx: &mut ProjectTx, file_ids: &[i64]) -> Result<(), Fault> {
    let text = format!("DELETE FROM {} WHERE file_id = ANY($1)", tx.table("uses"));
    tx.execute(sql(text).bind(file_ids)).await?;
    Ok(())
}

async fn insert(tx: &mut ProjectTx, rows: &[(i64, usize, &UseWrite)]) -> Result<(), Fault> {
    let text = format!(
        "INSERT INTO {} (file_id, ordinal, source, target, name, certainty, kinds, places) \
         SELECT t.file_id, t.ordinal, t.source, t.target, t.name, t.certainty, t.kinds, \
           ($1::int8[])[t.first:t.last] \
         FROM unnest($2::int8[], $3::int4[], $4::int8[], $5::int8[], $6::int8[], $7::int2[], $8::int2[], \
           $9::int4[], $10::int4[]) AS t (file_id, ordinal, source, target, name, certainty, kinds, first, \
           last)",
        tx.table("uses")
    );
    let places = rows.iter().map(|(.., one)| one.places.iter().map(|place| place.encode()).collect());
    let places = FlatLists::from_lists(places);
    let (targets, names): (Vec<Option<i64>>, Vec<Option<i64>>) = rows
        .iter()
        .map(|(.., one)| match one.target {
            UseTarget::Symbol(symbol) => (Some(symbol), None),
            UseTarget::Name(name) => (None, Some(name)),
        })
        .unzip();
    let kinds = |one: &UseWrite| one.places.iter().fold(0, |mask, place| mask | place.kind.bit());
    let query = sql(text)
        .bind(places.all)
        .bind(rows.iter().map(|(file, ..)| *file).collect::<Vec<_>>())
        .bind(rows.iter().map(|(_, at, _)| i32::try_from(*at).unwrap_or(i32::MAX)).collect::<Vec<_>>())
        .bind(rows.iter().map(|(.., one)| one.source).collect::<Vec<_>>())
        .bind(targets)
        .bind(names)
        .bind(rows.iter().map(|(.., one)| one.certainty.number()).collect::<Vec<_>>())
        .bind(rows.iter().map(|(.., one)| kinds(one)).collect::<Vec<_>>())
        .bind(places.first)
        .bind(places.last);
    tx.execute(query).await?;
    Ok(())
}

/// All uses of one target by one source, as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UseRow {
    /// The file in which it is.
    pub file_id: i64,
    /// Repository of the file.
    pub repository_id: i64,
    /// Path of the file, relative to the root of its repository.
    pub path: String,
    /// Language of the file.
    pub language: Option<String>,
    /// The symbol of the definition around it, or of the file ([`super::symbols::file_symbol_id`]).
    pub source: i64,
    /// The target.
    pub target: UseTarget,
    /// The certainty of the target.
    pub certainty: Certainty,
    /// Mask of the kinds of use.
    pub kinds: i16,
    /// The places, sorted; the first 200.
    pub places: Vec<UsePlace>,
    /// Number of all places.
    pub count: i32,
}

/// Conditions on uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Uses {
    /// Mask of [`UsedFor`]: uses of at least one of these kinds. Their rows list all their places.
    pub kinds: i16,
    /// At least as certain as this.
    pub certainty: Certainty,
    /// Maximum number of rows.
    pub limit: i64,
}

const ROW: &str = "u.file_id, f.repository_id, f.path, f.language, u.source, u.target, u.name, u.certainty, \
      u.kinds, u.places[1:200] AS places, coalesce(cardinality(u.places), 0) AS count";

/// Uses of symbols, the more certain ones first, then by path.
pub async fn of_targets(tx: &mut ProjectTx, targets: &[i64], wanted: Uses) -> Result<Vec<UseRow>, Fault> {
    let text = format!(
        "SELECT {ROW} \
         FROM {uses} u JOIN {files} f ON f.id = u.file_id \
         WHERE u.target = ANY($1) AND u.kinds & $2 <> 0 AND u.certainty <= $3 \
         ORDER BY u.certainty, f.repository_id, f.path, u.ordinal LIMIT $4",
        uses = tx.table("uses"),
        files = tx.table("files"),
    );
    let query = sql(text).bind(targets).bind(wanted.kinds).bind(wanted.certainty.number()).bind(wanted.limit);
    tx.tx.all(query).await?.iter().map(decode).collect()
}

/// Uses of names whose definition is not known, by path. The ids are those of [`super::symbols::used_name_id`].
pub async fn of_names(
    tx: &mut ProjectTx,
    names: &[i64],
    kinds: i16,
    limit: i64,
) -> Result<Vec<UseRow>, Fault> {
    let text = format!(
        "SELECT {ROW} \
         FROM {uses} u JOIN {files} f ON f.id = u.file_id \
         WHERE u.name = ANY($1) AND u.kinds & $2 <> 0 \
         ORDER BY f.repository_id, f.path, u.ordinal LIMIT $3",
        uses = tx.table("uses"),
        files = tx.table("files"),
    );
    let query = sql(text).bind(names).bind(kinds).bind(limit);
    tx.tx.all(query).await?.iter().map(decode).collect()
}

/// Returns the uses in some definitions of a file, or in the whole file if `sources` is empty, in the order of the text.
pub async fn of_sources(
    tx: &mut ProjectTx,
    file_id: i64,
    sources: &[i64],
    wanted: Uses,
) -> Result<Vec<UseRow>, Fault> {
    let text = format!(
        "SELECT {ROW} \
         FROM {uses} u JOIN {files} f ON f.id = u.file_id \
         WHERE u.file_id = $1 AND (cardinality($2::int8[]) = 0 OR u.source = ANY($2)) \
           AND u.kinds & $3 <> 0 AND u.certainty <= $4 \
         ORDER BY u.places[1], u.ordinal LIMIT $5",
        uses = tx.table("uses"),
        files = tx.table("files"),
    );
    let query = sql(text).bind(file_id).bind(sources).bind(wanted.kinds).bind(wanted.certainty.number());
    tx.tx.all(query.bind(wanted.limit)).await?.iter().map(decode).collect()
}

/// A user of a symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct UsedBy {
    /// The symbol that uses it, or that of a file.
    pub source: i64,
    /// File of the source.
    pub file_id: i64,
    /// The symbol that is used.
    pub target: i64,
    /// The certainty of the target.
    pub certainty: Certainty,
}

/// Returns the users of these symbols: one row for each source and target, the more certain ones first. For a walk over several levels,
/// call it once for each level with the sources of the level before.
pub async fn sources_of(tx: &mut ProjectTx, targets: &[i64], wanted: Uses) -> Result<Vec<UsedBy>, Fault> {
    let text = format!(
        "SELECT u.source, u.file_id, u.target, u.certainty \
         FROM {} u \
         WHERE u.target = ANY($1) AND u.kinds & $2 <> 0 AND u.certainty <= $3 \
         ORDER BY u.certainty, u.file_id, u.ordinal LIMIT $4",
        tx.table("uses")
    );
    let query = sql(text).bind(targets).bind(wanted.kinds).bind(wanted.certainty.number()).bind(wanted.limit);
    let rows = tx.tx.all(query).await?;
    rows.iter()
        .map(|row| {
            Ok(UsedBy {
                source: row.try_get("source")?,
                file_id: row.try_get("file_id")?,
                target: row.try_get("target")?,
                certainty: Certainty::parse(row.try_get("certainty")?),
            })
        })
        .collect()
}

/// A number of uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UseCount {
    /// The target: one of those that were asked for.
    pub target: UseTarget,
    /// The certainty of the target.
    pub certainty: Certainty,
    /// Definitions and files that use it.
    pub sources: i64,
    /// Files in which it is used.
    pub files: i64,
    /// Places at which it is used.
    pub places: i64,
}

/// Numbers of uses of symbols and of names, by certainty; those without any are missing. A source that uses a symbol several
/// times counts once, all its places count.
pub async fn count(
    tx: &mut ProjectTx,
    targets: &[i64],
    names: &[i64],
    kinds: i16,
) -> Result<Vec<UseCount>, Fault> {
    let text = format!(
        "SELECT u.target, u.name, u.certainty, count(*) AS sources, count(DISTINCT u.file_id) AS files, \
           coalesce(sum(cardinality(u.places)), 0)::int8 AS places \
         FROM {} u \
         WHERE (u.target = ANY($1) OR u.name = ANY($2)) AND u.kinds & $3 <> 0 \
         GROUP BY u.target, u.name, u.certainty ORDER BY u.target, u.name, u.certainty",
        tx.table("uses")
    );
    let rows = tx.tx.all(sql(text).bind(targets).bind(names).bind(kinds)).await?;
    rows.iter()
        .map(|row| {
            Ok(UseCount {
                target: target(row)?,
                certainty: Certainty::parse(row.try_get("certainty")?),
                sources: row.try_get("sources")?,
                files: row.try_get("files")?,
                places: row.try_get("places")?,
            })
        })
        .collect()
}

/// Numbers of places at which names are used whose definition is not known; those without any are missing.
pub async fn count_names(tx: &mut ProjectTx, names: &[i64], kinds: i16) -> Result<Vec<(i64, i64)>, Fault> {
    let text = format!(
        "SELECT u.name, count(*) AS places FROM {} u CROSS JOIN unnest(u.places) AS p (place) \
         WHERE u.name = ANY($1) AND (1::int8 << (p.place & 15)::int4) & $2::int8 <> 0 \
         GROUP BY u.name ORDER BY places DESC, u.name",
        tx.table("uses")
    );
    let rows = tx.tx.all(sql(text).bind(names).bind(kinds)).await?;
    rows.iter().map(|row| Ok((row.try_get("name")?, row.try_get("places")?))).collect()
}

fn target(row: &Row) -> Result<UseTarget, Fault> {
    Ok(match row.try_get::<Option<i64>>("target")? {
        Some(symbol) => UseTarget::Symbol(symbol),
        None => UseTarget::Name(row.try_get::<Option<i64>>("name")?.unwrap_or_default()),
    })
}

/// Decodes a row of [`ROW`].
fn decode(row: &Row) -> Result<UseRow, Fault> {
    let places: Vec<Option<i64>> = row.try_get("places")?;
    Ok(UseRow {
        file_id: row.try_get("file_id")?,
        repository_id: row.try_get("repository_id")?,
        path: row.try_get("path")?,
        language: row.try_get("language")?,
        source: row.try_get("source")?,
        target: target(row)?,
        certainty: Certainty::parse(row.try_get("certainty")?),
        kinds: row.try_get("kinds")?,
        places: places.into_iter().flatten().filter_map(UsePlace::decode).collect(),
        count: row.try_get("count")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_survive_encoding_in_order() {
        let places = [
            UsePlace { line: 1, column: 1, kind: UsedFor::Override },
            UsePlace { line: 1, column: COLUMN_MAX, kind: UsedFor::Call },
            UsePlace { line: 2, column: 1, kind: UsedFor::Call },
            UsePlace { line: u32::MAX, column: 7, kind: UsedFor::Import },
        ];
        assert!(places.is_sorted_by_key(|place| place.encode()));
        for place in places {
            assert_eq!(UsePlace::decode(place.encode()), Some(place));
        }
        assert_eq!(UsePlace::decode(-1), None);
        assert_eq!(UsePlace::decode(9), None);
    }
}
