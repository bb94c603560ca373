//! Reads git histories in a separate process, because the repository's files are untrusted and may change while they are read.
//!
//! Packs, their indexes and commit-graphs are memory-mapped, and truncating a mapped file kills the process that
//! accesses it. Objects are opened by path, which may meanwhile be a pipe or a link to another repository. So the
//! program is started again in a hidden mode. That process finds the repository, gives up all rights except reading its
//! object directory ([`sandbox::enter_read_only`]), and only then opens the objects; it serves one run. If it dies or
//! does not answer in time, the request fails and the next run tries again. Its answers are validated.

use std::ffi::OsString;
use std::io::{self, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde::{Deserialize, Serialize};

use super::indexed_commit::{CommitDifferences, HashedFile, compare_files};
use super::parser::Parsing;
use ::history::{
    AuthorsUnknown, FileHistories, FileHistory, FoundRepository, Head, History, Limits, LineHistory,
    NoHistory,
};
use platform::process::Program;
use platform::process::sandbox;
use platform::process::worker::{Worker, WorkerError, serve_requests};

/// Name of the hidden mode, which takes no arguments.
const MODE: &str = "historian";
/// Memory limit of the process besides mapped files, in bytes.
const MEMORY_BYTES: u64 = 1 << 30;
/// Maximum length of a request in bytes: a text, or the paths of a repository.
const REQUEST_BYTES_MAX: usize = 1 << 30;
/// Longest answer about all files: about 200 bytes each for a million files.
const FILES_ANSWER_BYTES_MAX: usize = 256 << 20;
/// Longest answer about lines: their runs, and the commits and authors of these.
const LINES_ANSWER_BYTES_MAX: usize = 64 << 20;
/// Maximum length of any other answer in bytes.
const ANSWER_BYTES_MAX: usize = 64 << 10;
/// Longest author name that is accepted.
const NAME_BYTES_MAX: usize = 256;
/// Additional time before the process is killed; within its own time limit a request stops at its next step.
pub(super) const GRACE: Duration = Duration::from_secs(5);

/// The location of a history that the requesting process found and may read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct HistoryLocation {
    root: PathBuf,
    /// The git directory of the work tree.
    git_directory: PathBuf,
    /// The git directory of the main work tree.
    common_directory: PathBuf,
    /// The commit whose history is read.
    commit: String,
    /// The path of the root in a mirror, which has no work tree.
    folder: String,
}

#[derive(Serialize, Deserialize)]
enum HistoryRequest<'t> {
    /// Must be the first request.
    Open(HistoryLocation),
    /// Checks whether the commit contains any of these files.
    ContainsAny(Vec<&'t str>),
    /// Returns the positions of these commits in the history.
    Positions {
        commits: Vec<&'t str>,
        limits: Limits,
    },
    /// Returns the differences between the files of the commit and these.
    Compare(Vec<HashedFile<'t>>),
    Files(Limits),
    Lines {
        path: &'t str,
        text: &'t str,
        limits: Limits,
    },
    /// Returns the commit that a tag points to.
    Peel(&'t str),
}

#[derive(Serialize, Deserialize)]
enum HistoryAnswer {
    Opened(Result<(), NoHistory>),
    ContainsAny(bool),
    Positions(Vec<Option<u32>>),
    Compared(Option<CommitDifferences>),
    Files(FileHistories),
    Lines(Result<LineHistory, AuthorsUnknown>),
    Peeled(Option<String>),
}

/// The reason why a request got no answer. The process is unusable afterwards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum HistorianError {
    /// The run was cancelled.
    Cancelled,
    /// The request failed. The message completes the sentence "Its git history was not read:".
    Failed(String),
}

/// A handle to a process that has opened a history. Dropping the handle ends the process.
pub(super) struct Historian(Backend);

enum Backend {
    /// A separate process; `None` after it died.
    Process(Option<Worker>),
    /// In this process, for trusted repositories.
    InProcess(Box<Option<History>>),
}

/// The deadline and the cancellation check of a request.
pub(super) struct RequestDeadline<'a> {
    pub(super) deadline: Instant,
    pub(super) cancelled: &'a dyn Fn() -> bool,
}

