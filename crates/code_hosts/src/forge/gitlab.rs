//! Publishing on GitLab: one call creates the commit and its branch, then a merge request.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use contract::Fault;
use platform::failpoints;
use platform::outbound::Url;
use serde::Deserialize;
use serde_json::{Value, json};

use super::client::{CallError, Retries, Session, retried};
use super::faults::{base_moved, foreign_branch, other_content};
use super::{Publication, Published, RootEntry};

/// Entries of a page of a folder.
const PAGE_ENTRIES: usize = 100;

/// A project, which is a repository.
struct Project<'a> {
    session: &'a Session<'a>,
    /// With the groups that it is in.
    path: &'a str,
}

/// A branch.
#[derive(Deserialize)]
struct Branch {
    name: String,
    commit: Commit,
}

/// A commit.
#[derive(Deserialize)]
struct Commit {
    id: String,
    #[serde(default)]
    parent_ids: Vec<String>,
}

/// An entry of a folder.
#[derive(Deserialize)]
struct Entry {
    name: String,
    mode: String,
    id: String,
}

/// A merge request.
#[derive(Deserialize)]
struct MergeRequest {
    iid: i64,
    web_url: String,
    source_branch: String,
    /// Its commit, even after the branch was deleted.
    sha: Option<String>,
    /// The project that the branch is in: this one, or a fork.
    source_project_id: Option<i64>,
    target_project_id: Option<i64>,
}

/// Returns the commit of a branch; `None` if it does not exist.
pub(super) async fn head(
    session: &Session<'_>,
    repo: &str,
    branch: &str,
) -> Result<Option<String>, CallError> {
    let found = Project { session, path: repo }.branch(branch).await?;
    Ok(found.map(|commit| commit.id))
}

/// Publishes a commit, or finds the result of an earlier attempt.
pub(super) async fn publish(session: &Session<'_>, run: &Publication<'_>) -> Result<Published, Fault> {
    let project = Project { session, path: run.repo };
    let commit = match retried!(project.branch(run.branch)) {
        Some(commit) => {
            retried!(project.require_own(&commit, run));
            commit.id
        }
        None => {
            let earlier = retried!(project.published_before(run));
            if let Some(published) = earlier {
                return Ok(published);
            }
            let base = retried!(project.branch(run.base)).map(|commit| commit.id);
            if base.as_deref() != Some(run.base_commit) {
                return Err(base_moved(run.base, run.base_commit, base.as_deref()));
            }
            let commit = retried!(project.create_branch(run));
            failpoints::reach("launch.forge_branch");
            commit
        }
    };
    let (url, number) = retried!(project.merge_request(run));
    failpoints::reach("launch.forge_pull");
    Ok(Published { commit, url, number })
}

