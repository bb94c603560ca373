//! Colours the text of a file for a page or a terminal: which bytes are a keyword, a string, a comment.
//!
//! The queries are those that the grammars come with (`queries.rs`), matched by [`crate::tree_query`]: it reads such a query in
//! a few milliseconds, where tree-sitter takes up to a third of a second, and takes time linear in the nodes.
//!
//! **Which colour wins.** An inner node is painted over the node around it. If several patterns capture one node, the variant of
//! [`Highlight`] that is declared last wins, whatever the order of the patterns: grammars disagree on whether an earlier or a
//! later pattern has priority, and the order of the variants needs no knowledge of either.
//!
//! **What has no colour.** Plain variables, parameters, punctuation and operators made of symbols: they are half of what the
//! queries capture in our samples, and a page would nearly double for a colour that themes hardly use. They are still painted over
//! what is around them, so that the variable of an interpolated string does not look like the string.

mod by_line;
mod capture;
mod paint;
mod queries;
mod tree;

#[cfg(test)]
mod tests;

use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use by_line::{HighlightedLine, by_line};

use crate::chunking::PARSED_BYTES_MAX;
use crate::language::Language;
use crate::stop::Stop;

/// The kind of a part of a text. If several fit, the one that is declared last wins; see the module for why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Highlight {
    /// A string, a character, a regular expression, a block of code in a document.
    String,
    /// A field, or a key of data.
    Property,
    /// A type, a constructor, a module.
    Type,
    /// A constant by its name, a literal such as `true`, a symbol such as `:name`, a label.
    Constant,
    /// A function where it is defined or called.
    Function,
    /// A number.
    Number,
    /// The name of a tag: HTML, JSX, a CSS selector.
    Tag,
    /// An attribute of a tag, an annotation, a decorator.
    Attribute,
    /// An escape sequence in a string.
    Escape,
    /// A keyword, and an operator that is a word.
    Keyword,
    /// The text of a heading in a document.
    Heading,
    /// A comment.
    Comment,
}

impl Highlight {
    /// All, in order of priority: the last one wins.
    pub const ALL: [Self; 12] = [
        Self::String,
        Self::Property,
        Self::Type,
        Self::Constant,
        Self::Function,
        Self::Number,
        Self::Tag,
        Self::Attribute,
        Self::Escape,
        Self::Keyword,
        Self::Heading,
        Self::Comment,
    ];

    /// The name of its CSS class: two to four lower-case letters, because a page repeats it for every span.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::String => "str",
            Self::Property => "prop",
            Self::Type => "ty",
            Self::Constant => "con",
            Self::Function => "fn",
            Self::Number => "num",
            Self::Tag => "tag",
            Self::Attribute => "attr",
            Self::Escape => "esc",
            Self::Keyword => "kw",
            Self::Heading => "head",
            Self::Comment => "com",
        }
    }
}

/// A range of a text with one colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct HighlightedSpan {
    /// Its first byte.
    pub start: usize,
    /// One past its last byte.
    pub end: usize,
    /// Its colour.
    pub highlight: Highlight,
}

/// Limits of the work that one file may cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct HighlightLimits {
    /// Maximum length in bytes of a text that is coloured; more than [`PARSED_BYTES_MAX`] has no effect.
    pub bytes_max: usize,
    /// Time limit for one file. Does not include compiling the query of its language, a few milliseconds once per process.
    pub timeout: Duration,
}

impl Default for HighlightLimits {
    fn default() -> Self {
        Self { bytes_max: 1024 * 1024, timeout: Duration::from_secs(1) }
    }
}

/// The coloured parts of a text: sorted, not empty, not overlapping, on character boundaries, and two that touch differ in colour.
///
/// Never fails. There are none if the language has no grammar, if the text is too long or would crash the grammar's scanner, or
/// if it is not parsed in time; if only the query takes too long, there are those of the beginning of the file.
///
/// Parsing runs C code, and the Kotlin grammar recovers from errors in some texts for minutes without looking at the clock. The time limit
/// cannot end that: for untrusted texts, call this in a process that can be killed.
#[must_use]
pub fn highlight(language: &Language, text: &str, limits: &HighlightLimits) -> Vec<HighlightedSpan> {
    let Some(grammar) = &language.grammar else { return Vec::new() };
    let crashes = grammar.crash_check.is_some_and(|crashes| crashes(text));
    if text.len() > limits.bytes_max.min(PARSED_BYTES_MAX) || crashes {
        return Vec::new();
    }
    let Some(compiled) = queries::compiled(language.id, grammar) else { return Vec::new() };
    let stop = Stop::new(limits.timeout, &|| false);
    tree::with_nodes(text, grammar, &stop, |nodes| paint::spans(text, compiled, nodes, &stop))
        .unwrap_or_default()
}
