//! Walks over the edges between definitions, level by level, within bounds of depth, number and time.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::{Duration, Instant};

use super::answer::{StopReason, Stopped};
use super::navigator::Navigator;
use crate::search::TotalRelation;
use contract::Fault;
use store::navigation;
use store::use_places::{self, Edge, WantedEdges};
use store::uses::{Certainty, UsePlace, UsedFor};

/// Maximum number of definitions that a walk reaches.
pub(super) const NODES_MAX: usize = 2000;
/// Steps of relations that show all levels.
pub(super) const ALL_LEVELS: u32 = 10;
/// Maximum number of edges that are read for one step.
const EDGES_MAX: i64 = 10_000;
/// No step begins later than this after the start of a walk.
const TIME_MAX: Duration = Duration::from_secs(2);

/// A definition, or the top level of a file, that a walk reached.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Node {
    /// The symbol, of a definition or of a file.
    pub(super) symbol: i64,
    /// The file of the edge that leads to it.
    pub(super) file_id: i64,
    /// Number of steps.
    pub(super) distance: i32,
    /// The node that it uses, or that uses it.
    pub(super) via: i64,
    /// Certainty of the edge.
    pub(super) certainty: Certainty,
    /// Mask of the kinds of use.
    pub(super) kinds: i16,
    /// Places of the edge, at least one; empty if it follows from methods alone.
    pub(super) places: Vec<UsePlace>,
}

/// A walk: the nodes that it reached, by distance, and the reason why it stopped.
#[derive(Debug, Default)]
pub(super) struct Walk {
    pub(super) nodes: Vec<Node>,
    pub(super) stopped: Option<Stopped>,
}

/// Direction and limits of a walk.
#[derive(Debug, Clone, Copy)]
pub(super) struct Way {
    /// From used definitions to their users; otherwise the other way round.
    pub(super) to_users: bool,
    /// Mask of kinds of use.
    pub(super) kinds: i16,
    /// Edges at least as certain as this.
    pub(super) certainty: Certainty,
    /// Maximum number of steps.
    pub(super) depth: u32,
}

/// Walks from some symbols, which are not among the result.
pub(super) async fn walk(
    navigator: &mut Navigator<'_>,
    start: &[i64],
    start_file: i64,
    way: Way,
) -> Result<Walk, Fault> {
    let started = navigator.clock.instant();
    let mut walk = Walk::default();
    let mut visited: HashSet<i64> = start.iter().copied().collect();
    let mut frontier: Vec<i64> = start.to_vec();
    let mut files: Vec<i64> = vec![start_file];
    for step in 1..=way.depth {
        if is_late(navigator, started) {
            let remaining = frontier.len();
            walk.stopped = Some(stopped(StopReason::Time, step - 1, remaining, true));
            return Ok(walk);
        }
        let edges = edges(navigator, &frontier, &files, way).await?;
        let is_cut = i64::try_from(edges.len()).unwrap_or(i64::MAX) >= EDGES_MAX;
        let mut fresh = merged(edges, way, &visited);
        let left = NODES_MAX - walk.nodes.len();
        let over = fresh.len().saturating_sub(left);
        if over > 0 || is_cut {
            walk.stopped = Some(stopped(StopReason::Limit, step - 1, over, true));
        }
        fresh.truncate(left);
        visited.extend(fresh.iter().map(|node| node.symbol));
        frontier = fresh.iter().map(|node| node.symbol).collect();
        walk.nodes.extend(fresh.into_iter().map(|node| Node { distance: distance(step, way), ..node }));
        if frontier.is_empty() || walk.stopped.is_some() {
            return Ok(walk);
        }
        files = files_of(navigator, &frontier, way).await?;
    }
    // The edges of the next step.
    let next = edges(navigator, &frontier, &files, way).await?;
    let is_cut = i64::try_from(next.len()).unwrap_or(i64::MAX) >= EDGES_MAX;
    let remaining = merged(next, way, &visited).len();
    if remaining > 0 {
        walk.stopped = Some(stopped(StopReason::Depth, way.depth, remaining, is_cut));
    }
    Ok(walk)
}

fn is_late(navigator: &Navigator<'_>, started: Instant) -> bool {
    navigator.clock.instant().saturating_duration_since(started) >= TIME_MAX
}

