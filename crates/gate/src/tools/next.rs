//! Proposes the next call: `_meta.next` of an answer.

mod elsewhere;
mod indexable;

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::context::Caller;
use super::search_scope::ALL_REPOSITORIES;
use super::spec::ToolSpec;
use super::suggestion::Suggestion;
use super::unindexed_directory::{IN_OTHER_PROJECT, NOT_INDEXED};
use crate::app::App;
use contract::{Envelope, ErrorCode, Fault, Meta, Next};
use engine::search::{as_shown, filter_text, tokens};
use languages::terms::squash;

/// The query of a proposed search if nothing is known about the repository.
const FIRST_QUERY: &str = "where does the program start";
/// Arguments of more bytes are not copied to the next call.
const ARGUMENT_BYTES_MAX: usize = 1024;

/// Arguments that change the format of an answer, not its content.
const FORMAT_ARGUMENTS: &[&str] = &["maxTokens", "output", "explain", "context", "top", "limit"];

/// A call that was answered, as far as the proposal depends on it.
pub struct AnsweredCall {
    tool: &'static str,
    /// The proposals of the tool itself.
    own: Option<fn(&Self, &Value) -> Vec<Next>>,
    /// Arguments that are copied to the next call.
    project: Option<String>,
    repository: Option<String>,
    provider: Option<String>,
    /// All arguments, to detect a proposal that would repeat the call.
    arguments: Map<String, Value>,
    max_tokens: Option<usize>,
    caller: Caller,
    /// The path or address of the repository for which an index run may be proposed.
    indexable: Option<String>,
    /// The call that was probably meant, where a name was misspelt.
    meant: Option<Next>,
}

impl AnsweredCall {
    pub(super) fn new(spec: &ToolSpec, arguments: &Value, caller: &Caller) -> Self {
        let text = |names: &[&str]| {
            let found = names.iter().find_map(|name| arguments.get(*name)?.as_str());
            found.filter(|text| text.len() <= ARGUMENT_BYTES_MAX).map(str::to_owned)
        };
        let most = arguments.get("maxTokens").and_then(Value::as_u64);
        Self {
            tool: spec.name,
            own: spec.next,
            project: text(&["project_id"]),
            repository: text(&["repoPath", "repo_path", "repo"]),
            provider: text(&["provider"]),
            arguments: arguments.as_object().cloned().unwrap_or_default(),
            max_tokens: most.and_then(|most| usize::try_from(most).ok()),
            caller: caller.clone(),
            indexable: None,
            meant: None,
        }
    }

    /// The most helpful call that the caller may make and that would not repeat this one.
    pub(super) fn next(
        &self,
        app: &App,
        outcome: Result<&Value, &Fault>,
        meta: &Meta,
        suggested: &Suggestion,
    ) -> Option<Next> {
        let calls = match outcome {
            Ok(result) => self
                .about_working_directory(meta)
                .into_iter()
                .chain(self.after(result, meta, suggested))
                .collect(),
            Err(fault) => self.after_failure(fault),
        };
        let visible = |next: &Next| app.modules.tools().is_callable(&next.tool, &app.config, &self.caller);
        calls.into_iter().find(|next| visible(next) && !self.repeats(next))
    }

    /// Returns `true` if a call would give the same answer again. `index_status` would not: a run makes progress.
    fn repeats(&self, next: &Next) -> bool {
        if next.tool != self.tool || self.tool == "index_status" {
            return false;
        }
        let comparable = |arguments: &Map<String, Value>| -> BTreeMap<String, String> {
            let relevant = arguments
                .iter()
                .filter(|(name, value)| !value.is_null() && !FORMAT_ARGUMENTS.contains(&name.as_str()));
            let plain = |(name, value): (&String, &Value)| match (name.as_str(), value) {
                ("query", Value::String(text)) => (name.clone(), squash(text)),
                _ => (name.clone(), value.to_string()),
            };
            relevant.map(plain).collect()
        };
        comparable(&next.arguments) == comparable(&self.arguments)
    }

