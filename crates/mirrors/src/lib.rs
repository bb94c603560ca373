//! Mirrors: bare copies of git repositories that are given by their address.
//!
//! [`Mirrors::fetch`] brings the mirror of an address up to date with the `git` program, which knows every transport, credential
//! and proxy that hosts ask for; everything else reads objects in Rust. Nothing of a repository runs: a mirror has no work tree,
//! no hooks and a configuration of our own, and the program reads no other configuration (`git_program.rs`). All calls block.

mod address_file;
mod archive;
mod credentials;
mod explain;
mod fetching;
mod git_program;
mod lock;
mod mirror;
mod remote;
mod revision_references;
mod selection;
mod sizes;
mod unwritable;

pub use archive::{ArchiveLimits, Archives, ImportedArchive};
pub use credentials::check_git_settings;
pub use git_program::is_supported_version;
pub use mirror::{Fetched, Mirrors, UnusedMirror};
