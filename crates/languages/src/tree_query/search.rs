//! What the parts of a pattern match, and what they give together.
//!
//! A list of children is compared from left to right: for each slot, all siblings are found that it matches behind what
//! the slot before matched. Then, from right to left, those are left out behind which the rest of the slots does not
//! match, so that each combination that is begun can be completed. A sibling is compared with a slot once.

use std::time::Instant;

use super::matches::Captured;
use super::nodes::{NONE, Nodes, Position};
use super::shape::{Kind, NodeItem, Slot};

/// Steps between two looks at the clock.
const STEPS_A_LOOK: u64 = 1024;
/// Bytes of a text that cost as much to compare as a node.
const BYTES_A_STEP: usize = 256;
/// What a pattern may capture, in all combinations and on the way to them, for each node that it looks at.
const CAPTURED_A_NODE: usize = 32;
/// The same for few nodes.
const CAPTURED_MIN: usize = 4096;
/// The same for any number of nodes; eight bytes each.
const CAPTURED_MAX: usize = 4_000_000;
/// Room for captures that is kept.
const CAPTURED_KEPT: usize = 65_536;

/// What one match captured: a part of [`Search::captured`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Way {
    from: u32,
    to: u32,
}

impl Way {
    const EMPTY: Self = Self { from: 0, to: 0 };
}

/// Where the next sibling is looked for.
#[derive(Clone, Copy)]
pub(super) struct Place {
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
    /// A node itself, with siblings up to `end`.
    pub(super) fn only(at: Position, end: Position) -> Self {
        Self { at, end, previous: at, exact: true, bare: false, free: false, first: true }
    }

    fn inside(nodes: &Nodes<'_>, parent: Position) -> Self {
        Self { exact: false, previous: parent, ..Self::only(parent + 1, nodes.end(parent)) }
    }

    /// The last position where a slot can match.
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

    /// Where to go on when a slot stays empty, if it may.
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

/// A sibling that a slot matches, in one way.
#[derive(Clone, Copy)]
struct Found {
    at: Position,
    /// The last sibling of the run that it stands in; of a slot for one node, itself.
    last: Position,
    way: Way,
    bare: bool,
}

impl Found {
    fn behind(&self, place: Place, nodes: &Nodes<'_>) -> Place {
        let (at, previous, bare) = (nodes.end(self.last), self.last, self.bare);
        Place { at, previous, bare, exact: false, free: false, first: false, ..place }
    }
}

/// The slots of a list, with what each of them matches.
struct Listed<'l> {
    slots: &'l [Slot],
    found: Vec<Vec<Found>>,
}

impl Listed<'_> {
    /// What a slot matches from a place on, up to the limit.
    fn from(&self, slot: usize, place: Place, nodes: &Nodes<'_>) -> &[Found] {
        let found = &self.found[slot];
        let limit = place.limit(&self.slots[slot], nodes);
        let from = found.partition_point(|one| one.at < place.at);
        let to = match limit {
            NONE => found.len(),
            limit => from + found[from..].partition_point(|one| one.at <= limit),
        };
        &found[from..to]
    }

    /// Whether the slots from `slot` on match from a place on.
    fn leads_on(&self, slot: usize, place: Place, nodes: &Nodes<'_>) -> bool {
        let Some(next) = self.slots.get(slot) else { return true };
        let has_next = slot + 1 < self.slots.len();
        !self.from(slot, place, nodes).is_empty()
            || place.without(next, has_next, nodes).is_some_and(|place| self.leads_on(slot + 1, place, nodes))
    }
}

/// What is looked for at one node.
pub(super) struct Search<'s, 't> {
    pub(super) nodes: &'s Nodes<'t>,
    pub(super) text: &'s str,
    deadline: Instant,
    /// Steps taken: nodes compared and captures told.
    pub(super) steps: u64,
    /// At how many of them the clock is looked at next.
    look_at: u64,
    /// Whether time ran out.
    pub(super) late: bool,
    /// Captures of what was found.
    pub(super) captured: Vec<Captured>,
    /// How many more may be told, at any depth.
    left: usize,
}

impl<'s, 't> Search<'s, 't> {
    pub(super) fn new(nodes: &'s Nodes<'t>, text: &'s str, deadline: Instant) -> Self {
        Self {
            nodes,
            text,
            deadline,
            steps: 0,
            look_at: STEPS_A_LOOK,
            late: false,
            captured: Vec::new(),
            left: 0,
        }
    }

