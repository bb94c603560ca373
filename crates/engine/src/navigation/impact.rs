//! The definitions that a change of a symbol affects.

use std::collections::HashSet;

use super::callees::with_inner;
use super::grouping::Target;
use super::implicit::{self, Implicit};
use super::navigator::{Navigation, Navigator};
use super::places::kinds;
use super::walk::{ALL_LEVELS, Node, Walk, Way, walk};
use contract::Fault;
use store::uses::UsedFor;

/// Walks to the users of the symbol, their users, and so on. Fills in where it stopped. Also returns the relations of the symbol that
/// follow from methods alone, without those among the nodes.
pub(super) async fn reached(
    navigator: &mut Navigator<'_>,
    target: &Target,
    is_type: bool,
    answer: &mut Navigation,
) -> Result<(Vec<Node>, Implicit), Fault> {
    let Some(first) = target.first() else { return Ok((Vec::new(), Implicit::default())) };
    let (file, request, symbols) = (first.file_id, navigator.request, target.symbols());
    let certainty = navigator.certainty();
    let way = |to_users, kinds, depth| Way { to_users, kinds, certainty, depth };
    let mask = kinds(request.kind, request.relation);
    let start = if is_type { with_inner(navigator, target).await? } else { symbols.clone() };
    let Walk { mut nodes, stopped } = walk(navigator, &start, file, way(true, mask, request.depth)).await?;
    answer.stopped = stopped;
    let overrides = UsedFor::Override.bit();
    let derives = if is_type { UsedFor::Inherit.bit() } else { overrides };
    if mask & derives == 0 {
        return Ok((nodes, Implicit::default()));
    }
    let mut implicit = implicit::find(navigator, target, !is_type).await?;
    let (above, below): (Vec<Node>, Vec<Node>) =
        std::mem::take(&mut implicit.nodes).into_iter().partition(|node| node.distance < 0);
    let mut known: HashSet<i64> = nodes.iter().map(|node| node.symbol).chain(start).collect();
    if !is_type {
        // Callers of an overridden method may call this one, however far up that method is declared; its other overrides do not matter.
        let up = walk(navigator, &symbols, file, way(false, overrides, ALL_LEVELS)).await?;
        let above = up.nodes.into_iter().chain(above);
        let above: Vec<Node> = above.map(|node| Node { distance: node.distance.abs(), ..node }).collect();
        let bases: Vec<i64> = above.iter().map(|node| node.symbol).collect();
        let of_bases = match bases.as_slice() {
            [] => Walk::default(),
            bases => walk(navigator, bases, file, way(true, mask & !overrides, request.depth)).await?,
        };
        nodes.extend(above.into_iter().chain(of_bases.nodes).filter(|node| known.insert(node.symbol)));
        answer.stopped = answer.stopped.take().or(up.stopped).or(of_bases.stopped);
    }
    if !below.is_empty() {
        // Implicit implementations are one step away, and their users are further.
        let symbols: Vec<i64> = below.iter().map(|node| node.symbol).collect();
        let of_below = match request.depth {
            0 | 1 => Walk::default(),
            depth => walk(navigator, &symbols, file, way(true, mask, depth - 1)).await?,
        };
        let further = of_below.nodes.into_iter();
        let further = further.map(|node| Node { distance: node.distance + 1, ..node });
        nodes.extend(below.into_iter().chain(further).filter(|node| known.insert(node.symbol)));
        answer.stopped = answer.stopped.take().or(of_below.stopped);
    }
    implicit.by_name.retain(|node| !known.contains(&node.symbol));
    for node in &mut implicit.by_name {
        node.distance = node.distance.abs();
    }
    Ok((nodes, implicit))
}
