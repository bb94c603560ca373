//! What a query's patterns match.

use std::collections::{HashMap, HashSet};
use std::time::Instant;

use super::nodes::{Nodes, Position};
use super::read::{Item, Kind, NodeItem, Pattern, Query};

/// Nodes compared between two looks at the clock.
const STEPS_A_LOOK: u32 = 8192;

/// A captured node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::languages) struct Captured {
    /// The capture's number.
    pub(in crate::languages) capture: u16,
    /// The node.
    pub(in crate::languages) at: Position,
}

/// A match.
pub(in crate::languages) struct Hit<'h> {
    /// The pattern's place in the query.
    pub(in crate::languages) pattern: usize,
    /// What it captured: a node before what is in it, siblings in order.
    pub(in crate::languages) captured: &'h [Captured],
}

/// Matches a query's patterns in a tree.
pub(in crate::languages) struct Matcher<'m, 't> {
    query: &'m Query,
    nodes: &'m Nodes<'t>,
    text: &'m str,
    deadline: Instant,
    /// Nodes compared so far.
    steps: u32,
    /// Matches of groups, which begin at several siblings and may be one.
    grouped: HashMap<(u16, Position), HashSet<Vec<Captured>>>,
}

/// Where the next sibling is looked for.
#[derive(Clone, Copy)]
struct Place {
    at: Position,
    /// One past the last sibling.
    end: Position,
    /// The node that was matched last: a sibling, or the parent.
    previous: Position,
    /// Only the node right there will do.
    exact: bool,
    /// What was matched last is `_`: an anchor to it is exact.
    bare: bool,
    /// What an anchor referred to is missing: it means nothing.
    free: bool,
    /// Nothing has been matched in this parent.
    first: bool,
}

impl Place {
    fn inside(nodes: &Nodes<'_>, parent: Position) -> Self {
        let end = nodes.end(parent);
        Self { at: parent + 1, end, previous: parent, exact: false, bare: false, free: false, first: true }
    }
}

/// What a search has so far.
struct Search {
    captured: Vec<Captured>,
    found: Vec<Vec<Captured>>,
    deadline: Instant,
    steps: u32,
    late: bool,
}

/// What follows a match; true ends the search.
type Then<'x> = &'x mut dyn FnMut(&mut Search, Place) -> bool;

impl<'m, 't> Matcher<'m, 't> {
    /// A matcher that stops at `deadline`.
    pub(in crate::languages) fn new(
        query: &'m Query,
        nodes: &'m Nodes<'t>,
        text: &'m str,
        deadline: Instant,
    ) -> Self {
        Self { query, nodes, text, deadline, steps: 0, grouped: HashMap::new() }
    }

