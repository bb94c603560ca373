//! Ranking: from candidates with scores of two retrievers to one order, and the confidence in it.
//!
//! [`fuse`] normalises and weights the scores of the retrievers, [`scores`] adds what names, paths and definitions say and records each
//! step in [`scores::ScoreParts`]. [`ranking`] has all constants; none changes without a measurement on repositories that were not looked at.
//! [`duplicates`] folds equal texts, [`merge`] joins the orders of several repositories, [`ranked`] holds the result, and
//! [`confidence`] says how far it can be believed. [`affinity`] compares words with names, [`path_kind`] classifies files by path.

pub(super) mod affinity;
pub(super) mod confidence;
pub(super) mod duplicates;
pub(in crate::search) mod fuse;
pub(super) mod merge;
pub(super) mod path_kind;
pub(super) mod ranked;
pub(super) mod ranking;
pub(in crate::search) mod scores;
