//! An index run that continues after its command has answered: the text is searchable, the vectors are still pending.

use std::path::Path;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::index::BuildIndex;
use super::output::{GOOD, NOTE, styled};
use super::progress_bar::vector_progress;
use super::session::{Session, ToolAnswer};
use contract::{Fault, escaped_line};
use engine::jobs::Progress as Counts;
use gate::tools::Progress;
use platform::process::{self, Program};

/// Longest wait for an estimate of the remaining time, which needs a first vector, before the run is detached.
const ESTIMATE_WAIT: Duration = Duration::from_secs(8);
/// Poll interval during that wait.
const ESTIMATE_POLL: Duration = Duration::from_millis(250);
/// Interval of progress lines while this process serves.
const LINE_INTERVAL: Duration = Duration::from_secs(10);
/// Warnings that the progress lines of this module make redundant.
const REDUNDANT_WARNINGS: [&str; 2] = ["index_running", "vectors_pending"];

/// An index job that is still queued or running.
pub(super) struct BackgroundRun<'a> {
    session: &'a Session,
    path: &'a str,
    project: Option<&'a str>,
    job_id: String,
}

/// The part of an `index_status` result that this module reads.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct JobList {
    jobs: Vec<JobStatus>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct JobStatus {
    job_id: String,
    state: String,
    progress: Counts,
    error: Option<JobError>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct JobError {
    message: String,
}

/// The arguments of `index_status`.
#[derive(Serialize)]
struct IndexStatusArguments<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    project_id: Option<&'a str>,
}

impl<'a> BackgroundRun<'a> {
    /// Returns the run that a `build_index` answer reports as unfinished; `None` if it has finished.
    pub(super) fn from_answer(
        session: &'a Session,
        answer: &ToolAnswer,
        arguments: &BuildIndex<'a>,
    ) -> Option<Self> {
        let result = answer.envelope.result.as_ref().filter(|result| result["state"] != "succeeded")?;
        let job_id = result["jobId"].as_str()?.to_owned();
        Some(Self { session, path: arguments.repo_path, project: arguments.project_id, job_id })
    }

    /// Removes warnings that this module's own lines repeat; JSON output keeps them.
    pub(super) fn without_warnings(&self, mut answer: ToolAnswer) -> ToolAnswer {
        if !self.session.output.json {
            answer
                .envelope
                .meta
                .warnings
                .retain(|warning| !REDUNDANT_WARNINGS.contains(&warning.code.as_str()));
        }
        answer
    }

    /// Hands the run to a detached process and reports the progress of the vectors to the user. Waits for the run itself if no
    /// process can be started.
    pub(super) async fn finish_in_background(&self) {
        let deadline = Instant::now() + ESTIMATE_WAIT;
        let mut job = self.job().await;
        while job.as_ref().is_some_and(|job| job.is_unfinished() && job.progress.seconds_left.is_none())
            && Instant::now() < deadline
        {
            tokio::time::sleep(ESTIMATE_POLL).await;
            job = self.job().await;
        }
        let Some(job) = job.filter(JobStatus::is_unfinished) else { return };
        let message = format!(
            "{} semantic search follows when the vectors are ready: {}. Embedding continues in the background; `pairofcleats index {}` shows its progress.",
            styled(NOTE, "Lexical search only so far;"),
            vector_progress(&job.progress),
            escaped_line(self.path),
        );
        self.detach(&message).await;
    }

    /// Hands the run to a detached process at once, because this process is about to exit.
    pub(super) async fn continue_after_exit(&self) {
        let message = format!(
            "Indexing continues in the background; `pairofcleats index {}` shows its progress.",
            escaped_line(self.path)
        );
        self.detach(&message).await;
    }

    /// Starts the detached process first: it takes the job over as soon as this process has given it back.
    async fn detach(&self, message: &str) {
        if let Err(fault) = self.spawn_index_command() {
            tracing::warn!("could not start a background process for the run: {}", fault.message);
            return self.report_until_done().await;
        }
        self.session.output.print_note(message);
        self.session.app.shutdown.cancel();
        self.session.app.wait_stopped().await;
    }

    /// Prints a progress line every few seconds until the run ends or this process shuts down.
    pub(super) async fn report_until_done(&self) {
        let (app, output) = (&self.session.app, self.session.output);
        loop {
            tokio::select! {
                () = app.shutdown.cancelled() => return,
                () = tokio::time::sleep(LINE_INTERVAL) => {}
            }
            match self.job().await {
                Some(job) if job.is_unfinished() => {
                    output.print_note(&format!("lexical search is ready; {}", vector_progress(&job.progress)))
                }
                Some(JobStatus { error: Some(error), .. }) => {
                    let line =
                        format!("{} {}", styled(NOTE, "embedding stopped:"), escaped_line(&error.message));
                    return output.print_note(&line);
                }
                _ => return output.print_note(&format!("{} semantic search is ready", styled(GOOD, "✓"))),
            }
        }
    }

    /// Returns the current state of the job; `None` if `index_status` fails or no longer lists it.
    async fn job(&self) -> Option<JobStatus> {
        let arguments = IndexStatusArguments { project_id: self.project };
        let answer = self.session.call("index_status", &arguments, Progress::default()).await;
        let list = JobList::deserialize(answer.envelope.result?).ok()?;
        list.jobs.into_iter().find(|job| job.job_id == self.job_id)
    }

    /// Starts a detached `pairofcleats index` with the same home, configuration and settings.
    fn spawn_index_command(&self) -> Result<(), Fault> {
        let program = std::env::current_exe()
            .map_err(|error| Fault::internal("The path of the running program is unknown.", error))?;
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

impl JobStatus {
    fn is_unfinished(&self) -> bool {
        ["queued", "running"].contains(&self.state.as_str())
    }
}
