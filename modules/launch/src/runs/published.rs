//! Reads the pages that earlier runs published on a site when a run starts, so that the run recognises unchanged pages, and leaves those
//! that people have edited.

use std::collections::BTreeMap;
use std::sync::Arc;

use contract::Fault;
use contract::config::LaunchSite;
use launch::published::{PUBLISHED_PAGES, PublishedPages, PublishedRun};
use serde::Deserialize;
use store::launch::{RunRow, artifacts, runs};
use store::{Access, Project, ProjectTx, Store};

use super::publish::PR;
use super::site::RunSite;
use gate::app::{App, blocking};

/// Maximum number of runs that are looked at, the newest first.
const RUNS_MAX: i64 = 100;
/// Newest runs whose knowledge of earlier ones, which may be gone, is read.
const REMEMBERING_MAX: usize = 3;
/// Maximum number of changed paths of a run that are looked at.
const PATHS_MAX: usize = 10_000;

/// The part of `pr.json` that is read.
#[derive(Deserialize)]
struct Opened {
    /// Hash of each page, by path; older programs did not write it.
    pages: Option<BTreeMap<String, String>>,
}

/// Returns the state of the pages that runs published on a site with this head.
///
/// # Errors
/// `COMMIT_SERVICE_ERROR` if the site cannot be read; storage faults.
pub(super) async fn published_pages(
    app: &Arc<App>,
    store: &Store,
    project: &Project,
    profile: &LaunchSite,
    head: &str,
) -> Result<PublishedPages, Fault> {
    let (known, earlier) = stored(store, project, profile).await?;
    if known.is_empty() {
        return Ok(PublishedPages::default());
    }
    let (site, head) = (RunSite::new(app, profile), head.to_owned());
    blocking(move || {
        let runs: Vec<PublishedRun> =
            known.into_iter().map(|(row, recorded)| published_run(&site, row, recorded)).collect();
        Ok(PublishedPages::of(&runs, &earlier, &site.files(&head, None)?))
    })
    .await
}

/// A run that was published, and the hashes that it recorded.
type Recorded = (RunRow, Option<BTreeMap<String, String>>);

/// The published runs, and the knowledge of the newest of them about earlier ones.
async fn stored(
    store: &Store,
    project: &Project,
    profile: &LaunchSite,
) -> Result<(Vec<Recorded>, Vec<PublishedPages>), Fault> {
    let (mut known, mut earlier) = (Vec::new(), Vec::new());
    let mut tx = ProjectTx::begin(store, project, Access::Search).await?;
    for row in runs::publishing(&mut tx, &profile.name, RUNS_MAX).await? {
        let names = [PR, PUBLISHED_PAGES].map(str::to_owned);
        let names = if known.len() < REMEMBERING_MAX { &names[..] } else { &names[..1] };
        let mut recorded = None;
        for artifact in artifacts::contents(&mut tx, &row.run_id, names).await? {
            if artifact.row.name == PR {
                recorded =
                    serde_json::from_slice::<Opened>(&artifact.content).ok().and_then(|opened| opened.pages);
            } else {
                earlier.extend(serde_json::from_slice::<PublishedPages>(&artifact.content).ok());
            }
        }
        known.push((row, recorded));
    }
    tx.commit().await?;
    Ok((known, earlier))
}

/// Returns the pages that a run published: as it recorded them, else as its tree has them, while git keeps that.
fn published_run(site: &RunSite, row: RunRow, recorded: Option<BTreeMap<String, String>>) -> PublishedRun {
    let pages = recorded.or_else(|| {
        let tree = row.site_tree.as_deref()?;
        let paths = site.changed(&row.site_sha, tree, PATHS_MAX).ok()?;
        site.page_hashes(tree, &paths).ok()
    });
    PublishedRun { run_id: row.run_id, pages: pages.unwrap_or_default() }
}
