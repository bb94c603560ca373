//! Relations that walk over several steps: impact, hierarchy, implementations.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::answer::{Place, StepCount};
use super::callees::{LINES_MAX, with_inner};
use super::grouping::{TYPES, Target};
use super::implicit::{self, OVERRIDES_MAX};
use super::navigator::{Located, Navigation, Navigator, TEXT_BYTES_MAX};
use super::places::{certainty_of, kind_name, texts};
use super::request::{Certainty, Relation};
use super::walk::{ALL_LEVELS, NODES_MAX, Node, Walk, Way, by_distance, lines, walk};
use super::{gaps, impact};
use crate::search::shorten;
use contract::Fault;
use store::navigation::{self, DefinitionAt};
use store::use_places::{self, Edge, WantedEdges};
use store::uses::{UsePlace, UsedFor};

/// Fills in the definitions that a walk from the symbol reaches.
pub(super) async fn walked(
    navigator: &mut Navigator<'_>,
    target: &Target,
    answer: &mut Navigation,
) -> Result<(), Fault> {
    let Some(first) = target.first() else { return Ok(()) };
    let is_type = TYPES.contains(&first.kind.as_str());
    if navigator.request.relation == Relation::Impact {
        let (nodes, implicit) = impact::reached(navigator, target, is_type, answer).await?;
        let reached: Vec<i64> = nodes.iter().map(|node| node.symbol).collect();
        answer_with(navigator, target, nodes, &HashMap::new(), answer).await?;
        answer.total_is_least |= implicit.is_truncated();
        gaps::of_impact(navigator, target, is_type, &reached, answer).await?;
        gaps::of_methods(&implicit, answer);
        return add_by_name(navigator, target, implicit.by_name, &HashMap::new(), answer).await;
    }
    let mut nodes = derived(navigator, target, is_type, answer).await?;
    let has_bases = navigator.request.relation == Relation::Hierarchy;
    let mut implicit = implicit::find(navigator, target, has_bases).await?;
    let known: HashSet<i64> = nodes.iter().map(|node| node.symbol).collect();
    let is_new = |node: &Node| !known.contains(&node.symbol);
    nodes.extend(std::mem::take(&mut implicit.nodes).into_iter().filter(is_new));
    implicit.by_name.retain(is_new);
    let mut overrides = match is_type {
        true => overriding(navigator, target).await?,
        false => HashMap::new(),
    };
    for (of, names) in implicit.overrides.drain() {
        overrides.entry(of).or_insert(names).truncate(OVERRIDES_MAX);
    }
    answer_with(navigator, target, nodes, &overrides, answer).await?;
    answer.total_is_least |= implicit.is_truncated();
    let by_name = std::mem::take(&mut implicit.by_name);
    add_by_name(navigator, target, by_name, &overrides, answer).await?;
    gaps::of_implementations(target, &implicit, answer);
    Ok(())
}

/// Finds the definitions that derive from the symbol or override it and, for its hierarchy, those that it derives from or overrides.
async fn derived(
    navigator: &mut Navigator<'_>,
    target: &Target,
    is_type: bool,
    answer: &mut Navigation,
) -> Result<Vec<Node>, Fault> {
    let Some(first) = target.first() else { return Ok(Vec::new()) };
    let (file, symbols, certainty) = (first.file_id, target.symbols(), navigator.certainty());
    let kinds = if is_type { UsedFor::Inherit.bit() } else { UsedFor::Override.bit() };
    let has_bases = navigator.request.relation == Relation::Hierarchy;
    let depth = if has_bases { navigator.request.depth } else { ALL_LEVELS };
    let way = |to_users| Way { to_users, kinds, certainty, depth };
    let up = match has_bases {
        true => walk(navigator, &symbols, file, way(false)).await?,
        false => Walk::default(),
    };
    let down = walk(navigator, &symbols, file, way(true)).await?;
    answer.stopped = down.stopped.or(up.stopped);
    let mut nodes = up.nodes;
    nodes.extend(with_places_elsewhere(navigator, &symbols, kinds, depth, down.nodes).await?);
    Ok(nodes)
}

