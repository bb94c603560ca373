//! `symbols` and `name_changes`: the names in files, written with them, and the names that an index run has to resolve again.

use std::collections::{BTreeSet, HashMap};

use super::columns::FlatLists;
use super::file_write::FileWrite;
use super::index_state::{self, Fence};
use crate::postgres::{Row, sql};
use crate::transaction::ProjectTx;
use contract::Fault;

pub use super::file_write::SymbolsWrite;

/// The hash of the name in an offer.
fn name_of(offer: i64) -> i32 {
    (offer >> 32) as i32
}

/// The id of a symbol: a hash of its repository, the path of its file, its qualified name, and its position among the symbols of
/// the file with that name. Edits elsewhere in the file do not change it.
#[must_use]
pub fn symbol_id(repository_id: i64, path: &str, qualified: &str, ordinal: u32) -> i64 {
    hash(&[
        &repository_id.to_le_bytes(),
        path.as_bytes(),
        &[0],
        qualified.as_bytes(),
        &[0],
        &ordinal.to_le_bytes(),
    ])
}

/// The id of a file as a symbol: the source of uses outside of its definitions.
#[must_use]
pub fn file_symbol_id(repository_id: i64, path: &str) -> i64 {
    hash(&[&repository_id.to_le_bytes(), path.as_bytes(), &[1]])
}

/// The id of a name that is used without a known definition. Languages of one family share their names.
#[must_use]
pub fn used_name_id(repository_id: i64, family: &str, name: &str) -> i64 {
    hash(&[&repository_id.to_le_bytes(), family.as_bytes(), &[2], name.as_bytes()])
}

fn hash(parts: &[&[u8]]) -> i64 {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(part);
    }
    let mut first = [0; 8];
    first.copy_from_slice(&hasher.finalize().as_bytes()[..8]);
    i64::from_le_bytes(first)
}

/// The symbols of a file's definitions, in order of chunk and definition; `None` for those that are not names of code.
pub(super) fn of_definitions(repository_id: i64, file: &FileWrite) -> Vec<Vec<Option<i64>>> {
    let mut equals: HashMap<&str, u32> = HashMap::new();
    let mut symbol = |qualified| {
        let ordinal = equals.entry(qualified).or_default();
        *ordinal += 1;
        symbol_id(repository_id, &file.path, qualified, *ordinal - 1)
    };
    let chunks = file.chunks.iter();
    let definitions = chunks.map(|chunk| {
        let named = chunk.definitions.iter();
        named.map(|one| one.name_id.map(|_| symbol(one.qualified.as_str()))).collect()
    });
    definitions.collect()
}

/// Replaces the symbols of files, and records which names thereby changed their meaning.
pub(super) async fn write(
    tx: &mut ProjectTx,
    repository_id: i64,
    files: &[(i64, &FileWrite)],
) -> Result<(), Fault> {
    let ids: Vec<i64> = files.iter().map(|(id, _)| *id).collect();
    let text =
        format!("SELECT file_id, language, offers FROM {} WHERE file_id = ANY($1)", tx.table("symbols"));
    let rows = tx.tx.all(sql(text).bind(&ids)).await?;
    let mut before = HashMap::with_capacity(rows.len());
    for row in &rows {
        let of_file: (String, Vec<i64>) = (row.try_get("language")?, row.try_get("offers")?);
        before.insert(row.try_get::<i64>("file_id")?, of_file);
    }
    let written: Vec<(i64, &FileWrite, &SymbolsWrite)> =
        files.iter().filter_map(|(id, file)| Some((*id, *file, file.symbols.as_ref()?))).collect();
    if before.is_empty() && written.is_empty() {
        return Ok(());
    }
    let changes = files.iter().filter_map(|(id, file)| {
        let (language, old) =
            before.get(id).map(|(language, old)| (language.as_str(), old.as_slice())).unzip();
        let new = file.symbols.as_ref().map(|symbols| symbols.offers.as_slice()).unwrap_or_default();
        let names = changed_names(old.unwrap_or_default(), new);
        let language = file.language.or(language).unwrap_or_default();
        (!names.is_empty()).then_some((*id, language, names))
    });
    record_changes(tx, repository_id, changes.collect()).await?;
    let text = format!("DELETE FROM {} WHERE file_id = ANY($1)", tx.table("symbols"));
    tx.execute(sql(text).bind(&ids)).await?;
    insert(tx, repository_id, &written).await
}

