//! The tables of one project's schema.

pub mod index_state;

pub mod chunks;
mod columns;
pub mod copies;
pub mod definitions;
mod file_chunks;
pub mod file_lists;
pub(super) mod file_write;
pub mod files;
mod kept_files;
mod listed_repositories;
pub mod repositories;
mod repository_removal;
pub mod revisions;

pub mod overview;

pub mod breakdown;
mod condition;
pub(super) mod filter;
pub mod grams;
pub mod names;
mod patterns;

mod definition_rows;
pub mod flows;
pub mod graph;
pub mod history;
pub mod hit_edges;
pub mod method_sets;
pub mod navigation;
pub mod scip;
pub mod symbols;
pub mod use_places;
pub mod uses;
pub(super) mod write;

pub mod instructions;
pub mod launch;
pub mod triage;

pub mod facets;
pub mod lexical;
pub mod several;
pub mod sizes;
pub mod statistics;
pub mod suggestions;
mod term_changes;
pub mod vectors;

pub mod pages;
