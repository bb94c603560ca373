//! What a query's patterns are made of.

use std::collections::BTreeSet;
use std::sync::Arc;

use tree_sitter::Language;

use super::predicates::Predicate;

/// One pattern of a query.
pub(super) struct Pattern {
    /// One slot, or the neighbours of a group.
    pub(super) slots: Vec<Slot>,
    /// Conditions that need the whole match; the others are with their nodes.
    pub(super) predicates: Vec<Predicate>,
    /// `#set!`, by key.
    pub(super) settings: Vec<(String, String)>,
    /// Whether one match of it can have captured more nodes than another.
    pub(super) varies: bool,
    /// Whether a match can hold captures that serve its predicates alone.
    pub(super) has_private: bool,
}

/// A place among siblings: what may stand there, once or several times.
pub(super) struct Slot {
    /// One of these.
    pub(super) nodes: Vec<NodeItem>,
    /// Whether it may be missing.
    pub(super) optional: bool,
    /// Whether there may be more than one, right behind each other. Then all that are there are meant.
    pub(super) many: bool,
    /// Whether something in it is told.
    pub(super) tells: bool,
    /// Whether the first place where it matches serves as well as any other: nothing is told of it and of what is
    /// anchored to it.
    pub(super) once: bool,
}

/// What a node has to be.
pub(super) struct NodeItem {
    pub(super) kind: Kind,
    /// Id of its field; 0 for any or none.
    pub(super) field: u16,
    /// Fields of which it has none.
    pub(super) without: Vec<u16>,
    pub(super) captures: Vec<u16>,
    /// Conditions on its own text.
    pub(super) tests: Vec<Arc<Predicate>>,
    /// No named sibling stands between it and what precedes.
    pub(super) anchored: bool,
    /// No named sibling follows it.
    pub(super) last: bool,
    pub(super) children: Vec<Slot>,
    /// Whether it or something in it is told.
    pub(super) tells: bool,
}

/// Kinds of node.
pub(super) enum Kind {
    /// `_`: any.
    Any,
    /// `(_)`: any with a name of its own.
    Named,
    /// This one.
    Is(u16),
    /// One of a supertype's, sorted.
    Of(Vec<u16>),
}

impl Pattern {
    /// A pattern as it is read, made ready to be matched. `is_private` tells captures that serve predicates alone.
    ///
    /// # Errors
    /// What cannot be matched in a time that grows with the number of nodes only, for the query's maintainer.
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
        // Where one match may be a part of another, the larger one counts, even if it is then refused.
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
        note(&mut slots);
        Ok(Self { slots, predicates, settings, varies, has_private })
    }

    /// Whether it begins at one of several siblings.
    pub(super) fn is_group(&self) -> bool {
        self.slots.len() > 1 || self.begins_with_run()
    }

    /// Whether what it begins with may stand there several times.
    pub(super) fn begins_with_run(&self) -> bool {
        self.slots[0].many
    }
}

impl Slot {
    /// A slot for one of some nodes.
    pub(super) fn new(nodes: Vec<NodeItem>) -> Self {
        Self { nodes, optional: false, many: false, tells: false, once: false }
    }

    /// Whether it is anchored to what precedes.
    pub(super) fn anchored(&self) -> bool {
        self.nodes.first().is_some_and(|node| node.anchored)
    }

    /// Whether it ends a list of children.
    pub(super) fn last(&self) -> bool {
        self.nodes.first().is_some_and(|node| node.last)
    }

    /// Calls back with each node in it.
    pub(super) fn each_node(&mut self, then: &mut dyn FnMut(&mut NodeItem)) {
        for node in &mut self.nodes {
            then(node);
            node.children.iter_mut().for_each(|slot| slot.each_node(then));
        }
    }

    /// Whether a capture is in it.
    #[cfg(test)]
    pub(super) fn captures(&self, capture: usize) -> bool {
        self.nodes.iter().any(|node| {
            node.captures.iter().any(|has| usize::from(*has) == capture)
                || node.children.iter().any(|slot| slot.captures(capture))
        })
    }
}

impl NodeItem {
    /// A node without conditions but its kind.
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
            tells: false,
        }
    }
}

impl Kind {
    /// Adds the kinds that a node can be of; false where that is any.
    pub(super) fn list(&self, kinds: &mut BTreeSet<u16>) -> bool {
        match self {
            Self::Any | Self::Named => return false,
            Self::Is(kind) => _ = kinds.insert(*kind),
            Self::Of(of) => kinds.extend(of),
        }
        true
    }

    /// Whether a node can be of both.
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

/// A group is looked for at each of the siblings: what follows has to stand right behind.
fn check_group(slots: &[Slot], language: &Language) -> Result<(), String> {
    let [first, rest @ ..] = slots else { return Err("an empty pattern".to_owned()) };
    if first.optional {
        return Err("what it begins with may be missing".to_owned());
    }
    if rest.iter().any(|slot| !slot.anchored()) {
        return Err("what is next to each other in a group has to be anchored".to_owned());
    }
    let named = |node: &NodeItem| match node.kind {
        Kind::Any => false,
        Kind::Is(kind) => language.node_kind_is_named(kind),
        Kind::Named | Kind::Of(_) => true,
    };
    if !rest.is_empty() && !first.nodes.iter().all(named) {
        return Err("a group begins with a named node".to_owned());
    }
    Ok(())
}

/// A repetition takes all that it can have, so that nothing of it may be meant for what follows.
fn check_runs(slots: &[Slot], language: &Language) -> Result<(), String> {
    for (at, slot) in slots.iter().enumerate() {
        if slot.many {
            for next in &slots[at + 1..] {
                let mut pairs = slot.nodes.iter().flat_map(|a| next.nodes.iter().map(move |b| (a, b)));
                if pairs.any(|(a, b)| a.kind.overlaps(&b.kind, language)) {
                    return Err("a repetition is followed by what it repeats".to_owned());
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

/// How many nodes each match of some slots captures, or nothing where that varies.
fn captured(slots: &[Slot]) -> Option<usize> {
    let of_node = |node: &NodeItem| Some(node.captures.len() + captured(&node.children)?);
    let of_slot = |slot: &Slot| {
        let count = slot.nodes.first().map_or(Some(0), of_node)?;
        let is_same = slot.nodes.iter().all(|node| of_node(node) == Some(count));
        (is_same && (count == 0 || !(slot.optional || slot.many))).then_some(count)
    };
    slots.iter().map(of_slot).sum()
}

/// Notes of each slot what of it is told, and where the first place is enough.
fn note(slots: &mut [Slot]) {
    for slot in &mut *slots {
        for node in &mut slot.nodes {
            note(&mut node.children);
            node.tells = !node.captures.is_empty() || node.children.iter().any(|slot| slot.tells);
        }
        slot.tells = slot.nodes.iter().any(|node| node.tells);
    }
    let mut tells = false;
    for at in (0..slots.len()).rev() {
        // Up to what may stand anywhere behind it.
        let goes_on = slots.get(at + 1).is_some_and(Slot::anchored);
        tells = slots[at].tells || (goes_on && tells);
        slots[at].once = !tells;
    }
}
