//! Where untrusted input comes in, what is dangerous, and whether the one reaches the other: a table of rules held as
//! data, followed along the flow of values that the facts of a file give.
//!
//! [`Rule`]s stand in `rules/*.toml`, each with examples that tests run; a [`RuleSet`] finds them in a file; [`analyse()`]
//! follows a file's flow and [`link()`] joins what leaves one file with what comes into another. Everything here is pure.

mod findings;

mod pattern;
mod rule;
mod rule_set;

mod lexicon;
mod names;
mod reader;
mod strings;

mod file;
mod taint;
mod walk;

mod analyse;
mod in_chunk;
mod link;

#[cfg(test)]
mod examples;
#[cfg(test)]
mod scenarios;

pub use analyse::analyse;
pub use findings::{
    Evidence, Findings, ParamSink, Place, ReturnSource, RiskFlow, Scope, TaintedCall, confidence_over_calls,
};
pub use in_chunk::{ChunkRisk, flow_facts};
pub use link::{Linked, link};
pub use rule::{Examples, Kind, Rule, Severity};
pub use rule_set::RuleSet;