    /// Adds the proposed call to the envelope if the token limit allows. If the envelope exceeds the limit even without it,
    /// drops the texts of the warnings.
    pub(super) fn with_next(&self, mut envelope: Envelope, next: Option<Next>) -> Envelope {
        envelope.meta.next = next;
        let Some(most) = self.max_tokens else { return envelope };
        let fits = |envelope: &Envelope| tokens::within(&as_shown(envelope), most).is_some();
        if !fits(&envelope) {
            envelope.meta.next = None;
        }
        if !fits(&envelope) {
            // The codes of the warnings remain.
            for warning in &mut envelope.meta.warnings {
                warning.details = None;
                warning.message.clear();
            }
        }
        envelope
    }

    /// A call of `tool` in the same project.
    #[must_use]
    pub fn call(&self, tool: &str, arguments: Value) -> Next {
        let mut arguments = match arguments {
            Value::Object(arguments) => arguments,
            _ => Map::new(),
        };
        arguments.retain(|_, value| !value.is_null());
        if let Some(project) = &self.project
            && !arguments.contains_key("project_id")
        {
            arguments.insert("project_id".to_owned(), Value::from(project.as_str()));
        }
        Next { tool: tool.to_owned(), arguments }
    }

    /// A call of `tool` in the same project and repository.
    fn call_here(&self, tool: &str, mut arguments: Value) -> Next {
        if let Some(repository) = &self.repository {
            arguments["repoPath"] = Value::from(repository.as_str());
        }
        self.call(tool, arguments)
    }

    /// An index run of the named repository, or of the caller's directory, if that may be one.
    fn index(&self) -> Option<Next> {
        let path = self.indexable.as_deref()?;
        Some(self.call("build_index", json!({ "repoPath": path, "wait": false })))
    }

    /// After a search that did not cover the caller's working directory: the call that indexes or searches that directory.
    fn about_working_directory(&self, meta: &Meta) -> Option<Next> {
        let details_of =
            |code: &str| meta.warnings.iter().find(|warning| warning.code == code)?.details.as_ref();
        if let Some(details) = details_of(IN_OTHER_PROJECT) {
            let arguments = json!({ "query": self.arguments.get("query")?.as_str()?, "project_id": details["project_id"] });
            return Some(self.call(self.tool, arguments));
        }
        let details = details_of(NOT_INDEXED)?;
        let path = &details["repoPath"];
        Some(match details["indexing"] == true {
            true => self.call("index_status", json!({ "repoPath": path })),
            false => self.call("build_index", json!({ "repoPath": path, "wait": "words" })),
        })
    }

