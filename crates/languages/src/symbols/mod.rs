//! Symbols of a file: its definitions, imports and uses, with the scopes in which names are looked up.
//!
//! Each language has an extractor (`symbols.rs` in its folder) that walks the syntax tree once and reports what it finds to a [`Builder`].
//! Extractors without state of their own leave the visiting of nodes to the builder (`visits`), others share theirs (`walk`).
//!
//! The result, [`FileSymbols`], has the same form for all languages and does not refer to other files: package `navigation` joins the
//! symbols of all files of a repository to edges between definitions.

mod builder;
#[cfg(test)]
mod checks;
pub(crate) mod general;
mod halves;
mod locals;
mod nodes;
mod operators;
mod placed;
mod rewriting;
mod table;
mod visits;
mod walk;

use crate::identifier::Marks;
use crate::stop::{Stop, Stopped};

pub(crate) use builder::{Builder, New};
pub(crate) use locals::Locals;
pub(crate) use nodes::{all_children, child_of, children, field};
pub use operators::reports_uses;
pub use table::{
    Arena, Body, Export, Expr, ExprId, FUNCTION_TYPE, FileSymbols, Import, Imported, Interface, Place, Scope,
    ScopeId, ScopeKind, Symbol, SymbolId, SymbolKind, TextId, Use, UseKind,
};
pub(crate) use walk::{LocalWalk, TreeWalk};

/// An extractor: walks the tree of a file and reports to the builder. It stops where the builder says that it must.
pub(crate) type Extract = for<'t> fn(&mut Builder<'t>, tree_sitter::Node<'t>);

/// The symbols of a parsed file; `None` if its language has no extractor.
///
/// # Errors
/// [`Stopped`] if the time limit passed or the work was cancelled.
pub(crate) fn extract<'t>(
    extractor: Option<Extract>,
    source: (&'t str, &'static Marks),
    root: tree_sitter::Node<'t>,
    stop: &'t Stop<'t>,
) -> Result<Option<FileSymbols>, Stopped> {
    let Some(extractor) = extractor else { return Ok(None) };
    let mut builder = Builder::new(source, stop);
    extractor(&mut builder, root);
    builder.finish().map(Some)
}
