//! Launch runs: pages of documentation that are proved against an indexed repository.
//!
//! This crate is pure: the program reads sites, repositories and the database, and this crate interprets them.

mod pattern;

pub mod issue;
pub mod report;

pub mod claim;
pub mod evidence;
pub mod licence;
pub mod manifest;
pub mod site;
pub mod snippet;

pub mod external_hosts;
pub mod observed;

pub mod gate;

pub mod contradiction;
pub mod coverage;
pub mod derivation;
pub mod doc_comment;
pub mod prose;
pub mod sarif;

pub mod addresses;
pub mod allowed_paths;
pub mod config;
pub mod engine;
pub mod event;
pub mod fixer;
pub mod forms;
pub mod freshness;
pub mod ids;
pub mod infer;
pub mod legality;
pub mod origin;
pub mod pack;
pub mod patch;
pub mod placement;
pub mod published;
pub mod quickstart;
pub mod render;
pub mod sections;
mod site_checks;
pub mod site_profiles;
pub mod snapshot;
pub mod state;
pub mod validate;
pub mod worker;
