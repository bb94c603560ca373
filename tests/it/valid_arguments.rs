//! Valid arguments for each tool: the one table from which tests call all tools.

use serde_json::{Value, json};

use crate::harness::modules;

/// A well-formed id of a run that no project has.
pub(crate) const ABSENT_RUN: &str = "r_2026-01-21T13-00-00Z_0123abcd";

/// The code with which a tool fails on these arguments although they are valid, because launch runs need a documentation site.
pub(crate) fn failure_without_site(tool: &str) -> Option<&'static str> {
    match tool {
        tool if tool.starts_with("launch_start_run") => Some("INVALID_INPUT"),
        "launch_list_runs" => None,
        tool if tool.starts_with("launch_") => Some("RUN_NOT_FOUND"),
        _ => None,
    }
}

/// The project, repository, file and finding that the calls use.
pub(crate) struct ToolSubject<'a> {
    /// The project's id.
    pub(crate) project: &'a str,
    /// Root of a repository that may be indexed into the project.
    pub(crate) root: &'a str,
    /// Path of an indexed file of the repository.
    pub(crate) file: &'a str,
    /// A word that occurs in that file.
    pub(crate) word: &'a str,
    /// The id of a finding of the project.
    pub(crate) finding: &'a str,
}

impl ToolSubject<'_> {
    /// Valid arguments of one tool that make it delete and download nothing.
    pub(crate) fn arguments(&self, tool: &str) -> Value {
        let Self { root, file, word, finding, .. } = self;
        let mut arguments = match tool {
            "search" => json!({ "query": word, "output": "full", "top": 50 }),
            "search_code" => json!({ "query": word, "limit": 50 }),
            "show_file" => json!({ "path": file }),
            "navigate" => json!({ "file": file, "line": 1 }),
            "index_repository" => json!({ "repo_path": root }),
            "build_index" | "index_build" | "report_artifacts" => json!({ "repoPath": root }),
            "bootstrap" => json!({ "repoPath": root, "skipInstall": true, "skipDicts": true }),
            "cache_gc" => json!({ "maxAgeDays": 0, "dryRun": true }),
            "clean_artifacts" => json!({ "all": true, "dryRun": true }),
            "triage_ingest" => json!({ "source": "manual", "payload": [] }),
            "triage_decision" => json!({ "finding": finding, "status": "fix" }),
            "triage_context_pack" => json!({ "recordId": finding }),
            "download_dictionaries" => json!({ "lang": "", "dir": download_folder() }),
            "download_extensions" | "verify_extensions" => json!({ "provider": "pgvector" }),
            "instructions_get" => json!({ "id": "canary" }),
            // A use of an entry would be counted.
            "usage_track" => json!({ "id": "absent" }),
            "instructions_search" => json!({ "q": word }),
            "instructions_import" => json!({ "entries": [crate::instructions::entry("canary", word)] }),
            "instructions_remove" => json!({ "ids": ["absent"] }),
            "instructions_diff" => json!({ "known": [] }),
            "prompt_review" => json!({ "prompt": word }),
            "usage_track_batch" => json!({ "items": [{ "id": "absent" }] }),
            "instructions_list"
            | "instructions_export"
            | "instructions_checksums"
            | "instructions_repair"
            | "instructions_reload"
            | "integrity_verify"
            | "gates_evaluate"
            | "usage_hotset"
            | "usage_flush"
            | "metrics_snapshot"
            | "meta_tools" => json!({}),
            "launch_start_run" => json!({ "run_config": {
                "schema_version": "1.0", "product_slug": "shop", "product_name": "Shop", "github_repo_url": root,
                "required_sections": ["docs"], "site_profile": "absent" } }),
            "launch_start_run_from_product_url" => {
                json!({ "url": "https://products.aspose.org/3d/en/python/" })
            }
            "launch_start_run_from_github_repo_url" => {
                json!({ "github_repo_url": "https://github.com/acme/shop" })
            }
            "launch_get_artifact" => json!({ "run_id": ABSENT_RUN, "artifact_name": "page_plan.json" }),
            "launch_get_status" | "launch_validate" | "launch_fix_next" | "launch_resume"
            | "launch_cancel" | "launch_open_pr" => json!({ "run_id": ABSENT_RUN }),
            "launch_list_runs" => json!({}),
            "download_models"
            | "index_status"
            | "check_status"
            | "workspace_status"
            | "config_status"
            | "build_sqlite_index"
            | "compact_sqlite_index" => json!({}),
            _ => panic!("{tool} has no arguments in tests/it/valid_arguments.rs"),
        };
        let spec = modules().list_of_tools().iter().find(|spec| spec.name == tool).unwrap();
        if (spec.input)()["properties"].get("project_id").is_some() {
            arguments["project_id"] = self.project.into();
        }
        arguments
    }
}

/// A folder for what a tool would download; it does not exist.
fn download_folder() -> String {
    format!("{}/downloads-{}", env!("CARGO_TARGET_TMPDIR"), std::process::id())
}