    /// Hands over the matches that begin at a node. False when time ran out: they may be incomplete.
    pub(in crate::languages) fn at(&mut self, at: Position, take: &mut dyn FnMut(Hit<'_>)) -> bool {
        let query = self.query;
        let kind = usize::from(self.nodes.kind(at));
        let of_kind = query.by_kind.get(kind).map_or(&[][..], Vec::as_slice);
        let (mut ours, mut any) = (of_kind.iter().peekable(), query.anywhere.iter().peekable());
        // Both lists are sorted, and patterns keep their order.
        while let Some(number) = match (ours.peek(), any.peek()) {
            (Some(a), Some(b)) if a > b => any.next(),
            (Some(_), _) => ours.next(),
            (None, _) => any.next(),
        } {
            if !self.pattern(*number, at, take) {
                return false;
            }
        }
        true
    }

    fn pattern(&mut self, number: u16, at: Position, take: &mut dyn FnMut(Hit<'_>)) -> bool {
        let pattern = &self.query.patterns[usize::from(number)];
        let is_group = pattern.items.len() > 1;
        if is_group && self.nodes.is_in_error(at) {
            return true;
        }
        let end = if is_group { self.nodes.siblings_end(at) } else { self.nodes.end(at) };
        let place = Place { at, end, previous: at, exact: true, bare: false, free: false, first: true };
        let mut search = Search {
            captured: Vec::new(),
            found: Vec::new(),
            deadline: self.deadline,
            steps: self.steps,
            late: false,
        };
        self.all(&pattern.items, place, &mut search, &mut |search, _| {
            search.found.push(search.captured.clone());
            false
        });
        self.steps = search.steps;
        if search.late {
            return false;
        }
        for captured in longest(pattern, search.found) {
            if is_group {
                let parent = self.nodes.parent(at);
                if !self.grouped.entry((number, parent)).or_default().insert(captured.clone()) {
                    continue;
                }
            }
            if pattern.predicates.iter().all(|predicate| predicate.holds(&captured, self.nodes, self.text)) {
                take(Hit { pattern: usize::from(number), captured: &captured });
            }
        }
        true
    }

    fn all(&self, items: &[Item], place: Place, search: &mut Search, then: Then<'_>) -> bool {
        let Some((first, rest)) = items.split_first() else { return then(search, place) };
        // What tells nothing and is followed by what may stand anywhere behind it need only be found once.
        let once = !first.tells() && rest.first().is_none_or(|next| !next.anchored());
        let mut then = |search: &mut Search, place: Place| self.all(rest, place, search, then);
        match first {
            Item::Times { item, optional, many } => {
                if self.times(item, *many, place, search, &mut then) {
                    return true;
                }
                let missing = if *optional { self.without(item, place, !rest.is_empty()) } else { None };
                missing.is_some_and(|place| then(search, place))
            }
            item => self.item(item, once, place, search, &mut then),
        }
    }

    fn item(&self, item: &Item, once: bool, place: Place, search: &mut Search, then: Then<'_>) -> bool {
        match item {
            Item::Node(node) => self.node(node, once, place, search, then),
            Item::Any(items) => items.iter().any(|item| self.item(item, once, place, search, then)),
            Item::All(items) => self.all(items, place, search, then),
            Item::Times { .. } => self.all(std::slice::from_ref(item), place, search, then),
        }
    }

    /// The item once, or as often as it stands there: the longest run first.
    fn times(&self, item: &Item, many: bool, place: Place, search: &mut Search, then: Then<'_>) -> bool {
        self.item(item, false, place, search, &mut |search, place| {
            let next = Place { exact: true, ..place };
            (many && self.times(item, many, next, search, then)) || then(search, place)
        })
    }

    /// Where to go on when an item is missing, if it may be missing there.
    fn without(&self, item: &Item, place: Place, has_next: bool) -> Option<Place> {
        if item.last() && self.nodes.has_later_named_sibling(place.previous) {
            return None;
        }
        let skipped = Place { first: false, ..place };
        Some(match (item.anchored(), place.first) {
            (false, _) => Place { free: has_next, ..skipped },
            (true, true) => Place { exact: true, ..skipped },
            (true, false) => skipped,
        })
    }

    fn node(&self, item: &NodeItem, once: bool, place: Place, search: &mut Search, then: Then<'_>) -> bool {
        let exact = place.exact || (place.bare && item.anchored);
        let mut at = place.at;
        while at < place.end {
            search.steps = search.steps.wrapping_add(1);
            if search.steps.is_multiple_of(STEPS_A_LOOK) && Instant::now() > search.deadline {
                search.late = true;
                return true;
            }
            let end = self.nodes.end(at);
            if self.fits(item, at) {
                let next = Place {
                    at: end,
                    previous: at,
                    exact: false,
                    bare: matches!(item.kind, Kind::Any),
                    free: false,
                    first: false,
                    ..place
                };
                let inside = Place::inside(self.nodes, at);
                let mut found = true;
                let stop = if item.tells {
                    let before = search.captured.len();
                    search.captured.extend(item.captures.iter().map(|&capture| Captured { capture, at }));
                    let stop = self.all(&item.children, inside, search, &mut |search, _| then(search, next));
                    search.captured.truncate(before);
                    stop
                } else {
                    found = self.all(&item.children, inside, search, &mut |_, _| true);
                    if search.late {
                        return true;
                    }
                    found && then(search, next)
                };
                if stop {
                    return true;
                }
                if once && found {
                    return false;
                }
            }
            if exact || (item.anchored && self.nodes.get(at).named && !place.free) {
                return false;
            }
            at = end;
        }
        false
    }

    /// Whether a node was made up or left over where the text breaks the grammar: it then stands for no supertype.
    fn is_recovered(&self, at: Position) -> bool {
        let node = self.nodes.node(at);
        node.is_missing() || node.parent().is_some_and(|parent| parent.is_error())
    }

    /// Whether a node is what an item asks for, children apart.
    fn fits(&self, item: &NodeItem, at: Position) -> bool {
        let node = self.nodes.get(at);
        let is = match &item.kind {
            Kind::Any => !node.is_error(),
            Kind::Named => node.named && !node.is_error(),
            Kind::Is(kind) => node.kind == *kind,
            Kind::Of(kinds) => kinds.binary_search(&node.kind).is_ok() && !self.is_recovered(at),
        };
        is && (item.field == 0 || item.field == node.field)
            && !(item.last && self.nodes.has_later_named_sibling(at))
            && (item.without.is_empty()
                || !self.nodes.children(at).any(|child| item.without.contains(&self.nodes.get(child).field)))
    }
}

/// Without repetitions, and without what captured only a part of another: of what may be missing or repeated, the most
/// counts.
fn longest(pattern: &Pattern, found: Vec<Vec<Captured>>) -> Vec<Vec<Captured>> {
    if found.len() < 2 {
        return found;
    }
    let mut seen = HashSet::new();
    let mut found: Vec<Vec<Captured>> =
        found.into_iter().filter(|captured| seen.insert(captured.clone())).collect();
    if found.len() < 2 || !pattern.varies {
        return found;
    }
    let mut holders: HashMap<Captured, Vec<usize>> = HashMap::new();
    for (at, captured) in found.iter().enumerate() {
        captured.iter().for_each(|one| holders.entry(*one).or_default().push(at));
    }
    let is_part = |at: usize, of: usize| {
        at != of && found[of].len() > found[at].len() && found[at].iter().all(|one| found[of].contains(one))
    };
    let is_longest = |at: &usize| {
        let rarest = found[*at].iter().filter_map(|one| holders.get(one)).min_by_key(|holders| holders.len());
        match rarest {
            Some(holders) => !holders.iter().any(|of| is_part(*at, *of)),
            None => false,
        }
    };
    let kept: Vec<usize> = (0..found.len()).filter(is_longest).collect();
    kept.into_iter().map(|at| std::mem::take(&mut found[at])).collect()
}