fn distance(step: u32, way: Way) -> i32 {
    let step = i32::try_from(step).unwrap_or(i32::MAX);
    if way.to_users { step } else { -step }
}

fn stopped(reason: StopReason, depth: u32, remaining: usize, is_least: bool) -> Stopped {
    Stopped { reason, depth, remaining, total_relation: is_least.then_some(TotalRelation::Gte) }
}

async fn edges(
    navigator: &mut Navigator<'_>,
    frontier: &[i64],
    files: &[i64],
    way: Way,
) -> Result<Vec<Edge>, Fault> {
    let wanted = WantedEdges { kinds: way.kinds, certainty: way.certainty, limit: EDGES_MAX };
    if way.to_users {
        use_places::edges_to(navigator.tx, frontier, wanted).await
    } else {
        use_places::edges_from(navigator.tx, files, frontier, wanted).await
    }
}

/// Returns the files of the symbols; edges from the symbols are looked up by them.
async fn files_of(navigator: &mut Navigator<'_>, symbols: &[i64], way: Way) -> Result<Vec<i64>, Fault> {
    if way.to_users {
        return Ok(Vec::new());
    }
    let rows = navigation::definitions_by_symbols(navigator.tx, symbols).await?;
    let mut files: Vec<i64> = rows.into_iter().map(|row| row.file_id).collect();
    files.sort_unstable();
    files.dedup();
    Ok(files)
}

/// Returns the unvisited nodes that edges lead to, each once: with its most certain edge, and the places of all edges of this `via`.
fn merged(edges: Vec<Edge>, way: Way, visited: &HashSet<i64>) -> Vec<Node> {
    let mut order: Vec<i64> = Vec::new();
    let mut nodes: HashMap<i64, Node> = HashMap::new();
    for edge in edges {
        let (symbol, via) =
            if way.to_users { (edge.source, edge.target) } else { (edge.target, edge.source) };
        if visited.contains(&symbol) {
            continue;
        }
        match nodes.get_mut(&symbol) {
            None => {
                order.push(symbol);
                let Edge { file_id, certainty, kinds, places, .. } = edge;
                nodes.insert(symbol, Node { symbol, file_id, distance: 0, via, certainty, kinds, places });
            }
            Some(node) if node.via == via => node.places.extend(edge.places),
            Some(node) => node.kinds |= edge.kinds,
        }
    }
    order.into_iter().filter_map(|symbol| nodes.remove(&symbol)).collect()
}

/// Returns the numbers of nodes by distance.
pub(super) fn by_distance(nodes: &[Node]) -> BTreeMap<i32, usize> {
    let mut counts = BTreeMap::new();
    for node in nodes {
        *counts.entry(node.distance).or_default() += 1;
    }
    counts
}

/// Returns the lines of the edge that leads to a node, without those that only import.
pub(super) fn lines(node: &Node, most: usize) -> Vec<u32> {
    let mut lines: Vec<u32> =
        node.places.iter().filter(|place| place.kind != UsedFor::Import).map(|place| place.line).collect();
    lines.sort_unstable();
    lines.dedup();
    lines.truncate(most);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(source: i64, target: i64, certainty: Certainty) -> Edge {
        let place = UsePlace { line: 3, column: 1, kind: UsedFor::Call };
        Edge { file_id: 1, source, target, certainty, kinds: 1, places: vec![place] }
    }

    #[test]
    fn each_node_is_reached_once_and_a_cycle_ends() {
        let way = Way { to_users: true, kinds: UsedFor::ANY, certainty: Certainty::Resolved, depth: 3 };
        let visited = HashSet::from([1]);
        let edges =
            vec![edge(2, 1, Certainty::Scip), edge(1, 1, Certainty::Scip), edge(2, 3, Certainty::Resolved)];
        let nodes = merged(edges.clone(), way, &visited);
        assert_eq!(nodes.iter().map(|node| (node.symbol, node.via)).collect::<Vec<_>>(), [(2, 1)]);
        let back = merged(edges, Way { to_users: false, ..way }, &HashSet::from([2]));
        assert_eq!(back.iter().map(|node| (node.symbol, node.via)).collect::<Vec<_>>(), [(1, 2), (3, 2)]);
    }
}
