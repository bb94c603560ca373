//! The highlight query of each language: the one that its grammar comes with, and our additions and own queries.
//!
//! Our own: Kotlin, whose grammar has none; Haskell, whose query distinguishes expressions from patterns in a notation that
//! [`crate::tree_query`] does not read; TOML, whose query paints a whole pair like its key.

use std::sync::OnceLock;

use crate::grammar::Grammar;
use crate::tree_query::Query;

use super::capture::{Mark, mark};

/// The query of a language.
struct HighlightQuery {
    /// The id of the language.
    language: &'static str,
    /// Texts that together are the query.
    texts: &'static [&'static str],
    /// Compiled on first use. An error is a defect of the query, which the tests find.
    compiled: OnceLock<Result<Compiled, String>>,
}

/// A query that was compiled.
pub(super) struct Compiled {
    pub(super) query: Query,
    /// The meaning of each capture, by its number; `None` for those that are only for predicates.
    pub(super) marks: Vec<Option<Mark>>,
}

// Queries that several languages share.

const JAVASCRIPT: &str = tree_sitter_javascript::HIGHLIGHT_QUERY;
const JSX: &str = tree_sitter_javascript::JSX_HIGHLIGHT_QUERY;
const TYPESCRIPT: &str = tree_sitter_typescript::HIGHLIGHTS_QUERY;
const C: &str = tree_sitter_c::HIGHLIGHT_QUERY;

// Additions to queries.

