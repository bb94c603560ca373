//! Risk analysis: finds untrusted input (sources) that reaches dangerous operations (sinks), with rules that are defined as
//! data, along the data flow that the facts of a file contain.
//!
//! The [`Rule`]s are in `rules/*.toml`, each with examples that tests run; a [`RuleSet`] indexes them; [`analyse()`]
//! follows the flow inside a file, and [`link()`] connects flows between files. All functions are pure.

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
mod repository_rules;

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
