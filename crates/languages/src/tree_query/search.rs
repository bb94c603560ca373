//! Matches the parts of a pattern, and combines them.
//!
//! A list of slots is matched against siblings from left to right: for each slot, finds all siblings that it matches after a
//! match of the previous slot. Then, from right to left, drops matches after which the rest of the slots cannot
//! match, so that every combination that is begun can be completed. A sibling is compared with a slot only once.

use std::time::Instant;

use super::nodes::{Captured, NONE, Nodes, Position};
use super::shape::{Kind, NodeItem, Slot};

/// Steps between two checks of the deadline.
const STEPS_PER_CHECK: u64 = 1024;
/// Number of bytes of text whose comparison counts as a step.
const BYTES_PER_STEP: usize = 256;
/// Maximum number of captures of a pattern, in all combinations and intermediate results, per node that it visits.
const CAPTURES_PER_NODE: usize = 32;
/// Additional captures, so that few nodes suffice.
const CAPTURES_MIN: usize = 4096;
/// Maximum number of captures for any number of nodes; they take eight bytes each.
const CAPTURES_MAX: usize = 4_000_000;
/// Capacity for captures that is kept between patterns.
const CAPTURE_CAPACITY_KEPT: usize = 65_536;

/// The captures of one match: a range of [`Search::captured`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CaptureRange {
    from: u32,
    to: u32,
}

impl CaptureRange {
    const EMPTY: Self = Self { from: 0, to: 0 };
}

/// The position where the next slot is matched.
#[derive(Clone, Copy)]
pub(super) struct Cursor {
    at: Position,
    /// One past the last sibling.
    end: Position,
    /// The node that was matched last: a sibling, or the parent.
    previous: Position,
    /// `true` if only the node at this position may match.
    exact: bool,
    /// `true` if the last match was of `_`; an anchor after it is exact.
    bare: bool,
    /// `true` if the slot that an anchor refers to was skipped, so that the anchor has no effect.
    free: bool,
    /// `true` if nothing has been matched in this parent.
    first: bool,
}

impl Cursor {
    /// Exactly the node `at`, with siblings up to `end`.
    pub(super) fn only(at: Position, end: Position) -> Self {
        Self { at, end, previous: at, exact: true, bare: false, free: false, first: true }
    }

    fn inside(nodes: &Nodes<'_>, parent: Position) -> Self {
        Self { exact: false, previous: parent, ..Self::only(parent + 1, nodes.end(parent)) }
    }

    /// The last position where a slot can match; [`NONE`] without a limit.
    fn limit(&self, slot: &Slot, nodes: &Nodes<'_>) -> Position {
        if self.at >= self.end || !slot.anchored() {
            return if self.exact { self.at } else { NONE };
        }
        match self {
            Self { exact: true, .. } | Self { bare: true, .. } => self.at,
            Self { free: true, .. } => NONE,
            _ => nodes.get(self.at).next_named,
        }
    }

    /// The position after skipping a slot; `None` if it must not be skipped.
    fn without(self, slot: &Slot, has_next: bool, nodes: &Nodes<'_>) -> Option<Self> {
        if !slot.optional || (slot.last() && nodes.has_later_named_sibling(self.previous)) {
            return None;
        }
        let skipped = Self { first: false, ..self };
        Some(match (slot.anchored(), self.first) {
            (false, _) => Self { free: has_next, ..skipped },
            (true, true) => Self { exact: true, ..skipped },
            (true, false) => skipped,
        })
    }
}

/// A match of a slot with a sibling, with its captures.
#[derive(Clone, Copy)]
struct SlotMatch {
    at: Position,
    /// The last sibling of its run, for a repeated slot; else the sibling itself.
    last: Position,
    range: CaptureRange,
    bare: bool,
}

impl SlotMatch {
    /// The cursor after this match.
    fn after(&self, cursor: Cursor, nodes: &Nodes<'_>) -> Cursor {
        let (at, previous, bare) = (nodes.end(self.last), self.last, self.bare);
        Cursor { at, previous, bare, exact: false, free: false, first: false, ..cursor }
    }
}

