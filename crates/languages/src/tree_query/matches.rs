//! What a query's patterns match.

use std::collections::{HashMap, HashSet};
use std::time::Instant;

use super::nodes::{Nodes, Position};
use super::read::Query;
use super::search::{Place, Search, Way};

/// A captured node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Captured {
    /// The capture's number.
    pub(crate) capture: u16,
    /// The node.
    pub(crate) at: Position,
}

/// A match.
pub(crate) struct Hit<'h> {
    /// The pattern's place in the query.
    pub(crate) pattern: usize,
    /// What it captured: a node before what is in it, siblings in order. Captures that begin with `_` serve the
    /// predicates and are not told.
    pub(crate) captured: &'h [Captured],
}

/// Matches a query's patterns in a tree.
///
/// A pattern takes a time and a memory that grow with the number of nodes below the one where it begins, whatever they
/// are: each node is compared once with each part of the pattern, and what the parts give together is told up to a
/// number that grows as well. Only products of captured siblings exceed it, which no code has.
pub(crate) struct Matcher<'m, 't> {
    query: &'m Query,
    search: Search<'m, 't>,
    /// Where the last run of a pattern that begins with a repetition ended, by pattern and parent.
    runs: HashMap<(u16, Position), Position>,
    ways: Vec<Way>,
    /// Most captures and matches that were held at a time.
    #[cfg(test)]
    held_max: usize,
}

impl<'m, 't> Matcher<'m, 't> {
    /// A matcher that stops at `deadline`.
    pub(crate) fn new(query: &'m Query, nodes: &'m Nodes<'t>, text: &'m str, deadline: Instant) -> Self {
        Self {
            query,
            search: Search::new(nodes, text, deadline),
            runs: HashMap::new(),
            ways: Vec::new(),
            #[cfg(test)]
            held_max: 0,
        }
    }

    /// Steps taken so far.
    #[cfg(test)]
    pub(super) fn steps(&self) -> u64 {
        self.search.steps
    }

    /// Most captures and matches that were held at a time.
    #[cfg(test)]
    pub(super) fn held_max(&self) -> usize {
        self.held_max
    }

    /// Hands over the matches that begin at a node; nodes are to be asked for in their order. False when time ran out:
    /// they may be incomplete.
    pub(crate) fn at(&mut self, at: Position, take: &mut dyn FnMut(Hit<'_>)) -> bool {
        let query = self.query;
        let kind = usize::from(self.search.nodes.kind(at));
        let of_kind = query.by_kind.get(kind).map_or(&[][..], Vec::as_slice);
        let (mut ours, mut any) = (of_kind.iter().peekable(), query.anywhere.iter().peekable());
        // Both lists are sorted, and patterns keep their order.
        while let Some(number) = match (ours.peek(), any.peek()) {
            (Some(a), Some(b)) if a > b => any.next(),
            (Some(_), _) => ours.next(),
            (None, _) => any.next(),
        } {
            if !self.one(*number, at, take) {
                return false;
            }
        }
        true
    }

    /// The same for one pattern.
    pub(super) fn one(&mut self, number: u16, at: Position, take: &mut dyn FnMut(Hit<'_>)) -> bool {
        self.pattern(number, at);
        if !self.search.late && !self.ways.is_empty() {
            self.tell(number, take);
        }
        !self.search.late
    }

    /// Looks for the ways in which a pattern matches at a node.
    fn pattern(&mut self, number: u16, at: Position) {
        let pattern = &self.query.patterns[usize::from(number)];
        let nodes = self.search.nodes;
        let search = &mut self.search;
        self.ways.clear();
        if !pattern.is_group() {
            search.begin(at, nodes.end(at));
            for node in &pattern.slots[0].nodes {
                search.node(node, at, &mut self.ways);
            }
            return;
        }
        if nodes.is_in_error(at) {
            return;
        }
        let end = nodes.siblings_end(at);
        search.begin(at, end);
        if pattern.begins_with_run() {
            let begun = self.runs.entry((number, nodes.parent(at))).or_default();
            if at < *begun {
                return;
            }
            *begun = search.run_end(&pattern.slots[0], at, end);
        }
        search.list(&pattern.slots, Place::only(at, end), &mut self.ways);
    }

    /// Hands over what was found.
    fn tell(&mut self, number: u16, take: &mut dyn FnMut(Hit<'_>)) {
        let pattern = &self.query.patterns[usize::from(number)];
        if pattern.varies {
            longest(&mut self.search, &mut self.ways);
        }
        let search = &mut self.search;
        #[cfg(test)]
        {
            self.held_max = self.held_max.max(self.ways.len() + search.captured.len());
        }
        let mut seen = HashSet::new();
        let mut public = Vec::new();
        for way in &self.ways {
            if !search.step() {
                return;
            }
            let mut captured = search.of(*way);
            let (nodes, text) = (search.nodes, search.text);
            if !pattern.predicates.iter().all(|predicate| predicate.holds(captured, nodes, text)) {
                continue;
            }
            if pattern.has_private {
                public.clear();
                public.extend(captured.iter().filter(|one| !self.query.is_private(one.capture)));
                captured = &public;
            }
            if self.ways.len() == 1 || seen.insert(captured.to_vec()) {
                take(Hit { pattern: usize::from(number), captured });
            }
        }
    }
}

/// Leaves out what captured only a part of another: of what may be missing or repeated, the most counts.
fn longest(search: &mut Search<'_, '_>, ways: &mut Vec<Way>) {
    if ways.len() < 2 {
        return;
    }
    let mut sets: Vec<Vec<Captured>> = Vec::with_capacity(ways.len());
    for way in &*ways {
        if !search.step() {
            return;
        }
        sets.push(search.of(*way).to_vec());
        sets.last_mut().into_iter().for_each(|set| set.sort_unstable());
    }
    let shortest = sets.iter().map(Vec::len).min().unwrap_or_default();
    // Only longer ones can hold another.
    let mut holders: HashMap<Captured, Vec<usize>> = HashMap::new();
    for (at, set) in sets.iter().enumerate().filter(|(_, set)| set.len() > shortest) {
        set.iter().for_each(|one| holders.entry(*one).or_default().push(at));
    }
    let mut is_part = |at: usize, of: usize| {
        let (part, whole) = (&sets[at], &sets[of]);
        search.step() && whole.len() > part.len() && part.iter().all(|one| whole.binary_search(one).is_ok())
    };
    let none = Vec::new();
    let mut at = 0;
    ways.retain(|_| {
        let (this, set) = (at, &sets[at]);
        at += 1;
        let of = |one| holders.get(one).unwrap_or(&none);
        match set.iter().map(of).min_by_key(|holders| holders.len()) {
            Some(holders) => !holders.iter().any(|of| is_part(this, *of)),
            // What captured nothing is a part of any.
            None => false,
        }
    });
}
