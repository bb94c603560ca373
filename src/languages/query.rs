//! A language's `definitions.scm`, and what it finds in a tree.

use std::collections::{HashMap, HashSet};
use std::time::Instant;

use streaming_iterator::StreamingIterator;
use tree_sitter::{Node, Query, QueryCursor, QueryMatch};

use super::language::Grammar;
use super::syntax::rows;

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

/// Nodes looked at between two looks at the clock.
const NODES_A_LOOK: usize = 1024;

/// Unfinished matches of one node's patterns; far above what a sensible pattern needs.
const MATCHES_MAX: u32 = 4096;

/// A compiled query, what its captures mean, and the kinds of node that a pattern can start at.
pub(super) struct Compiled {
    query: Query,
    roles: Vec<Role>,
    /// By kind id.
    roots: Vec<bool>,
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

/// The query of a grammar, compiled once.
pub(super) fn compiled(grammar: &Grammar) -> Result<&Compiled, &str> {
    grammar
        .compiled
        .get_or_init(|| {
            let language = (grammar.language)();
            let query = Query::new(&language, grammar.definitions).map_err(|error| error.to_string())?;
            let roles = query.capture_names().iter().map(|name| role(name)).collect::<Result<_, _>>()?;
            let mut roots = vec![false; language.node_kind_count()];
            for kind in root_kinds(grammar.definitions) {
                // One name can have several ids.
                let ids = (0..=u16::MAX).take(roots.len()).filter(|&id| {
                    language.node_kind_is_named(id) && language.node_kind_for_id(id) == Some(kind)
                });
                let ids: Vec<_> = ids.map(usize::from).collect();
                if ids.is_empty() {
                    return Err(format!("no pattern can start at `{kind}`"));
                }
                ids.into_iter().for_each(|id| roots[id] = true);
            }
            Ok(Compiled { query, roles, roots })
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

/// The kinds of node at the top of a query's patterns: `(kind …)`, or each of `[(kind …) (kind …)]`.
fn root_kinds(query: &str) -> Vec<&str> {
    let mut kinds = Vec::new();
    let mut depth = 0usize;
    let mut quoted = false;
    let code = query.lines().filter(|line| !line.trim_start().starts_with(';'));
    for line in code {
        for (at, c) in line.char_indices() {
            match c {
                '"' => quoted = !quoted,
                _ if quoted => {}
                '(' => {
                    if depth == 0 {
                        let rest = &line[at + 1..];
                        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
                        kinds.push(&rest[..end]);
                    }
                    depth += 1;
                }
                ')' => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
    }
    kinds
}

/// Finds definitions. The query runs only at nodes where a pattern can start, and the walk does not enter what
/// stands on one line, unless that is a type, a module or wrapped: expressions are most of a tree, and define
/// nothing.
pub(super) fn find<'t>(
    text: &str,
    compiled: &Compiled,
    root: Node<'t>,
    deadline: Instant,
) -> Result<Finds<'t>, &'static str> {
    let mut finds = Finds::default();
    let mut matcher = QueryCursor::new();
    matcher.set_max_start_depth(Some(0)).set_match_limit(MATCHES_MAX);
    let mut walk = root.walk();
    let mut seen = 0usize;
    // Up to here everything is entered: the end of the last type or module on one line.
    let mut entered_to = 0;
    loop {
        seen += 1;
        if seen.is_multiple_of(NODES_A_LOOK) && Instant::now() > deadline {
            return Err("parse_timeout");
        }
        let node = walk.node();
        let (first, last) = rows(node);
        let mut enter = seen == 1 || last > first || node.end_byte() <= entered_to;
        if compiled.roots.get(usize::from(node.kind_id())) == Some(&true) {
            let (found, wrapped) = (finds.found.len(), finds.wrappers.len());
            let mut matches = matcher.matches(&compiled.query, node, text.as_bytes());
            while let Some(hit) = matches.next() {
                take(hit, compiled, &mut finds);
            }
            let is_function = |found: &Found<'_>| matches!(found.kind, "function" | "method");
            let holds = finds.wrappers.len() > wrapped
                || finds.found[found..].iter().any(|found| !is_function(found));
            if last == first && holds {
                entered_to = entered_to.max(node.end_byte());
            }
            enter = last > first || holds || (enter && finds.found.len() == found);
        }
        if enter && walk.goto_first_child() {
            continue;
        }
        while !walk.goto_next_sibling() {
            if !walk.goto_parent() {
                return Ok(finds);
            }
        }
    }
}

fn take<'t>(hit: &QueryMatch<'_, 't>, compiled: &Compiled, finds: &mut Finds<'t>) {
    let of =
        |role: Role| hit.captures().iter().find(|c| compiled.roles[c.index as usize] == role).map(|c| c.node);
    for capture in hit.captures() {
        match compiled.roles[capture.index as usize] {
            Role::Leading => {
                finds.leading.insert(capture.node.id());
                let (first, last) = rows(capture.node);
                if !COMMENTS.iter().any(|kind| capture.node.kind().contains(kind)) {
                    finds.attributes.insert(last, (first, capture.node.start_byte()));
                }
            }
            Role::Wrapped => {
                if let Some(wrapper) = of(Role::Wrapper) {
                    finds.wrappers.insert(capture.node.id(), wrapper);
                }
            }
            role @ (Role::Definition(_) | Role::Handler) => {
                if let Some(name) = of(Role::Name) {
                    let (receiver, body, argument) = (of(Role::Receiver), of(Role::Body), of(Role::Argument));
                    let (pattern, node, handler) = (hit.pattern_index, capture.node, role == Role::Handler);
                    let kind = if let Role::Definition(kind) = role { kind } else { "function" };
                    finds.found.push(Found { pattern, kind, node, name, receiver, body, handler, argument });
                }
            }
            _ => {}
        }
    }
}
