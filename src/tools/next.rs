//! Which call helps most after an answer, so that an agent need not work it out: `_meta.next`.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::context::Caller;
use super::list::Toolbox;
use super::spec::ToolSpec;
use super::standing::EVERYTHING;
use super::unindexed::{IN_OTHER_PROJECT, NOT_INDEXED};
use contract::{Envelope, ErrorCode, Fault, Meta, Next};
use engine::search::{as_shown, tokens};
use languages::terms::squash;

/// Asked where nothing else is known of a repository.
const FIRST_QUESTION: &str = "where does the program start";
/// Longer arguments are not repeated.
const ARGUMENT_BYTES_MAX: usize = 1024;

/// Arguments that say how much is shown and not what.
const OF_THE_SHAPE: &[&str] = &["maxTokens", "output", "explain", "context", "top", "limit"];

/// What of a call decides the next one.
pub(super) struct Asked {
    tool: &'static str,
    /// The arguments that a next call takes over.
    project: Option<String>,
    repository: Option<String>,
    extension: Option<String>,
    /// All of them, for a call that would say the same again.
    arguments: Map<String, Value>,
    max_tokens: Option<usize>,
    caller: Caller,
}

impl Asked {
    pub(super) fn of(spec: &ToolSpec, arguments: &Value, caller: &Caller) -> Self {
        let text = |names: &[&str]| {
            let found = names.iter().find_map(|name| arguments.get(*name)?.as_str());
            found.filter(|text| text.len() <= ARGUMENT_BYTES_MAX).map(str::to_owned)
        };
        let most = arguments.get("maxTokens").and_then(Value::as_u64);
        Self {
            tool: spec.name,
            project: text(&["project_id"]),
            repository: text(&["repoPath", "repo_path", "repo"]),
            extension: text(&["provider"]),
            arguments: arguments.as_object().cloned().unwrap_or_default(),
            max_tokens: most.and_then(|most| usize::try_from(most).ok()),
            caller: caller.clone(),
        }
    }

    /// The first call that helps, that the caller may make, and that is not the one that was just made. `suggested` is the
    /// question that the tool itself had in mind.
    pub(super) fn next(
        &self,
        outcome: Result<&Value, &Fault>,
        meta: &Meta,
        suggested: Option<&str>,
    ) -> Option<Next> {
        let calls = match outcome {
            Ok(result) => {
                self.where_it_works(meta).into_iter().chain(self.after(result, meta, suggested)).collect()
            }
            Err(fault) => self.after_failure(fault),
        };
        let visible = |next: &Next| Toolbox::standard().enabled(&next.tool, &self.caller).is_ok();
        calls.into_iter().find(|next| visible(next) && !self.repeats(next))
    }

    /// Whether a call would say again what was just said. Asking anew how far a run is tells something new.
    fn repeats(&self, next: &Next) -> bool {
        if next.tool != self.tool || self.tool == "index_status" {
            return false;
        }
        let asks = |arguments: &Map<String, Value>| -> BTreeMap<String, String> {
            let asked = arguments
                .iter()
                .filter(|(name, value)| !value.is_null() && !OF_THE_SHAPE.contains(&name.as_str()));
            let plain = |(name, value): (&String, &Value)| match (name.as_str(), value) {
                ("query", Value::String(text)) => (name.clone(), squash(text)),
                _ => (name.clone(), value.to_string()),
            };
            asked.map(plain).collect()
        };
        asks(&next.arguments) == asks(&self.arguments)
    }

    /// The answer with the next call, where that keeps within the tokens that the caller allows.
    pub(super) fn finished(&self, mut envelope: Envelope, next: Option<Next>) -> Envelope {
        envelope.meta.next = next;
        let Some(most) = self.max_tokens else { return envelope };
        let fits = |envelope: &Envelope| tokens::within(&as_shown(envelope), most).is_some();
        if !fits(&envelope) {
            envelope.meta.next = None;
        }
        if !fits(&envelope) {
            // Their codes say what they are about.
            for warning in &mut envelope.meta.warnings {
                warning.details = None;
                warning.message.clear();
            }
        }
        envelope
    }

