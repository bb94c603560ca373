//! Git histories are read in a process of their own: whoever fills a repository can change its packs while they are read.
//!
//! Packs, their indexes and commit-graphs are mapped into memory, and a mapped file that is cut off ends the process that
//! touches it. Objects are opened by their path, where meanwhile a pipe may be, or a link to another repository. So this
//! program is started once more in a hidden mode. That process finds the repository, keeps the right to read its directory
//! of objects and nothing else ([`sandbox::enter_reading`]), and only then opens the objects; it serves one run. When it
//! ends, or does not answer in time, that costs what was asked of it; the next run asks again. What it answers is checked.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io::{self, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde::{Deserialize, Serialize};

use super::parser::Parsing;
use ::history::{FileHistories, FileHistory, Found, History, Limits, LineAuthors, NoHistory, Unknown};
use platform::process::Program;
use platform::process::sandbox;
use platform::process::worker::{Broken, Worker, answer_all};

/// Hidden mode of the program, without arguments.
const MODE: &str = "historian";
/// Memory of such a process beside the files that it maps, in bytes.
const MEMORY_BYTES: u64 = 1 << 30;
/// Longest request: a text, or the paths of a repository.
const REQUEST_BYTES_MAX: usize = 1 << 30;
/// Longest answer about all files: some 200 bytes each, for a million.
const FILES_ANSWER_BYTES_MAX: usize = 256 << 20;
/// Longest answer about lines: of each a number, and the names.
const LINES_ANSWER_BYTES_MAX: usize = 64 << 20;
/// Longest other answer.
const ANSWER_BYTES_MAX: usize = 64 << 10;
/// Longest name of an author that is believed.
const NAME_BYTES_MAX: usize = 256;
/// What a request may take beyond its own time, which ends the work at its next step.
pub(super) const GRACE: Duration = Duration::from_secs(5);

/// Which repository is opened: where it was found by the process that asks, which decided that it may be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Opening {
    root: PathBuf,
    own: PathBuf,
    common: PathBuf,
    /// The commit whose history is asked for.
    commit: String,
}

#[derive(Serialize, Deserialize)]
enum Request<'t> {
    /// The first one, once.
    Open(Opening),
    /// Whether the commit holds one of these files.
    Holds(Vec<&'t str>),
    Files(Limits),
    Lines {
        path: &'t str,
        text: &'t str,
        limits: Limits,
    },
}

#[derive(Serialize, Deserialize)]
enum Answer {
    Opened(Result<(), NoHistory>),
    Holds(bool),
    Files(FileHistories),
    Lines(Result<Lines, Unknown>),
}

/// Authors of lines: names, and for each line the place of its author's among them, from 1; 0 for none.
#[derive(Serialize, Deserialize)]
struct Lines {
    names: Vec<String>,
    lines: Vec<u32>,
}

/// Why there is no answer. The process cannot be asked again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Failed {
    /// Nobody wants it any more.
    Cancelled,
    /// Why, as the rest of a sentence that begins with "Its git history was not read:".
    Because(String),
}

/// One process that has opened a history. Dropped, it is ended.
pub(super) struct Historian(By);

enum By {
    Process(Option<Worker>),
    /// This process itself, for repositories that are one's own.
    Here(Box<Option<History>>),
}

/// Until when an answer is waited for.
pub(super) struct Until<'a> {
    pub(super) deadline: Instant,
    pub(super) cancelled: &'a dyn Fn() -> bool,
}

impl Opening {
    /// Of what was found; none without a commit.
    pub(super) fn of(root: &Path, found: &Found) -> Option<Self> {
        let (own, common) = (found.place().own.clone(), found.place().common.clone());
        Some(Self { root: root.to_owned(), own, common, commit: found.head()?.commit.clone() })
    }

    /// Finds it once more, where it was and nowhere else.
    fn find(&self) -> Result<Found, NoHistory> {
        let found = Found::find(&self.root, &|path| path == self.own || path == self.common)?;
        if (&found.place().own, &found.place().common) != (&self.own, &self.common) {
            return Err(NoHistory::Refused("it was put elsewhere meanwhile".to_owned()));
        }
        Ok(found.at(&self.commit))
    }
}

