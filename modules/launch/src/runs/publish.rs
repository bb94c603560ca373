//! Publishes a run: its inputs are stored before the first step outside, so that every attempt does the same, and every step outside looks
//! before it acts.

use code_hosts::forge::is_base_moved;
use contract::config::LaunchSite;
use contract::{ErrorCode, Fault};
use launch::allowed_paths::AllowedPaths;
use launch::event::{EventBody, PrOpened, SiteRebased};
use launch::ids::RunId;
use launch::report::{GateStatus, ValidationReport, stable_json};
use launch::state::{RunState, Step};
use launch::worker::NewArtifact;
use serde_json::{Value, json};

use super::answer::{JobAnswer, Stop};
use super::forges::{forge_of, repo_of};
use super::journal::Batch;
use super::run_job::RunJob;
use super::site::{Published, Publishing, RunSite};
use super::site_head::site_head;
use gate::app::blocking;

/// Name of the artifact about the pull request.
pub(super) const PR: &str = "pr.json";
/// Maximum number of times that one job rebases the pages onto another head, for branches that are pushed to all the time.
const REBASES_MAX: usize = 5;

impl RunJob<'_> {
    /// Opens the pull request, and ends the run.
    pub(super) async fn publish(&mut self, principal: Option<&str>) -> Result<JobAnswer, Stop> {
        if self.snapshot().state == RunState::ReadyForPr {
            self.prepare(principal).await?;
            self.require_running()?;
            self.open_pull_request(principal).await?;
        }
        if self.snapshot().state == RunState::PrOpened {
            self.pack().await?;
        }
        Ok(JobAnswer::new(self.snapshot().state))
    }

    /// Stores key and branch, the same in each attempt. Each attempt records them again: until the job ends, no call can cancel the run.
    async fn prepare(&mut self, principal: Option<&str>) -> Result<(), Stop> {
        let (publish_key, branch) = match &self.snapshot().publication {
            Some(known) => (known.publish_key.clone(), known.branch.clone()),
            None => {
                let run_id = RunId::parse(self.journal.run_id())?;
                (random_uuid()?, run_id.branch(&self.snapshot().created.product_slug))
            }
        };
        let principal = principal.map(str::to_owned);
        self.journal
            .append(|_| {
                let mut batch = Batch::default();
                batch.event(EventBody::PublishPrepared { publish_key, branch, principal });
                Ok(batch)
            })
            .await?;
        Ok(())
    }

    async fn open_pull_request(&mut self, principal: Option<&str>) -> Result<(), Stop> {
        let (report, profile) = (self.report(None).await?, self.site()?);
        let (publishing, published) = self.publish_on_head(profile, report.as_ref()).await?;
        let own_url = || format!("/launch/runs/{}", self.journal.run_id());
        let opened = PrOpened {
            branch: publishing.branch.clone(),
            commit_sha: published.commit.clone(),
            pr_url: published.pull.as_ref().map_or_else(own_url, |pull| pull.url.clone()),
            pr_number: published.pull.as_ref().map(|pull| pull.number),
        };
        let principal = principal.map(str::to_owned);
        let pages = {
            let (site, tree, paths) =
                (RunSite::new(self.app, profile), publishing.site_tree.clone(), published.paths.clone());
            blocking(move || site.page_hashes(&tree, &paths)).await.map_err(stop_of)?
        };
        let mut document = self.pr_document(profile, &publishing, &opened, &published, report.as_ref());
        // By these, later runs recognise the pages that are unchanged.
        document["pages"] = json!(pages);
        self.journal
            .append(|snapshot| {
                let mut batch = Batch::default();
                batch.artifact(NewArtifact::json(PR, "pr", stable_json(&document)), "publish");
                batch.event(EventBody::PrOpened { opened, principal }).step(snapshot.state, Step::OpenPr)?;
                Ok(batch)
            })
            .await?;
        Ok(())
    }

    /// Publishes the run. If the base of the site moved, its changes are first rebased onto the new head.
    async fn publish_on_head(
        &mut self,
        profile: &LaunchSite,
        report: Option<&ValidationReport>,
    ) -> Result<(Publishing, Published), Stop> {
        let mut rebases = 0;
        loop {
            let publishing = self.publishing()?;
            // It looks for what an earlier attempt left before it looks at the base.
            let fault = match self.publish_branch(profile, &publishing, report).await {
                Ok(published) => return Ok((publishing, published)),
                Err(fault) if !is_base_moved(&fault) => return Err(stop_of(fault)),
                Err(fault) => fault,
            };
            if rebases == REBASES_MAX {
                let fault = fault.with_hint("Call again when fewer people push to the site.");
                return Err(Stop::Answer(Fault { retryable: true, ..fault }));
            }
            rebases += 1;
            self.require_running()?;
            self.rebase(profile, publishing).await?;
        }
    }

    /// Rebases the changes of the run onto the head of the base, and records that before anything is published there.
    async fn rebase(&mut self, profile: &LaunchSite, publishing: Publishing) -> Result<(), Stop> {
        let site_sha = site_head(self.app, profile).await.map_err(stop_of)?;
        let from_sha = publishing.site_sha.clone();
        if site_sha == from_sha {
            return Ok(());
        }
        let (site, head) = (RunSite::new(self.app, profile), site_sha.clone());
        let tree = blocking(move || site.rebase(&publishing, &head)).await.map_err(stop_of)?;
        self.require_running()?;
        self.journal
            .append(|_| {
                let mut batch = Batch::default();
                batch.event(EventBody::SiteRebased(SiteRebased { from_sha, site_sha, tree }));
                Ok(batch)
            })
            .await?;
        Ok(())
    }

    /// Publishes where the site profile says.
    async fn publish_branch(
        &self,
        profile: &LaunchSite,
        run: &Publishing,
        report: Option<&ValidationReport>,
    ) -> Result<Published, Fault> {
        let progress = self.running.progress.clone();
        if let Some(forge) = forge_of(self.app, profile, move || progress.touch())? {
            return self.publish_on(&forge, profile, run, report).await;
        }
        let (site, run) = (RunSite::new(self.app, profile), run.clone());
        blocking(move || site.publish(&run)).await
    }

    /// Returns the content to publish, from the stored run.
    fn publishing(&self) -> Result<Publishing, Stop> {
        let snapshot = self.snapshot();
        let (Some(publication), Some(site_tree)) = (&snapshot.publication, &snapshot.site_tree) else {
            return Err(Stop::Fault(Fault::internal(
                "A launch run has nothing to publish.",
                "no tree, or no branch",
            )));
        };
        let config = self.journal.config();
        let allowed_paths = |paths: &[String]| {
            AllowedPaths::new(paths).map_err(|(path, problem)| {
                Stop::Answer(Fault::new(
                    ErrorCode::AllowedPathsViolation,
                    format!("The allowed path `{path}` {problem}."),
                ))
            })
        };
        // The operator may have narrowed the profile since the run began.
        let allowed = allowed_paths(&self.site()?.allowed_paths)?;
        if let Some(outside) = allowed.first_outside(config.allowed_paths.iter().map(String::as_str)) {
            return Err(Stop::Answer(
                allowed.violation(outside, "the site profile does not allow it any more"),
            ));
        }
        Ok(Publishing {
            site_sha: snapshot.created.site_sha.clone(),
            site_tree: site_tree.clone(),
            branch: publication.branch.clone(),
            key: publication.publish_key.clone(),
            message: self.commit_message(),
            time_s: snapshot.created_ms.div_euclid(1000),
            allowed_paths: allowed_paths(&config.allowed_paths)?,
            files_changed_max: usize::try_from(config.budgets.max_files_changed).unwrap_or(usize::MAX),
        })
    }

    fn commit_message(&self) -> String {
        let config = self.journal.config();
        format!(
            "Document {}\n\nEvery statement is tied to lines of the repository at {}.\n\nLaunch-Run: {}\n",
            config.product_name,
            self.snapshot().created.repo_sha,
            self.journal.run_id()
        )
    }

    fn pr_document(
        &self,
        profile: &LaunchSite,
        publishing: &Publishing,
        opened: &PrOpened,
        published: &Published,
        report: Option<&ValidationReport>,
    ) -> Value {
        let gates = |status: GateStatus| -> Vec<&str> {
            let gates = report.into_iter().flat_map(|report| &report.gates);
            gates.filter(|gate| gate.status == status).map(|gate| gate.gate.as_str()).collect()
        };
        json!({
            "schema_version": "1.0",
            "run_id": self.journal.run_id(),
            "forge": profile.forge,
            "repo": profile.repo,
            "base_branch": profile.base,
            "base_ref": publishing.site_sha,
            "branch_name": opened.branch,
            "commit_shas": [opened.commit_sha],
            "pr_url": opened.pr_url,
            "pr_number": opened.pr_number,
            "affected_paths": published.paths,
            "rollback_steps": rollback_steps(profile, opened),
            "validation_summary": {
                "ok": report.is_some_and(|report| report.ok),
                "profile": report.map(|report| report.profile),
                "gates_passed": gates(GateStatus::Passed),
                "gates_failed": gates(GateStatus::Failed),
                "gates_skipped": gates(GateStatus::Skipped),
            },
        })
    }
}