/// The slots of a list with their matches.
struct SlotMatches<'l> {
    slots: &'l [Slot],
    found: Vec<Vec<SlotMatch>>,
}

impl SlotMatches<'_> {
    /// The matches of a slot from a position on, up to its limit.
    fn from(&self, slot: usize, cursor: Cursor, nodes: &Nodes<'_>) -> &[SlotMatch] {
        let found = &self.found[slot];
        let limit = cursor.limit(&self.slots[slot], nodes);
        let from = found.partition_point(|one| one.at < cursor.at);
        let to = match limit {
            NONE => found.len(),
            limit => from + found[from..].partition_point(|one| one.at <= limit),
        };
        &found[from..to]
    }

    /// Checks whether the slots from `slot` on can match from a position on.
    fn rest_matches(&self, slot: usize, cursor: Cursor, nodes: &Nodes<'_>) -> bool {
        let Some(next) = self.slots.get(slot) else { return true };
        let has_next = slot + 1 < self.slots.len();
        !self.from(slot, cursor, nodes).is_empty()
            || cursor
                .without(next, has_next, nodes)
                .is_some_and(|cursor| self.rest_matches(slot + 1, cursor, nodes))
    }
}

/// The state of a search for a pattern.
pub(super) struct Search<'s, 't> {
    pub(super) nodes: &'s Nodes<'t>,
    pub(super) text: &'s str,
    deadline: Instant,
    /// Steps taken: compared nodes and stored captures.
    pub(super) steps: u64,
    /// Number of steps at which the deadline is checked next.
    next_check: u64,
    /// `true` if the deadline passed.
    pub(super) timed_out: bool,
    /// Captures of all matches.
    pub(super) captured: Vec<Captured>,
    /// Number of captures that may still be stored, at any depth.
    left: usize,
}

impl<'s, 't> Search<'s, 't> {
    pub(super) fn new(nodes: &'s Nodes<'t>, text: &'s str, deadline: Instant) -> Self {
        Self {
            nodes,
            text,
            deadline,
            steps: 0,
            next_check: STEPS_PER_CHECK,
            timed_out: false,
            captured: Vec::new(),
            left: 0,
        }
    }

    /// Resets the search for a pattern that visits the nodes from `at` to `end`.
    pub(super) fn begin(&mut self, at: Position, end: Position) {
        self.captured.clear();
        self.captured.shrink_to(CAPTURE_CAPACITY_KEPT);
        let nodes = (end - at) as usize;
        self.left = nodes.saturating_mul(CAPTURES_PER_NODE).saturating_add(CAPTURES_MIN).min(CAPTURES_MAX);
    }

    /// The captures in a range.
    pub(super) fn captures_in(&self, range: CaptureRange) -> &[Captured] {
        &self.captured[range.from as usize..range.to as usize]
    }

    /// Counts a step; returns false if the deadline passed.
    pub(super) fn step(&mut self) -> bool {
        self.steps += 1;
        if self.steps >= self.next_check {
            self.next_check = self.steps + STEPS_PER_CHECK;
            self.timed_out |= Instant::now() > self.deadline;
        }
        !self.timed_out
    }

    /// The end of the run of siblings, from `at` on, that a slot matches.
    pub(super) fn run_end(&mut self, slot: &Slot, mut at: Position, end: Position) -> Position {
        let mut ranges = Vec::new();
        while at < end && slot.nodes.iter().any(|node| self.node(node, at, &mut ranges)) {
            at = self.nodes.end(at);
            ranges.clear();
        }
        self.captured.clear();
        at
    }

    /// Matches a node and adds the captures of each match: a single empty range if nothing is captured. Returns false if it
    /// does not match.
    pub(super) fn node(&mut self, item: &NodeItem, at: Position, ranges: &mut Vec<CaptureRange>) -> bool {
        if !self.step() || !self.fits(item, at) {
            return false;
        }
        let (before, found) = (self.captured.len(), ranges.len());
        if !item.children.is_empty() && !self.list(&item.children, Cursor::inside(self.nodes, at), ranges) {
            return false;
        }
        if !self.accepts(item, at) {
            self.captured.truncate(before);
            ranges.truncate(found);
            return false;
        }
        if item.children.is_empty() {
            ranges.push(CaptureRange::EMPTY);
        }
        if !item.captures.is_empty() {
            let mut kept = found;
            for next in found..ranges.len() {
                let Some(range) = self.join(Some((item, at)), &[ranges[next]]) else { break };
                ranges[kept] = range;
                kept += 1;
            }
            ranges.truncate(kept);
        }
        ranges.len() > found
    }