impl HistoryLocation {
    /// Returns the location of a found history; `None` if HEAD has no commit.
    pub(super) fn from_found(root: &Path, found: &FoundRepository) -> Option<Self> {
        let commit = found.head()?.commit.clone();
        let directory = found.git_directory();
        let (git_directory, common_directory) = (directory.git_dir.clone(), directory.common_dir.clone());
        let folder = found.folder();
        Some(Self { root: root.to_owned(), git_directory, common_directory, commit, folder })
    }

    /// Finds the repository again; fails if its git directory has changed.
    fn find(&self) -> Result<FoundRepository, NoHistory> {
        let is_expected = |path: &Path| path == self.git_directory || path == self.common_directory;
        // The root of a mirror is the mirror.
        let found = if self.root == self.git_directory {
            let head = Head { branch: None, commit: self.commit.clone() };
            FoundRepository::in_mirror(&self.root, head, &self.folder)?
        } else {
            FoundRepository::find(&self.root, &is_expected)?
        };
        let directory = found.git_directory();
        if (&directory.git_dir, &directory.common_dir) != (&self.git_directory, &self.common_directory) {
            return Err(NoHistory::Refused("it was moved meanwhile".to_owned()));
        }
        Ok(found.at_commit(&self.commit))
    }
}

impl Historian {
    /// Starts a process and opens the history. Blocks.
    ///
    /// # Errors
    /// The reason why the history could not be opened.
    pub(super) fn open(
        location: &HistoryLocation,
        parsing: &Parsing,
        until: &RequestDeadline<'_>,
    ) -> Result<Self, HistorianError> {
        let mut historian = Self(match parsing {
            Parsing::Sandboxed { program, .. } => {
                let started = Worker::start(Program::new(program).arg(MODE).env_clear());
                Backend::Process(Some(started.map_err(|fault| {
                    tracing::warn!(%fault, "the process that reads git histories could not be started");
                    HistorianError::Failed("the process that reads it could not be started".to_owned())
                })?))
            }
            Parsing::InProcess => Backend::InProcess(Box::new(None)),
        });
        match historian.ask(&HistoryRequest::Open(location.clone()), ANSWER_BYTES_MAX, until)? {
            HistoryAnswer::Opened(Ok(())) => Ok(historian),
            HistoryAnswer::Opened(Err(NoHistory::Refused(why))) => Err(HistorianError::Failed(why)),
            HistoryAnswer::Opened(Err(NoHistory::Absent)) => {
                Err(HistorianError::Failed("it no longer exists".to_owned()))
            }
            _ => Err(unreadable()),
        }
    }

    /// Returns whether the commit contains any of these files.
    ///
    /// # Errors
    /// The reason why there is no answer.
    pub(super) fn contains_any(
        &mut self,
        paths: Vec<&str>,
        until: &RequestDeadline<'_>,
    ) -> Result<bool, HistorianError> {
        match self.ask(&HistoryRequest::ContainsAny(paths), ANSWER_BYTES_MAX, until)? {
            HistoryAnswer::ContainsAny(contains) => Ok(contains),
            _ => Err(unreadable()),
        }
    }

    /// Calls [`History::positions`] in the process.
    ///
    /// # Errors
    /// The reason why there is no answer.
    pub(super) fn positions(
        &mut self,
        commits: Vec<&str>,
        limits: &Limits,
        until: &RequestDeadline<'_>,
    ) -> Result<Vec<Option<u32>>, HistorianError> {
        let count = commits.len();
        let request = HistoryRequest::Positions { commits, limits: limits.clone() };
        match self.ask(&request, ANSWER_BYTES_MAX, until)? {
            HistoryAnswer::Positions(positions) if positions.len() == count => Ok(positions),
            _ => Err(unreadable()),
        }
    }

