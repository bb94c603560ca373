//! Publishing on GitHub and GitHub Enterprise Server: objects, a commit and a reference by the git database API, then a pull request.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use contract::Fault;
use platform::failpoints;
use platform::outbound::Url;
use serde::Deserialize;
use serde_json::{Value, json};

use super::client::{CallError, Retries, Session, retried};
use super::faults::{base_moved, foreign_branch, other_content};
use super::{FileChange, Publication, Published};

/// A repository on the host.
struct Repository<'a> {
    session: &'a Session<'a>,
    owner: &'a str,
    name: &'a str,
}

/// A reference, such as a branch.
#[derive(Deserialize)]
struct Reference {
    #[serde(rename = "ref")]
    name: String,
    object: Object,
}

/// An object with an id.
#[derive(Deserialize)]
struct Object {
    sha: String,
}

/// A commit.
#[derive(Deserialize)]
struct Commit {
    sha: String,
    tree: Object,
    parents: Vec<Object>,
}

/// A pull request.
#[derive(Deserialize)]
struct PullRequest {
    number: i64,
    html_url: String,
    head: Head,
}

/// The branch of a pull request.
#[derive(Deserialize)]
struct Head {
    #[serde(rename = "ref")]
    branch: String,
    /// Its commit, even after the branch was deleted.
    #[serde(default)]
    sha: String,
}

/// Returns the commit of a branch; `None` if it does not exist.
pub(super) async fn head(
    session: &Session<'_>,
    repo: &str,
    branch: &str,
) -> Result<Option<String>, CallError> {
    Repository::new(session, repo).branch(branch).await
}

/// Publishes a commit, or finds the result of an earlier attempt.
pub(super) async fn publish(session: &Session<'_>, run: &Publication<'_>) -> Result<Published, Fault> {
    let repository = Repository::new(session, run.repo);
    let commit = match retried!(repository.branch(run.branch)) {
        Some(commit) => {
            retried!(repository.require_own(&commit, run));
            commit
        }
        None => {
            let earlier = retried!(repository.published_before(run));
            if let Some(published) = earlier {
                return Ok(published);
            }
            let base = retried!(repository.branch(run.base));
            if base.as_deref() != Some(run.base_commit) {
                return Err(base_moved(run.base, run.base_commit, base.as_deref()));
            }
            for file in run.files {
                retried!(repository.add_file(file));
            }
            retried!(repository.add_tree(run));
            failpoints::reach("launch.forge_objects");
            let commit = retried!(repository.add_commit(run));
            failpoints::reach("launch.forge_commit");
            let commit = retried!(repository.create_branch(run, &commit));
            failpoints::reach("launch.forge_branch");
            commit
        }
    };
    let (url, number) = retried!(repository.pull_request(run));
    failpoints::reach("launch.forge_pull");
    Ok(Published { commit, url, number })
}

impl<'a> Repository<'a> {
    fn new(session: &'a Session<'a>, repo: &'a str) -> Self {
        let (owner, name) = repo.split_once('/').unwrap_or((repo, ""));
        Self { session, owner, name }
    }

    fn url(&self, segments: &[&str], query: &[(&str, &str)]) -> Url {
        self.session.url(&[&["repos", self.owner, self.name][..], segments].concat(), query)
    }

    async fn branch(&self, name: &str) -> Result<Option<String>, CallError> {
        let segments: Vec<&str> = ["git", "ref", "heads"].into_iter().chain(name.split('/')).collect();
        let url = self.url(&segments, &[]);
        let Some(reference) = self.session.get::<Reference>(&url).await? else { return Ok(None) };
        if reference.name != format!("refs/heads/{name}") {
            return Err(self.session.unexpected(&url, "it names another branch"));
        }
        self.session.object_id(&url, &reference.object.sha).map(Some)
    }

    /// Checks whether a commit exists and has the tree and the parent of the publication. Its author and message are not compared.
    async fn has_own(&self, commit: &str, run: &Publication<'_>) -> Result<bool, CallError> {
        let url = self.url(&["git", "commits", commit], &[]);
        let found: Option<Commit> = self.session.get(&url).await?;
        Ok(found.is_some_and(|found| is_own(&found, run)))
    }

    /// Requires that a commit is the one to be published.
    async fn require_own(&self, commit: &str, run: &Publication<'_>) -> Result<(), CallError> {
        match self.has_own(commit, run).await? {
            true => Ok(()),
            false => Err(foreign_branch(run.branch).into()),
        }
    }

    async fn add_file(&self, file: &FileChange) -> Result<(), CallError> {
        let body = json!({ "content": STANDARD.encode(&file.content), "encoding": "base64" });
        let added: Object = self.session.add(&self.url(&["git", "blobs"], &[]), &body).await?;
        if added.sha == file.id { Ok(()) } else { Err(other_content("content").into()) }
    }

