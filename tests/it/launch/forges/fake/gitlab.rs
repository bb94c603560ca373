//! The API of GitLab: commits of several actions, folders, and merge requests.

use serde_json::json;

use super::{Pull, REPO, Recorded, Reply, Shared, plain, refused};

impl Shared {
    pub(super) fn gitlab(&self, request: &Recorded) -> Reply {
        let segments = request.segments();
        let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
        let commit = |id: &str| {
            let (_, parents) = self.tree_and_parents(id).unwrap();
            json!({ "id": id, "parent_ids": parents })
        };
        let merge_request = |number: usize, pull: &Pull| {
            json!({
                "iid": number, "web_url": self.page(number), "state": "opened", "source_branch": pull.branch, "sha": pull.commit,
                "source_project_id": if pull.is_of_fork { 8 } else { 7 }, "target_project_id": 7,
            })
        };
        match (request.method.as_str(), segments.as_slice()) {
            ("GET", ["personal_access_tokens", "self"]) => {
                plain(200, json!({ "active": true, "revoked": false, "scopes": ["api"] }))
            }
            ("GET", ["projects", REPO]) => plain(
                200,
                json!({ "permissions": { "project_access": { "access_level": 30 }, "group_access": null } }),
            ),
            ("GET", ["projects", REPO, "repository", "branches", name]) => match self.branch(name) {
                Some(id) => plain(200, json!({ "name": name, "commit": commit(&id) })),
                None => refused(404, "404 Branch Not Found"),
            },
            ("GET", ["projects", REPO, "repository", "commits", id]) => match self.tree_and_parents(id) {
                Some(_) => plain(200, commit(id)),
                None => refused(404, "404 Commit Not Found"),
            },
            ("GET", ["projects", REPO, "repository", "tree"]) => self.root_folder(request),
            ("POST", ["projects", REPO, "repository", "commits"]) => match self.commit_actions(request) {
                Ok(id) => plain(201, commit(&id)),
                Err(error) => refused(400, error),
            },
            ("GET", ["projects", REPO, "merge_requests"]) => {
                let known = self.pulls_of(&request.query("source_branch").unwrap_or_default());
                plain(200, known.iter().map(|(number, known)| merge_request(*number, known)).collect())
            }
            ("POST", ["projects", REPO, "merge_requests"]) => {
                match self
                    .open_pull(Pull::asked_for(request, ["source_branch", "target_branch", "description"]))
                {
                    Some((number, opened)) => plain(201, merge_request(number, &opened)),
                    None => refused(409, "Another open merge request already exists for this source branch"),
                }
            }
            _ => refused(404, "404 Project Not Found"),
        }
    }

    /// A page of the topmost folder of a commit.
    fn root_folder(&self, request: &Recorded) -> Reply {
        let number =
            |name: &str| request.query(name).and_then(|text| text.parse::<usize>().ok()).unwrap_or(1);
        let format = "--format=%(objectmode) %(objectname) %(path)";
        match self.run(&["ls-tree", format, &request.query("ref").unwrap_or_default()], b"", &[]) {
            Ok(listed) => {
                let entry = |line: &str| {
                    let parts: Vec<&str> = line.splitn(3, ' ').collect();
                    json!({ "mode": parts[0], "id": parts[1], "name": parts[2], "path": parts[2] })
                };
                let size = number("per_page");
                plain(200, listed.lines().skip((number("page") - 1) * size).take(size).map(entry).collect())
            }
            Err(error) => refused(404, error),
        }
    }

    /// Makes a commit and its branch. A file keeps its mode.
    fn commit_actions(&self, request: &Recorded) -> Result<String, String> {
        let (branch, start) = (request.text("branch"), request.text("start_sha"));
        if self.branch(branch).is_some() {
            return Err(format!("A branch called '{branch}' already exists."));
        }
        let mut lines = String::new();
        for action in request.body["actions"].as_array().into_iter().flatten() {
            let text = |field: &str| action[field].as_str().unwrap_or_default();
            let known =
                self.run(&["ls-tree", "--format=%(objectmode)", start, text("file_path")], b"", &[])?;
            let mode = match (text("action"), known.as_str()) {
                ("create", "") => "100644",
                ("update", mode) if !mode.is_empty() => mode,
                (action, _) => return Err(format!("{action} of {} is not possible", text("file_path"))),
            };
            lines.push_str(&format!("{mode} {}\t{}\n", self.blob(text("content"))?, text("file_path")));
        }
        let tree = self.tree(start, &lines)?;
        let variables = [
            ("GIT_AUTHOR_NAME", request.text("author_name")),
            ("GIT_AUTHOR_EMAIL", request.text("author_email")),
        ];
        let message = request.text("commit_message").as_bytes();
        let id = self.run(&["commit-tree", &tree, "-p", start], message, &variables)?;
        self.create_branch(branch, &id)?;
        Ok(id)
    }
}