    /// Calls [`compare_files`] in the process.
    ///
    /// # Errors
    /// The reason why there is no answer.
    pub(super) fn compare(
        &mut self,
        files: Vec<HashedFile<'_>>,
        until: &RequestDeadline<'_>,
    ) -> Result<CommitDifferences, HistorianError> {
        match self.ask(&HistoryRequest::Compare(files), FILES_ANSWER_BYTES_MAX, until)? {
            HistoryAnswer::Compared(Some(differences)) => Ok(differences),
            HistoryAnswer::Compared(None) => {
                Err(HistorianError::Failed("the files of the commit cannot be read".to_owned()))
            }
            _ => Err(unreadable()),
        }
    }

    /// Calls [`History::files`] in the process.
    ///
    /// # Errors
    /// The reason why there is no answer.
    pub(super) fn files(
        &mut self,
        limits: &Limits,
        until: &RequestDeadline<'_>,
    ) -> Result<FileHistories, HistorianError> {
        match self.ask(&HistoryRequest::Files(limits.clone()), FILES_ANSWER_BYTES_MAX, until)? {
            HistoryAnswer::Files(found) if found.files.values().all(is_valid) => Ok(found),
            _ => Err(unreadable()),
        }
    }

    /// Calls [`History::line_history`] in the process.
    ///
    /// # Errors
    /// The reason why there is no answer.
    pub(super) fn line_history(
        &mut self,
        path: &str,
        text: &str,
        limits: &Limits,
        until: &RequestDeadline<'_>,
    ) -> Result<Result<LineHistory, AuthorsUnknown>, HistorianError> {
        let request = HistoryRequest::Lines { path, text, limits: limits.clone() };
        match self.ask(&request, LINES_ANSWER_BYTES_MAX, until)? {
            HistoryAnswer::Lines(Ok(lines)) if lines.is_sound() => Ok(Ok(lines)),
            HistoryAnswer::Lines(Err(unknown)) => Ok(Err(unknown)),
            _ => Err(unreadable()),
        }
    }

    /// Calls [`History::peeled`] in the process.
    ///
    /// # Errors
    /// The reason why there is no answer.
    pub(super) fn peeled(
        &mut self,
        id: &str,
        until: &RequestDeadline<'_>,
    ) -> Result<Option<String>, HistorianError> {
        match self.ask(&HistoryRequest::Peel(id), ANSWER_BYTES_MAX, until)? {
            HistoryAnswer::Peeled(peeled) if peeled.as_deref().is_none_or(is_commit_id) => Ok(peeled),
            _ => Err(unreadable()),
        }
    }

    fn ask(
        &mut self,
        request: &HistoryRequest<'_>,
        answer_bytes_max: usize,
        until: &RequestDeadline<'_>,
    ) -> Result<HistoryAnswer, HistorianError> {
        let broken = |why: &str| HistorianError::Failed(why.to_owned());
        let request =
            postcard::to_stdvec(request).map_err(|_| broken("the request could not be serialised"))?;
        let worker = match &mut self.0 {
            Backend::InProcess(history) => {
                let answer = answer_request(&request, history, |_| ());
                return postcard::from_bytes(&answer).map_err(|_| unreadable());
            }
            Backend::Process(worker) => worker,
        };
        let Some(mut running) = worker.take() else { return Err(unreadable()) };
        match running.request(&request, answer_bytes_max, until.deadline, until.cancelled) {
            Ok(answer) => {
                *worker = Some(running);
                postcard::from_bytes(&answer).map_err(|_| unreadable())
            }
            Err(WorkerError::Cancelled) => Err(HistorianError::Cancelled),
            Err(WorkerError::TooLarge) => Err(unreadable()),
            Err(WorkerError::TimedOut) => {
                tracing::warn!("a process that reads a git history did not finish in time");
                Err(broken("it could not be read in time; the next run tries again"))
            }
            Err(WorkerError::Ended) => Err(broken(exit_message(running))),
        }
    }
}

fn unreadable() -> HistorianError {
    tracing::warn!("the answer of a process that reads git histories is invalid");
    HistorianError::Failed(
        "the process that reads it returned an invalid answer; the next run tries again".to_owned(),
    )
}