impl Project<'_> {
    fn url(&self, segments: &[&str], query: &[(&str, &str)]) -> Url {
        self.session.url(&[&["projects", self.path][..], segments].concat(), query)
    }

    async fn branch(&self, name: &str) -> Result<Option<Commit>, CallError> {
        let url = self.url(&["repository", "branches", name], &[]);
        let Some(branch) = self.session.get::<Branch>(&url).await? else { return Ok(None) };
        if branch.name != name {
            return Err(self.session.unexpected(&url, "it names another branch"));
        }
        let id = self.session.object_id(&url, &branch.commit.id)?;
        Ok(Some(Commit { id, ..branch.commit }))
    }

    /// Requires that a commit is the one to be published.
    async fn require_own(&self, commit: &Commit, run: &Publication<'_>) -> Result<(), CallError> {
        match self.is_own(commit, run).await? {
            true => Ok(()),
            false => Err(foreign_branch(run.branch).into()),
        }
    }

    /// Checks whether a commit has the tree and the parent of the publication. GitLab does not return ids of trees, only those of the
    /// entries of the topmost folder, and each entry covers everything below it.
    async fn is_own(&self, commit: &Commit, run: &Publication<'_>) -> Result<bool, CallError> {
        if commit.parent_ids != [run.base_commit] {
            return Ok(false);
        }
        let mut found: Vec<RootEntry> = Vec::new();
        for page in 1_usize.. {
            let (size, number) = (PAGE_ENTRIES.to_string(), page.to_string());
            let query = [("ref", commit.id.as_str()), ("per_page", size.as_str()), ("page", number.as_str())];
            let url = self.url(&["repository", "tree"], &query);
            let entries: Vec<Entry> = self.session.get(&url).await?.unwrap_or_default();
            let is_last = entries.len() < PAGE_ENTRIES;
            found.extend(entries.into_iter().map(|Entry { name, mode, id }| RootEntry { name, mode, id }));
            if is_last || found.len() > run.root.len() {
                break;
            }
        }
        found.sort();
        Ok(found == run.root)
    }

    /// Creates the commit and the branch, unless an earlier attempt did.
    async fn create_branch(&self, run: &Publication<'_>) -> Result<String, CallError> {
        if let Some(existing) = self.branch(run.branch).await? {
            self.require_own(&existing, run).await?;
            return Ok(existing.id);
        }
        let actions: Vec<Value> = run
            .files
            .iter()
            .map(|file| {
                json!({
                    "action": if file.is_new { "create" } else { "update" },
                    "file_path": file.path,
                    "content": STANDARD.encode(&file.content),
                    "encoding": "base64",
                })
            })
            .collect();
        let body = json!({
            "branch": run.branch,
            "start_sha": run.base_commit,
            "commit_message": run.message,
            "author_name": run.author.0,
            "author_email": run.author.1,
            "actions": actions,
        });
        let url = self.url(&["repository", "commits"], &[]);
        let made: Commit = self.session.create(&url, &body).await?;
        let id = self.session.object_id(&url, &made.id)?;
        if self.is_own(&made, run).await? { Ok(id) } else { Err(other_content("commit").into()) }
    }

    /// Returns the merge request of the branch, whether open or not. Forks may have branches of the same name, and anyone may have a fork.
    async fn known_request(&self, run: &Publication<'_>) -> Result<Option<MergeRequest>, CallError> {
        let size = PAGE_ENTRIES.to_string();
        let query = [("source_branch", run.branch), ("state", "all"), ("per_page", size.as_str())];
        let url = self.url(&["merge_requests"], &query);
        let known: Vec<MergeRequest> = self.session.get(&url).await?.unwrap_or_default();
        Ok(known.into_iter().find(|request| {
            request.source_branch == run.branch && request.source_project_id == request.target_project_id
        }))
    }

    /// Returns the result of an earlier attempt, if people merged or closed its merge request and deleted the branch.
    async fn published_before(&self, run: &Publication<'_>) -> Result<Option<Published>, CallError> {
        let Some(request) = self.known_request(run).await? else { return Ok(None) };
        let url = self.url(&["merge_requests"], &[]);
        let Some(sha) = &request.sha else { return Ok(None) };
        let id = self.session.object_id(&url, sha)?;
        let commit_url = self.url(&["repository", "commits", id.as_str()], &[]);
        let Some(found) = self.session.get::<Commit>(&commit_url).await? else { return Ok(None) };
        // Use the requested id, not the one in the answer.
        let commit = Commit { id, ..found };
        if !self.is_own(&commit, run).await? {
            return Ok(None);
        }
        let (url, number) = self.session.pull_request(&url, request.web_url, request.iid)?;
        Ok(Some(Published { commit: commit.id, url, number }))
    }

    /// Returns the merge request of the branch, and opens it if it does not exist.
    async fn merge_request(&self, run: &Publication<'_>) -> Result<(String, i64), CallError> {
        let url = self.url(&["merge_requests"], &[]);
        let request = match self.known_request(run).await? {
            Some(request) => request,
            None => {
                let body = json!({
                    "source_branch": run.branch,
                    "target_branch": run.base,
                    "title": run.title,
                    "description": run.body,
                });
                self.session.create::<MergeRequest>(&url, &body).await?
            }
        };
        self.session.pull_request(&url, request.web_url, request.iid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_of_the_api_are_read() {
        let branch: Branch = serde_json::from_value(json!({
            "name": "main", "merged": false, "protected": true, "default": true,
            "commit": { "id": "7b5c3cc8be40ee161ae89a06bba6229da1032a0c", "short_id": "7b5c3cc",
                "parent_ids": ["4ad91d3c1144c406e50c7b33bae684bd6837faf8"], "title": "t" },
        }))
        .unwrap();
        assert_eq!((branch.name.as_str(), branch.commit.parent_ids.len()), ("main", 1));
        let request: MergeRequest = serde_json::from_value(json!({
            "id": 1, "iid": 7, "state": "merged", "source_branch": "launch/r/shop", "target_branch": "main",
            "web_url": "https://gitlab.example/acme/site/-/merge_requests/7",
        }))
        .unwrap();
        assert_eq!((request.iid, request.source_branch.as_str()), (7, "launch/r/shop"));
    }
}
