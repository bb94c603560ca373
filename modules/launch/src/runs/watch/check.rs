//! Compares the pages of one run with the index as it is now, and stores the result.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use contract::Fault;
use contract::config::LaunchSite;
use engine::indexing::differing_from_commit;
use launch::claim::Claim;
use launch::config::RunConfig;
use launch::evidence::RepositoryFacts;
use launch::forms::{CITED_LINES, CitedLines, PRODUCT_FACTS, ProductFacts};
use launch::freshness::{Comparison, Freshness, MarkedSentence, claimed_sentences, compare};
use launch::report::stable_json;
use launch::sections::claiming_paths;
use launch::worker::PAGE_PLAN;
use serde::de::DeserializeOwned;
use store::launch::{RunRow, WatchRow, artifacts, watches};
use store::{Access, Project, ProjectTx, Store};
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

use super::DueRun;
use super::compared::{ComparedFiles, read_cited};
use super::pages::RunPages;
use super::stored::StoredReport;
use crate::runs::page_secrets::PageSecrets;
use crate::runs::rows;
use crate::runs::site::RunSite;
use crate::runs::site_head::site_head;
use gate::app::{App, blocking};

/// Maximum number of bytes of the hashes that are kept of files, with their paths. Files beyond are read again each time.
const FRESH_BYTES_MAX: usize = 256 << 10;

/// Context of a check.
pub(super) struct Check<'a> {
    pub(super) app: &'a Arc<App>,
    pub(super) store: &'a Store,
    pub(super) project: &'a Project,
    pub(super) site: &'a LaunchSite,
    /// The commit of the site's base branch. A forge is asked for it once, for all runs of the job.
    pub(super) head: OnceCell<String>,
    pub(super) cancel: &'a CancellationToken,
}

/// The claims of the pages of a run, and their evidence.
pub(super) struct Claimed {
    /// The sentences that have the mark of a claim.
    pub(super) sentences: Vec<MarkedSentence>,
    /// The claims, by id.
    pub(super) claims: BTreeMap<String, Claim>,
    cited: CitedLines,
    product_name: String,
}

impl Claimed {
    /// Compares the sentences with these files. Blocks.
    fn compare(&self, paths: &BTreeSet<String>, facts: &RepositoryFacts) -> Freshness {
        compare(&Comparison {
            sentences: &self.sentences,
            claims: &self.claims,
            cited: &self.cited,
            product_name: &self.product_name,
            paths,
            evidence: facts,
            secrets: &PageSecrets,
        })
    }

    /// Number of claims that the pages make.
    fn count(&self) -> usize {
        let ids: BTreeSet<&str> = self.sentences.iter().map(|sentence| sentence.claim_id.as_str()).collect();
        ids.len()
    }
}

