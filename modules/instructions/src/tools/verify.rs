//! `integrity/verify`: detects bodies and hashes that were changed behind the server's back.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::duplicates::{SimilarPair, similar_pairs};
use super::open::open;
use super::spec::reading;
use super::stale::{StaleEntry, stale_entries};
use crate::catalog::Catalog;
use contract::Fault;
use gate::tools::for_modules::{ProjectIdArg, run_typed};
use gate::tools::{Call, ToolSpec, schema};
use instructions::diff::catalog_hashes;
use platform::sha256;

pub(super) const TOOL: ToolSpec = reading(
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

/// The reason why names cannot be looked up.
const NO_REPOSITORY: &str = "no repository is indexed";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// Also report entries whose text names files, scripts or symbols that the project's index does not have. Files that hold the
    /// rules themselves do not count.
    stale: Option<bool>,
    /// Also report pairs of entries that say nearly the same, or contradict each other.
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
    /// Why `stale` could not be checked; absent if it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    stale_not_checked: Option<&'static str>,
    /// Pairs of entries that say nearly the same, or contradict each other, most similar first.
    #[serde(skip_serializing_if = "Option::is_none")]
    duplicates: Option<Vec<SimilarPair>>,
}

/// An entry that was changed.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Issue {
    /// Its id.
    pub(super) id: String,
    /// The stored hash: of the body, or of the metadata if the body is right.
    expected: String,
    /// The hash that it has.
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
    let (checks_stale, checks_duplicates) = (input.stale == Some(true), input.duplicates == Some(true));
    let entries = if checks_stale || checks_duplicates { catalog.all().await? } else { Vec::new() };
    catalog.close().await?;
    let (mut stale, mut stale_not_checked) = (None, None);
    if checks_stale {
        stale = stale_entries(&call, &project, &entries).await?;
        stale_not_checked = stale.is_none().then_some(NO_REPOSITORY);
    }
    let duplicates =
        if checks_duplicates { Some(similar_pairs(&call, &project, entries).await?) } else { None };
    let catalog_hash = differs.then(|| Mismatch { expected: hash.clone(), actual: sha256::to_hex(&actual) });
    let issue_count = issues.len();
    Ok(Output { hash, count, issues, issue_count, catalog_hash, stale, stale_not_checked, duplicates })
}

/// The number of entries, and those whose body or metadata do not have the stored hashes.
pub(super) async fn issues(catalog: &mut Catalog) -> Result<(usize, Vec<Issue>), Fault> {
    let (mut count, mut found, mut after) = (0, Vec::new(), String::new());
    loop {
        let page = catalog.page(&after).await?;
        let Some(last) = page.last() else { return Ok((count, found)) };
        after.clone_from(&last.instruction.id);
        count += page.len();
        for stored in page {
            let entry = &stored.instruction;
            let pairs = [(stored.source_hash, entry.source_hash()), (stored.meta_hash, entry.meta_hash())];
            if let Some((expected, actual)) = pairs.into_iter().find(|(expected, actual)| expected != actual)
            {
                found.push(Issue {
                    id: stored.instruction.id,
                    expected: sha256::to_hex(&expected),
                    actual: sha256::to_hex(&actual),
                });
            }
        }
    }
}
