//! `integrity/verify`: whether somebody changed bodies or hashes behind the server's back.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::duplicates::{SimilarPair, similar_pairs};
use super::open::open;
use super::spec::reading;
use super::stale::{StaleEntry, stale_entries};
use crate::catalog::Catalog;
use crate::tools::project_id_arg::ProjectIdArg;
use crate::tools::spec::run_typed;
use crate::tools::{Call, ToolSpec, schema};
use contract::Fault;
use instructions::diff::catalog_hashes;
use platform::sha256;

pub(crate) const TOOL: ToolSpec = reading(
    (
        "integrity_verify",
        "integrity/verify",
        "Verify instructions",
        "Find instructions that were changed in the database, that name what the code no longer has, or that say the same twice. \
         Changes nothing.",
    ),
    schema::generate_schema::<Input>,
    schema::generate_output_schema::<Output>,
    |call, arguments| run_typed(call, arguments, verify),
);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// Also report entries whose text names files, scripts or symbols that the project's index does not have.
    stale: Option<bool>,
    /// Also report pairs of entries that say nearly the same.
    duplicates: Option<bool>,
    /// Project; default: the session's.
    project_id: Option<ProjectIdArg>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Output {
    /// Stored hash of the catalog.
    hash: String,
    /// Entries.
    count: usize,
    /// Entries whose body does not have the stored hash: id, expected, actual.
    issues: Vec<Issue>,
    /// Number of issues.
    issue_count: usize,
    /// The stored and the actual hash of the catalog, if they differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    catalog_hash: Option<Mismatch>,
    /// Entries with names that the index does not have.
    #[serde(skip_serializing_if = "Option::is_none")]
    stale: Option<Vec<StaleEntry>>,
    /// Pairs of entries that say nearly the same, most similar first.
    #[serde(skip_serializing_if = "Option::is_none")]
    duplicates: Option<Vec<SimilarPair>>,
}

/// An entry that was changed.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Issue {
    /// Its id.
    pub(super) id: String,
    /// The stored hash.
    expected: String,
    /// The hash of its body.
    actual: String,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Mismatch {
    /// The stored hash.
    expected: String,
    /// The hash that follows from the entries.
    actual: String,
}

async fn verify(call: Call, input: Input) -> Result<Output, Fault> {
    let (project, mut catalog) = open(&call, input.project_id.as_deref()).await?;
    let (count, issues) = issues(&mut catalog).await?;
    let actual = catalog_hashes(&catalog.hashes().await?).0;
    let hash = catalog.hash();
    let differs = actual != catalog.state.hash;
    let entries = if input.stale == Some(true) { Some(catalog.all().await?) } else { None };
    catalog.close().await?;
    let stale = match entries {
        Some(entries) => Some(stale_entries(&call, &project, &entries).await?),
        None => None,
    };
    let duplicates = match input.duplicates {
        Some(true) => Some(similar_pairs(&call, &project).await?),
        _ => None,
    };
    let catalog_hash = differs.then(|| Mismatch { expected: hash.clone(), actual: sha256::to_hex(&actual) });
    Ok(Output { hash, count, issue_count: issues.len(), issues, catalog_hash, stale, duplicates })
}

/// The number of entries, and those whose body does not have the stored hash.
pub(super) async fn issues(catalog: &mut Catalog) -> Result<(usize, Vec<Issue>), Fault> {
    let (mut count, mut found, mut after) = (0, Vec::new(), String::new());
    loop {
        let page = catalog.page(&after).await?;
        let Some(last) = page.last() else { return Ok((count, found)) };
        after.clone_from(&last.instruction.id);
        count += page.len();
        for stored in page {
            let actual = stored.instruction.source_hash();
            if actual != stored.source_hash {
                found.push(Issue {
                    id: stored.instruction.id,
                    expected: sha256::to_hex(&stored.source_hash),
                    actual: sha256::to_hex(&actual),
                });
            }
        }
    }
}
