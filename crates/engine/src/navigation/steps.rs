//! Relations that walk over several steps: impact, hierarchy, implementations.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::answer::{Place, StepCount};
use super::callees::{LINES_MAX, with_inner};
use super::find::Target;
use super::gaps;
use super::navigator::{Located, Navigation, Navigator, TEXT_BYTES_MAX};
use super::places::{certainty_of, kind_name, kinds, texts};
use super::request::Relation;
use super::walk::{NODES_MAX, Node, Walk, Way, by_distance, lines, walk};
use crate::search::shorten;
use contract::Fault;
use store::navigation::{self, DefinitionAt};
use store::use_places::{self, Edge, WantedEdges};
use store::uses::{UsePlace, UsedFor};

/// Steps of `implementations`, which shows all levels.
const IMPLEMENTATION_STEPS_MAX: u32 = 10;
/// Most methods that are listed with a type that overrides them.
const OVERRIDES_MAX: usize = 20;
/// Kinds of definitions that have members.
pub(super) const TYPES: [&str; 8] =
    ["class", "struct", "interface", "trait", "enum", "type", "object", "module"];

/// Fills in what a walk from the symbol reaches.
pub(super) async fn walked(
    navigator: &mut Navigator<'_>,
    target: &Target,
    answer: &mut Navigation,
) -> Result<(), Fault> {
    let Some(first) = target.first() else { return Ok(()) };
    let file = first.file_id;
    let request = navigator.request;
    let is_type = TYPES.contains(&first.kind.as_str());
    let symbols = target.symbols();
    let certainty = navigator.certainty();
    let derived = if is_type { UsedFor::Inherit.bit() } else { UsedFor::Override.bit() };
    let way = |to_users, kinds, depth| Way { to_users, kinds, certainty, depth };
    let mut overrides = HashMap::new();
    let mut nodes = Vec::new();
    match request.relation {
        Relation::Impact => {
            let start = if is_type { with_inner(navigator, target).await? } else { symbols.clone() };
            let mask = kinds(request.kind, request.relation);
            let Walk { nodes: reached, stopped } =
                walk(navigator, &start, file, way(true, mask, request.depth)).await?;
            (nodes, answer.stopped) = (reached, stopped);
            if !is_type && mask & UsedFor::Override.bit() != 0 {
                // Who calls what it overrides may mean it, however far up that is declared; its other overrides do not.
                let way_up = way(false, UsedFor::Override.bit(), IMPLEMENTATION_STEPS_MAX);
                let up = walk(navigator, &symbols, file, way_up).await?;
                let bases: Vec<i64> = up.nodes.iter().map(|node| node.symbol).collect();
                let users = way(true, mask & !UsedFor::Override.bit(), request.depth);
                let of_bases = match bases.as_slice() {
                    [] => Walk::default(),
                    bases => walk(navigator, bases, file, users).await?,
                };
                let up_nodes =
                    up.nodes.into_iter().map(|node| Node { distance: node.distance.abs(), ..node });
                let mut known: HashSet<i64> = nodes.iter().map(|node| node.symbol).chain(symbols).collect();
                nodes.extend(up_nodes.chain(of_bases.nodes).filter(|node| known.insert(node.symbol)));
                answer.stopped = answer.stopped.take().or(up.stopped).or(of_bases.stopped);
            }
        }
        Relation::Hierarchy => {
            let up = walk(navigator, &symbols, file, way(false, derived, request.depth)).await?;
            let down = walk(navigator, &symbols, file, way(true, derived, request.depth)).await?;
            answer.stopped = down.stopped.or(up.stopped);
            nodes.extend(up.nodes);
            nodes.extend(
                with_places_elsewhere(navigator, &symbols, derived, request.depth, down.nodes).await?,
            );
        }
        _ => {
            let down = walk(navigator, &symbols, file, way(true, derived, IMPLEMENTATION_STEPS_MAX)).await?;
            answer.stopped = down.stopped;
            let steps = IMPLEMENTATION_STEPS_MAX;
            nodes = with_places_elsewhere(navigator, &symbols, derived, steps, down.nodes).await?;
        }
    }
    if is_type && request.relation != Relation::Impact {
        overrides = overriding(navigator, target).await?;
    }
    let reached: Vec<i64> = nodes.iter().map(|node| node.symbol).collect();
    answer.total = nodes.len();
    answer.total_is_least = answer.stopped.as_ref().is_some_and(|stopped| stopped.total_relation.is_some());
    answer.steps =
        by_distance(&nodes).into_iter().map(|(distance, total)| StepCount { distance, total }).collect();
    count(&nodes, answer);
    answer.places = located(navigator, target, nodes, &overrides).await?;
    match request.relation {
        Relation::Impact => gaps::of_impact(navigator, target, is_type, &reached, answer).await,
        _ => {
            gaps::of_implementations(target, answer);
            Ok(())
        }
    }
}

/// What derives from symbols, with each place where a type derives that its file does not define, as `impl Trait for String`. To the
/// walk, all of a file outside of its definitions is one.
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

/// Methods that override a method of the type, by the file and the container of their names.
async fn overriding(
    navigator: &mut Navigator<'_>,
    target: &Target,
) -> Result<HashMap<(i64, String), Vec<String>>, Fault> {
    let Some(first) = target.first() else { return Ok(HashMap::new()) };
    let members = with_inner(navigator, target).await?;
    let way = Way {
        to_users: true,
        kinds: UsedFor::Override.bit(),
        certainty: navigator.certainty(),
        depth: IMPLEMENTATION_STEPS_MAX,
    };
    let reached = walk(navigator, &members, first.file_id, way).await?;
    let symbols: Vec<i64> = reached.nodes.iter().map(|node| node.symbol).collect();
    let mut found: HashMap<(i64, String), Vec<String>> = HashMap::new();
    for row in navigation::definitions_by_symbols(navigator.tx, &symbols).await? {
        let container = languages::container(&row.name, &row.qualified).unwrap_or_default().to_owned();
        let names = found.entry((row.file_id, container)).or_default();
        if names.len() < OVERRIDES_MAX && !names.contains(&row.name) {
            names.push(row.name);
        }
    }
    Ok(found)
}

/// The nodes of the page as places: by distance, then by path and line.
async fn located(
    navigator: &mut Navigator<'_>,
    target: &Target,
    mut nodes: Vec<Node>,
    overrides: &HashMap<(i64, String), Vec<String>>,
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
    // The nearest first; of equally near ones, those that lie on the way up come first.
    nodes.sort_by_cached_key(|node| {
        (node.distance.abs() * 2 - i32::from(node.distance < 0), place(node), node.symbol)
    });
    let shown: Vec<Node> = navigator.page(nodes);
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

/// The place that stands for all of a file outside of its definitions: what is done there, rather than the import for it.
fn shown_place(node: &Node) -> Option<&UsePlace> {
    node.places.iter().find(|place| place.kind != UsedFor::Import).or(node.places.first())
}

/// Repository and path of the files of nodes that are no definitions.
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