/// Names that only one of two files offers, or that mean something else in the other.
fn changed_names(old: &[i64], new: &[i64]) -> Vec<i32> {
    let (old, new): (BTreeSet<i64>, BTreeSet<i64>) =
        (old.iter().copied().collect(), new.iter().copied().collect());
    let names: BTreeSet<i32> = old.symmetric_difference(&new).map(|offer| name_of(*offer)).collect();
    names.into_iter().collect()
}

/// Records changed names of files, unless nothing of the repository was resolved yet and so all of it has to be.
async fn record_changes(
    tx: &mut ProjectTx,
    repository_id: i64,
    changes: Vec<(i64, &str, Vec<i32>)>,
) -> Result<(), Fault> {
    if changes.is_empty() {
        return Ok(());
    }
    let text = format!(
        "INSERT INTO {changes} AS c (file_id, repository_id, language, names) \
         SELECT t.file_id, r.id, t.language, ($2::int4[])[t.first:t.last] \
         FROM unnest($3::int8[], $4::text[], $5::int4[], $6::int4[]) AS t (file_id, language, first, last) \
         JOIN {repositories} r ON r.id = $1 AND r.navigation_version <> 0 \
         ON CONFLICT (file_id) DO UPDATE SET names = c.names || excluded.names",
        changes = tx.table("name_changes"),
        repositories = tx.table("repositories"),
    );
    let (ids, languages): (Vec<i64>, Vec<&str>) =
        changes.iter().map(|(id, language, _)| (*id, *language)).unzip();
    let names = FlatLists::from_lists(changes.into_iter().map(|(.., names)| names));
    let query = sql(text).bind(repository_id).bind(names.all).bind(ids).bind(languages);
    tx.execute(query.bind(names.first).bind(names.last)).await?;
    Ok(())
}

async fn insert(
    tx: &mut ProjectTx,
    repository_id: i64,
    written: &[(i64, &FileWrite, &SymbolsWrite)],
) -> Result<(), Fault> {
    if written.is_empty() {
        return Ok(());
    }
    let text = format!(
        "INSERT INTO {} (file_id, repository_id, language, interface, body, offers, mentions, truncated, \
           resolved, scip_uses, resolved_uses, name_uses) \
         SELECT t.file_id, $1, t.language, t.interface, t.body, ($2::int8[])[t.offers:t.offers_last], \
           ($3::int4[])[t.mentions:t.mentions_last], t.truncated, t.interface IS NULL, 0, 0, 0 \
         FROM unnest($4::int8[], $5::text[], $6::bytea[], $7::bytea[], $8::int4[], $9::int4[], $10::int4[], \
           $11::int4[], $12::bool[]) AS t (file_id, language, interface, body, offers, offers_last, \
           mentions, mentions_last, truncated)",
        tx.table("symbols")
    );
    let offers = FlatLists::from_lists(written.iter().map(|(.., symbols)| symbols.offers.clone()));
    let mentions = FlatLists::from_lists(written.iter().map(|(.., symbols)| symbols.mentions.clone()));
    let halves = written.iter().map(|(.., symbols)| {
        symbols.halves.as_ref().map(|(interface, body)| (interface.as_slice(), body.as_slice())).unzip()
    });
    let (interfaces, bodies): (Vec<_>, Vec<_>) = halves.unzip();
    let query = sql(text)
        .bind(repository_id)
        .bind(offers.all)
        .bind(mentions.all)
        .bind(written.iter().map(|(id, ..)| *id).collect::<Vec<_>>())
        .bind(written.iter().map(|(_, file, _)| file.language.unwrap_or_default()).collect::<Vec<_>>())
        .bind(interfaces)
        .bind(bodies)
        .bind(offers.first)
        .bind(offers.last)
        .bind(mentions.first)
        .bind(mentions.last)
        .bind(written.iter().map(|(.., symbols)| symbols.truncated).collect::<Vec<_>>());
    tx.execute(query).await?;
    Ok(())
}

