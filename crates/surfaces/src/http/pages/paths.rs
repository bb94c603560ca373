//! The paths of pages that others link to, so that no page depends on another for them.

pub(crate) const SEARCH: &str = "/";
pub(crate) const REPOSITORIES: &str = "/repositories";
pub(super) const ADMINISTRATION: &str = "/administration";

pub(super) const SIGN_IN_AT_ISSUER: &str = "/sign-in/issuer";
pub(super) const SIGN_OUT: &str = "/sign-out";