/// Fills in the definitions that were reached.
async fn answer_with(
    navigator: &mut Navigator<'_>,
    target: &Target,
    nodes: Vec<Node>,
    overrides: &Overrides,
    answer: &mut Navigation,
) -> Result<(), Fault> {
    answer.total = nodes.len();
    answer.total_is_least = answer.stopped.as_ref().is_some_and(|stopped| stopped.total_relation.is_some());
    answer.steps =
        by_distance(&nodes).into_iter().map(|(distance, total)| StepCount { distance, total }).collect();
    count(&nodes, answer);
    let page = (navigator.request.offset, navigator.request.limit);
    answer.places = located(navigator, target, nodes, overrides, page).await?;
    Ok(())
}

/// Adds implementations that only follow from the names of methods, after all known places and the unresolved uses.
async fn add_by_name(
    navigator: &mut Navigator<'_>,
    target: &Target,
    nodes: Vec<Node>,
    overrides: &Overrides,
    answer: &mut Navigation,
) -> Result<(), Fault> {
    if nodes.is_empty() {
        return Ok(());
    }
    let mut uses = answer.unresolved.take().unwrap_or_default();
    uses.is_listed = navigator.request.certainty == Certainty::Name;
    let before = answer.total + uses.total;
    uses.total += nodes.len();
    if uses.is_listed {
        let skipped = navigator.request.offset.saturating_sub(before);
        let shown = answer.places.len() + uses.places.len();
        let left = navigator.request.limit.saturating_sub(shown);
        uses.places.extend(located(navigator, target, nodes, overrides, (skipped, left)).await?);
    }
    answer.unresolved = Some(uses);
    Ok(())
}

/// Finds the definitions that derive from symbols, with each place where a type derives that its file does not define, as in
/// `impl Trait for String`. For the walk, all code of a file outside of its definitions is one node.
async fn with_places_elsewhere(
    navigator: &mut Navigator<'_>,
    start: &[i64],
    kinds: i16,
    depth: u32,
    reached: Vec<Node>,
) -> Result<Vec<Node>, Fault> {
    let distances = start.iter().map(|symbol| (*symbol, 0));
    let distances = distances.chain(reached.iter().map(|node| (node.symbol, node.distance)));
    let depth = i32::try_from(depth).unwrap_or(i32::MAX);
    let distances: HashMap<i64, i32> = distances.filter(|(_, distance)| *distance < depth).collect();
    let mut targets: Vec<i64> = distances.keys().copied().collect();
    targets.sort_unstable();
    let limit = i64::try_from(NODES_MAX).unwrap_or(i64::MAX);
    let wanted = WantedEdges { kinds, certainty: navigator.certainty(), limit };
    let edges = use_places::edges_without_source(navigator.tx, &targets, wanted).await?;
    let whole_files: HashSet<i64> = edges.iter().map(|edge| edge.source).collect();
    let mut nodes = reached;
    nodes.retain(|node| !whole_files.contains(&node.symbol));
    let mut seen: HashSet<(i64, UsePlace)> = HashSet::new();
    for Edge { file_id, source, target, certainty, kinds, places } in edges {
        // A place may use several parts of one type.
        if places.first().is_some_and(|place| seen.insert((file_id, *place))) {
            let distance = distances.get(&target).map_or(1, |distance| distance + 1);
            nodes.push(Node { symbol: source, file_id, distance, via: target, certainty, kinds, places });
        }
    }
    Ok(nodes)
}

fn count(nodes: &[Node], answer: &mut Navigation) {
    for node in nodes {
        *answer.by_certainty.entry(certainty_of(node.certainty).as_str().to_owned()).or_default() += 1;
    }
}

/// Methods that override, by the file and the container of their names.
type Overrides = HashMap<(i64, String), Vec<String>>;

/// Returns the methods that override a method of the type.
async fn overriding(navigator: &mut Navigator<'_>, target: &Target) -> Result<Overrides, Fault> {
    let Some(first) = target.first() else { return Ok(HashMap::new()) };
    let members = with_inner(navigator, target).await?;
    let way = Way {
        to_users: true,
        kinds: UsedFor::Override.bit(),
        certainty: navigator.certainty(),
        depth: ALL_LEVELS,
    };
    let reached = walk(navigator, &members, first.file_id, way).await?;
    let symbols: Vec<i64> = reached.nodes.iter().map(|node| node.symbol).collect();
    let mut found = Overrides::new();
    for row in navigation::definitions_by_symbols(navigator.tx, &symbols).await? {
        let container = languages::container(&row.name, &row.qualified).unwrap_or_default().to_owned();
        let names = found.entry((row.file_id, container)).or_default();
        if names.len() < OVERRIDES_MAX && !names.contains(&row.name) {
            names.push(row.name);
        }
    }
    Ok(found)
}

