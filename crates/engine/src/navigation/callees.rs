//! The callees of a symbol, and its other uses of definitions.

use std::collections::{BTreeMap, HashMap};

use super::answer::Place;
use super::grouping::{Target, grouped};
use super::navigator::{Located, NameUses, Navigation, Navigator};
use super::places::{certainty_of, kind_name, kinds, texts};
use super::request::Certainty;
use contract::Fault;
use store::navigation::{self, DefinitionAt};
use store::symbols::file_symbol_id;
use store::uses::{self, Certainty as StoredCertainty, UseRow, UseTarget, UsedFor, Uses};

/// Maximum number of uses of one symbol that are read.
const USES_MAX: i64 = 5000;
/// Maximum number of definitions of a file that are examined to find those inside a symbol.
const INNER_MAX: i64 = 20_000;
/// Maximum number of lines that are listed for one callee.
pub(super) const LINES_MAX: usize = 20;

/// Returns the symbols of a target and of all definitions inside it.
pub(super) async fn with_inner(navigator: &mut Navigator<'_>, target: &Target) -> Result<Vec<i64>, Fault> {
    let mut symbols = target.symbols();
    let Some(first) = target.first() else { return Ok(symbols) };
    let spans: Vec<(i32, i32)> =
        target.definitions.iter().map(|row| (row.start_line, row.end_line)).collect();
    if spans.iter().all(|(start, end)| start == end) {
        return Ok(symbols);
    }
    let inner = navigation::definitions_of_file(navigator.tx, first.file_id, INNER_MAX).await?;
    let is_inside = |row: &navigation::DefinitionAt| {
        spans.iter().any(|(start, end)| *start <= row.start_line && row.end_line <= *end)
    };
    symbols.extend(inner.iter().filter(|row| is_inside(row)).filter_map(|row| row.symbol));
    symbols.sort_unstable();
    symbols.dedup();
    Ok(symbols)
}

/// Fills in the callees of a symbol, by file.
pub(super) async fn callees(
    navigator: &mut Navigator<'_>,
    target: &Target,
    answer: &mut Navigation,
) -> Result<(), Fault> {
    let Some(first) = target.first() else { return Ok(()) };
    let sources = with_inner(navigator, target).await?;
    let mask = kinds(navigator.request.kind, navigator.request.relation);
    let wanted = Uses { kinds: mask, certainty: StoredCertainty::Name, limit: USES_MAX };
    let mut rows = uses::of_sources(navigator.tx, first.file_id, &sources, wanted).await?;
    let (inside, is_cut) = names_inside(navigator, target, wanted).await?;
    rows.extend(inside);
    answer.total_is_least = i64::try_from(rows.len()).unwrap_or(i64::MAX) >= USES_MAX;
    for row in &mut rows {
        row.places.retain(|place| place.kind.bit() & mask != 0);
    }
    let (named, known): (Vec<UseRow>, Vec<UseRow>) =
        rows.into_iter().partition(|row| matches!(row.target, UseTarget::Name(_)));
    let known: Vec<UseRow> = known.into_iter().filter(|row| row.certainty <= navigator.certainty()).collect();
    count(&known, answer);
    let found = called(navigator, target, &known).await?;
    answer.total = found.len();
    answer.places = navigator.page(found);
    unresolved(navigator, first, (named, is_cut), answer).await
}

/// Returns the unresolved uses in the lines of a symbol that are stored as uses of the file, and whether there may be more.
async fn names_inside(
    navigator: &mut Navigator<'_>,
    target: &Target,
    wanted: Uses,
) -> Result<(Vec<UseRow>, bool), Fault> {
    let Some(first) = target.first() else { return Ok((Vec::new(), false)) };
    let whole_file = [file_symbol_id(first.repository_id, &first.path)];
    let mut rows = uses::of_sources(navigator.tx, first.file_id, &whole_file, wanted).await?;
    rows.retain(|row| matches!(row.target, UseTarget::Name(_)));
    let is_cut = rows.iter().any(|row| usize::try_from(row.count).unwrap_or(0) > row.places.len());
    let is_inside = |line: u32| {
        let line = i32::try_from(line).unwrap_or(i32::MAX);
        target.definitions.iter().any(|row| row.start_line <= line && line <= row.end_line)
    };
    for row in &mut rows {
        row.places.retain(|place| is_inside(place.line));
    }
    Ok((rows, is_cut))
}