    fn after(&self, result: &Value, meta: &Meta, suggested: &Suggestion) -> Vec<Next> {
        let at = |pointer: &str| result.pointer(pointer).filter(|value| !value.is_null());
        let number = |pointer: &str| at(pointer).and_then(Value::as_u64).unwrap_or(0);
        let some = |next: Option<Next>| next.into_iter().collect::<Vec<_>>();
        if let Some(own) = self.own {
            return own(self, result);
        }
        match self.tool {
            // Suggestions come only with doubtful hits: a search for the suggested name helps more than the first hit.
            "search" if at("/didYouMean/0").is_some() && !is_filtered_out(meta) => {
                vec![self.call_here("search", json!({ "query": result["didYouMean"][0] }))]
            }
            "search" if at("/matches/files/0").is_some() => some(self.first_line(result)),
            "search" if at("/hits/0").is_none() => self.after_nothing(result, meta),
            "search" => some(self.first_hit(result)),
            "search_code" if at("/did_you_mean/0").is_some() && !is_filtered_out(meta) => {
                let mut arguments = json!({ "query": result["did_you_mean"][0] });
                if let Some(repository) = &self.repository {
                    arguments["repo_path"] = Value::from(repository.as_str());
                }
                vec![self.call("search_code", arguments)]
            }
            "search_code" => match at("/results/0/chunk_id") {
                Some(id) => vec![self.call("show_file", json!({ "id": id }))],
                None => self.after_nothing(result, meta),
            },
            "show_file" => self.after_file(result, suggested),
            "navigate" => self.after_navigation(result),
            "index_repository" => vec![self.call_here("search", json!({ "query": FIRST_QUERY }))],
            "build_index" | "index_build" if result["state"] == "succeeded" => {
                vec![self.call_here("search", json!({ "query": FIRST_QUERY }))]
            }
            "build_index" | "index_build" => vec![self.call("index_status", json!({}))],
            "index_status" if has_live_job(result) => vec![self.call_here("index_status", json!({}))],
            "index_status" if at("/repositories/0").is_none() => some(self.index()),
            "index_status" => vec![self.call_here("search", json!({ "query": FIRST_QUERY }))],
            // Without the project, which may not exist.
            "check_status" if result["healthy"] == false => {
                vec![Next { tool: "config_status".to_owned(), arguments: Map::new() }]
            }
            "check_status" => vec![list_workspaces()],
            "workspace_status" => some(self.first_search(result)),
            // The backend `sqlite` searches only files of the default names.
            "build_sqlite_index" | "compact_sqlite_index" if !self.names_a_file() => {
                vec![self.call_here("search", json!({ "query": FIRST_QUERY, "backend": "sqlite" }))]
            }
            "report_artifacts" if number("/vectorsOrphaned") > 0 => {
                vec![self.call("cache_gc", json!({ "dryRun": true })), self.call("index_status", json!({}))]
            }
            "report_artifacts" => vec![self.call("index_status", json!({}))],
            "cache_gc" | "clean_artifacts" => vec![self.call("report_artifacts", json!({}))],
            "download_dictionaries" => vec![self.call("index_status", json!({}))],
            "download_extensions" => {
                let mut next = Next { tool: "verify_extensions".to_owned(), arguments: Map::new() };
                let provider =
                    self.provider.as_deref().map(|name| ("provider".to_owned(), Value::from(name)));
                next.arguments.extend(provider);
                vec![next]
            }
            "config_status" | "bootstrap" | "download_models" | "verify_extensions" => {
                vec![self.call("check_status", json!({}))]
            }
            _ => Vec::new(),
        }
    }

    /// Shows the first hit; after a search for the callers of a definition, the first that is not the definition itself.
    fn first_hit(&self, result: &Value) -> Option<Next> {
        let query = self.arguments.get("query").and_then(Value::as_str).unwrap_or_default();
        let definition = ["calls:", "uses:"].iter().find_map(|field| query.strip_prefix(field));
        let name = |hit: &Value| hit["name"].as_str().map(str::to_owned).unwrap_or_default();
        let is_definition = |hit: &Value| {
            definition
                .is_some_and(|sought| name(hit).rsplit(['.', ':']).next() == Some(sought.trim_matches('"')))
        };
        let hit = result["hits"].as_array()?.iter().find(|hit| !is_definition(hit))?;
        // `show_file` knows only the ids of Postgres, not those of a portable file.
        if result["backend"] != "postgres" {
            return Some(self.show_lines(hit));
        }
        // The line identifies the definition that was found among those of the chunk.
        Some(self.call("show_file", json!({ "hit": { "id": hit["id"], "line": hit["line"] } })))
    }

    /// Shows the first line that matches exactly, in its definition.
    fn first_line(&self, result: &Value) -> Option<Next> {
        let file = result.pointer("/matches/files/0")?;
        let arguments = json!({ "file": file["file"], "line": file.pointer("/lines/0/line")? });
        match &file["repo"] {
            Value::String(repo) => {
                let mut arguments = arguments;
                arguments["repoPath"] = Value::from(repo.as_str());
                Some(self.call("show_file", arguments))
            }
            _ => Some(self.call_here("show_file", arguments)),
        }
    }

