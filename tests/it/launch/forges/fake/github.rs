//! The API of GitHub: git's database by its objects, and pull requests.

use serde_json::{Value, json};

use super::{Pull, REPO, Recorded, Reply, Shared, plain, refused};

/// A reference, as GitHub shows it.
fn reference(name: &str, id: &str) -> Value {
    json!({ "ref": name, "object": { "type": "commit", "sha": id } })
}

impl Shared {
    pub(super) fn github(&self, request: &Recorded) -> Reply {
        let segments = request.segments();
        let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
        match (request.method.as_str(), segments.as_slice()) {
            ("GET", ["rate_limit"]) => (200, vec![("x-oauth-scopes", "repo".to_owned())], json!({})),
            ("GET", ["repos", "acme", "site", rest @ ..]) => self.github_answers(rest, request),
            ("POST", ["repos", "acme", "site", rest @ ..]) => self.github_writes(rest, request),
            _ => refused(404, "Not Found"),
        }
    }

    fn github_commit(&self, id: &str) -> Option<Value> {
        let (tree, parents) = self.tree_and_parents(id)?;
        let parents: Vec<Value> = parents.iter().map(|parent| json!({ "sha": parent })).collect();
        Some(json!({ "sha": id, "tree": { "sha": tree }, "parents": parents }))
    }

    fn github_pull(&self, number: usize, pull: &Pull) -> Value {
        let head = json!({ "ref": pull.branch, "sha": pull.commit });
        json!({ "number": number, "html_url": self.page(number), "state": "open", "head": head })
    }

    fn github_answers(&self, segments: &[&str], request: &Recorded) -> Reply {
        match segments {
            [] => plain(200, json!({ "full_name": REPO, "permissions": { "pull": true, "push": true } })),
            ["git", "ref", "heads", name @ ..] => {
                let name = name.join("/");
                match self.branch(&name) {
                    Some(id) => plain(200, reference(&format!("refs/heads/{name}"), &id)),
                    None => refused(404, "Not Found"),
                }
            }
            ["git", "commits", id] => match self.github_commit(id) {
                Some(commit) => plain(200, commit),
                None => refused(404, "Not Found"),
            },
            ["pulls"] => {
                let head = request.query("head").unwrap_or_default();
                let known = self.pulls_of(head.trim_start_matches("acme:"));
                // The owner in front of the branch leaves forks out.
                let own = known.iter().filter(|(_, known)| !known.is_of_fork);
                plain(200, own.map(|(number, known)| self.github_pull(*number, known)).collect())
            }
            _ => refused(404, "Not Found"),
        }
    }

    fn github_writes(&self, segments: &[&str], request: &Recorded) -> Reply {
        let created = |made: Result<Value, String>| match made {
            Ok(body) => plain(201, body),
            Err(error) => refused(422, error),
        };
        match segments {
            ["git", "blobs"] => created(self.blob(request.text("content")).map(|id| json!({ "sha": id }))),
            ["git", "trees"] => {
                let line = |entry: &Value| {
                    let text = |field: &str| entry[field].as_str().unwrap_or_default().to_owned();
                    format!("{} {}\t{}\n", text("mode"), text("sha"), text("path"))
                };
                let lines: String = request.body["tree"].as_array().into_iter().flatten().map(line).collect();
                let tree = self.tree(request.text("base_tree"), &lines);
                created(tree.map(|id| json!({ "sha": id, "tree": [] })))
            }
            ["git", "commits"] => {
                let who = |role: &str, field: &str| request.body[role][field].as_str().unwrap_or_default();
                let variables = [
                    ("GIT_AUTHOR_NAME", who("author", "name")),
                    ("GIT_AUTHOR_EMAIL", who("author", "email")),
                    ("GIT_AUTHOR_DATE", who("author", "date")),
                    ("GIT_COMMITTER_NAME", who("committer", "name")),
                    ("GIT_COMMITTER_EMAIL", who("committer", "email")),
                    ("GIT_COMMITTER_DATE", who("committer", "date")),
                ];
                let parent = request.body["parents"][0].as_str().unwrap_or_default();
                let arguments = ["commit-tree", request.text("tree"), "-p", parent];
                let made = self.run(&arguments, request.text("message").as_bytes(), &variables);
                created(made.map(|id| self.github_commit(&id).unwrap()))
            }
            ["git", "refs"] => {
                let (name, id) = (request.text("ref"), request.text("sha"));
                let made = self.create_branch(name.trim_start_matches("refs/heads/"), id);
                created(made.map(|_| reference(name, id)))
            }
            ["pulls"] => {
                let asked_for = Pull::asked_for(request, ["head", "base", "body"]);
                let opened = self.open_pull(asked_for).ok_or_else(|| "Validation Failed".to_owned());
                created(opened.map(|(number, opened)| self.github_pull(number, &opened)))
            }
            _ => refused(404, "Not Found"),
        }
    }
}
