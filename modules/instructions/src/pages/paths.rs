//! The paths of the pages, and the tool that they require, so that no page depends on another for them.

pub(super) const CATALOG: &str = "/catalog";
pub(super) const CATALOG_CHANGES: &str = "/catalog/changes";
pub(super) const CATALOG_USAGE: &str = "/catalog/usage";
pub(super) const CATALOG_GATES: &str = "/catalog/gates";
pub(super) const CATALOG_CHECKS: &str = "/catalog/checks";
pub(super) const CATALOG_REVIEW: &str = "/catalog/review";

/// The tool that the pages of the catalog require.
pub(super) const CATALOG_TOOL: &str = "instructions_list";