/// Returns some of the nodes as places, by distance, then by path and line: `limit` of them from `offset` on.
async fn located(
    navigator: &mut Navigator<'_>,
    target: &Target,
    mut nodes: Vec<Node>,
    overrides: &Overrides,
    (offset, limit): (usize, usize),
) -> Result<Vec<Located>, Fault> {
    let mut symbols: Vec<i64> = nodes.iter().flat_map(|node| [node.symbol, node.via]).collect();
    symbols.sort_unstable();
    symbols.dedup();
    let rows = navigation::definitions_by_symbols(navigator.tx, &symbols).await?;
    let rows: HashMap<i64, DefinitionAt> =
        rows.into_iter().filter_map(|row| Some((row.symbol?, row))).collect();
    let paths = paths(navigator, &nodes, &rows).await?;
    let place = |node: &Node| match rows.get(&node.symbol) {
        Some(row) => (row.repository_id, row.path.clone(), row.line),
        None => {
            let (repository, path) = paths.get(&node.file_id).cloned().unwrap_or_default();
            (repository, path, node.places.first().map_or(0, |place| i32::try_from(place.line).unwrap_or(0)))
        }
    };
    // The nearest first; of equally near ones, those that are on the way up come first.
    nodes.sort_by_cached_key(|node| {
        (node.distance.abs() * 2 - i32::from(node.distance < 0), place(node), node.symbol)
    });
    let shown: Vec<Node> = nodes.into_iter().skip(offset).take(limit).collect();
    let top_level = shown
        .iter()
        .filter(|node| !rows.contains_key(&node.symbol))
        .filter_map(|node| Some((node.file_id, shown_place(node)?.line)));
    let texts = texts(navigator, top_level).await?;
    let via = |node: &Node| rows.get(&node.via).map(|row| shorten(&row.qualified, TEXT_BYTES_MAX));
    let located = shown.into_iter().filter_map(|node| match rows.get(&node.symbol) {
        Some(row) => {
            let located = navigator.defined(row, Some(target));
            let own = overrides.get(&(row.file_id, row.qualified.clone())).cloned();
            let place = Place {
                distance: Some(node.distance),
                via: via(&node),
                at: lines(&node, LINES_MAX),
                certainty: Some(certainty_of(node.certainty)),
                overrides: own.unwrap_or_default(),
                ..located.place
            };
            Some(Located { place, ..located })
        }
        None => {
            let first = shown_place(&node)?;
            let (repository, path) = paths.get(&node.file_id)?;
            Some(Located {
                repo: navigator.other_repository(*repository, Some(target)),
                file: path.clone(),
                place: Place {
                    line: first.line,
                    column: first.column,
                    kind: kind_name(first.kind).to_owned(),
                    distance: Some(node.distance),
                    via: via(&node),
                    certainty: Some(certainty_of(node.certainty)),
                    text: texts.get(&(node.file_id, first.line)).cloned(),
                    ..Place::default()
                },
            })
        }
    });
    Ok(located.collect())
}

/// Returns the place that represents all code of a file outside of its definitions: a real use rather than the import for it.
fn shown_place(node: &Node) -> Option<&UsePlace> {
    node.places.iter().find(|place| place.kind != UsedFor::Import).or(node.places.first())
}

/// Returns repository and path of the files of nodes that are not definitions.
async fn paths(
    navigator: &mut Navigator<'_>,
    nodes: &[Node],
    rows: &HashMap<i64, DefinitionAt>,
) -> Result<BTreeMap<i64, (i64, String)>, Fault> {
    let mut files: Vec<i64> =
        nodes.iter().filter(|node| !rows.contains_key(&node.symbol)).map(|node| node.file_id).collect();
    files.sort_unstable();
    files.dedup();
    let found = store::use_places::paths_of(navigator.tx, &files).await?;
    Ok(found.into_iter().map(|(file, repository, path)| (file, (repository, path))).collect())
}
