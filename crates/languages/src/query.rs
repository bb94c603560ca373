//! Runs a language's `definitions.scm` on a syntax tree.

use std::collections::{HashMap, HashSet};

use tree_sitter::Node;

use super::lines::node_rows;
use super::stop::{Stop, Stopped};
use super::tree_query::{Captured, Hit, Matcher, Nodes, Query};
use super::word::KINDS;

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
    /// A constant of an enum, a property that is a parameter of a constructor, or a method without a body. It is only listed.
    Member(&'static str),
    /// An anonymous function that is passed to a call: `@name` is the callee, `@argument` another argument of the call.
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

/// A definition as one match captured it, before nesting is known.
pub(super) struct FoundDefinition<'t> {
    pub(super) pattern: usize,
    pub(super) kind: &'static str,
    pub(super) node: Node<'t>,
    pub(super) name: Node<'t>,
    pub(super) receiver: Option<Node<'t>>,
    pub(super) body: Option<Node<'t>>,
    /// `true` if it is a handler, which is named after the call that it is passed to.
    pub(super) handler: bool,
    /// `true` if it is inside of something on one line that is neither a type nor a module.
    pub(super) small: bool,
    /// `true` if it is a member that is only listed.
    pub(super) member: bool,
    /// For a handler, another argument of the call.
    pub(super) argument: Option<Node<'t>>,
}

/// Nodes that wrap a definition and replace its node as the extent, by the id of the wrapped node.
pub(super) type Wrappers<'t> = HashMap<usize, Node<'t>>;

/// All matches of the query.
#[derive(Default)]
pub(super) struct Matches<'t> {
    pub(super) found: Vec<FoundDefinition<'t>>,
    pub(super) wrappers: Wrappers<'t>,
    /// Ids of nodes that belong to what follows them.
    pub(super) leading: HashSet<usize>,
    /// First row and first byte of attributes and decorators, by their last row.
    pub(super) attributes: HashMap<usize, (usize, usize)>,
}

impl Compiled {
    /// Compiles the text of a `definitions.scm` for its grammar.
    pub(super) fn new(language: &tree_sitter::Language, definitions: &str) -> Result<Self, String> {
        let query = Query::new(language, definitions)?;
        let roles = query.capture_names().map(role).collect::<Result<_, _>>()?;
        if query.begins_anywhere() {
            return Err("a pattern can start at any node".to_owned());
        }
        Ok(Self { query, roles })
    }
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
            let member = other.strip_prefix("member.");
            let kind = member.or(other.strip_prefix("definition.")).unwrap_or(other);
            let kind =
                KINDS.iter().find(|known| **known == kind).ok_or(format!("unknown capture @{other}"))?;
            if member.is_some() { Role::Member(kind) } else { Role::Definition(kind) }
        }
    })
}

/// Arguments of a call in most grammars. On one line they are callbacks and options, which are never looked up by name.
const ARGUMENTS: &str = "arguments";

/// Finds definitions. Matches the query only at nodes where a pattern can start, and skips everything inside of functions on one line.
/// Definitions inside of other nodes on one line, unless these are types, modules or wrapped, are marked as small.
pub(super) fn find<'t>(
    text: &str,
    compiled: &Compiled,
    nodes: &Nodes<'t>,
    stop: &Stop<'_>,
) -> Result<Matches<'t>, Stopped> {
    let mut matches = Matches::default();
    let mut matcher = Matcher::new(&compiled.query, nodes, text, stop.deadline());
    // The end of the last type or module on one line, and of the last other node on one line that was entered.
    let (mut entered_to, mut small_to) = (0, 0);
    let mut at = 0;
    while at < nodes.len() {
        stop.step(1)?;
        let node = nodes.node(at);
        let (first, last) = node_rows(node);
        let small = node.start_byte() < small_to;
        let mut large = at == 0 || last > first || node.end_byte() <= entered_to;
        let mut enter = large || node.kind() != ARGUMENTS;
        if compiled.query.begins_at(nodes.kind(at)) {
            let (found, wrapped) = (matches.found.len(), matches.wrappers.len());
            if !matcher.at(at, &mut |hit| collect(&hit, nodes, compiled, small, &mut matches)) {
                return Err(Stopped);
            }
            let is_function =
                |found: &FoundDefinition<'_>| found.member || matches!(found.kind, "function" | "method");
            let holds = matches.wrappers.len() > wrapped
                || matches.found[found..].iter().any(|found| !is_function(found));
            if last == first && holds {
                entered_to = entered_to.max(node.end_byte());
            }
            let none = matches.found[found..].iter().all(|found| found.member);
            large = last > first || holds || (large && none);
            enter = large || (enter && none);
        }
        if enter && !large {
            small_to = small_to.max(node.end_byte());
        }
        at = if enter { at + 1 } else { nodes.end(at) };
    }
    Ok(matches)
}

fn collect<'t>(
    hit: &Hit<'_>,
    nodes: &Nodes<'t>,
    compiled: &Compiled,
    small: bool,
    matches: &mut Matches<'t>,
) {
    let role_of = |captured: &Captured| compiled.roles[usize::from(captured.capture)];
    let of = |role: Role| hit.captured.iter().find(|c| role_of(c) == role).map(|c| nodes.node(c.at));
    for captured in hit.captured {
        let node = nodes.node(captured.at);
        match role_of(captured) {
            Role::Leading => {
                matches.leading.insert(node.id());
                let (first, last) = node_rows(node);
                if !small && !COMMENTS.iter().any(|kind| node.kind().contains(kind)) {
                    matches.attributes.insert(last, (first, node.start_byte()));
                }
            }
            Role::Wrapped => {
                if let Some(wrapper) = of(Role::Wrapper) {
                    matches.wrappers.insert(node.id(), wrapper);
                }
            }
            role @ (Role::Definition(_) | Role::Member(_) | Role::Handler) => {
                if let Some(name) = of(Role::Name) {
                    let (receiver, body, argument) = (of(Role::Receiver), of(Role::Body), of(Role::Argument));
                    let (pattern, handler) = (hit.pattern, role == Role::Handler);
                    let member = matches!(role, Role::Member(_));
                    let kind = match role {
                        Role::Definition(kind) | Role::Member(kind) => kind,
                        _ => "function",
                    };
                    matches.found.push(FoundDefinition {
                        pattern,
                        kind,
                        node,
                        name,
                        receiver,
                        body,
                        handler,
                        small: small || member,
                        member,
                        argument,
                    });
                }
            }
            _ => {}
        }
    }
}