impl Historian {
    /// Starts a process and has it open the history. Blocks.
    ///
    /// # Errors
    /// Why it is not open.
    pub(super) fn open(opening: &Opening, parsing: &Parsing, until: &Until<'_>) -> Result<Self, Failed> {
        let mut historian = Self(match parsing {
            Parsing::Apart { program, .. } => {
                let started = Worker::start(Program::new(program).arg(MODE).env_clear());
                By::Process(Some(started.map_err(|fault| {
                    tracing::warn!(%fault, "the process that reads git histories does not start");
                    Failed::Because("the process that reads it does not start".to_owned())
                })?))
            }
            Parsing::Here => By::Here(Box::new(None)),
        });
        match historian.ask(&Request::Open(opening.clone()), ANSWER_BYTES_MAX, until)? {
            Answer::Opened(Ok(())) => Ok(historian),
            Answer::Opened(Err(NoHistory::Refused(why))) => Err(Failed::Because(why)),
            Answer::Opened(Err(NoHistory::Absent)) => Err(Failed::Because("it is gone".to_owned())),
            _ => Err(unreadable()),
        }
    }

    /// Whether the commit holds one of these files.
    ///
    /// # Errors
    /// Why that is not known.
    pub(super) fn holds(&mut self, paths: Vec<&str>, until: &Until<'_>) -> Result<bool, Failed> {
        match self.ask(&Request::Holds(paths), ANSWER_BYTES_MAX, until)? {
            Answer::Holds(holds) => Ok(holds),
            _ => Err(unreadable()),
        }
    }

    /// As [`History::files`].
    ///
    /// # Errors
    /// Why there is no answer.
    pub(super) fn files(&mut self, limits: &Limits, until: &Until<'_>) -> Result<FileHistories, Failed> {
        match self.ask(&Request::Files(limits.clone()), FILES_ANSWER_BYTES_MAX, until)? {
            Answer::Files(found) if found.files.values().all(is_sound) => Ok(found),
            _ => Err(unreadable()),
        }
    }

    /// As [`History::line_authors`].
    ///
    /// # Errors
    /// Why there is no answer.
    pub(super) fn line_authors(
        &mut self,
        path: &str,
        text: &str,
        limits: &Limits,
        until: &Until<'_>,
    ) -> Result<Result<LineAuthors, Unknown>, Failed> {
        let request = Request::Lines { path, text, limits: limits.clone() };
        match self.ask(&request, LINES_ANSWER_BYTES_MAX, until)? {
            Answer::Lines(Ok(lines)) => lines.into_authors().map(Ok).ok_or_else(unreadable),
            Answer::Lines(Err(unknown)) => Ok(Err(unknown)),
            _ => Err(unreadable()),
        }
    }

    fn ask(
        &mut self,
        request: &Request<'_>,
        answer_bytes_max: usize,
        until: &Until<'_>,
    ) -> Result<Answer, Failed> {
        let broken = |why: &str| Failed::Because(why.to_owned());
        let request = postcard::to_stdvec(request).map_err(|_| broken("its path cannot be handed on"))?;
        let worker = match &mut self.0 {
            By::Here(history) => {
                let answer = answer(&request, history, |_| ());
                return postcard::from_bytes(&answer).map_err(|_| unreadable());
            }
            By::Process(worker) => worker,
        };
        let Some(mut asked) = worker.take() else { return Err(unreadable()) };
        match asked.ask(&request, answer_bytes_max, until.deadline, until.cancelled) {
            Ok(answer) => {
                *worker = Some(asked);
                postcard::from_bytes(&answer).map_err(|_| unreadable())
            }
            Err(Broken::Cancelled) => Err(Failed::Cancelled),
            Err(Broken::TooMuch) => Err(unreadable()),
            Err(Broken::Late) => {
                tracing::warn!("a process that reads a git history did not come to an end");
                Err(broken("it could not be read in its time; the next run tries again"))
            }
            Err(Broken::Ended) => Err(broken(why_ended(asked))),
        }
    }
}

fn unreadable() -> Failed {
    tracing::warn!("what a process says of a git history cannot be read");
    Failed::Because("the process that reads it gives no answer; the next run tries again".to_owned())
}

/// Whether what is said of a file can be stored.
fn is_sound(file: &FileHistory) -> bool {
    file.last_commit.len() == 40
        && file.last_commit.bytes().all(|byte| byte.is_ascii_hexdigit())
        && file.last_author.len() <= NAME_BYTES_MAX
}

