//! The front matter of a rule, in a form that does not depend on the agent.

use super::front_matter::Fields;
use crate::entry::Instruction;
use crate::scope::{ALWAYS, has_category};

/// Category of a rule that the agent itself decides to read, by its description.
pub const ON_DEMAND: &str = "on-demand";
/// Category of a rule that people name when they want it.
pub const MANUAL: &str = "manual";

/// The occasion on which an agent reads a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Activation {
    /// In every task.
    Always,
    /// When it works on files that a glob matches.
    Scoped,
    /// When it finds that the description fits the task.
    OnDemand,
    /// When a person names it.
    Manual,
}

impl Activation {
    /// Derives it from a rule that says `always`, has globs, or has a description to decide by.
    pub(super) fn from_header(is_always: bool, globs: &[String], description: Option<&String>) -> Self {
        if is_always {
            Self::Always
        } else if !globs.is_empty() {
            Self::Scoped
        } else if description.is_some() {
            Self::OnDemand
        } else {
            Self::Manual
        }
    }

    /// Returns when the agent is to read an instruction that has these globs.
    pub(super) fn of(instruction: &Instruction, globs: &[String]) -> Self {
        if has_category(instruction, ALWAYS) {
            Self::Always
        } else if !globs.is_empty() {
            Self::Scoped
        } else if has_category(instruction, MANUAL) {
            Self::Manual
        } else if has_category(instruction, ON_DEMAND) {
            Self::OnDemand
        } else {
            Self::Always
        }
    }

    /// Returns the category that expresses it; globs are categories of their own.
    pub(super) fn category(self) -> Option<&'static str> {
        match self {
            Self::Always => Some(ALWAYS),
            Self::Scoped => None,
            Self::OnDemand => Some(ON_DEMAND),
            Self::Manual => Some(MANUAL),
        }
    }
}

/// The front matter of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Header {
    /// Activation; `None` if the form of the file leaves it open.
    pub(super) activation: Option<Activation>,
    pub(super) globs: Vec<String>,
    /// Subject of the rule, on one line.
    pub(super) description: Option<String>,
    /// Name of the rule, if it is not that of its file.
    pub(super) name: Option<String>,
}

/// The form in which a family of agents writes front matter.
#[derive(Debug)]
pub(super) struct HeaderForm {
    pub(super) read: fn(&Fields) -> Header,
    /// Writes the lines between the lines `---`, each with its line feed.
    pub(super) write: fn(&Header) -> String,
    /// `true` if it has globs.
    pub(super) has_globs: bool,
    /// `true` if a rule requires a description.
    pub(super) needs_description: bool,
}

impl Header {
    /// Returns the front matter of no instruction in particular.
    pub(super) fn empty() -> Self {
        Self { activation: None, globs: Vec::new(), description: None, name: None }
    }
}

/// Joins the lines of a text.
pub(super) fn on_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
