//! Forges: code hosts that take a branch and a pull request over their API, for the settings `[[launch.forges]]`.
//!
//! [`Forge::publish`] checks before each step, so it may be repeated at any time: the results of an interrupted attempt are used. Answers
//! of a forge are not trusted: they are bounded, and only ids, a number and an address are kept. The token goes to the configured server
//! alone, and into no error.

mod check;
mod client;
mod faults;
mod github;
mod gitlab;
mod probe;
mod token;

use std::sync::Arc;
use std::time::Duration;

use contract::Fault;
use contract::clock::Clock;
use contract::config::{ForgeKind, LaunchForge};
use platform::outbound::{HttpClient, Url, https_or_loopback_url};

use client::{Retries, Session, retried};

pub use check::check_forges;
pub use faults::{base_moved, foreign_branch, is_base_moved, not_retryable};
pub use probe::{ForgeReport, RepositoryReport};

/// Called for each call with the class of its status, such as `2xx`, or the reason why there was no answer.
pub type OnCall = Arc<dyn Fn(&'static str) + Send + Sync>;

/// A forge of the settings.
pub struct Forge {
    settings: LaunchForge,
    root: Url,
    http: HttpClient,
    clock: Arc<dyn Clock>,
    on_call: OnCall,
}

/// The content of a publication.
#[derive(Debug, Clone, Copy)]
pub struct Publication<'a> {
    /// The repository on the forge, such as `acme/site`.
    pub repo: &'a str,
    /// The branch that the pull request is for.
    pub base: &'a str,
    /// The commit of `base` that the new one follows.
    pub base_commit: &'a str,
    /// Its tree.
    pub base_tree: &'a str,
    /// The new branch.
    pub branch: &'a str,
    /// The tree of the new commit.
    pub tree: &'a str,
    /// The topmost entries of that tree, sorted: GitLab shows these, and no ids of trees.
    pub root: &'a [RootEntry],
    /// The files in which it differs from `base_tree`.
    pub files: &'a [FileChange],
    /// Author of the commit: name and mail address.
    pub author: (&'a str, &'a str),
    /// The time of the commit, `YYYY-MM-DDTHH:MM:SSZ`; GitLab uses its own.
    pub time: &'a str,
    /// Its message.
    pub message: &'a str,
    /// Title of the pull request.
    pub title: &'a str,
    /// Text of the pull request.
    pub body: &'a str,
    /// Key of the publication, the same for all attempts.
    pub key: &'a str,
}

/// A file that is new, or has new content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    /// Its path.
    pub path: String,
    /// The id of its content.
    pub id: String,
    /// `true` if it may be executed.
    pub is_executable: bool,
    /// `true` if there was no file at this path.
    pub is_new: bool,
    /// Its content.
    pub content: Vec<u8>,
}

/// An entry of the topmost folder of a tree. Equal entries mean equal trees.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RootEntry {
    /// Its name.
    pub name: String,
    /// Its mode, with six digits.
    pub mode: String,
    /// The object.
    pub id: String,
}

/// The result of a publication.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Published {
    /// The commit.
    pub commit: String,
    /// Address of the pull request's web page.
    pub url: String,
    /// Its number.
    pub number: i64,
}

impl Forge {
    /// Creates the forge of these settings. Each call to it takes at most `call_time`.
    ///
    /// # Errors
    /// `INTERNAL` if TLS cannot be set up; `COMMIT_SERVICE_ERROR` for settings that [`check_forges`] refuses.
    pub fn new(
        settings: &LaunchForge,
        call_time: Duration,
        clock: Arc<dyn Clock>,
        on_call: OnCall,
    ) -> Result<Self, Fault> {
        let root = https_or_loopback_url(&settings.api)
            .map_err(|error| not_retryable(format!("The api of the forge cannot be used: {error}.")))?;
        let http = HttpClient::with_keep_alive(call_time)
            .map_err(|error| Fault::internal("The client of forges cannot be set up.", error))?;
        Ok(Self { settings: settings.clone(), root, http, clock, on_call })
    }

    /// Returns the commit of a branch; `None` if there is no such branch, or the token may not see the repository.
    ///
    /// # Errors
    /// `COMMIT_SERVICE_ERROR`, retryable if the forge may answer later.
    pub async fn head(&self, repo: &str, branch: &str) -> Result<Option<String>, Fault> {
        let session = Session::open(self, None).await?;
        Ok(match self.settings.kind {
            ForgeKind::Github => retried!(github::head(&session, repo, branch)),
            ForgeKind::Gitlab => retried!(gitlab::head(&session, repo, branch)),
        })
    }

    /// Publishes a commit as a branch with a pull request, or finds the result of an earlier attempt.
    ///
    /// # Errors
    /// `COMMIT_SERVICE_ERROR`, not retryable if the base moved, if the branch has different content, or if the forge refuses; retryable if
    /// a later attempt may succeed.
    pub async fn publish(&self, publication: &Publication<'_>) -> Result<Published, Fault> {
        let session = Session::open(self, Some(publication.key)).await?;
        match self.settings.kind {
            ForgeKind::Github => github::publish(&session, publication).await,
            ForgeKind::Gitlab => gitlab::publish(&session, publication).await,
        }
    }

    /// Checks whether the forge can be reached, accepts the token, and lets it write to these repositories. Changes nothing.
    pub async fn probe(&self, repos: &[&str]) -> ForgeReport {
        probe::probe(self, repos).await
    }
}
