//! Attributes, annotations and decorators in the head of a definition. Its signature omits them, and its first line is the one after
//! those above it.

use std::ops::Range;

use tree_sitter::Node;

use super::stop::Stop;

/// Kinds of nodes that are attributes in some grammar: of Java, Kotlin and Scala; of C# and PHP; of Rust; of C and C++; of
/// JavaScript, TypeScript and Python.
const KINDS: &[&str] = &[
    "annotation", "marker_annotation", "attribute_list", "attribute_item", "inner_attribute_item",
    "attribute_declaration", "attribute_specifier", "ms_declspec_modifier", "decorator",
];
/// The kind of an attribute of Swift, and where it is one: among modifiers. In a type it is part of the type.
const AMONG_MODIFIERS: (&str, &str) = ("attribute", "modifiers");
/// The parent of annotations that belong to a type rather than to the declaration.
const OF_TYPES: &[&str] = &["type_modifiers", "annotated_type"];
/// Maximum number of nodes that are read in a head. Nodes after them do not fit into a signature.
const NODES_MAX: usize = 512;

/// The parts of a definition's head besides its code.
pub(super) struct Head {
    /// The attributes, in text order.
    pub(super) attributes: Vec<Range<usize>>,
    /// The row where the code begins, after attributes and comments.
    pub(super) row: usize,
}

/// Reads the head of a definition: its node, with what wraps it, up to the byte where the body starts.
pub(super) fn head(node: Node<'_>, body: usize, stop: &Stop<'_>) -> Head {
    let mut attributes = Vec::new();
    let mut row = None;
    let mut cursor = node.walk();
    for _ in 0..NODES_MAX {
        stop.count(1);
        let here = cursor.node();
        if here.start_byte() >= body && row.is_some() {
            break;
        }
        let is_attribute = is_attribute(here);
        if is_attribute {
            attributes.push(here.byte_range());
        }
        let is_code = !is_attribute && !here.is_extra();
        if is_code && here.child_count() == 0 {
            row.get_or_insert(here.start_position().row);
        }
        if is_code && cursor.goto_first_child() {
            continue;
        }
        let mut ended = false;
        while !ended && !cursor.goto_next_sibling() {
            ended = !cursor.goto_parent();
        }
        if ended {
            break;
        }
    }
    Head { attributes, row: row.unwrap_or(node.start_position().row) }
}

fn is_attribute(node: Node<'_>) -> bool {
    let kind = node.kind();
    let is_below = |parents: &[&str]| node.parent().is_some_and(|parent| parents.contains(&parent.kind()));
    let (of_modifiers, modifiers) = AMONG_MODIFIERS;
    (KINDS.contains(&kind) && !is_below(OF_TYPES)) || (kind == of_modifiers && is_below(&[modifiers]))
}