/// What is told of a process that ended.
fn why_ended(worker: Worker) -> &'static str {
    /// The status of a Rust program that panicked.
    const PANICKED: i32 = 101;
    const ENDED: &str = "the process that reads it was ended; the next run tries again";
    let Some(output) = worker.end() else { return ENDED };
    let (status, said) = (output.status.to_string(), output.stderr_tail(3));
    tracing::warn!(status, said, "a process that reads a git history ended");
    let is = |signal: Signal| output.status.signal() == Some(signal.as_raw());
    if is(Signal::BUS) {
        return "its files were cut off while they were read; the next run tries again";
    }
    // Objects that the library for them does not survive, or that take more memory than there is for them.
    if output.status.code() == Some(PANICKED) || is(Signal::ABORT) || is(Signal::SEGV) {
        return "it is damaged; `git fsck` says more";
    }
    ENDED
}

impl Lines {
    fn of(authors: &LineAuthors) -> Self {
        let (mut names, mut places) = (Vec::new(), HashMap::new());
        let mut place = |author: &Arc<str>| {
            *places.entry(Arc::clone(author)).or_insert_with(|| {
                names.push(author.to_string());
                u32::try_from(names.len()).unwrap_or(0)
            })
        };
        let lines = authors.iter().map(|author| author.as_ref().map_or(0, &mut place)).collect();
        Self { names, lines }
    }

    fn into_authors(self) -> Option<LineAuthors> {
        if self.names.iter().any(|name| name.len() > NAME_BYTES_MAX) {
            return None;
        }
        let names: Vec<Arc<str>> = self.names.into_iter().map(Arc::from).collect();
        let author = |place: u32| match place {
            0 => Some(None),
            place => names.get(place as usize - 1).map(|name| Some(Arc::clone(name))),
        };
        self.lines.into_iter().map(author).collect()
    }
}

/// Answers requests where the arguments are those of this mode; for `main`.
#[must_use]
pub fn hidden_mode(arguments: &[OsString]) -> Option<ExitCode> {
    if arguments != [MODE] {
        return None;
    }
    let mut history = None;
    let served = answer_all(REQUEST_BYTES_MAX, |request| {
        answer(request, &mut history, |found| {
            if let Err(error) = sandbox::enter_reading(found.objects(), MEMORY_BYTES) {
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

/// The answer; nothing, which cannot be read as one, to what is no request. `confine` is called before objects are opened.
fn answer(request: &[u8], history: &mut Option<History>, confine: impl Fn(&Found)) -> Vec<u8> {
    let Ok(request) = postcard::from_bytes(request) else { return Vec::new() };
    let answer = match (request, history) {
        (Request::Open(opening), history @ None) => {
            let opened = opening.find().and_then(|found| {
                confine(&found);
                found.open()
            });
            Answer::Opened(opened.map(|opened| *history = Some(opened)))
        }
        (Request::Holds(paths), Some(history)) => {
            Answer::Holds(paths.into_iter().any(|path| history.holds(path)))
        }
        (Request::Files(limits), Some(history)) => Answer::Files(history.files(&limits, &|| false)),
        (Request::Lines { path, text, limits }, Some(history)) => {
            Answer::Lines(history.line_authors(path, text, &limits).map(|authors| Lines::of(&authors)))
        }
        _ => return Vec::new(),
    };
    postcard::to_stdvec(&answer).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn authors_of_lines_come_back_as_they_were() {
        let name = |name: &str| Some(Arc::from(name));
        let authors = vec![name("Ann"), None, name("Bob"), name("Ann")];
        let lines = Lines::of(&authors);
        assert_eq!((lines.names.len(), lines.lines.clone()), (2, vec![1, 0, 2, 1]));
        assert_eq!(lines.into_authors(), Some(authors));
    }

    #[test]
    fn what_cannot_be_is_not_believed() {
        assert_eq!(Lines { names: vec!["Ann".into()], lines: vec![2] }.into_authors(), None);
        assert_eq!(Lines { names: vec!["n".repeat(300)], lines: vec![1] }.into_authors(), None);
        let file = |commit: &str, author: &str| FileHistory {
            last_author: author.to_owned(),
            last_modified_s: 0,
            last_commit: commit.to_owned(),
            churn_added: 0,
            churn_deleted: 0,
            churn_commits: 0,
        };
        let commit = "a".repeat(40);
        assert!(is_sound(&file(&commit, "Ann")));
        assert!(!is_sound(&file("late", "Ann")) && !is_sound(&file(&commit, &"n".repeat(300))));
    }
}
