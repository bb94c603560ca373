//! Fixes issues, one at a time: an issue is chosen, a worker repairs it, the gates run again, and the result is judged.

use contract::Fault;
use launch::engine::{Next, choose_issue, judge_fix};
use launch::event::EventBody;
use launch::state::{RunState, Step};

use super::answer::{JobAnswer, Stop, fault_of};
use super::journal::Batch;
use super::run_job::RunJob;
use super::status::all_events;

/// The issue of a fix, and the ids of the patches that were applied for it.
type OwnFix = (Option<String>, Vec<String>);

impl RunJob<'_> {
    /// Fixes one issue and validates again.
    pub(super) async fn fix_one(&mut self, has_begun: bool) -> Result<JobAnswer, Stop> {
        if !has_begun {
            let repository = self.repository().await?;
            if !repository.as_ref().is_some_and(|row| self.is_ready(row)) {
                return Err(Stop::Answer(self.not_pinned(repository.as_ref())));
            }
            self.begin_fix().await?;
        }
        while self.snapshot().state == RunState::Fixing {
            self.require_running()?;
            match self.next().await? {
                Next::Item { worker, scope_key } => self.do_item(worker, &scope_key).await?,
                // The fix has begun; it continues when the run does.
                Next::Inputs => {
                    let repository = self.repository().await?;
                    return Err(Stop::Answer(self.not_pinned(repository.as_ref())));
                }
                _ => self.end_fix().await?,
            }
        }
        if let Some(failure) = &self.snapshot().failure {
            return Err(Stop::Answer(fault_of(failure)));
        }
        if self.snapshot().state == RunState::Validating && self.snapshot().report_ok == Some(true) {
            self.take_step(Step::AcceptReport).await?;
        }
        let (fixed_issue_id, applied_patch_ids) = self.own_fix().await?.unwrap_or_default();
        Ok(JobAnswer { fixed_issue_id, applied_patch_ids, ..JobAnswer::new(self.snapshot().state) })
    }

    /// The last fix that this job began.
    pub(super) async fn own_fix(&self) -> Result<Option<OwnFix>, Fault> {
        let events = all_events(self.store, self.project, self.journal.run_id()).await?;
        let (mut own, mut is_own) = (None::<OwnFix>, false);
        for event in &events {
            match event.body() {
                Ok(EventBody::RunStateChanged { step: Step::BeginFix, issue_id, job_id, .. }) => {
                    is_own = job_id.as_ref() == Some(&self.running.job.id);
                    if is_own {
                        own = Some((issue_id, Vec::new()));
                    }
                }
                Ok(EventBody::PatchApplied { patch_ids, .. }) if is_own => {
                    if let Some((_, patches)) = &mut own {
                        patches.extend(patch_ids);
                    }
                }
                _ => {}
            }
        }
        Ok(own)
    }

    /// Chooses an issue; without one, the run fails.
    pub(super) async fn begin_fix(&mut self) -> Result<(), Stop> {
        let report = self.require_report(None).await?;
        let chosen = choose_issue(self.snapshot(), self.journal.config(), &report);
        let issue_id = match chosen {
            Ok(issue) => issue.issue_id.clone(),
            Err(failure) => {
                self.fail(failure).await?;
                return Ok(());
            }
        };
        let job_id = Some(self.running.job.id.clone());
        self.journal
            .append(|snapshot| {
                let to = launch::state::step(snapshot.state, Step::BeginFix)
                    .map_err(|illegal| Fault::internal("A launch run took a wrong step.", illegal))?;
                let mut batch = Batch::default();
                batch.event(EventBody::RunStateChanged {
                    from: snapshot.state,
                    to,
                    step: Step::BeginFix,
                    issue_id: Some(issue_id),
                    job_id,
                });
                Ok(batch)
            })
            .await?;
        Ok(())
    }

    /// Decides whether a fix repaired its issue; if not, the run fails.
    pub(super) async fn end_fix(&mut self) -> Result<(), Stop> {
        let Some(fixing) = self.snapshot().fixing.clone() else {
            return Err(Stop::Fault(Fault::internal("A launch run fixes nothing.", "fixing is empty")));
        };
        let before = self.require_report(Some(fixing.report_version)).await?;
        let after = self.require_report(None).await?;
        match judge_fix(&fixing, &before, &after) {
            Ok(()) => self.take_step(Step::EndFix).await,
            Err(failure) => {
                self.fail(failure).await?;
                Ok(())
            }
        }
    }
}
