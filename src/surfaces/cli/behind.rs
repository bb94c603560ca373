//! What goes on behind an answer: the vectors of a run whose words are searchable already.

use std::path::Path;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::bars::vectors;
use super::index::BuildIndex;
use super::output::{GOOD, NOTE, styled};
use super::session::{Called, Session};
use crate::tools::Progress;
use contract::{Fault, visible_line};
use engine::jobs::Progress as Counts;
use platform::process::{self, Program};

/// Longest wait for a first vector, which tells the pace, before a run is handed over.
const PACE_WAIT: Duration = Duration::from_secs(8);
/// Between looks meanwhile.
const PACE_POLL: Duration = Duration::from_millis(250);
/// Between lines about a run that goes on while this process serves.
const LINE_EVERY: Duration = Duration::from_secs(10);
/// Warnings that say less than the lines of this module.
const SAID_HERE: [&str; 2] = ["index_running", "vectors_pending"];

/// A run that goes on.
pub(super) struct Behind<'a> {
    session: &'a Session,
    path: &'a str,
    project: Option<&'a str>,
    job_id: String,
}

/// The parts of an `index_status` answer that matter here.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Status {
    jobs: Vec<Job>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Job {
    job_id: String,
    state: String,
    progress: Counts,
    error: Option<Fails>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Fails {
    message: String,
}

/// The arguments of `index_status`.
#[derive(Serialize)]
struct Asked<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    project_id: Option<&'a str>,
}

impl<'a> Behind<'a> {
    /// The run of an answer of `build_index` that waited for words alone; none where it is over.
    pub(super) fn of(session: &'a Session, called: &Called, arguments: &BuildIndex<'a>) -> Option<Self> {
        let result = called.envelope.result.as_ref().filter(|result| result["state"] != "succeeded")?;
        let job_id = result["jobId"].as_str()?.to_owned();
        Some(Self { session, path: arguments.repo_path, project: arguments.project_id, job_id })
    }

    /// The answer of a search without the warnings that the next line makes superfluous.
    pub(super) fn without_warnings(&self, mut found: Called) -> Called {
        if !self.session.output.json {
            found.envelope.meta.warnings.retain(|warning| !SAID_HERE.contains(&warning.code.as_str()));
        }
        found
    }

    /// Leaves the rest of the run to a process of its own, says so, and puts the run down here. Where no process can be
    /// started, sees the run through instead.
    pub(super) async fn hand_over(&self) {
        let until = Instant::now() + PACE_WAIT;
        let mut job = self.look().await;
        while job.as_ref().is_some_and(|job| job.goes_on() && job.progress.seconds_left.is_none())
            && Instant::now() < until
        {
            tokio::time::sleep(PACE_POLL).await;
            job = self.look().await;
        }
        let Some(job) = job.filter(Job::goes_on) else { return };
        let said = format!(
            "{} not by meaning yet; {}, made in the background. `pairofcleats index {}` shows how far they are.",
            styled(NOTE, "found by words,"),
            vectors(&job.progress),
            visible_line(self.path),
        );
        self.leave(&said).await;
    }

    /// Leaves a run to a process of its own, wherever it is: this one ends before it.
    pub(super) async fn go_on(&self) {
        let said = format!(
            "The run goes on in the background; `pairofcleats index {}` shows how far it is.",
            visible_line(self.path)
        );
        self.leave(&said).await;
    }

    async fn leave(&self, said: &str) {
        if let Err(fault) = self.start() {
            tracing::warn!("no process of its own for the run: {}", fault.message);
            return self.tell().await;
        }
        self.session.output.note(said);
        self.session.app.shutdown.cancel();
        self.session.app.stopped().await;
    }

    /// Says every few seconds how far the run is, until it is over or this process stops.
    pub(super) async fn tell(&self) {
        let (app, output) = (&self.session.app, self.session.output);
        loop {
            tokio::select! {
                () = app.shutdown.cancelled() => return,
                () = tokio::time::sleep(LINE_EVERY) => {}
            }
            match self.look().await {
                Some(job) if job.goes_on() => {
                    output.note(&format!("by words now; {}", vectors(&job.progress)))
                }
                Some(Job { error: Some(error), .. }) => {
                    let line =
                        format!("{} {}", styled(NOTE, "no more vectors:"), visible_line(&error.message));
                    return output.note(&line);
                }
                _ => return output.note(&format!("{} searchable by meaning as well", styled(GOOD, "✓"))),
            }
        }
    }

    /// The job as it is now; none where it cannot be asked for.
    async fn look(&self) -> Option<Job> {
        let asked = Asked { project_id: self.project };
        let answer = self.session.call("index_status", &asked, Progress::default()).await;
        let status = Status::deserialize(answer.envelope.result?).ok()?;
        status.jobs.into_iter().find(|job| job.job_id == self.job_id)
    }

    /// Starts a process that sees the run through.
    fn start(&self) -> Result<(), Fault> {
        let program = std::env::current_exe()
            .map_err(|error| Fault::internal("The program does not find its own file.", error))?;
        process::start_detached(Program::new(program).args(self.arguments()))
    }

    fn arguments(&self) -> Vec<String> {
        let path = |path: &Path| path.to_string_lossy().into_owned();
        let mut arguments = vec!["--home".to_owned(), path(self.session.app.layout.home())];
        if let Some(file) = &self.session.config_file {
            arguments.extend(["--config".to_owned(), path(file)]);
        }
        for (name, value) in &self.session.settings {
            arguments.extend(["--set".to_owned(), format!("{name}={value}")]);
        }
        arguments.extend(["--quiet".to_owned(), "index".to_owned()]);
        if let Some(project) = self.project {
            arguments.extend(["--project".to_owned(), project.to_owned()]);
        }
        arguments.extend(["--".to_owned(), self.path.to_owned()]);
        arguments
    }
}

impl Job {
    fn goes_on(&self) -> bool {
        ["queued", "running"].contains(&self.state.as_str())
    }
}
