//! The nodes of a tree in one array, which makes access to children and siblings fast.

use std::time::Instant;

use tree_sitter::Node;

/// The position of a node in [`Nodes`].
pub(crate) type Position = u32;

/// Marks the absence of a node.
pub(super) const NONE: Position = Position::MAX;
/// The kind id of error nodes.
const ERROR_KIND: u16 = u16::MAX;
/// Number of nodes between two checks of the deadline.
const NODES_PER_CHECK: usize = 4096;

/// A captured node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Captured {
    /// The capture's number.
    pub(crate) capture: u16,
    /// The node.
    pub(crate) at: Position,
}

/// A node with its position in the tree.
pub(super) struct Placed<'t> {
    pub(super) node: Node<'t>,
    pub(super) kind: u16,
    /// Id of its field in the parent, or 0.
    pub(super) field: u16,
    pub(super) named: bool,
    /// One past its last descendant.
    pub(super) end: Position,
    parent: Position,
    /// The first named node among itself and its later siblings, or [`NONE`].
    pub(super) next_named: Position,
    /// Its last named child, or 0 if it has none.
    last_named_child: Position,
}

impl Placed<'_> {
    pub(super) fn is_error(&self) -> bool {
        self.kind == ERROR_KIND
    }
}

/// The visible nodes of a tree, each before its children.
pub(crate) struct Nodes<'t>(Vec<Placed<'t>>);

impl<'t> Nodes<'t> {
    /// Lists the nodes of a tree; `None` if `deadline` passes before that is done.
    pub(crate) fn new(root: Node<'t>, deadline: Instant) -> Option<Self> {
        let mut nodes: Vec<Placed<'t>> = Vec::new();
        let mut cursor = root.walk();
        let mut parent = NONE;
        loop {
            if nodes.len() % NODES_PER_CHECK == NODES_PER_CHECK - 1 && Instant::now() > deadline {
                return None;
            }
            let at = Position::try_from(nodes.len()).ok().filter(|at| *at != NONE)?;
            let node = cursor.node();
            let field = cursor.field_id().map_or(0, u16::from);
            let named = node.is_named();
            if named && let Some(parent) = nodes.get_mut(parent as usize) {
                parent.last_named_child = at;
            }
            nodes.push(Placed {
                node,
                kind: node.kind_id(),
                field,
                named,
                end: at + 1,
                parent,
                next_named: NONE,
                last_named_child: 0,
            });
            if cursor.goto_first_child() {
                parent = at;
                continue;
            }
            while !cursor.goto_next_sibling() {
                if !cursor.goto_parent() {
                    set_next_named(&mut nodes);
                    return Some(Self(nodes));
                }
                let end = nodes.len() as Position;
                nodes[parent as usize].end = end;
                parent = nodes[parent as usize].parent;
            }
        }
    }

    /// The number of nodes.
    pub(crate) fn len(&self) -> Position {
        self.0.len() as Position
    }

    /// The node at a position.
    pub(crate) fn node(&self, at: Position) -> Node<'t> {
        self.0[at as usize].node
    }

    /// Its kind.
    pub(crate) fn kind(&self, at: Position) -> u16 {
        self.0[at as usize].kind
    }

    /// One past the last of its descendants.
    pub(crate) fn end(&self, at: Position) -> Position {
        self.0[at as usize].end
    }

    /// Its text.
    pub(super) fn text<'x>(&self, at: Position, text: &'x str) -> &'x str {
        text.get(self.node(at).byte_range()).unwrap_or_default()
    }

    pub(super) fn get(&self, at: Position) -> &Placed<'t> {
        &self.0[at as usize]
    }

    /// Its parent; [`NONE`] for the root.
    pub(super) fn parent(&self, at: Position) -> Position {
        self.get(at).parent
    }

    /// Checks whether its parent is an error node.
    pub(super) fn is_in_error(&self, at: Position) -> bool {
        self.0.get(self.get(at).parent as usize).is_some_and(Placed::is_error)
    }

    /// One past the last of its siblings.
    pub(super) fn siblings_end(&self, at: Position) -> Position {
        self.0.get(self.get(at).parent as usize).map_or(at + 1, |parent| parent.end)
    }

    /// Checks whether a named sibling follows it.
    pub(super) fn has_later_named_sibling(&self, at: Position) -> bool {
        self.0.get(self.get(at).parent as usize).is_some_and(|parent| parent.last_named_child > at)
    }

    /// Positions of its children.
    pub(super) fn children(&self, at: Position) -> impl Iterator<Item = Position> {
        let end = self.get(at).end;
        let mut next = at + 1;
        std::iter::from_fn(move || {
            let child = (next < end).then_some(next)?;
            next = self.get(child).end;
            Some(child)
        })
    }
}

#[cfg(test)]
impl<'t> Nodes<'t> {
    /// An artificial tree with nodes of these depths (0 for the root), kinds and fields; all have the text of `node`.
    pub(super) fn artificial(node: Node<'t>, specified: &[(usize, u16, u16)]) -> Self {
        let mut nodes: Vec<Placed<'t>> = Vec::new();
        let mut open: Vec<usize> = Vec::new();
        for (at, &(depth, kind, field)) in specified.iter().enumerate() {
            open.drain(depth..).for_each(|done| nodes[done].end = at as Position);
            let parent = open.last().map_or(NONE, |parent| *parent as Position);
            let named = node.language().node_kind_is_named(kind);
            if named && let Some(parent) = nodes.get_mut(parent as usize) {
                parent.last_named_child = at as Position;
            }
            let (end, last_named_child, next_named) = (specified.len() as Position, 0, NONE);
            nodes.push(Placed { node, kind, field, named, end, parent, next_named, last_named_child });
            open.push(at);
        }
        set_next_named(&mut nodes);
        Self(nodes)
    }
}

fn set_next_named(nodes: &mut [Placed<'_>]) {
    // For each parent, its first named child from the current node on.
    let mut first_named = vec![NONE; nodes.len()];
    for at in (1..nodes.len()).rev() {
        let parent = nodes[at].parent as usize;
        if nodes[at].named {
            first_named[parent] = at as Position;
        }
        nodes[at].next_named = first_named[parent];
    }
}