/// Records that names of files which are about to be removed lose their meaning. Their symbols are still stored.
pub(super) async fn record_removal(tx: &mut ProjectTx, file_ids: &[i64]) -> Result<(), Fault> {
    let text = format!(
        "INSERT INTO {changes} AS c (file_id, repository_id, language, names) \
         SELECT s.file_id, s.repository_id, s.language, ARRAY(SELECT DISTINCT (o >> 32)::int4 FROM unnest(s.offers) o \
           ORDER BY 1) \
         FROM {symbols} s JOIN {repositories} r ON r.id = s.repository_id AND r.navigation_version <> 0 \
         WHERE s.file_id = ANY($1) \
         ON CONFLICT (file_id) DO UPDATE SET names = c.names || excluded.names",
        changes = tx.table("name_changes"),
        symbols = tx.table("symbols"),
        repositories = tx.table("repositories"),
    );
    tx.execute(sql(text).bind(file_ids)).await?;
    Ok(())
}

/// The unresolved files and names of a repository, for an index run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Unresolved {
    /// The version of the resolver that all uses were resolved with; 0 before the first time.
    pub version: i32,
    /// Files whose own uses are not resolved, with their language; sorted by id.
    pub files: Vec<(String, i64)>,
    /// Hashes of names that changed their meaning since, with the language of the file that changed them; sorted.
    pub names: Vec<(String, i32)>,
}

/// Reads the unresolved files and names of a repository.
pub async fn unresolved(tx: &mut ProjectTx, repository_id: i64) -> Result<Unresolved, Fault> {
    let text = format!("SELECT navigation_version FROM {} WHERE id = $1", tx.table("repositories"));
    let version = tx.tx.scalar(sql(text).bind(repository_id)).await?;
    let text = format!(
        "SELECT language, file_id FROM {} WHERE repository_id = $1 AND NOT resolved ORDER BY file_id",
        tx.table("symbols")
    );
    let rows = tx.tx.all(sql(text).bind(repository_id)).await?;
    let file = |row: &Row| Ok((row.try_get("language")?, row.try_get("file_id")?));
    let files = rows.iter().map(file).collect::<Result<_, Fault>>()?;
    let text = format!(
        "SELECT DISTINCT c.language, n.name \
         FROM {} c CROSS JOIN unnest(c.names) AS n (name) \
         WHERE c.repository_id = $1 ORDER BY c.language, n.name",
        tx.table("name_changes")
    );
    let rows = tx.tx.all(sql(text).bind(repository_id)).await?;
    let name = |row: &Row| Ok((row.try_get("language")?, row.try_get("name")?));
    Ok(Unresolved { version, files, names: rows.iter().map(name).collect::<Result<_, Fault>>()? })
}

/// A file's interface.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InterfaceRow {
    /// Id of the file.
    pub file_id: i64,
    /// Path, relative to the root.
    pub path: String,
    /// Its language.
    pub language: String,
    /// blake3 of its bytes.
    pub content_hash: Vec<u8>,
    /// The interface, serialised.
    pub interface: Vec<u8>,
}

