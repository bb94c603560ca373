//! Matches the patterns of a query.

use std::collections::{HashMap, HashSet};
use std::time::Instant;

use super::nodes::{Captured, Nodes, Position};
use super::read::Query;
use super::search::{CaptureRange, Cursor, Search};

/// A match.
pub(crate) struct Hit<'h> {
    /// Number of the pattern in the query.
    pub(crate) pattern: usize,
    /// The captured nodes: a node before its descendants, siblings in order. Captures whose names begin with `_` are only for
    /// predicates and are omitted.
    pub(crate) captured: &'h [Captured],
}

/// Matches a query's patterns in a tree.
///
/// Time and memory for a pattern grow linearly with the number of nodes below the one where it begins: each node is compared
/// once with each part of the pattern, and the number of combinations that are emitted is limited proportionally. Only products
/// of captured siblings exceed that limit, which do not occur in real code.
pub(crate) struct Matcher<'m, 't> {
    query: &'m Query,
    search: Search<'m, 't>,
    /// For patterns that begin with a repetition, the end of its last run, by pattern and parent.
    runs: HashMap<(u16, Position), Position>,
    ranges: Vec<CaptureRange>,
    /// Maximum number of captures and matches in memory at a time.
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
            ranges: Vec::new(),
            #[cfg(test)]
            held_max: 0,
        }
    }

    /// Steps taken so far.
    #[cfg(test)]
    pub(super) fn steps(&self) -> u64 {
        self.search.steps
    }

    /// Maximum number of captures and matches in memory at a time.
    #[cfg(test)]
    pub(super) fn held_max(&self) -> usize {
        self.held_max
    }

    /// Calls `take` with the matches that begin at a node. Must be called for nodes in ascending order. Returns false if the
    /// time limit passed; the matches may then be incomplete.
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

    /// As [`at`](Self::at), for one pattern.
    pub(super) fn one(&mut self, number: u16, at: Position, take: &mut dyn FnMut(Hit<'_>)) -> bool {
        self.pattern(number, at);
        if !self.search.timed_out && !self.ranges.is_empty() {
            self.emit(number, take);
        }
        !self.search.timed_out
    }

    /// Finds the matches of a pattern at a node.
    fn pattern(&mut self, number: u16, at: Position) {
        let pattern = &self.query.patterns[usize::from(number)];
        let nodes = self.search.nodes;
        let search = &mut self.search;
        self.ranges.clear();
        if !pattern.is_group() {
            search.begin(at, nodes.end(at));
            for node in &pattern.slots[0].nodes {
                search.node(node, at, &mut self.ranges);
            }
            return;
        }
        if nodes.is_in_error(at) {
            return;
        }
        let end = nodes.siblings_end(at);
        search.begin(at, end);
        if pattern.begins_with_run() {
            let run_end = self.runs.entry((number, nodes.parent(at))).or_default();
            if at < *run_end {
                return;
            }
            *run_end = search.run_end(&pattern.slots[0], at, end);
        }
        search.list(&pattern.slots, Cursor::only(at, end), &mut self.ranges);
    }

    /// Calls `take` with the matches found.
    fn emit(&mut self, number: u16, take: &mut dyn FnMut(Hit<'_>)) {
        let pattern = &self.query.patterns[usize::from(number)];
        if pattern.varies {
            longest(&mut self.search, &mut self.ranges);
        }
        let search = &mut self.search;
        #[cfg(test)]
        {
            self.held_max = self.held_max.max(self.ranges.len() + search.captured.len());
        }
        let mut seen = HashSet::new();
        let mut public = Vec::new();
        for range in &self.ranges {
            if !search.step() {
                return;
            }
            let mut captured = search.captures_in(*range);
            let (nodes, text) = (search.nodes, search.text);
            if !pattern.predicates.iter().all(|predicate| predicate.holds(captured, nodes, text)) {
                continue;
            }
            if pattern.has_private {
                public.clear();
                public.extend(captured.iter().filter(|one| !self.query.is_private(one.capture)));
                captured = &public;
            }
            if self.ranges.len() == 1 || seen.insert(captured.to_vec()) {
                take(Hit { pattern: usize::from(number), captured });
            }
        }
    }
}

/// Drops matches whose captures are a subset of another's, because optional and repeated parts match as much as possible.
fn longest(search: &mut Search<'_, '_>, ranges: &mut Vec<CaptureRange>) {
    if ranges.len() < 2 {
        return;
    }
    let mut sets: Vec<Vec<Captured>> = Vec::with_capacity(ranges.len());
    for range in &*ranges {
        if !search.step() {
            return;
        }
        sets.push(search.captures_in(*range).to_vec());
        sets.last_mut().into_iter().for_each(|set| set.sort_unstable());
    }
    let shortest = sets.iter().map(Vec::len).min().unwrap_or_default();
    // Only longer matches can contain another.
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
    ranges.retain(|_| {
        let (this, set) = (at, &sets[at]);
        at += 1;
        let of = |one| holders.get(one).unwrap_or(&none);
        match set.iter().map(of).min_by_key(|holders| holders.len()) {
            Some(holders) => !holders.iter().any(|of| is_part(this, *of)),
            // A match without captures is a subset of any other.
            None => false,
        }
    });
}
