//! Looks up the definitions that a name means: first in the spelling that was asked for, and only without a match by its letters.

use crate::search::query::symbol_name::{Reading, SymbolName};
use contract::Fault;
use languages::facts::DEFINED;
use languages::{Closeness, fold, spellings_of_name};
use store::navigation::{DefinitionAt, NamedDefinitions, find_definitions};
use store::{ProjectTx, fact_id};

/// Definitions that a text means.
pub(crate) struct Looked {
    /// The reading of the text that matches them.
    pub(crate) reading: Reading,
    /// The definitions that fit best, sorted by path and line; never empty.
    pub(crate) definitions: Vec<DefinitionAt>,
    /// `true` if there may be more.
    pub(crate) is_least: bool,
    /// Agreement of their spelling with the one that was asked for.
    pub(crate) closeness: Closeness,
}

/// Conditions on the definitions to look up.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted<'a> {
    /// In these repositories.
    pub(crate) repositories: &'a [i64],
    /// Path of the file, or the end of it, in addition to the path of the reading.
    pub(crate) path: Option<&'a str>,
    /// Line of the name.
    pub(crate) line: Option<i32>,
    /// Maximum number of definitions.
    pub(crate) limit: usize,
}

/// Looks up what a text means: its first reading that a definition has, in the spelling that was asked for before any other.
///
/// # Errors
/// Storage faults.
pub(crate) async fn look_up(
    tx: &mut ProjectTx,
    readings: &[Reading],
    wanted: Wanted<'_>,
) -> Result<Option<Looked>, Fault> {
    for closeness in [Closeness::Same, Closeness::Bare] {
        for reading in readings {
            let (definitions, is_least) = named(tx, reading, wanted, closeness).await?;
            if !definitions.is_empty() {
                return Ok(Some(Looked { reading: reading.clone(), definitions, is_least, closeness }));
            }
        }
    }
    Ok(None)
}

/// Returns the definitions that have a name in a spelling that agrees this much; of these, the ones that fit best.
async fn named(
    tx: &mut ProjectTx,
    reading: &Reading,
    wanted: Wanted<'_>,
    closeness: Closeness,
) -> Result<(Vec<DefinitionAt>, bool), Fault> {
    let name = &reading.name;
    let paths: Vec<&str> = reading.path.as_deref().into_iter().chain(wanted.path).collect();
    let around = name.around();
    let (mut rows, mut is_least) = (Vec::new(), false);
    for (name_id, spelling) in keys(name, closeness) {
        let some = NamedDefinitions {
            repositories: wanted.repositories,
            name_id,
            spelling: spelling.as_deref(),
            paths: &paths,
            around: &around,
            line: wanted.line,
        };
        let found = find_definitions(tx, some, wanted.limit).await?;
        is_least |= found.is_least;
        rows.extend(found.rows);
    }
    rows.retain(|row| name.closeness(row) == Some(closeness));
    let best = rows.iter().map(|row| name.fit(row)).max();
    rows.retain(|row| Some(name.fit(row)) == best);
    Ok((rows, is_least))
}

/// Returns the ids under which definitions of a name are found, each with the only spelling that is wanted.
fn keys(name: &SymbolName, closeness: Closeness) -> Vec<(i64, Option<String>)> {
    let id = |spelling: &str| fact_id(DEFINED, &fold(spelling));
    let spellings = spellings_of_name(name.simple());
    match closeness {
        Closeness::Same => spellings.into_iter().map(|spelling| (id(&spelling), Some(spelling))).collect(),
        Closeness::Bare => {
            let mut ids: Vec<i64> = spellings.iter().map(|spelling| id(spelling)).collect();
            ids.sort_unstable();
            ids.dedup();
            ids.into_iter().map(|id| (id, None)).collect()
        }
    }
}
