//! Parses a text for highlighting, with the precautions of chunking.

use crate::chunking::with_stack;
use crate::grammar::Grammar;
use crate::stop::Stop;
use crate::syntax::parse;
use crate::tree_query::Nodes;

/// Parses a text and calls `then` with the nodes of its tree. `None` if the time limit passed, no thread could be started, or
/// `then` panicked.
pub(super) fn with_nodes<R: Send>(
    text: &str,
    grammar: &Grammar,
    stop: &Stop<'_>,
    then: impl FnOnce(&Nodes<'_>) -> R + Send,
) -> Option<R> {
    let work = || {
        stop.begin();
        let tree = parse(text, grammar, stop).ok()?;
        let nodes = Nodes::new(tree.root_node(), stop.deadline())?;
        Some(then(&nodes))
    };
    with_stack(text.len(), work).flatten()
}
