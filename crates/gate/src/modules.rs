//! The modules whose tools are in this package.

#[cfg(test)]
use std::sync::OnceLock;

#[cfg(test)]
use crate::module::Modules;
use crate::module::{Module, Records};
use crate::tools::browse::{
    COMPLETE, COMPLETE_INSTRUCTION, COMPLETE_QUERY, CREATE_KEY, FILE_FACTS, LIST_AUDIT, LIST_FILES,
    LIST_FINDINGS, LIST_FOLDER, LIST_KEYS, LIST_LAUNCH_EVENTS, READ_FILE, READ_FINDING, READ_INSTRUCTION,
    READ_LAUNCH_ARTIFACT, READ_LAUNCH_PART, READ_LAUNCH_RUN, READ_SYMBOL, REVOKE_KEY, SEARCH_FILE,
    SEARCH_PAGE, STREAM_DIFFERENCE, STREAM_LAUNCH_EVENTS,
};
use crate::tools::{Toolset, admin, artifacts, browse, index, instructions, launch, search, status, triage};
use crate::{app, catalog};
use tenancy::Scope;

/// Searching, reading and indexing code.
pub static SEARCH: Module = Module {
    name: "search",
    toolsets: &[Toolset::SEARCH, Toolset::INDEX, Toolset::ARTIFACTS],
    tools: &[
        &search::search::TOOL,
        &search::search_code::TOOL,
        &search::show_file::TOOL,
        &search::navigate::TOOL,
        &index::index_repository::TOOL,
        &index::build_index::TOOL,
        &index::index_status::TOOL,
        &status::check_status::TOOL,
        &status::workspace_status::TOOL,
    ],
    operations: &[
        LIST_FILES, READ_FILE, LIST_FOLDER, READ_SYMBOL, COMPLETE, SEARCH_FILE, SEARCH_PAGE, COMPLETE_QUERY,
        FILE_FACTS,
    ],
    prompts: &[browse::FIND_CODE, browse::EXPLAIN_CODE, browse::ONBOARD],
    job_kinds: &[&app::index_job::KIND, &app::upkeep_job::KIND],
    ..Module::EMPTY
};

/// Security findings and decisions.
pub static TRIAGE: Module = Module {
    name: "triage",
    toolsets: &[triage::TOOLSET],
    tools: &[&triage::ingest::TOOL, &triage::decision::TOOL, &triage::context_pack::TOOL],
    operations: &[LIST_FINDINGS, READ_FINDING],
    records: &[Records { source: &engine::triage::RECORDS, is_hidden: |_, _| false }],
    ..Module::EMPTY
};

/// Setting up, inspecting and cleaning an installation.
pub static ADMINISTRATION: Module = Module {
    name: "administration",
    toolsets: &[Toolset::ADMIN],
    tools: &[
        &artifacts::build_sqlite_index::TOOL,
        &artifacts::compact_sqlite_index::TOOL,
        &admin::report_artifacts::TOOL,
        &admin::config_status::TOOL,
        &admin::cache_gc::TOOL,
        &admin::clean_artifacts::TOOL,
        &admin::bootstrap::TOOL,
        &artifacts::download_models::TOOL,
        &artifacts::download_dictionaries::TOOL,
        &artifacts::download_extensions::TOOL,
        &artifacts::verify_extensions::TOOL,
        &index::build_index::INDEX_BUILD,
    ],
    operations: &[LIST_KEYS, CREATE_KEY, REVOKE_KEY, LIST_AUDIT],
    ..Module::EMPTY
};

/// The instruction catalog.
pub static INSTRUCTIONS: Module = Module {
    name: "instructions",
    toolsets: &[instructions::TOOLSET],
    tools: &[
        &instructions::list::TOOL,
        &instructions::get::TOOL,
        &instructions::search::TOOL,
        &instructions::export::TOOL,
        &instructions::diff::TOOL,
        &instructions::checksums::TOOL,
        &instructions::import::TOOL,
        &instructions::remove::TOOL,
        &instructions::repair::TOOL,
        &instructions::reload::TOOL,
        &instructions::review::TOOL,
        &instructions::verify::TOOL,
        &instructions::gates::TOOL,
        &instructions::track::TOOL,
        &instructions::track_batch::TOOL,
        &instructions::hotset::TOOL,
        &instructions::flush::TOOL,
        &instructions::metrics::TOOL,
        &instructions::meta_tools::TOOL,
    ],
    operations: &[READ_INSTRUCTION, COMPLETE_INSTRUCTION, STREAM_DIFFERENCE],
    prompts: &[browse::APPLY_INSTRUCTIONS],
    records: &[Records {
        source: &catalog::RECORDS,
        is_hidden: |config, principal| {
            !config.instructions.enabled || !principal.has_scope(Scope::Instructions)
        },
    }],
    call_ended: Some(instructions::record_method),
    ..Module::EMPTY
};

/// Launch runs.
pub static LAUNCH: Module = Module {
    name: "launch",
    toolsets: &[launch::TOOLSET],
    tools: &[
        &launch::start_run::TOOL,
        &launch::start_from_product::TOOL,
        &launch::start_from_github::TOOL,
        &launch::get_status::TOOL,
        &launch::list_runs::TOOL,
        &launch::get_artifact::TOOL,
        &launch::validate::TOOL,
        &launch::fix_next::TOOL,
        &launch::resume::TOOL,
        &launch::cancel::TOOL,
        &launch::open_pr::TOOL,
    ],
    operations: &[
        READ_LAUNCH_ARTIFACT, STREAM_LAUNCH_EVENTS, LIST_LAUNCH_EVENTS, READ_LAUNCH_RUN, READ_LAUNCH_PART,
    ],
    resources: &[&launch::resource::RUNS],
    job_kinds: &[&app::launch::KIND, &app::launch::WATCH_KIND],
    check_settings: launch::check_settings,
    mirrored: launch::mirrored_sites,
    background: &[|app| Box::pin(app::launch::sweep_runs(app))],
    index_ended: Some(|app, project| Box::pin(app::launch::index_ended(app, project))),
    ..Module::EMPTY
};

/// The table of all modules, for the tests of this package.
#[cfg(test)]
pub(crate) fn for_tests() -> &'static Modules {
    static TABLE: OnceLock<Modules> = OnceLock::new();
    TABLE.get_or_init(|| Modules::new(vec![&SEARCH, &TRIAGE, &ADMINISTRATION, &INSTRUCTIONS, &LAUNCH]))
}
