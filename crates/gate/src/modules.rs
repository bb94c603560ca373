//! The modules whose tools are in this package.

#[cfg(test)]
use std::sync::OnceLock;

use crate::app;
use crate::module::Module;
#[cfg(test)]
use crate::module::Modules;
use crate::tools::browse::{
    COMPLETE, COMPLETE_QUERY, CREATE_KEY, FILE_FACTS, LIST_AUDIT, LIST_FILES, LIST_FOLDER, LIST_KEYS,
    READ_FILE, READ_SYMBOL, REVOKE_KEY, SEARCH_FILE, SEARCH_PAGE,
};
use crate::tools::{Toolset, admin, artifacts, browse, index, search, status};

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

/// The table of all modules, for the tests of this package.
#[cfg(test)]
pub(crate) fn for_tests() -> &'static Modules {
    static TABLE: OnceLock<Modules> = OnceLock::new();
    TABLE.get_or_init(|| Modules::new(vec![&SEARCH, &ADMINISTRATION]))
}
