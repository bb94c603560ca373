//! The tools of the catalog, with the properties that `meta/tools` lists.

use super::{
    checksums, diff, export, flush, gates, get, hotset, import, list, meta_tools, metrics, reload, remove,
    repair, review, search, track, track_batch, verify,
};
use gate::tools::ToolSpec;

/// A tool of the catalog.
pub(super) struct CatalogTool {
    /// Its entry of the tool list.
    pub(super) spec: &'static ToolSpec,
    /// `true` if it is refused unless the operator allows writes; `instructions/repair` is refused only if it has something to repair.
    pub(super) is_mutation: bool,
    /// `true` if its answer is stable and depends only on the catalog.
    pub(super) is_stable: bool,
}

const fn row(spec: &'static ToolSpec, is_mutation: bool, is_stable: bool) -> CatalogTool {
    CatalogTool { spec, is_mutation, is_stable }
}

/// All tools of the catalog, in the order of the tool list.
pub(super) static CATALOG_TOOLS: &[CatalogTool] = &[
    row(&list::TOOL, false, true),
    row(&get::TOOL, false, true),
    row(&search::TOOL, false, true),
    row(&export::TOOL, false, false),
    row(&diff::TOOL, false, false),
    row(&checksums::TOOL, false, false),
    row(&import::TOOL, true, false),
    row(&remove::TOOL, true, false),
    row(&repair::TOOL, true, false),
    row(&reload::TOOL, true, false),
    row(&review::TOOL, false, true),
    row(&verify::TOOL, false, true),
    row(&gates::TOOL, false, false),
    row(&track::TOOL, false, false),
    row(&track_batch::TOOL, false, false),
    row(&hotset::TOOL, false, true),
    row(&flush::TOOL, true, false),
    row(&metrics::TOOL, false, false),
    row(&meta_tools::TOOL, false, true),
];