impl Check<'_> {
    /// Compares the pages of a run, and stores the result. If the index changes meanwhile, nothing is stored: the pages are due again.
    ///
    /// # Errors
    /// `COMMIT_SERVICE_ERROR` if the site cannot be read; `ILLEGAL_STATE` if the commit of the repository cannot be read; storage faults.
    pub(super) async fn run(&self, due: &DueRun) -> Result<(), Fault> {
        let claimed = self.claimed(&due.run).await?;
        let known = self.stored(&due.run.run_id).await?;
        let read = read_cited(self.store, self.project, due, &claimed, &known.fresh_files).await?;
        let Some(ComparedFiles { paths, hashes, facts }) = read else { return Ok(()) };
        let (claimed, facts, found) = in_background(claimed, facts, paths.clone()).await?;
        let fresh_files = fresh_files(hashes, &found.stale_paths);
        // Uncommitted content is no evidence, neither for a page nor against it.
        let uncommitted = self.uncommitted(due, &found.stale_paths).await?;
        let (claimed, found) = match uncommitted.is_empty() {
            true => (claimed, found),
            false => {
                let paths = paths.difference(&uncommitted).cloned().collect();
                let (claimed, _, found) = in_background(claimed, facts, paths).await?;
                (claimed, found)
            }
        };
        self.store_result(due, &claimed, found, fresh_files).await
    }

    /// Returns the claims of the pages of a run.
    async fn claimed(&self, run: &RunRow) -> Result<Claimed, Fault> {
        let config = RunConfig::parse(&run.config).map_err(|error| rows::malformed("config", error))?;
        let names = [PAGE_PLAN, PRODUCT_FACTS, CITED_LINES].map(str::to_owned);
        let mut tx = ProjectTx::begin(self.store, self.project, Access::Search).await?;
        let read = artifacts::contents(&mut tx, &run.run_id, &names).await?;
        tx.commit().await?;
        let mut artifacts: BTreeMap<String, Vec<u8>> =
            read.into_iter().map(|artifact| (artifact.row.name, artifact.content)).collect();
        let facts: ProductFacts = form(&artifacts, PRODUCT_FACTS)?;
        let cited: CitedLines = form(&artifacts, CITED_LINES)?;
        let plan = artifacts.remove(PAGE_PLAN).unwrap_or_default();
        let paths = claiming_paths(&plan);
        let head = self.head.get_or_try_init(|| site_head(self.app, self.site)).await?;
        let pages = RunPages::new(self.site, RunSite::new(self.app, self.site), head.clone(), run, paths);
        let claims: BTreeMap<String, Claim> =
            facts.claims.into_iter().map(|claim| (claim.claim_id.clone(), claim)).collect();
        let product_name = config.product_name;
        blocking(move || {
            let sentences = claimed_sentences(pages.sentences()?, &claims, &product_name);
            Ok(Claimed { sentences, claims, cited, product_name })
        })
        .await
    }

    /// Returns the report that the last check stored.
    async fn stored(&self, run_id: &str) -> Result<StoredReport, Fault> {
        let mut tx = ProjectTx::begin(self.store, self.project, Access::Search).await?;
        let row = watches::get(&mut tx, run_id).await?;
        tx.commit().await?;
        row.as_ref().map(StoredReport::of).transpose().map(Option::unwrap_or_default)
    }

    /// Returns the files that differ from the commit. The comparison reads all files of the commit, so it is skipped if no file seems to be
    /// stale.
    async fn uncommitted(
        &self,
        due: &DueRun,
        stale_paths: &BTreeSet<String>,
    ) -> Result<BTreeSet<String>, Fault> {
        if stale_paths.is_empty() || !due.repository.has_path() {
            return Ok(BTreeSet::new());
        }
        let (settings, parsing) = (&self.app.config.indexing, &self.app.parsing);
        let (store, project) = (self.store, self.project);
        let differing = differing_from_commit(
            store, project, &due.repository, &due.commit, settings, parsing, self.cancel,
        )
        .await?;
        Ok(differing.into_iter().filter(|path| stale_paths.contains(path)).collect())
    }

    async fn store_result(
        &self,
        due: &DueRun,
        claimed: &Claimed,
        found: Freshness,
        fresh_files: BTreeMap<String, String>,
    ) -> Result<(), Fault> {
        if found.stale_count > 0 {
            tracing::info!(
                run_id = due.run.run_id,
                sentences = found.stale_count,
                "the repository no longer says what the pages of a launch run say"
            );
        }
        let number = |count: usize| i32::try_from(count).unwrap_or(i32::MAX);
        let watch = WatchRow {
            run_id: due.run.run_id.clone(),
            checked_sha: due.commit.clone(),
            generation: due.repository.generation,
            checked_ms: self.app.clock.now().as_millisecond(),
            claims: number(claimed.count()),
            stale: i32::try_from(found.stale_count).unwrap_or(i32::MAX),
            report: stable_json(&StoredReport { stale: found.stale, fresh_files }),
        };
        let mut tx = ProjectTx::begin(self.store, self.project, Access::Write).await?;
        watches::put(&mut tx, &watch).await?;
        tx.commit().await
    }
}

/// An artifact in its form; an empty one if the run has none.
fn form<T: DeserializeOwned + Default>(
    artifacts: &BTreeMap<String, Vec<u8>>,
    name: &str,
) -> Result<T, Fault> {
    match artifacts.get(name) {
        Some(bytes) => serde_json::from_slice(bytes).map_err(|error| rows::malformed(name, error)),
        None => Ok(T::default()),
    }
}

/// Compares on a thread that may block, and returns its arguments with the result.
async fn in_background(
    claimed: Claimed,
    facts: RepositoryFacts,
    paths: BTreeSet<String>,
) -> Result<(Claimed, RepositoryFacts, Freshness), Fault> {
    blocking(move || {
        let found = claimed.compare(&paths, &facts);
        Ok((claimed, facts, found))
    })
    .await
}

/// The hashes of the files that need not be read again while they are the same.
fn fresh_files(hashes: BTreeMap<String, String>, stale_paths: &BTreeSet<String>) -> BTreeMap<String, String> {
    let mut bytes_left = FRESH_BYTES_MAX;
    let mut is_kept = |path: &str, hash: &str| {
        let left = bytes_left.checked_sub(path.len() + hash.len());
        bytes_left = left.unwrap_or(0);
        left.is_some()
    };
    let fresh = hashes.into_iter().filter(|(path, _)| !stale_paths.contains(path));
    fresh.filter(|(path, hash)| is_kept(path, hash)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_stale_or_too_many_are_read_again() {
        let hash = "0".repeat(64);
        let hashes = |count: usize| -> BTreeMap<String, String> {
            (0..count).map(|at| (format!("docs/{at:05}.md"), hash.clone())).collect()
        };
        let stale = BTreeSet::from(["docs/00001.md".to_owned()]);
        let kept = fresh_files(hashes(3), &stale);
        assert_eq!(kept.keys().collect::<Vec<_>>(), ["docs/00000.md", "docs/00002.md"]);
        let many = fresh_files(hashes(10_000), &stale);
        assert!(!many.is_empty() && many.len() * (64 + 13) <= FRESH_BYTES_MAX, "{}", many.len());
    }
}
