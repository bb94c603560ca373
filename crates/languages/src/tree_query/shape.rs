//! The structure of a query's patterns.

use std::collections::BTreeSet;
use std::sync::Arc;

use tree_sitter::Language;

use super::predicates::Predicate;

/// One pattern of a query.
pub(super) struct Pattern {
    /// One slot, or the siblings of a group.
    pub(super) slots: Vec<Slot>,
    /// Predicates that need the whole match; the others are stored with their nodes.
    pub(super) predicates: Vec<Predicate>,
    /// Keys and values of `#set!`.
    pub(super) settings: Vec<(String, String)>,
    /// `true` if the number of captured nodes can differ between matches.
    pub(super) varies: bool,
    /// `true` if a match can contain captures that are only for predicates.
    pub(super) has_private: bool,
}

/// A position among siblings, which one or several nodes can fill.
pub(super) struct Slot {
    /// Alternatives; one of them must match.
    pub(super) nodes: Vec<NodeItem>,
    /// `true` if it may be missing.
    pub(super) optional: bool,
    /// `true` if it matches a run of adjacent siblings; always the longest run.
    pub(super) many: bool,
    /// `true` if it contains captures that are emitted.
    pub(super) is_captured: bool,
    /// `true` if only the first match is needed, because neither it nor anything that is anchored to it is captured.
    pub(super) first_suffices: bool,
}

/// The conditions on a node.
pub(super) struct NodeItem {
    pub(super) kind: Kind,
    /// Id of its field in the parent; 0 for any or none.
    pub(super) field: u16,
    /// Fields that it must not have.
    pub(super) without: Vec<u16>,
    pub(super) captures: Vec<u16>,
    /// Predicates on its own text.
    pub(super) tests: Vec<Arc<Predicate>>,
    /// `true` if no named sibling may be between it and the previous match.
    pub(super) anchored: bool,
    /// `true` if no named sibling may follow it.
    pub(super) last: bool,
    pub(super) children: Vec<Slot>,
    /// `true` if it or a descendant has captures that are emitted.
    pub(super) is_captured: bool,
}

/// Kinds of node.
pub(super) enum Kind {
    /// `_`: any.
    Any,
    /// `(_)`: any named node.
    Named,
    /// This kind.
    Is(u16),
    /// One of the kinds of a supertype, sorted.
    Of(Vec<u16>),
}

impl Pattern {
    /// Prepares a parsed pattern for matching. `is_private` returns whether a capture is only for predicates.
    ///
    /// # Errors
    /// A message for the query's maintainer if the pattern cannot be matched in linear time.
    pub(super) fn new(
        mut slots: Vec<Slot>,
        predicates: Vec<Predicate>,
        settings: Vec<(String, String)>,
        is_private: &dyn Fn(u16) -> bool,
        language: &Language,
    ) -> Result<Self, String> {
        check_group(&slots, language)?;
        check_runs(&slots, language)?;
        let varies = captured(&slots).is_none();
        // If matches can be subsets of others, the largest one counts, even if a predicate then rejects it.
        let (alone, predicates): (Vec<_>, Vec<_>) =
            predicates.into_iter().partition(|predicate| !varies && predicate.is_alone());
        let alone: Vec<_> = alone.into_iter().map(Arc::new).collect();
        let keeps = |capture: u16| {
            varies || !is_private(capture) || predicates.iter().any(|predicate| predicate.needs(capture))
        };
        let mut has_private = false;
        for slot in &mut slots {
            slot.each_node(&mut |node| {
                let of_node = alone.iter().filter(|test| node.captures.contains(&test.capture));
                node.tests.extend(of_node.cloned());
                node.captures.retain(|capture| keeps(*capture));
                has_private |= node.captures.iter().any(|capture| is_private(*capture));
            });
        }
        mark_captured(&mut slots);
        Ok(Self { slots, predicates, settings, varies, has_private })
    }

    /// Returns `true` if it matches a list of siblings.
    pub(super) fn is_group(&self) -> bool {
        self.slots.len() > 1 || self.begins_with_run()
    }

    /// Returns `true` if it begins with a repetition.
    pub(super) fn begins_with_run(&self) -> bool {
        self.slots[0].many
    }
}

impl Slot {
    /// A slot for one of some nodes.
    pub(super) fn new(nodes: Vec<NodeItem>) -> Self {
        Self { nodes, optional: false, many: false, is_captured: false, first_suffices: false }
    }

    /// Returns `true` if it is anchored to the previous slot.
    pub(super) fn anchored(&self) -> bool {
        self.nodes.first().is_some_and(|node| node.anchored)
    }

    /// Returns `true` if it must be the last named child.
    pub(super) fn last(&self) -> bool {
        self.nodes.first().is_some_and(|node| node.last)
    }

    /// Calls `then` with each node in it.
    pub(super) fn each_node(&mut self, then: &mut dyn FnMut(&mut NodeItem)) {
        for node in &mut self.nodes {
            then(node);
            node.children.iter_mut().for_each(|slot| slot.each_node(then));
        }
    }