    /// Returns `true` if the arguments choose a different portable file from that of the project or of a repository.
    fn names_a_file(&self) -> bool {
        ["out", "path", "mode", "codeDir", "proseDir"].iter().any(|name| self.arguments.contains_key(*name))
    }

    /// Shows the file of a hit by path and lines.
    fn show_lines(&self, hit: &Value) -> Next {
        let mut arguments =
            json!({ "file": hit["file"], "startLine": hit["startLine"], "endLine": hit["endLine"] });
        if !hit["repo"].is_string() {
            return self.call_here("show_file", arguments);
        }
        arguments["repoPath"] = hit["repo"].clone();
        self.call("show_file", arguments)
    }

    /// After a search without hits: first the list of workspaces if a part of the project was searched and fully indexed, else
    /// the status of the index.
    fn after_nothing(&self, result: &Value, meta: &Meta) -> Vec<Next> {
        let status = match self.tool {
            "search" => self.call_here("index_status", json!({})),
            _ => self.call("index_status", json!({})),
        };
        let is_part = meta.scope.as_ref().is_some_and(|scope| scope.repositories != [ALL_REPOSITORIES]);
        if result["confidence"] == "none" && is_part && meta.warnings.is_empty() {
            vec![list_workspaces(), status]
        } else {
            vec![status, list_workspaces()]
        }
    }

    /// The rest of a truncated file, else the callers of what is shown.
    fn after_file(&self, result: &Value, suggested: &Suggestion) -> Vec<Next> {
        let repo = &result["repo"];
        if result.pointer("/omitted/lines").and_then(Value::as_u64).is_some_and(|lines| lines > 0) {
            let (start, end) = suggested.unshown_lines.unzip();
            let arguments = json!({ "file": result["path"], "repoPath": repo, "revision": result["revision"],
                "startLine": start, "endLine": end });
            return vec![self.call("show_file", arguments)];
        }
        if result["changedSinceIndexed"] == true {
            return vec![self.call("index_status", json!({ "repoPath": repo }))];
        }
        if let Some((line, is_called)) = suggested.definition {
            let relation = if is_called { "callers" } else { "references" };
            let arguments =
                json!({ "file": result["path"], "line": line, "relation": relation, "repoPath": repo });
            return vec![self.call("navigate", arguments)];
        }
        let callers = |query: &str| self.call("search", json!({ "query": query, "repoPath": repo }));
        suggested.query.as_deref().map(callers).into_iter().collect()
    }

    /// After an ambiguous name, the same question about the first candidate; after places, the first of them; without any place, an
    /// occurrence that may still be a use.
    fn after_navigation(&self, result: &Value) -> Vec<Next> {
        let at = |pointer: &str| result.pointer(pointer).filter(|value| !value.is_null());
        let relation = &result["relation"];
        let about = |symbol: &Value, more: Value| {
            let mut arguments =
                json!({ "file": symbol["file"], "line": symbol["line"], "repoPath": symbol["repo"] });
            if let (Some(arguments), Value::Object(more)) = (arguments.as_object_mut(), more) {
                arguments.extend(more);
            }
            self.call("navigate", arguments)
        };
        if let Some(candidate) = at("/candidates/0") {
            return vec![about(candidate, json!({ "relation": relation }))];
        }
        let symbol = &result["symbol"];
        if relation == "definition" && symbol.is_object() {
            return match (symbol["kind"] == "field", symbol["name"].as_str()) {
                // Uses of fields are not followed.
                (true, Some(name)) => {
                    vec![self.call_here("search", json!({ "query": filter_text("uses", name) }))]
                }
                _ => vec![about(symbol, json!({}))],
            };
        }
        if let Some(file) = at("/files/0").or_else(|| at("/unresolved/files/0")) {
            let repo = if file["repo"].is_string() { &file["repo"] } else { &symbol["repo"] };
            let line = &file["places"][0]["line"];
            return vec![
                self.call("show_file", json!({ "file": file["file"], "line": line, "repoPath": repo })),
            ];
        }
        match symbol.is_object() && at("/unresolved").is_some() {
            true => vec![about(symbol, json!({ "relation": relation, "certainty": "name" }))],
            false => Vec::new(),
        }
    }

