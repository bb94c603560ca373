//! Lists the repositories of organisations, users, groups and workspaces on code hosts, for the setting `[[sources]]`; [`forge`] publishes
//! branches and pull requests there, for launch runs.
//!
//! [`Source::new`] creates a [`Source`] from the settings, and [`Lister::list`] requests all pages from its host. The hosts differ in
//! addresses, fields and the link to the next page: each has one file, behind the trait of `host`. Their answers are not trusted: sizes and
//! counts are bounded, links stay on the configured server, and names and addresses are checked.

pub mod forge;

mod check;
mod project;
mod source;

mod lister;
mod page_cache;
mod page_reader;
mod rate_limit;

mod bitbucket;
mod gitea;
mod github;
mod gitlab;
mod host;
mod links;

mod error;
mod filter;
mod names;
mod repository;

#[cfg(test)]
mod samples;

pub use check::check_sources;
pub use error::ListError;
pub use filter::Filter;
pub use lister::{Limits, Lister};
pub use page_cache::PageCache;
pub use repository::{Listing, RemoteRepository};
pub use source::Source;