    /// Begins anew, for a pattern that looks at the nodes from `at` to `end`.
    pub(super) fn begin(&mut self, at: Position, end: Position) {
        self.captured.clear();
        self.captured.shrink_to(CAPTURED_KEPT);
        let nodes = (end - at) as usize;
        self.left = nodes.saturating_mul(CAPTURED_A_NODE).saturating_add(CAPTURED_MIN).min(CAPTURED_MAX);
    }

    /// What was captured in a way.
    pub(super) fn of(&self, way: Way) -> &[Captured] {
        &self.captured[way.from as usize..way.to as usize]
    }

    /// Counts a step; false when time ran out.
    pub(super) fn step(&mut self) -> bool {
        self.steps += 1;
        if self.steps >= self.look_at {
            self.look_at = self.steps + STEPS_A_LOOK;
            self.late |= Instant::now() > self.deadline;
        }
        !self.late
    }

    /// Where the run ends that a slot begins at a node.
    pub(super) fn run_end(&mut self, slot: &Slot, mut at: Position, end: Position) -> Position {
        let mut ways = Vec::new();
        while at < end && slot.nodes.iter().any(|node| self.node(node, at, &mut ways)) {
            at = self.nodes.end(at);
            ways.clear();
        }
        self.captured.clear();
        at
    }

    /// Adds the ways in which a node matches: one without captures where nothing is told. False where it does not.
    pub(super) fn node(&mut self, item: &NodeItem, at: Position, ways: &mut Vec<Way>) -> bool {
        if !self.step() || !self.fits(item, at) {
            return false;
        }
        let (before, found) = (self.captured.len(), ways.len());
        if !item.children.is_empty() && !self.list(&item.children, Place::inside(self.nodes, at), ways) {
            return false;
        }
        if !self.accepts(item, at) {
            self.captured.truncate(before);
            ways.truncate(found);
            return false;
        }
        if item.children.is_empty() {
            ways.push(Way::EMPTY);
        }
        if !item.captures.is_empty() {
            let mut kept = found;
            for next in found..ways.len() {
                let Some(way) = self.join(Some((item, at)), &[ways[next]]) else { break };
                ways[kept] = way;
                kept += 1;
            }
            ways.truncate(kept);
        }
        ways.len() > found
    }

    /// Adds the ways in which slots match siblings: one without captures where nothing is told. False where they do not.
    pub(super) fn list(&mut self, slots: &[Slot], start: Place, ways: &mut Vec<Way>) -> bool {
        let before = self.captured.len();
        let Some(mut listed) = self.compare(slots, start) else {
            self.captured.truncate(before);
            return false;
        };
        if !slots.iter().any(|slot| slot.tells) {
            self.captured.truncate(before);
            ways.push(Way::EMPTY);
            return true;
        }
        for slot in (0..slots.len() - 1).rev() {
            let mut found = std::mem::take(&mut listed.found[slot]);
            found.retain(|one| {
                self.step() && listed.leads_on(slot + 1, one.behind(start, self.nodes), self.nodes)
            });
            listed.found[slot] = found;
        }
        let count = ways.len();
        self.combine(&listed, 0, start, &mut Vec::new(), (count, ways));
        ways.len() > count
    }

