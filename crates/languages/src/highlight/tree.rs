//! Parses a text for highlighting.
//!
//! The same precautions as for chunks (`chunking.rs`, `syntax.rs`): a stack that the parser cannot exhaust, the grammar's mask, and
//! the time limit.

use std::ops::ControlFlow;
use std::thread;

use tree_sitter::{ParseOptions, ParseState, Parser};

use crate::grammar::Grammar;
use crate::stop::{Stop, Stopped};
use crate::tree_query::Nodes;

/// Bytes of thread stack for each byte of text; `chunking.rs` says why.
const STACK_BYTES_PER_BYTE: usize = 512;
/// Texts up to this length in bytes are parsed on the current thread.
const INLINE_BYTES_MAX: usize = 4096;

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
        let tree = parse(text, grammar, stop)?;
        let nodes = Nodes::new(tree.root_node(), stop.deadline())?;
        Some(then(&nodes))
    };
    if text.len() <= INLINE_BYTES_MAX {
        return work();
    }
    thread::scope(|scope| {
        let stack = (INLINE_BYTES_MAX + text.len()) * STACK_BYTES_PER_BYTE;
        let worker = thread::Builder::new().name("highlight".to_owned()).stack_size(stack);
        worker.spawn_scoped(scope, work).ok()?.join().ok()?
    })
}

/// Parses a text; `None` if the time limit passed.
pub(super) fn parse(text: &str, grammar: &Grammar, stop: &Stop<'_>) -> Option<tree_sitter::Tree> {
    let mut parser = Parser::new();
    parser.set_language(&(grammar.language)()).ok()?;
    let masked = grammar.mask.and_then(|mask| mask(text));
    let bytes = masked.as_deref().unwrap_or(text).as_bytes();
    let mut late = |_: &ParseState| match stop.check() {
        Ok(()) => ControlFlow::Continue(()),
        Err(Stopped) => ControlFlow::Break(()),
    };
    let options = ParseOptions::new().progress_callback(&mut late);
    parser.parse_with_options(&mut |at, _| bytes.get(at..).unwrap_or_default(), None, Some(options))
}