/// Escape sequences.
const ESCAPES: &str = "(escape_sequence) @escape";
/// Calls of functions of the same class.
const CSHARP: &str = "(invocation_expression function: (identifier) @function)";
/// Names of types where they are defined.
const PHP: &str = r#"
(class_declaration name: (name) @type)
(interface_declaration name: (name) @type)
(trait_declaration name: (name) @type)
(enum_declaration name: (name) @type)
"#;
/// Numbers that the query takes for constants, and constants that it misses by a misprint in the pattern of their names.
const RUST: &str = r#"
[(integer_literal) (float_literal)] @number
((identifier) @constant (#match? @constant "^[A-Z][A-Z0-9_]+$"))
"#;
/// Numbers that the query takes for strings, because it describes them in the notation of another editor.
const SQL: &str = r#"((literal) @number (#match? @number "^[-+]?[0-9][0-9.]*$"))"#;

static QUERIES: [HighlightQuery; 27] = [
    HighlightQuery::new("bash", &[tree_sitter_bash::HIGHLIGHT_QUERY]),
    HighlightQuery::new("c", &[C, ESCAPES]),
    HighlightQuery::new("cpp", &[C, tree_sitter_cpp::HIGHLIGHT_QUERY, ESCAPES]),
    HighlightQuery::new("csharp", &[tree_sitter_c_sharp::HIGHLIGHTS_QUERY, CSHARP]),
    HighlightQuery::new("css", &[tree_sitter_css::HIGHLIGHTS_QUERY]),
    HighlightQuery::new("elixir", &[tree_sitter_elixir::HIGHLIGHTS_QUERY]),
    HighlightQuery::new("go", &[tree_sitter_go::HIGHLIGHTS_QUERY]),
    HighlightQuery::new("haskell", &[include_str!("haskell.scm")]),
    HighlightQuery::new("html", &[tree_sitter_html::HIGHLIGHTS_QUERY]),
    HighlightQuery::new("java", &[tree_sitter_java::HIGHLIGHTS_QUERY]),
    HighlightQuery::new("javascript", &[JAVASCRIPT, JSX, ESCAPES]),
    HighlightQuery::new("json", &[tree_sitter_json::HIGHLIGHTS_QUERY]),
    HighlightQuery::new("kotlin", &[include_str!("kotlin.scm")]),
    HighlightQuery::new("lua", &[tree_sitter_lua::HIGHLIGHTS_QUERY]),
    HighlightQuery::new("markdown", &[tree_sitter_md::HIGHLIGHT_QUERY_BLOCK]),
    HighlightQuery::new("php", &[tree_sitter_php::HIGHLIGHTS_QUERY, PHP]),
    HighlightQuery::new("python", &[tree_sitter_python::HIGHLIGHTS_QUERY]),
    HighlightQuery::new("ruby", &[tree_sitter_ruby::HIGHLIGHTS_QUERY]),
    HighlightQuery::new("rust", &[tree_sitter_rust::HIGHLIGHTS_QUERY, RUST]),
    HighlightQuery::new("scala", &[tree_sitter_scala::HIGHLIGHTS_QUERY]),
    HighlightQuery::new("sql", &[tree_sitter_sequel::HIGHLIGHTS_QUERY, SQL]),
    HighlightQuery::new("swift", &[tree_sitter_swift::HIGHLIGHTS_QUERY]),
    HighlightQuery::new("toml", &[include_str!("toml.scm")]),
    HighlightQuery::new("tsx", &[JAVASCRIPT, TYPESCRIPT, JSX, ESCAPES]),
    HighlightQuery::new("typescript", &[JAVASCRIPT, TYPESCRIPT, ESCAPES]),
    HighlightQuery::new("yaml", &[tree_sitter_yaml::HIGHLIGHTS_QUERY]),
    HighlightQuery::new("zig", &[tree_sitter_zig::HIGHLIGHTS_QUERY]),
];

impl HighlightQuery {
    const fn new(language: &'static str, texts: &'static [&'static str]) -> Self {
        Self { language, texts, compiled: OnceLock::new() }
    }
}

/// The query of a language, compiled once; `None` if the language has no query.
pub(super) fn compiled(language: &str, grammar: &Grammar) -> Option<&'static Compiled> {
    let of_language = QUERIES.iter().find(|query| query.language == language)?;
    of_language.compiled.get_or_init(|| compile(of_language.texts, grammar)).as_ref().ok()
}

/// The text of a language's query.
#[cfg(test)]
pub(super) fn text(language: &str) -> Option<String> {
    let of_language = QUERIES.iter().find(|query| query.language == language)?;
    Some(readable(&of_language.texts.join("\n")))
}

/// The error of a language's query, if it does not compile.
#[cfg(test)]
pub(super) fn error(language: &str, grammar: &Grammar) -> Option<String> {
    let of_language = QUERIES.iter().find(|query| query.language == language);
    of_language.map_or(Some("no query".to_owned()), |query| compile(query.texts, grammar).err())
}

/// Compiles a query.
///
/// # Errors
/// A message for the maintainer: a pattern that cannot be read, or a capture without a meaning.
fn compile(texts: &[&str], grammar: &Grammar) -> Result<Compiled, String> {
    let query = Query::new(&(grammar.language)(), &readable(&texts.join("\n")))?;
    let mark = |capture: &str| match mark(capture) {
        None if !capture.starts_with('_') => Err(format!("unknown capture @{capture}")),
        mark => Ok(mark),
    };
    let marks = query.capture_names().map(mark).collect::<Result<_, _>>()?;
    Ok(Compiled { query, marks })
}

/// The condition that a name is not one of a local variable.
const NOT_LOCAL: &str = "(#is-not? local)";

/// The text of a query as [`Query`] reads it. Zig's conditions in Lua's notation are the same as regular expressions, and its setting
/// orders patterns, which needs no order here. Patterns for names that are not local variables are removed: it is unknown which names are
/// local.
fn readable(text: &str) -> String {
    let mut text = text.replace("#lua-match?", "#match?").replace("(#set! \"priority\" 95)", "");
    while let Some(at) = text.find(NOT_LOCAL) {
        let from = text[..at].rfind("\n(").unwrap_or(0);
        let after = at + NOT_LOCAL.len();
        let to = text[after..].find(')').map_or(text.len(), |end| after + end + 1);
        text.replace_range(from..to, "");
    }
    text
}