/// Faults of this program, and jobs that were stopped, are tried again; everything else is an answer.
fn stop_of(fault: Fault) -> Stop {
    match fault.code {
        ErrorCode::Internal | ErrorCode::Cancelled => Stop::Fault(fault),
        _ => Stop::Answer(fault),
    }
}

/// Returns the steps that take a publication back.
fn rollback_steps(profile: &LaunchSite, opened: &PrOpened) -> Vec<String> {
    let branch = &opened.branch;
    match opened.pr_number {
        Some(number) => vec![
            format!("Close the pull request {number} at {}.", opened.pr_url),
            format!("Delete the branch {branch} of {}: the base branch was not changed.", repo_of(profile)),
        ],
        None => vec![format!("Delete the branch {branch}: the base branch was not changed.")],
    }
}

/// A random UUID of version 4.
fn random_uuid() -> Result<String, Fault> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes)
        .map_err(|error| Fault::internal("There are no random numbers.", error.to_string()))?;
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    let hex = platform::sha256::to_hex(&bytes);
    let parts =
        [0..8, 8..12, 12..16, 16..20, 20..32].map(|part| hex.get(part).unwrap_or_default().to_owned());
    Ok(parts.join("-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_random_uuids_of_version_4() {
        let (one, other) = (random_uuid().unwrap(), random_uuid().unwrap());
        assert_ne!(one, other);
        let parts: Vec<usize> = one.split('-').map(str::len).collect();
        assert_eq!(parts, [8, 4, 4, 4, 12]);
        assert!(one.as_bytes()[14] == b'4' && b"89ab".contains(&one.as_bytes()[19]), "{one}");
    }
}