    async fn add_tree(&self, run: &Publication<'_>) -> Result<(), CallError> {
        let entries: Vec<Value> = run
            .files
            .iter()
            .map(|file| {
                let mode = if file.is_executable { "100755" } else { "100644" };
                json!({ "path": file.path, "mode": mode, "type": "blob", "sha": file.id })
            })
            .collect();
        let body = json!({ "base_tree": run.base_tree, "tree": entries });
        let added: Object = self.session.add(&self.url(&["git", "trees"], &[]), &body).await?;
        if added.sha == run.tree { Ok(()) } else { Err(other_content("tree").into()) }
    }

    /// Adds the commit. Author and time are given, so it is the same commit however often it is added.
    async fn add_commit(&self, run: &Publication<'_>) -> Result<String, CallError> {
        let who = json!({ "name": run.author.0, "email": run.author.1, "date": run.time });
        let body = json!({
            "message": run.message,
            "tree": run.tree,
            "parents": [run.base_commit],
            "author": who,
            "committer": who,
        });
        let url = self.url(&["git", "commits"], &[]);
        let added: Commit = self.session.create(&url, &body).await?;
        if is_own(&added, run) {
            self.session.object_id(&url, &added.sha)
        } else {
            Err(other_content("commit").into())
        }
    }

    /// Creates the branch and returns its commit: `commit`, or that of an earlier attempt, which has the same tree and parent.
    async fn create_branch(&self, run: &Publication<'_>, commit: &str) -> Result<String, CallError> {
        if let Some(existing) = self.branch(run.branch).await? {
            self.require_own(&existing, run).await?;
            return Ok(existing);
        }
        let body = json!({ "ref": format!("refs/heads/{}", run.branch), "sha": commit });
        let url = self.url(&["git", "refs"], &[]);
        let created: Reference = self.session.create(&url, &body).await?;
        if created.object.sha == commit {
            Ok(created.object.sha)
        } else {
            Err(other_content("branch").into())
        }
    }

    /// Returns the pull request of the branch, whether open or not. Those of branches of the same name in forks are not requested.
    async fn known_pull(&self, run: &Publication<'_>) -> Result<Option<PullRequest>, CallError> {
        let head = format!("{}:{}", self.owner, run.branch);
        let url = self.url(&["pulls"], &[("head", head.as_str()), ("state", "all")]);
        let known: Vec<PullRequest> = self.session.get(&url).await?.unwrap_or_default();
        Ok(known.into_iter().find(|pull| pull.head.branch == run.branch))
    }

    /// Returns the result of an earlier attempt, if people merged or closed its pull request and deleted the branch.
    async fn published_before(&self, run: &Publication<'_>) -> Result<Option<Published>, CallError> {
        let Some(pull) = self.known_pull(run).await? else { return Ok(None) };
        let url = self.url(&["pulls"], &[]);
        let commit = self.session.object_id(&url, &pull.head.sha)?;
        if !self.has_own(&commit, run).await? {
            return Ok(None);
        }
        let (url, number) = self.session.pull_request(&url, pull.html_url, pull.number)?;
        Ok(Some(Published { commit, url, number }))
    }

    /// Returns the pull request of the branch, and opens it if it does not exist.
    async fn pull_request(&self, run: &Publication<'_>) -> Result<(String, i64), CallError> {
        let url = self.url(&["pulls"], &[]);
        let pull = match self.known_pull(run).await? {
            Some(pull) => pull,
            None => {
                let body = json!({
                    "title": run.title,
                    "body": run.body,
                    "head": run.branch,
                    "base": run.base,
                    "draft": false,
                });
                self.session.create::<PullRequest>(&url, &body).await?
            }
        };
        self.session.pull_request(&url, pull.html_url, pull.number)
    }
}

/// Returns `true` if a commit has the tree and the parent of the publication.
fn is_own(commit: &Commit, run: &Publication<'_>) -> bool {
    let parents: Vec<&str> = commit.parents.iter().map(|parent| parent.sha.as_str()).collect();
    commit.tree.sha == run.tree && parents == [run.base_commit]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_of_the_api_are_read() {
        let reference: Reference = serde_json::from_value(json!({
            "ref": "refs/heads/main", "node_id": "x", "url": "https://api.github.com/x",
            "object": { "type": "commit", "sha": "aa218f56b14c9653891f9e74264a383fa43fefbd", "url": "x" },
        }))
        .unwrap();
        assert_eq!(reference.name, "refs/heads/main");
        let pull: PullRequest = serde_json::from_value(json!({
            "id": 1, "number": 1347, "state": "closed", "html_url": "https://github.com/acme/site/pull/1347",
            "head": { "label": "acme:launch/r/shop", "ref": "launch/r/shop", "sha": "x" },
        }))
        .unwrap();
        assert_eq!((pull.number, pull.head.branch.as_str()), (1347, "launch/r/shop"));
    }
}