/// Bytes of the stored interfaces of a repository, by language.
pub async fn interface_bytes(tx: &mut ProjectTx, repository_id: i64) -> Result<Vec<(String, i64)>, Fault> {
    let text = format!(
        "SELECT language, sum(octet_length(interface))::int8 AS bytes \
         FROM {} WHERE repository_id = $1 AND interface IS NOT NULL GROUP BY language ORDER BY language",
        tx.table("symbols")
    );
    let rows = tx.tx.all(sql(text).bind(repository_id)).await?;
    rows.iter().map(|row| Ok((row.try_get("language")?, row.try_get("bytes")?))).collect()
}

/// The interfaces of the files of some languages after a path, in order of paths; at most `limit`.
pub async fn interfaces(
    tx: &mut ProjectTx,
    repository_id: i64,
    languages: &[&str],
    after: &str,
    limit: i64,
) -> Result<Vec<InterfaceRow>, Fault> {
    let text = format!(
        "SELECT s.file_id, f.path, s.language, f.content_hash, s.interface \
         FROM {symbols} s JOIN {files} f ON f.id = s.file_id \
         WHERE s.repository_id = $1 AND s.language = ANY($2) AND s.interface IS NOT NULL \
           AND f.repository_id = $1 AND f.path > $3 \
         ORDER BY f.path LIMIT $4",
        symbols = tx.table("symbols"),
        files = tx.table("files"),
    );
    let query = sql(text).bind(repository_id).bind(languages).bind(after).bind(limit);
    let rows = tx.tx.all(query).await?;
    rows.iter()
        .map(|row| {
            Ok(InterfaceRow {
                file_id: row.try_get("file_id")?,
                path: row.try_get("path")?,
                language: row.try_get("language")?,
                content_hash: row.try_get("content_hash")?,
                interface: row.try_get("interface")?,
            })
        })
        .collect()
}

/// The interfaces of files, as (file, bytes).
pub async fn interfaces_of(tx: &mut ProjectTx, file_ids: &[i64]) -> Result<Vec<(i64, Vec<u8>)>, Fault> {
    let text = format!(
        "SELECT file_id, interface FROM {} WHERE file_id = ANY($1) AND interface IS NOT NULL",
        tx.table("symbols")
    );
    let rows = tx.tx.all(sql(text).bind(file_ids)).await?;
    rows.iter().map(|row| Ok((row.try_get("file_id")?, row.try_get("interface")?))).collect()
}

/// The other halves of files, as (file, bytes).
pub async fn bodies(tx: &mut ProjectTx, file_ids: &[i64]) -> Result<Vec<(i64, Vec<u8>)>, Fault> {
    let text = format!(
        "SELECT file_id, body FROM {} WHERE file_id = ANY($1) AND body IS NOT NULL",
        tx.table("symbols")
    );
    let rows = tx.tx.all(sql(text).bind(file_ids)).await?;
    rows.iter().map(|row| Ok((row.try_get("file_id")?, row.try_get("body")?))).collect()
}

/// Both halves of a file's symbols, serialised.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HalvesRow {
    /// Id of the file.
    pub file_id: i64,
    /// Its repository.
    pub repository_id: i64,
    /// Its language.
    pub language: String,
    /// Path, relative to the root.
    pub path: String,
    /// The interface.
    pub interface: Vec<u8>,
    /// The body.
    pub body: Vec<u8>,
}

/// Both halves of the symbols of files, in order of their paths.
pub async fn halves(tx: &mut ProjectTx, file_ids: &[i64]) -> Result<Vec<HalvesRow>, Fault> {
    let text = format!(
        "SELECT s.file_id, s.repository_id, s.language, f.path, s.interface, s.body \
         FROM {symbols} s JOIN {files} f ON f.id = s.file_id \
         WHERE s.file_id = ANY($1) AND s.interface IS NOT NULL AND s.body IS NOT NULL ORDER BY f.path",
        symbols = tx.table("symbols"),
        files = tx.table("files"),
    );
    let rows = tx.tx.all(sql(text).bind(file_ids)).await?;
    rows.iter()
        .map(|row| {
            Ok(HalvesRow {
                file_id: row.try_get("file_id")?,
                repository_id: row.try_get("repository_id")?,
                language: row.try_get("language")?,
                path: row.try_get("path")?,
                interface: row.try_get("interface")?,
                body: row.try_get("body")?,
            })
        })
        .collect()
}