    /// What each slot matches behind what the slot before does; nothing where one matches nowhere.
    fn compare<'l>(&mut self, slots: &'l [Slot], start: Place) -> Option<Listed<'l>> {
        let mut listed = Listed { slots, found: Vec::new() };
        let mut held: Vec<Place> = Vec::new();
        for (number, slot) in slots.iter().enumerate() {
            let places = if number == 0 { std::slice::from_ref(&start) } else { &held };
            let found = self.stand(slot, places);
            if self.late {
                return None;
            }
            let has_next = number + 1 < slots.len();
            let mut next: Vec<Place> = Vec::new();
            if has_next || found.is_empty() {
                for one in &found {
                    let place = one.behind(start, self.nodes);
                    if next.last().is_none_or(|last| (last.at, last.bare) != (place.at, place.bare)) {
                        next.push(place);
                    }
                }
                if slot.optional {
                    next.extend(places.iter().filter_map(|place| place.without(slot, has_next, self.nodes)));
                    next.sort_by_key(|place| place.at);
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

    /// Where a slot matches, from any of the places on. They are sorted.
    fn stand(&mut self, slot: &Slot, places: &[Place]) -> Vec<Found> {
        let mut found = Vec::new();
        let mut seen_to = 0;
        // From one place on, the first that will do is enough.
        let enough = slot.once && !slot.many && places.len() == 1;
        for place in places {
            let limit = place.limit(slot, self.nodes);
            let mut at = place.at.max(seen_to);
            let mut stands = false;
            // A run goes on behind the limit.
            while at < place.end && (at <= limit || (slot.many && stands)) && !self.late {
                stands = self.stands(slot, at, &mut found);
                if stands && enough {
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

    fn stands(&mut self, slot: &Slot, at: Position, found: &mut Vec<Found>) -> bool {
        let before = found.len();
        let mut ways = Vec::new();
        for item in &slot.nodes {
            self.node(item, at, &mut ways);
            let bare = matches!(item.kind, Kind::Any);
            for way in ways.drain(..) {
                let said = !slot.tells && found[before..].iter().any(|one| one.bare == bare);
                // Of a run, the first way of each node counts.
                if !(said || (slot.many && found.len() > before)) {
                    found.push(Found { at, last: at, way, bare });
                }
            }
        }
        found.len() > before
    }

    /// Tells what the slots from `slot` on give together; false when that is more than may be told.
    fn combine(
        &mut self,
        listed: &Listed<'_>,
        slot: usize,
        place: Place,
        parts: &mut Vec<Way>,
        (from, ways): (usize, &mut Vec<Way>),
    ) -> bool {
        let Some(this) = listed.slots.get(slot) else { return self.tell(parts, (from, ways)) };
        let found = listed.from(slot, place, self.nodes);
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
                // Behind the limit as well.
                let all = &listed.found[slot];
                let first = all.partition_point(|other| other.at < one.at);
                parts.extend(all[first..].iter().take_while(|other| other.at < run).map(|other| other.way));
            } else {
                parts.push(one.way);
            }
            let goes_on =
                self.combine(listed, slot + 1, one.behind(place, self.nodes), parts, (from, &mut *ways));
            parts.truncate(held);
            if !goes_on {
                return false;
            }
            if this.once {
                break;
            }
        }
        let missing = place.without(this, slot + 1 < listed.slots.len(), self.nodes);
        missing.is_none_or(|place| {
            !listed.leads_on(slot + 1, place, self.nodes)
                || self.combine(listed, slot + 1, place, parts, (from, ways))
        })
    }

    fn tell(&mut self, parts: &[Way], (from, ways): (usize, &mut Vec<Way>)) -> bool {
        let Some(way) = self.join(None, parts) else { return false };
        if ways[from..].last().is_none_or(|last| self.of(*last) != self.of(way)) {
            ways.push(way);
        }
        true
    }

    /// What was captured in some ways, behind what a node captures itself; nothing where that is too much.
    fn join(&mut self, node: Option<(&NodeItem, Position)>, parts: &[Way]) -> Option<Way> {
        let mut told = parts.iter().filter(|part| part.from < part.to);
        let length: usize = told.clone().map(|part| (part.to - part.from) as usize).sum();
        let length = length + node.map_or(0, |(item, _)| item.captures.len());
        self.left = self.left.checked_sub(1)?;
        if node.is_none() && told.clone().count() < 2 {
            return Some(told.next().copied().unwrap_or(Way::EMPTY));
        }
        self.left = self.left.checked_sub(length)?;
        self.steps += length as u64;
        let from = self.captured.len();
        if let Some((item, at)) = node {
            self.captured.extend(item.captures.iter().map(|&capture| Captured { capture, at }));
        }
        for part in told {
            self.captured.extend_from_within(part.from as usize..part.to as usize);
        }
        Some(Way { from: from as u32, to: self.captured.len() as u32 })
    }

    /// Whether a node was made up or left over where the text breaks the grammar: it then stands for no supertype.
    fn is_recovered(&self, at: Position) -> bool {
        self.nodes.is_in_error(at) || self.nodes.node(at).is_missing()
    }

    /// Whether a node is what an item asks for, children and text apart.
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

    /// Whether its text is what an item asks for.
    fn accepts(&mut self, item: &NodeItem, at: Position) -> bool {
        item.tests.iter().all(|test| {
            let said = self.nodes.text(at, self.text);
            self.steps += (said.len() / BYTES_A_STEP) as u64;
            test.accepts(said)
        })
    }
}