    /// Matches slots with siblings and adds the captures of each match: a single empty range if nothing is captured. Returns
    /// false if they do not match.
    pub(super) fn list(&mut self, slots: &[Slot], start: Cursor, ranges: &mut Vec<CaptureRange>) -> bool {
        let before = self.captured.len();
        let Some(mut listed) = self.compare(slots, start) else {
            self.captured.truncate(before);
            return false;
        };
        if !slots.iter().any(|slot| slot.is_captured) {
            self.captured.truncate(before);
            ranges.push(CaptureRange::EMPTY);
            return true;
        }
        for slot in (0..slots.len() - 1).rev() {
            let mut found = std::mem::take(&mut listed.found[slot]);
            found.retain(|one| {
                self.step() && listed.rest_matches(slot + 1, one.after(start, self.nodes), self.nodes)
            });
            listed.found[slot] = found;
        }
        let count = ranges.len();
        self.combine(&listed, 0, start, &mut Vec::new(), (count, ranges));
        ranges.len() > count
    }

    /// Finds the matches of each slot after those of the previous one; `None` if a slot has none.
    fn compare<'l>(&mut self, slots: &'l [Slot], start: Cursor) -> Option<SlotMatches<'l>> {
        let mut listed = SlotMatches { slots, found: Vec::new() };
        let mut held: Vec<Cursor> = Vec::new();
        for (number, slot) in slots.iter().enumerate() {
            let cursors = if number == 0 { std::slice::from_ref(&start) } else { &held };
            let found = self.slot_matches(slot, cursors);
            if self.timed_out {
                return None;
            }
            let has_next = number + 1 < slots.len();
            let mut next: Vec<Cursor> = Vec::new();
            if has_next || found.is_empty() {
                for one in &found {
                    let cursor = one.after(start, self.nodes);
                    if next.last().is_none_or(|last| (last.at, last.bare) != (cursor.at, cursor.bare)) {
                        next.push(cursor);
                    }
                }
                if slot.optional {
                    next.extend(
                        cursors.iter().filter_map(|cursor| cursor.without(slot, has_next, self.nodes)),
                    );
                    next.sort_by_key(|cursor| cursor.at);
                }
                if next.is_empty() {
                    return None;
                }
            }
            held = next;
            if listed.found.is_empty() {
                listed.found.reserve_exact(slots.len());
            }
            listed.found.push(found);
        }
        Some(listed)
    }

    /// Finds the matches of a slot from any of the positions on. The positions are sorted.
    fn slot_matches(&mut self, slot: &Slot, cursors: &[Cursor]) -> Vec<SlotMatch> {
        let mut found = Vec::new();
        let mut seen_to = 0;
        // With a single position, the first match is sufficient if no later one can differ.
        let enough = slot.first_suffices && !slot.many && cursors.len() == 1;
        for cursor in cursors {
            let limit = cursor.limit(slot, self.nodes);
            let mut at = cursor.at.max(seen_to);
            let mut matched = false;
            // A run may continue after the limit.
            while at < cursor.end && (at <= limit || (slot.many && matched)) && !self.timed_out {
                matched = self.match_slot(slot, at, &mut found);
                if matched && enough {
                    return found;
                }
                at = self.nodes.end(at);
            }
            seen_to = seen_to.max(at);
        }
        if slot.many {
            for at in (1..found.len()).rev() {
                let (before, next) = (found[at - 1].at, found[at]);
                if self.nodes.end(before) == next.at {
                    found[at - 1].last = next.last;
                }
            }
        }
        found
    }

    fn match_slot(&mut self, slot: &Slot, at: Position, found: &mut Vec<SlotMatch>) -> bool {
        let before = found.len();
        let mut ranges = Vec::new();
        for item in &slot.nodes {
            self.node(item, at, &mut ranges);
            let bare = matches!(item.kind, Kind::Any);
            for range in ranges.drain(..) {
                let node_text = !slot.is_captured && found[before..].iter().any(|one| one.bare == bare);
                // For a repeated slot, only the first match of each node counts.
                if !(node_text || (slot.many && found.len() > before)) {
                    found.push(SlotMatch { at, last: at, range, bare });
                }
            }
        }
        found.len() > before
    }

    /// Combines the matches of the slots from `slot` on; returns false when a limit is reached.
    fn combine(
        &mut self,
        listed: &SlotMatches<'_>,
        slot: usize,
        cursor: Cursor,
        parts: &mut Vec<CaptureRange>,
        (from, ranges): (usize, &mut Vec<CaptureRange>),
    ) -> bool {
        let Some(this) = listed.slots.get(slot) else { return self.emit(parts, (from, ranges)) };
        let found = listed.from(slot, cursor, self.nodes);
        let held = parts.len();
        let mut run = 0;
        for one in found {
            if one.at < run {
                continue;
            }
            if !self.step() {
                return false;
            }
            if this.many {
                run = self.nodes.end(one.last);
                // The whole run, including siblings after the limit.
                let all = &listed.found[slot];
                let first = all.partition_point(|other| other.at < one.at);
                parts.extend(all[first..].iter().take_while(|other| other.at < run).map(|other| other.range));
            } else {
                parts.push(one.range);
            }
            let goes_on =
                self.combine(listed, slot + 1, one.after(cursor, self.nodes), parts, (from, &mut *ranges));
            parts.truncate(held);
            if !goes_on {
                return false;
            }
            if this.first_suffices {
                break;
            }
        }
        let missing = cursor.without(this, slot + 1 < listed.slots.len(), self.nodes);
        missing.is_none_or(|cursor| {
            !listed.rest_matches(slot + 1, cursor, self.nodes)
                || self.combine(listed, slot + 1, cursor, parts, (from, ranges))
        })
    }

    fn emit(&mut self, parts: &[CaptureRange], (from, ranges): (usize, &mut Vec<CaptureRange>)) -> bool {
        let Some(range) = self.join(None, parts) else { return false };
        if ranges[from..].last().is_none_or(|last| self.captures_in(*last) != self.captures_in(range)) {
            ranges.push(range);
        }
        true
    }

    /// Concatenates the captures of a node itself and of some ranges; `None` if the limit is reached.
    fn join(&mut self, node: Option<(&NodeItem, Position)>, parts: &[CaptureRange]) -> Option<CaptureRange> {
        let mut non_empty = parts.iter().filter(|part| part.from < part.to);
        let length: usize = non_empty.clone().map(|part| (part.to - part.from) as usize).sum();
        let length = length + node.map_or(0, |(item, _)| item.captures.len());
        self.left = self.left.checked_sub(1)?;
        if node.is_none() && non_empty.clone().count() < 2 {
            return Some(non_empty.next().copied().unwrap_or(CaptureRange::EMPTY));
        }
        self.left = self.left.checked_sub(length)?;
        self.steps += length as u64;
        let from = self.captured.len();
        if let Some((item, at)) = node {
            self.captured.extend(item.captures.iter().map(|&capture| Captured { capture, at }));
        }
        for part in non_empty {
            self.captured.extend_from_within(part.from as usize..part.to as usize);
        }
        Some(CaptureRange { from: from as u32, to: self.captured.len() as u32 })
    }

    /// Checks whether a node is the result of error recovery. Such nodes do not match supertypes.
    fn is_recovered(&self, at: Position) -> bool {
        self.nodes.is_in_error(at) || self.nodes.node(at).is_missing()
    }

    /// Checks whether a node matches an item, apart from its children and text.
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

    /// Checks whether the text of a node passes the tests of an item.
    fn accepts(&mut self, item: &NodeItem, at: Position) -> bool {
        item.tests.iter().all(|test| {
            let node_text = self.nodes.text(at, self.text);
            self.steps += (node_text.len() / BYTES_PER_STEP) as u64;
            test.accepts(node_text)
        })
    }
}