    /// After a name that has no definition: the nearest one, or where the name occurs.
    fn after_unknown_symbol(&self, fault: &Fault) -> Vec<Next> {
        let detail = |pointer: &str| fault.details.as_ref().and_then(|details| details.pointer(pointer));
        if let Some(name) = detail("/usedName").and_then(Value::as_str) {
            return vec![self.call_here("search", json!({ "query": filter_text("uses", name) }))];
        }
        if let Some(nearest) = detail("/nearest/0") {
            let relation = self.arguments.get("relation");
            return match self.arguments.contains_key("symbol") {
                true => vec![self.call_here("navigate", json!({ "symbol": nearest, "relation": relation }))],
                false => vec![self.call_here("show_file", json!({ "file": nearest }))],
            };
        }
        let symbol = self.arguments.get("symbol").and_then(Value::as_str);
        let symbol = symbol.filter(|symbol| symbol.len() <= ARGUMENT_BYTES_MAX);
        symbol.map(|symbol| self.call_here("search", json!({ "query": symbol }))).into_iter().collect()
    }

    /// A search in the first project that has a repository.
    fn first_search(&self, result: &Value) -> Option<Next> {
        let projects = result["projects"].as_array()?;
        let with_repository = projects.iter().find(|project| project.pointer("/repositories/0").is_some());
        match with_repository {
            Some(project) => {
                let arguments = json!({ "query": FIRST_QUERY, "project_id": project["project_id"] });
                Some(self.call("search", arguments))
            }
            None => self.index(),
        }
    }

    fn after_failure(&self, fault: &Fault) -> Vec<Next> {
        match fault.code {
            ErrorCode::NoIndex if is_missing_file(fault) => {
                let mode = self.arguments.get("mode");
                let out = self.arguments.get("path");
                vec![self.call_here("build_sqlite_index", json!({ "mode": mode, "out": out }))]
            }
            ErrorCode::NoIndex => {
                self.meant.clone().into_iter().chain(self.index()).chain([list_workspaces()]).collect()
            }
            ErrorCode::NotFound if self.tool == "show_file" => {
                let detail =
                    |pointer: &str| fault.details.as_ref().and_then(|details| details.pointer(pointer));
                match (detail("/nearest/0"), detail("/reason")) {
                    (Some(path), _) => vec![self.call_here("show_file", json!({ "file": path }))],
                    // The file was skipped when its repository was indexed; no call can show it.
                    (None, Some(_)) => Vec::new(),
                    (None, None) => vec![self.call("index_status", json!({}))],
                }
            }
            ErrorCode::NotFound if self.tool == "navigate" => self.after_unknown_symbol(fault),
            ErrorCode::CapabilityMissing | ErrorCode::StorageUnavailable => {
                vec![self.call("check_status", json!({}))]
            }
            _ => Vec::new(),
        }
    }
}

/// Returns `true` if no chunk passes the filters, so that another query would not help.
fn is_filtered_out(meta: &Meta) -> bool {
    meta.warnings.iter().any(|warning| warning.code == "filter_matches_nothing")
}

/// Returns `true` if a portable file is missing, rather than a project or repository.
fn is_missing_file(fault: &Fault) -> bool {
    fault.details.as_ref().is_some_and(|details| details["file"].is_string())
}

/// Lists the repositories of all projects.
fn list_workspaces() -> Next {
    Next { tool: "workspace_status".to_owned(), arguments: Map::new() }
}

/// Returns `true` if a run is queued or running.
fn has_live_job(result: &Value) -> bool {
    let jobs = result["jobs"].as_array().map(Vec::as_slice).unwrap_or_default();
    jobs.iter().any(|job| matches!(job["state"].as_str(), Some("queued" | "running")))
}