    /// Checks whether it contains a capture.
    #[cfg(test)]
    pub(super) fn captures(&self, capture: usize) -> bool {
        self.nodes.iter().any(|node| {
            node.captures.iter().any(|has| usize::from(*has) == capture)
                || node.children.iter().any(|slot| slot.captures(capture))
        })
    }
}

impl NodeItem {
    /// A node with no other condition than its kind.
    pub(super) fn new(kind: Kind, anchored: bool) -> Self {
        Self {
            kind,
            field: 0,
            without: Vec::new(),
            captures: Vec::new(),
            tests: Vec::new(),
            anchored,
            last: false,
            children: Vec::new(),
            is_captured: false,
        }
    }
}

impl Kind {
    /// Adds the kinds of nodes that match; returns false if any kind does.
    pub(super) fn list(&self, kinds: &mut BTreeSet<u16>) -> bool {
        match self {
            Self::Any | Self::Named => return false,
            Self::Is(kind) => _ = kinds.insert(*kind),
            Self::Of(of) => kinds.extend(of),
        }
        true
    }

    /// Checks whether a node can match both.
    fn overlaps(&self, other: &Self, language: &Language) -> bool {
        let has_named = |kind: &Self| match kind {
            Self::Is(kind) => language.node_kind_is_named(*kind),
            _ => true,
        };
        match (self, other) {
            (Self::Any, _) | (_, Self::Any) => true,
            (Self::Named, other) | (other, Self::Named) => has_named(other),
            (Self::Is(a), Self::Is(b)) => a == b,
            (Self::Is(kind), Self::Of(kinds)) | (Self::Of(kinds), Self::Is(kind)) => {
                kinds.binary_search(kind).is_ok()
            }
            (Self::Of(a), Self::Of(b)) => a.iter().any(|kind| b.binary_search(kind).is_ok()),
        }
    }
}

/// Checks a group. It is tried at each sibling, so its elements must be anchored to each other to keep the cost linear.
fn check_group(slots: &[Slot], language: &Language) -> Result<(), String> {
    let [first, rest @ ..] = slots else { return Err("an empty pattern".to_owned()) };
    if first.optional {
        return Err("the first node of a pattern cannot be optional".to_owned());
    }
    if rest.iter().any(|slot| !slot.anchored()) {
        return Err("the nodes of a group must be anchored to each other".to_owned());
    }
    let named = |node: &NodeItem| match node.kind {
        Kind::Any => false,
        Kind::Is(kind) => language.node_kind_is_named(kind),
        Kind::Named | Kind::Of(_) => true,
    };
    if !rest.is_empty() && !first.nodes.iter().all(named) {
        return Err("a group must begin with a named node".to_owned());
    }
    Ok(())
}

/// Checks that a repetition, which is greedy, cannot consume nodes that the next slot needs.
fn check_runs(slots: &[Slot], language: &Language) -> Result<(), String> {
    for (at, slot) in slots.iter().enumerate() {
        if slot.many {
            for next in &slots[at + 1..] {
                let mut pairs = slot.nodes.iter().flat_map(|a| next.nodes.iter().map(move |b| (a, b)));
                if pairs.any(|(a, b)| a.kind.overlaps(&b.kind, language)) {
                    return Err("a repetition is followed by a node that it could consume".to_owned());
                }
                if !next.optional {
                    break;
                }
            }
        }
        slot.nodes.iter().try_for_each(|node| check_runs(&node.children, language))?;
    }
    Ok(())
}

/// The number of nodes that each match of some slots captures; `None` if it varies.
fn captured(slots: &[Slot]) -> Option<usize> {
    let of_node = |node: &NodeItem| Some(node.captures.len() + captured(&node.children)?);
    let of_slot = |slot: &Slot| {
        let count = slot.nodes.first().map_or(Some(0), of_node)?;
        let is_same = slot.nodes.iter().all(|node| of_node(node) == Some(count));
        (is_same && (count == 0 || !(slot.optional || slot.many))).then_some(count)
    };
    slots.iter().map(of_slot).sum()
}

/// Sets `is_captured` and `first_suffices` of each slot.
fn mark_captured(slots: &mut [Slot]) {
    for slot in &mut *slots {
        for node in &mut slot.nodes {
            mark_captured(&mut node.children);
            node.is_captured = !node.captures.is_empty() || node.children.iter().any(|slot| slot.is_captured);
        }
        slot.is_captured = slot.nodes.iter().any(|node| node.is_captured);
    }
    let mut is_captured = false;
    for at in (0..slots.len()).rev() {
        // Slots that are anchored to it depend on its position.
        let goes_on = slots.get(at + 1).is_some_and(Slot::anchored);
        is_captured = slots[at].is_captured || (goes_on && is_captured);
        slots[at].first_suffices = !is_captured;
    }
}