/// Returns whether the history of a file is well-formed and can be stored.
fn is_valid(file: &FileHistory) -> bool {
    is_commit_id(&file.last_commit) && file.last_author.len() <= NAME_BYTES_MAX
}

fn is_commit_id(text: &str) -> bool {
    text.len() == 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns the message for a process that ended.
fn exit_message(worker: Worker) -> &'static str {
    /// Exit status of a Rust program that panicked.
    const PANICKED: i32 = 101;
    const ENDED: &str = "the process that reads it was killed; the next run tries again";
    let Some(output) = worker.wait_or_kill() else { return ENDED };
    let (status, stderr) = (output.status.to_string(), output.stderr_tail(3));
    tracing::warn!(status, stderr, "a process that reads a git history ended");
    let is = |signal: Signal| output.status.signal() == Some(signal.as_raw());
    if is(Signal::BUS) {
        return "its files were truncated while they were read; the next run tries again";
    }
    // Objects that crash the git library or exceed the memory limit.
    if output.status.code() == Some(PANICKED) || is(Signal::ABORT) || is(Signal::SEGV) {
        return "it is damaged; run `git fsck` for details";
    }
    ENDED
}

/// Runs the hidden mode if the arguments select it; for `main`.
#[must_use]
pub fn hidden_mode(arguments: &[OsString]) -> Option<ExitCode> {
    if arguments != [MODE] {
        return None;
    }
    let mut history = None;
    let served = serve_requests(REQUEST_BYTES_MAX, |request| {
        answer_request(request, &mut history, |found| {
            if let Err(error) = sandbox::enter_read_only(found.objects(), MEMORY_BYTES) {
                let _ = writeln!(io::stderr(), "limits are not set: {error}");
                std::process::exit(1);
            }
        })
    });
    Some(match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "the historian ended: {error}");
            ExitCode::FAILURE
        }
    })
}

/// Answers a request; an invalid request gets an empty answer, which the caller rejects. Calls `confine` before it opens
/// objects.
fn answer_request(
    request: &[u8],
    history: &mut Option<History>,
    confine: impl Fn(&FoundRepository),
) -> Vec<u8> {
    let Ok(request) = postcard::from_bytes(request) else { return Vec::new() };
    let answer = match (request, history) {
        (HistoryRequest::Open(location), history @ None) => {
            let opened = location.find().and_then(|found| {
                confine(&found);
                found.open()
            });
            HistoryAnswer::Opened(opened.map(|opened| *history = Some(opened)))
        }
        (HistoryRequest::ContainsAny(paths), Some(history)) => {
            HistoryAnswer::ContainsAny(paths.into_iter().any(|path| history.has_file(path)))
        }
        (HistoryRequest::Positions { commits, limits }, Some(history)) => {
            HistoryAnswer::Positions(history.positions(&commits, &limits))
        }
        (HistoryRequest::Compare(files), Some(history)) => {
            HistoryAnswer::Compared(compare_files(history, &files))
        }
        (HistoryRequest::Files(limits), Some(history)) => {
            HistoryAnswer::Files(history.files(&limits, &|| false))
        }
        (HistoryRequest::Lines { path, text, limits }, Some(history)) => {
            HistoryAnswer::Lines(history.line_history(path, text, &limits))
        }
        (HistoryRequest::Peel(id), Some(history)) => HistoryAnswer::Peeled(history.peeled(id)),
        _ => return Vec::new(),
    };
    postcard::to_stdvec(&answer).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_histories_of_files_are_rejected() {
        let file = |commit: &str, author: &str| FileHistory {
            last_author: author.to_owned(),
            last_modified_s: 0,
            last_commit: commit.to_owned(),
            churn_added: 0,
            churn_deleted: 0,
            churn_commits: 0,
        };
        let commit = "a".repeat(40);
        assert!(is_valid(&file(&commit, "Ann")));
        assert!(!is_valid(&file("late", "Ann")) && !is_valid(&file(&commit, &"n".repeat(300))));
    }
}