/// The files of a repository that mention one of these names.
pub async fn mentioning(tx: &mut ProjectTx, repository_id: i64, names: &[i32]) -> Result<Vec<i64>, Fault> {
    let text = format!(
        "SELECT file_id FROM {} WHERE repository_id = $1 AND mentions && $2 ORDER BY file_id",
        tx.table("symbols")
    );
    tx.tx.scalars(sql(text).bind(repository_id).bind(names)).await
}

/// A symbol with the place of its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PlacedSymbol {
    /// Line of the name, 1-based.
    pub line: i32,
    /// Column of the name in characters, 1-based.
    pub column: i32,
    /// The symbol.
    pub symbol: i64,
    /// First line of the definition, including attributes, 1-based.
    pub start_line: i32,
    /// Last line, 1-based and inclusive.
    pub end_line: i32,
}

/// The symbols of files, as (file, symbols by place).
pub async fn placed(tx: &mut ProjectTx, file_ids: &[i64]) -> Result<HashMap<i64, Vec<PlacedSymbol>>, Fault> {
    let text = format!(
        "SELECT file_id, line, name_column, symbol, start_line, end_line \
         FROM {} WHERE file_id = ANY($1) AND symbol IS NOT NULL \
         ORDER BY file_id, line, name_column, symbol",
        tx.table("definitions")
    );
    let rows = tx.tx.all(sql(text).bind(file_ids)).await?;
    let mut all: HashMap<i64, Vec<PlacedSymbol>> = HashMap::new();
    for row in &rows {
        let placed = PlacedSymbol {
            line: row.try_get("line")?,
            column: row.try_get("name_column")?,
            symbol: row.try_get("symbol")?,
            start_line: row.try_get("start_line")?,
            end_line: row.try_get("end_line")?,
        };
        all.entry(row.try_get("file_id")?).or_default().push(placed);
    }
    Ok(all)
}

/// Records that all uses of a repository are resolved.
///
/// # Errors
/// `ILLEGAL_STATE` when another run took over.
pub async fn set_resolved(
    tx: &mut ProjectTx,
    fence: Fence,
    repository_id: i64,
    version: i32,
) -> Result<(), Fault> {
    index_state::check_fence(tx, fence).await?;
    let text = format!("DELETE FROM {} WHERE repository_id = $1", tx.table("name_changes"));
    tx.execute(sql(text).bind(repository_id)).await?;
    let text = format!(
        "UPDATE {} SET navigation_version = $2 WHERE id = $1 AND navigation_version <> $2",
        tx.table("repositories")
    );
    tx.execute(sql(text).bind(repository_id).bind(version)).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer(name: i32, meaning: u32) -> i64 {
        (i64::from(name) << 32) | i64::from(meaning)
    }

    #[test]
    fn a_name_changes_with_its_meaning() {
        let (a, b) = (offer(-5, 1), offer(7, 2));
        assert_eq!(changed_names(&[a, b], &[b, a]), Vec::<i32>::new());
        assert_eq!(changed_names(&[a, b], &[a]), [7]);
        assert_eq!(changed_names(&[], &[a, b]), [-5, 7]);
        assert_eq!(changed_names(&[a], &[offer(-5, u32::MAX)]), [-5]);
    }

    #[test]
    fn ids_tell_apart_what_differs() {
        let ids = [
            symbol_id(1, "a", "f", 0),
            symbol_id(2, "a", "f", 0),
            symbol_id(1, "b", "f", 0),
            symbol_id(1, "a", "g", 0),
            symbol_id(1, "a", "f", 1),
            file_symbol_id(1, "a"),
            used_name_id(1, "a", "f"),
        ];
        assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len());
    }
}