fn count(known: &[UseRow], answer: &mut Navigation) {
    for row in known {
        let places = row.places.len();
        *answer.by_certainty.entry(certainty_of(row.certainty).as_str().to_owned()).or_default() += places;
        for place in &row.places {
            *answer.by_kind.entry(kind_name(place.kind).to_owned()).or_default() += 1;
        }
    }
}

/// Returns the callees, those in the file with the most callees first, each with the lines of its calls.
async fn called(
    navigator: &mut Navigator<'_>,
    target: &Target,
    known: &[UseRow],
) -> Result<Vec<Located>, Fault> {
    let mut edges: HashMap<i64, (StoredCertainty, Vec<u32>)> = HashMap::new();
    for row in known {
        let UseTarget::Symbol(symbol) = row.target else { continue };
        let edge = edges.entry(symbol).or_insert((row.certainty, Vec::new()));
        edge.0 = edge.0.min(row.certainty);
        edge.1.extend(row.places.iter().map(|place| place.line));
    }
    let symbols: Vec<i64> = edges.keys().copied().collect();
    let targets = grouped(navigation::definitions_by_symbols(navigator.tx, &symbols).await?);
    let mut in_file: BTreeMap<i64, usize> = BTreeMap::new();
    for callee in targets.iter().filter_map(Target::first) {
        *in_file.entry(callee.file_id).or_default() += 1;
    }
    let mut found: Vec<(usize, Located)> = Vec::with_capacity(targets.len());
    for callee in &targets {
        let Some(first) = callee.first() else { continue };
        let known: Vec<&(StoredCertainty, Vec<u32>)> =
            callee.symbols().iter().filter_map(|symbol| edges.get(symbol)).collect();
        let mut at: Vec<u32> = known.iter().flat_map(|(_, lines)| lines).copied().collect();
        at.sort_unstable();
        at.dedup();
        at.truncate(LINES_MAX);
        let certainty = known.iter().map(|(certainty, _)| *certainty).min();
        let located = navigator.defined(first, Some(target));
        let place = Place { at, certainty: certainty.map(certainty_of), ..located.place };
        found.push((in_file.get(&first.file_id).copied().unwrap_or(0), Located { place, ..located }));
    }
    // The definitions are sorted by path and line already.
    found.sort_by_key(|(callees, _)| std::cmp::Reverse(*callees));
    Ok(found.into_iter().map(|(_, located)| located).collect())
}

/// Fills in the unresolved calls.
async fn unresolved(
    navigator: &mut Navigator<'_>,
    first: &DefinitionAt,
    (named, is_cut): (Vec<UseRow>, bool),
    answer: &mut Navigation,
) -> Result<(), Fault> {
    let mut places: Vec<(u32, u32, UsedFor)> = named
        .iter()
        .flat_map(|row| row.places.iter().map(|place| (place.line, place.column, place.kind)))
        .collect();
    if places.is_empty() {
        return Ok(());
    }
    places.sort_unstable();
    places.dedup();
    let is_listed = navigator.request.certainty == Certainty::Name;
    let mut uses = NameUses { total: places.len(), is_listed, ..NameUses::default() };
    uses.is_least = answer.total_is_least || is_cut;
    let file_id = first.file_id;
    if is_listed {
        let skipped = navigator.request.offset.saturating_sub(answer.total);
        let left = navigator.request.limit.saturating_sub(answer.places.len());
        let shown: Vec<(u32, u32, UsedFor)> = places.into_iter().skip(skipped).take(left).collect();
        let texts = texts(navigator, shown.iter().map(|(line, ..)| (file_id, *line))).await?;
        let located = |(line, column, kind): &(u32, u32, UsedFor)| Located {
            repo: None,
            file: first.path.clone(),
            place: Place {
                line: *line,
                column: *column,
                kind: kind_name(*kind).to_owned(),
                certainty: Some(Certainty::Name),
                text: texts.get(&(file_id, *line)).cloned(),
                ..Place::default()
            },
        };
        uses.places = shown.iter().map(located).collect();
    }
    answer.unresolved = Some(uses);
    Ok(())
}
