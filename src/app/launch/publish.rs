//! Publishes a run: what is needed for it is stored before the first step outside, so that every attempt does the same, and every step
//! outside looks before it acts.

use contract::config::LaunchSite;
use contract::{ErrorCode, Fault};
use launch::event::{EventBody, PrOpened};
use launch::fence::Fence;
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
use crate::app::blocking;

/// Name of the artifact about the pull request.
const PR: &str = "pr.json";

impl RunJob<'_> {
    /// Opens the pull request, and ends the run.
    pub(super) async fn publish(&mut self) -> Result<JobAnswer, Stop> {
        if self.snapshot().state == RunState::ReadyForPr {
            self.prepare().await?;
            self.require_running()?;
            self.open_pull_request().await?;
        }
        if self.snapshot().state == RunState::PrOpened {
            self.pack().await?;
        }
        Ok(JobAnswer::new(self.snapshot().state))
    }

    /// Stores key and branch, the same in each attempt. Each says so anew: from then on, until the job ends, the run cannot be cancelled.
    async fn prepare(&mut self) -> Result<(), Stop> {
        let (publish_key, branch) = match &self.snapshot().publication {
            Some(known) => (known.publish_key.clone(), known.branch.clone()),
            None => {
                let run_id = RunId::parse(self.journal.run_id())?;
                (random_uuid()?, run_id.branch(&self.snapshot().created.product_slug))
            }
        };
        self.journal
            .append(|_| {
                let mut batch = Batch::default();
                batch.event(EventBody::PublishPrepared { publish_key, branch });
                Ok(batch)
            })
            .await?;
        Ok(())
    }

    async fn open_pull_request(&mut self) -> Result<(), Stop> {
        let report = self.report(None).await?;
        let (profile, publishing) = (self.site()?, self.publishing()?);
        let published = match self.publish_branch(profile, &publishing, report.as_ref()).await {
            Ok(published) => published,
            Err(fault) if matches!(fault.code, ErrorCode::Internal | ErrorCode::Cancelled) => {
                return Err(Stop::Fault(fault));
            }
            Err(fault) => return Err(Stop::Answer(fault)),
        };
        let own_url = || format!("/launch/runs/{}", self.journal.run_id());
        let opened = PrOpened {
            branch: publishing.branch.clone(),
            commit_sha: published.commit.clone(),
            pr_url: published.pull.as_ref().map_or_else(own_url, |pull| pull.url.clone()),
            pr_number: published.pull.as_ref().map(|pull| pull.number),
        };
        let document = self.pr_document(profile, &publishing, &opened, &published, report.as_ref());
        self.journal
            .append(|snapshot| {
                let mut batch = Batch::default();
                batch.artifact(NewArtifact::json(PR, "pr", stable_json(&document)), "publish");
                batch.event(EventBody::PrOpened(opened)).step(snapshot.state, Step::OpenPr)?;
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

    /// What is published, from what is stored.
    fn publishing(&self) -> Result<Publishing, Stop> {
        let snapshot = self.snapshot();
        let (Some(publication), Some(site_tree)) = (&snapshot.publication, &snapshot.site_tree) else {
            return Err(Stop::Fault(Fault::internal(
                "A launch run has nothing to publish.",
                "no tree, or no branch",
            )));
        };
        let config = self.journal.config();
        let fence = |paths: &[String]| {
            Fence::new(paths).map_err(|(path, problem)| {
                Stop::Answer(Fault::new(
                    ErrorCode::AllowedPathsViolation,
                    format!("The allowed path `{path}` {problem}."),
                ))
            })
        };
        // The operator may have narrowed the profile since the run began.
        let allowed = fence(&self.site()?.allowed_paths)?;
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
            fence: fence(&config.allowed_paths)?,
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

/// How to take a publication back.
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
