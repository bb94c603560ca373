//! Packs the evidence of a run, and ends it.

use contract::Fault;
use launch::event::EventBody;
use launch::pack::{EVIDENCE, EVIDENCE_TYPE, EvidenceFile, pack};
use launch::report::stable_json;
use launch::state::Step;
use launch::worker::NewArtifact;

use super::answer::Stop;
use super::journal::Batch;
use super::run_job::RunJob;
use super::status::all_events;
use gate::app::blocking;

impl RunJob<'_> {
    /// Packs what the run made, and ends it.
    pub(super) async fn pack(&mut self) -> Result<(), Stop> {
        let names: Vec<String> =
            self.snapshot().artifacts.keys().filter(|name| *name != EVIDENCE).cloned().collect();
        let artifacts = self.artifacts(&names).await?;
        let mut files: Vec<EvidenceFile> =
            artifacts.into_iter().map(|(name, bytes)| EvidenceFile { name, bytes }).collect();
        let events = all_events(self.store, self.project, self.journal.run_id()).await?;
        let log: String = events.iter().map(|event| format!("{}\n", event.to_json())).collect();
        files.push(EvidenceFile { name: "events.ndjson".to_owned(), bytes: log.into_bytes() });
        let snapshot = stable_json(&self.snapshot().to_json());
        files.push(EvidenceFile { name: "snapshot.json".to_owned(), bytes: snapshot.into_bytes() });
        let bytes_max = self.app.config.launch.artifact_bytes_max;
        let bytes = blocking(move || {
            pack(&files, bytes_max)
                .map_err(|error| Fault::internal("The evidence could not be packed.", error))
        })
        .await?;
        self.require_running()?;
        let evidence =
            NewArtifact { name: EVIDENCE.to_owned(), content_type: EVIDENCE_TYPE, schema_id: None, bytes };
        self.journal
            .append(|snapshot| {
                let mut batch = Batch::default();
                let artifacts = u32::try_from(snapshot.artifacts.len()).unwrap_or(u32::MAX).saturating_add(1);
                batch.artifact(evidence, "publish").step(snapshot.state, Step::Finish)?;
                batch.event(EventBody::RunCompleted { artifacts });
                Ok(batch)
            })
            .await?;
        Ok(())
    }
}
