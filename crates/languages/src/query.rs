//! A language's `definitions.scm`, and what it finds in a tree.

use std::collections::{HashMap, HashSet};

use tree_sitter::Node;

use super::language::Grammar;
use super::stop::{Late, Stop};
use super::syntax::rows;
use super::tree_query::{Captured, Hit, Matcher, Nodes, Query};

/// Kinds of definition a query may name (`@definition.<kind>`). `impl` adds to a type and defines nothing itself.
pub(super) const KINDS: &[&str] = &[
    "function",
    "method",
    "class",
    "struct",
    "interface",
    "trait",
    "enum",
    "impl",
    "module",
    "type",
    "variable",
    "section",
];

/// Parts of the names that grammars give to comments.
const COMMENTS: &[&str] = &["comment", "haddock", "marginalia"];

/// A query and what its captures mean.
pub(super) struct Compiled {
    query: Query,
    roles: Vec<Role>,
}

#[derive(Clone, Copy, PartialEq)]
enum Role {
    Definition(&'static str),
    /// A function without a name of its own, given to a call: `@name` is what is called, `@argument` what it is called with.
    Handler,
    Argument,
    Name,
    Receiver,
    Body,
    Wrapper,
    Wrapped,
    Leading,
    Ignored,
}

/// What one match says of a definition, before nesting is known.
pub(super) struct Found<'t> {
    pub(super) pattern: usize,
    pub(super) kind: &'static str,
    pub(super) node: Node<'t>,
    pub(super) name: Node<'t>,
    pub(super) receiver: Option<Node<'t>>,
    pub(super) body: Option<Node<'t>>,
    /// A handler: it is named by what it is given to.
    pub(super) handler: bool,
    /// What a handler is given to the call with.
    pub(super) argument: Option<Node<'t>>,
}

/// Nodes that take the place of another as a definition's extent, by the other's id.
pub(super) type Wrappers<'t> = HashMap<usize, Node<'t>>;

/// All that the query found.
#[derive(Default)]
pub(super) struct Finds<'t> {
    pub(super) found: Vec<Found<'t>>,
    pub(super) wrappers: Wrappers<'t>,
    /// Ids of nodes that belong to what follows them.
    pub(super) leading: HashSet<usize>,
    /// Attributes and decorators among them, by their last row: first row and first byte.
    pub(super) attributes: HashMap<usize, (usize, usize)>,
}

/// The query of a grammar, read once.
pub(super) fn compiled(grammar: &Grammar) -> Result<&Compiled, &str> {
    grammar
        .compiled
        .get_or_init(|| {
            let query = Query::new(&(grammar.language)(), grammar.definitions)?;
            let roles = query.capture_names().map(role).collect::<Result<_, _>>()?;
            if query.begins_anywhere() {
                return Err("a pattern can start at any node".to_owned());
            }
            Ok(Compiled { query, roles })
        })
        .as_ref()
        .map_err(String::as_str)
}

fn role(capture: &str) -> Result<Role, String> {
    Ok(match capture {
        "name" => Role::Name,
        "handler" => Role::Handler,
        "argument" => Role::Argument,
        "receiver" => Role::Receiver,
        "body" => Role::Body,
        "wrapper" => Role::Wrapper,
        "wrapped" => Role::Wrapped,
        "leading" => Role::Leading,
        // For the query's own predicates.
        private if private.starts_with('_') => Role::Ignored,
        other => {
            let kind = other.strip_prefix("definition.").unwrap_or(other);
            let kind =
                KINDS.iter().find(|known| **known == kind).ok_or(format!("unknown capture @{other}"))?;
            Role::Definition(kind)
        }
    })
}

/// Finds definitions. The query is asked only at nodes where a pattern can start, and what stands on one line is not
/// entered, unless that is a type, a module or wrapped: expressions are most of a tree, and define nothing.
pub(super) fn find<'t>(
    text: &str,
    compiled: &Compiled,
    nodes: &Nodes<'t>,
    stop: &Stop<'_>,
) -> Result<Finds<'t>, Late> {
    let mut finds = Finds::default();
    let mut matcher = Matcher::new(&compiled.query, nodes, text, stop.deadline());
    // Up to here everything is entered: the end of the last type or module on one line.
    let mut entered_to = 0;
    let mut at = 0;
    while at < nodes.len() {
        stop.step(1)?;
        let node = nodes.node(at);
        let (first, last) = rows(node);
        let mut enter = at == 0 || last > first || node.end_byte() <= entered_to;
        if compiled.query.begins_at(nodes.kind(at)) {
            let (found, wrapped) = (finds.found.len(), finds.wrappers.len());
            if !matcher.at(at, &mut |hit| take(&hit, nodes, compiled, &mut finds)) {
                return Err(Late);
            }
            let is_function = |found: &Found<'_>| matches!(found.kind, "function" | "method");
            let holds = finds.wrappers.len() > wrapped
                || finds.found[found..].iter().any(|found| !is_function(found));
            if last == first && holds {
                entered_to = entered_to.max(node.end_byte());
            }
            enter = last > first || holds || (enter && finds.found.len() == found);
        }
        at = if enter { at + 1 } else { nodes.end(at) };
    }
    Ok(finds)
}

fn take<'t>(hit: &Hit<'_>, nodes: &Nodes<'t>, compiled: &Compiled, finds: &mut Finds<'t>) {
    let role_of = |captured: &Captured| compiled.roles[usize::from(captured.capture)];
    let of = |role: Role| hit.captured.iter().find(|c| role_of(c) == role).map(|c| nodes.node(c.at));
    for captured in hit.captured {
        let node = nodes.node(captured.at);
        match role_of(captured) {
            Role::Leading => {
                finds.leading.insert(node.id());
                let (first, last) = rows(node);
                if !COMMENTS.iter().any(|kind| node.kind().contains(kind)) {
                    finds.attributes.insert(last, (first, node.start_byte()));
                }
            }
            Role::Wrapped => {
                if let Some(wrapper) = of(Role::Wrapper) {
                    finds.wrappers.insert(node.id(), wrapper);
                }
            }
            role @ (Role::Definition(_) | Role::Handler) => {
                if let Some(name) = of(Role::Name) {
                    let (receiver, body, argument) = (of(Role::Receiver), of(Role::Body), of(Role::Argument));
                    let (pattern, handler) = (hit.pattern, role == Role::Handler);
                    let kind = if let Role::Definition(kind) = role { kind } else { "function" };
                    finds.found.push(Found { pattern, kind, node, name, receiver, body, handler, argument });
                }
            }
            _ => {}
        }
    }
}
