//! The paths of pages that others link to, and the tools that the pages in the head require, so that no page depends on another for them.

pub(crate) const SEARCH: &str = "/";
pub(crate) const REPOSITORIES: &str = "/repositories";
pub(super) const ADMINISTRATION: &str = "/administration";

pub(super) const CATALOG: &str = "/catalog";
pub(super) const CATALOG_CHANGES: &str = "/catalog/changes";
pub(super) const CATALOG_USAGE: &str = "/catalog/usage";
pub(super) const CATALOG_GATES: &str = "/catalog/gates";
pub(super) const CATALOG_CHECKS: &str = "/catalog/checks";
pub(super) const CATALOG_REVIEW: &str = "/catalog/review";

pub(super) const SIGN_IN_AT_ISSUER: &str = "/sign-in/issuer";
pub(super) const SIGN_OUT: &str = "/sign-out";

/// The tool that the pages of the catalog require.
pub(super) const CATALOG_TOOL: &str = "instructions_list";