    /// A call of `tool` in the same project.
    fn call(&self, tool: &str, arguments: Value) -> Next {
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

    /// The same, about the same repository.
    fn call_here(&self, tool: &str, mut arguments: Value) -> Next {
        if let Some(repository) = &self.repository {
            arguments["repoPath"] = Value::from(repository.as_str());
        }
        self.call(tool, arguments)
    }

    /// An index run of the repository that was named, or of the one that the caller works in.
    fn index(&self) -> Option<Next> {
        let named = self.repository.clone().filter(|named| named.starts_with('/'));
        let here = self.caller.directory.as_ref().map(|directory| directory.to_string_lossy().into_owned());
        let path = named.or_else(|| here.filter(|_| self.repository.is_none()))?;
        Some(self.call("build_index", json!({ "repoPath": path, "wait": false })))
    }

    /// What gives the caller answers from its own directory, after a search that had only others to ask.
    fn where_it_works(&self, meta: &Meta) -> Option<Next> {
        let of = |code: &str| meta.warnings.iter().find(|warning| warning.code == code)?.details.as_ref();
        if let Some(details) = of(IN_OTHER_PROJECT) {
            let arguments = json!({ "query": self.arguments.get("query")?.as_str()?, "project_id": details["project_id"] });
            return Some(self.call(self.tool, arguments));
        }
        let details = of(NOT_INDEXED)?;
        let path = &details["repoPath"];
        Some(match details["indexing"] == true {
            true => self.call("index_status", json!({ "repoPath": path })),
            false => self.call("build_index", json!({ "repoPath": path, "wait": "words" })),
        })
    }

    fn after(&self, result: &Value, meta: &Meta, suggested: Option<&str>) -> Vec<Next> {
        let at = |pointer: &str| result.pointer(pointer).filter(|value| !value.is_null());
        let number = |pointer: &str| at(pointer).and_then(Value::as_u64).unwrap_or(0);
        let some = |next: Option<Next>| next.into_iter().collect::<Vec<_>>();
        match self.tool {
            // Names are proposed only where the hits are doubtful: what was meant helps more than the first of them.
            "search" if at("/didYouMean/0").is_some() && !is_filtered_out(meta) => {
                vec![self.call_here("search", json!({ "query": result["didYouMean"][0] }))]
            }
            "search" => match at("/hits/0") {
                // The ids of a portable file are its own.
                Some(hit) if result["backend"] != "postgres" => vec![self.by_place(hit)],
                Some(hit) => vec![self.call("show_file", json!({ "id": hit["id"] }))],
                None => self.after_nothing(result, meta),
            },
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
            "index_repository" => vec![self.call_here("search", json!({ "query": FIRST_QUESTION }))],
            "build_index" | "index_build" if result["state"] == "succeeded" => {
                vec![self.call_here("search", json!({ "query": FIRST_QUESTION }))]
            }
            "build_index" | "index_build" => vec![self.call("index_status", json!({}))],
            "index_status" if under_way(result) => vec![self.call_here("index_status", json!({}))],
            "index_status" if at("/repositories/0").is_none() => some(self.index()),
            "index_status" => vec![self.call_here("search", json!({ "query": FIRST_QUESTION }))],
            "check_status" if result["healthy"] == false => vec![self.call("config_status", json!({}))],
            "check_status" => vec![everywhere()],
            "workspace_status" => some(self.first_search(result)),
            "triage_ingest" => {
                some(at("/recordIds/0").map(|id| self.call("triage_context_pack", json!({ "recordId": id }))))
            }
            "triage_decision" => {
                let place = json!({ "file": result["path"], "repoPath": result["repo"] });
                vec![self.call("show_file", place)]
            }
            "triage_context_pack" => some(self.first_evidence(result)),
            "build_sqlite_index" | "compact_sqlite_index" => {
                vec![self.call("search", json!({ "query": FIRST_QUESTION, "backend": "sqlite" }))]
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
                    self.extension.as_deref().map(|name| ("provider".to_owned(), Value::from(name)));
                next.arguments.extend(provider);
                vec![next]
            }
            "config_status" | "bootstrap" | "download_models" | "verify_extensions" => {
                vec![self.call("check_status", json!({}))]
            }
            _ => Vec::new(),
        }
    }

    /// The file of a hit that is known by its place alone.
    fn by_place(&self, hit: &Value) -> Next {
        let mut place =
            json!({ "file": hit["file"], "startLine": hit["startLine"], "endLine": hit["endLine"] });
        if !hit["repo"].is_string() {
            return self.call_here("show_file", place);
        }
        place["repoPath"] = hit["repo"].clone();
        self.call("show_file", place)
    }

    /// What else there is to search, where one repository was asked that lacks nothing; else how far what was asked is indexed.
    fn after_nothing(&self, result: &Value, meta: &Meta) -> Vec<Next> {
        let status = match self.tool {
            "search" => self.call_here("index_status", json!({})),
            _ => self.call("index_status", json!({})),
        };
        let is_part = meta.scope.as_ref().is_some_and(|scope| scope.repositories != [EVERYTHING]);
        if result["confidence"] == "none" && is_part && meta.warnings.is_empty() {
            vec![everywhere(), status]
        } else {
            vec![status, everywhere()]
        }
    }

    /// The rest of the file where it was cut; else who calls what was shown.
    fn after_file(&self, result: &Value, suggested: Option<&str>) -> Vec<Next> {
        let repo = &result["repo"];
        if result.pointer("/omitted/lines").and_then(Value::as_u64).is_some_and(|lines| lines > 0) {
            let line = |field: &str| result[field].as_u64().unwrap_or(0);
            let mut place = json!({ "file": result["path"], "repoPath": repo });
            // What is cut stands before the line that was asked for, where the file is shown to its end.
            if line("endLine") < line("totalLines") {
                place["startLine"] = Value::from(line("endLine") + 1);
            } else if line("startLine") > 1 {
                place["endLine"] = Value::from(line("startLine") - 1);
            }
            return vec![self.call("show_file", place)];
        }
        if result["changedSinceIndexed"] == true {
            return vec![self.call("index_status", json!({ "repoPath": repo }))];
        }
        let callers = |query: &str| self.call("search", json!({ "query": query, "repoPath": repo }));
        suggested.map(callers).into_iter().collect()
    }

    /// A search in the first project that has a repository.
    fn first_search(&self, result: &Value) -> Option<Next> {
        let projects = result["projects"].as_array()?;
        let filled = projects.iter().find(|project| project.pointer("/repositories/0").is_some());
        match filled {
            Some(project) => {
                let arguments = json!({ "query": FIRST_QUESTION, "project_id": project["project_id"] });
                Some(self.call("search", arguments))
            }
            None => self.index(),
        }
    }

    /// The place of the first evidence that a pack holds.
    fn first_evidence(&self, result: &Value) -> Option<Next> {
        let queries = result.pointer("/pack/repoEvidence/queries")?.as_array()?;
        let hit = queries.iter().find_map(|query| query.pointer("/hits/0"))?;
        let place = json!({ "file": hit["file"], "repoPath": hit["repo"], "startLine": hit["startLine"],
            "endLine": hit["endLine"] });
        Some(self.call("show_file", place))
    }

    fn after_failure(&self, fault: &Fault) -> Vec<Next> {
        match fault.code {
            ErrorCode::NoIndex => self.index().into_iter().chain([everywhere()]).collect(),
            ErrorCode::NotFound if self.tool == "show_file" => {
                let told =
                    |pointer: &str| fault.details.as_ref().and_then(|details| details.pointer(pointer));
                match (told("/nearest/0"), told("/reason")) {
                    (Some(path), _) => vec![self.call_here("show_file", json!({ "file": path }))],
                    // What was left out is found by nothing.
                    (None, Some(_)) => Vec::new(),
                    (None, None) => vec![self.call("index_status", json!({}))],
                }
            }
            ErrorCode::CapabilityMissing | ErrorCode::StorageUnavailable => {
                vec![self.call("check_status", json!({}))]
            }
            _ => Vec::new(),
        }
    }
}

/// Whether nothing passed what was demanded of hits: another word would not help.
fn is_filtered_out(meta: &Meta) -> bool {
    meta.warnings.iter().any(|warning| warning.code == "filter_matches_nothing")
}

/// What there is to search, in all projects.
fn everywhere() -> Next {
    Next { tool: "workspace_status".to_owned(), arguments: Map::new() }
}

/// Whether a run is queued or running.
fn under_way(result: &Value) -> bool {
    let jobs = result["jobs"].as_array().map(Vec::as_slice).unwrap_or_default();
    jobs.iter().any(|job| matches!(job["state"].as_str(), Some("queued" | "running")))
}
