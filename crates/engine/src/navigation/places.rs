//! Uses of a symbol: a page of places, and the unresolved uses of its name.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::answer::Place;
use super::find::{DEFINITIONS_MAX, all_of};
use super::grouping::{Target, grouped};
use super::navigator::{Located, NameUses, Navigation, Navigator, TEXT_BYTES_MAX};
use super::request::{Certainty, Relation, UsedAs};
use crate::search::shorten;
use ::navigation::incremental::family;
use contract::Fault;
use store::navigation::{self, DefinitionAt, FoundDefinitions, NamedDefinitions};
use store::use_places::{self, FilePlaces, PlacedUse, PlacesOf, WantedPlaces};
use store::uses::{Certainty as StoredCertainty, UsedFor};

/// Maximum number of uses (a source with all its places) of one symbol that are read. If there are more, numbers are lower bounds.
const USES_MAX: i64 = 20_000;
/// Maximum number of names of one symbol and of the definitions inside it.
const NAMES_MAX: usize = 500;

/// Returns the kinds of use that a request wants, as a mask.
pub(super) fn kinds(kind: Option<UsedAs>, relation: Relation) -> i16 {
    match (kind, relation) {
        (Some(kind), _) => stored(kind).bit(),
        (None, Relation::Callers | Relation::Callees) => UsedFor::Call.bit(),
        // A change does not break an import of a name beyond the uses of that name.
        (None, Relation::Impact) => UsedFor::ANY & !UsedFor::Import.bit(),
        (None, _) => UsedFor::ANY & !UsedFor::Override.bit(),
    }
}

fn stored(kind: UsedAs) -> UsedFor {
    match kind {
        UsedAs::Call => UsedFor::Call,
        UsedAs::Read => UsedFor::Read,
        UsedAs::Write => UsedFor::Write,
        UsedAs::Import => UsedFor::Import,
        UsedAs::Type => UsedFor::Type,
        UsedAs::Inherit => UsedFor::Inherit,
    }
}

/// Returns the name of a kind of use in answers.
pub(super) fn kind_name(kind: UsedFor) -> &'static str {
    match kind {
        UsedFor::Call => UsedAs::Call.as_str(),
        UsedFor::Read => UsedAs::Read.as_str(),
        UsedFor::Write => UsedAs::Write.as_str(),
        UsedFor::Import => UsedAs::Import.as_str(),
        UsedFor::Type => UsedAs::Type.as_str(),
        UsedFor::Inherit => UsedAs::Inherit.as_str(),
        UsedFor::Override => "override",
    }
}

pub(super) fn certainty_of(stored: StoredCertainty) -> Certainty {
    match stored {
        StoredCertainty::Scip => Certainty::Scip,
        StoredCertainty::Resolved => Certainty::Resolved,
        StoredCertainty::Name => Certainty::Name,
    }
}

/// Fills in the uses of a symbol.
pub(super) async fn uses(
    navigator: &mut Navigator<'_>,
    target: &Target,
    answer: &mut Navigation,
) -> Result<(), Fault> {
    let symbols = target.symbols();
    let wanted = WantedPlaces {
        of: PlacesOf::Symbols(&symbols),
        kinds: kinds(navigator.request.kind, navigator.request.relation),
        certainty: navigator.certainty(),
    };
    let (counts, is_least) = use_places::by_file(navigator.tx, &wanted, USES_MAX).await?;
    for count in &counts {
        let places = usize::try_from(count.places).unwrap_or(0);
        *answer.by_certainty.entry(certainty_of(count.certainty).as_str().to_owned()).or_default() += places;
        let kind = UsedFor::ALL.iter().find(|kind| **kind as i16 == count.kind);
        *answer.by_kind.entry(kind.map_or("", |kind| kind_name(*kind)).to_owned()).or_default() += places;
    }
    let files = by_number(counts);
    (answer.total, answer.total_is_least) = (files.iter().map(|file| file.places).sum(), is_least);
    answer.places =
        page(navigator, &wanted, &files, (navigator.request.offset, navigator.request.limit), Some(target))
            .await?;
    unresolved(navigator, target, answer).await
}

/// Fills in the unresolved uses of the symbol's name.
async fn unresolved(
    navigator: &mut Navigator<'_>,
    target: &Target,
    answer: &mut Navigation,
) -> Result<(), Fault> {
    let Some(first) = target.first() else { return Ok(()) };
    let Some(family) = first.language.as_deref().map(family) else { return Ok(()) };
    let ids = [first.repository_id];
    let name = store::symbols::used_name_id(first.repository_id, family, &first.name);
    name_uses(navigator, &[name], Some(target), answer).await?;
    let Some(uses) = &mut answer.unresolved else { return Ok(()) };
    let wanted = NamedDefinitions { spelling: Some(&first.name), ..all_of(&ids, &first.name) };
    let FoundDefinitions { rows, is_least } =
        navigation::find_definitions(navigator.tx, wanted, DEFINITIONS_MAX).await?;
    let is_candidate = |row: &&DefinitionAt| row.language.as_deref().map(self::family) == Some(family);
    uses.candidates = Some(grouped(rows.iter().filter(is_candidate).cloned().collect()).len());
    uses.candidates_is_least = is_least;
    // A place has no field to say that the number is a lower bound.
    let candidates = uses.candidates.filter(|_| !is_least);
    for located in &mut uses.places {
        located.place.candidates = candidates;
    }
    Ok(())
}

/// Fills in the unresolved uses of the names of a symbol and of the definitions inside it.
pub(super) async fn uses_by_names(
    navigator: &mut Navigator<'_>,
    target: &Target,
    inner: &[DefinitionAt],
    answer: &mut Navigation,
) -> Result<(), Fault> {
    let names: BTreeSet<&str> =
        target.definitions.iter().chain(inner).map(|row| row.name.as_str()).take(NAMES_MAX).collect();
    if names.len() <= 1 {
        return unresolved(navigator, target, answer).await;
    }
    let Some(first) = target.first() else { return Ok(()) };
    let Some(family) = first.language.as_deref().map(family) else { return Ok(()) };
    let id = |name: &&str| store::symbols::used_name_id(first.repository_id, family, name);
    let ids: Vec<i64> = names.iter().map(id).collect();
    name_uses(navigator, &ids, Some(target), answer).await
}

/// Fills in the uses of a name that has no definition.
pub(super) async fn uses_of_name(
    navigator: &mut Navigator<'_>,
    name: &str,
    answer: &mut Navigation,
) -> Result<(), Fault> {
    let id = |repository: i64| {
        let families: BTreeSet<&str> = languages::all().map(|language| family(language.id)).collect();
        families.into_iter().map(move |family| store::symbols::used_name_id(repository, family, name))
    };
    let names: Vec<i64> = navigator.repositories.iter().flat_map(|row| id(row.id)).collect();
    name_uses(navigator, &names, None, answer).await?;
    if let Some(uses) = &mut answer.unresolved {
        uses.candidates = Some(0);
    }
    Ok(())
}

async fn name_uses(
    navigator: &mut Navigator<'_>,
    names: &[i64],
    target: Option<&Target>,
    answer: &mut Navigation,
) -> Result<(), Fault> {
    let wanted = WantedPlaces {
        of: PlacesOf::Names(names),
        kinds: kinds(navigator.request.kind, navigator.request.relation),
        certainty: StoredCertainty::Name,
    };
    let (counts, is_least) = use_places::by_file(navigator.tx, &wanted, USES_MAX).await?;
    let files = by_number(counts);
    let total = files.iter().map(|file| file.places).sum();
    if total == 0 {
        return Ok(());
    }
    let is_listed = navigator.request.certainty == Certainty::Name;
    let mut uses = NameUses { total, is_least, is_listed, ..NameUses::default() };
    if is_listed {
        // They follow the known places.
        let (offset, limit) = (navigator.request.offset, navigator.request.limit);
        let left = limit.saturating_sub(answer.places.len());
        let skipped = offset.saturating_sub(answer.total);
        uses.places = page(navigator, &wanted, &files, (skipped, left), target).await?;
    }
    answer.unresolved = Some(uses);
    Ok(())
}

/// A file with its number of places.
struct CountedFile {
    file_id: i64,
    repository_id: i64,
    path: String,
    places: usize,
}

/// Returns files with their places, those with the most places first.
fn by_number(counts: Vec<FilePlaces>) -> Vec<CountedFile> {
    let mut files: BTreeMap<i64, CountedFile> = BTreeMap::new();
    for count in counts {
        let places = usize::try_from(count.places).unwrap_or(0);
        let file = files.entry(count.file_id).or_insert(CountedFile {
            file_id: count.file_id,
            repository_id: count.repository_id,
            path: count.path,
            places: 0,
        });
        file.places += places;
    }
    let mut files: Vec<CountedFile> = files.into_values().collect();
    files.sort_by(|a, b| (b.places, a.repository_id, &a.path).cmp(&(a.places, b.repository_id, &b.path)));
    files
}

/// Returns the files of a page, and the number of places of the first of them that come before the page.
fn files_of_page(files: &[CountedFile], offset: usize, limit: usize) -> (Vec<i64>, usize) {
    let (mut before, mut skipped, mut chosen) = (0usize, 0, Vec::new());
    for file in files {
        let end = before + file.places;
        if before >= offset.saturating_add(limit) {
            break;
        }
        if end > offset {
            if chosen.is_empty() {
                skipped = offset - before;
            }
            chosen.push(file.file_id);
        }
        before = end;
    }
    (chosen, skipped)
}

async fn page(
    navigator: &mut Navigator<'_>,
    wanted: &WantedPlaces<'_>,
    files: &[CountedFile],
    (offset, limit): (usize, usize),
    target: Option<&Target>,
) -> Result<Vec<Located>, Fault> {
    let (ids, skipped) = files_of_page(files, offset, limit);
    if ids.is_empty() || limit == 0 {
        return Ok(Vec::new());
    }
    let range = (number(skipped), number(limit));
    let found = use_places::page(navigator.tx, wanted, &ids, range).await?;
    let names: HashMap<i64, &CountedFile> = files.iter().map(|file| (file.file_id, file)).collect();
    let texts = texts(navigator, found.iter().map(|used| (used.file_id, used.place.line))).await?;
    let mut sources: Vec<i64> = found.iter().map(|used| used.source).collect();
    sources.sort_unstable();
    sources.dedup();
    let within: HashMap<i64, String> = navigation::definitions_by_symbols(navigator.tx, &sources)
        .await?
        .into_iter()
        .filter_map(|row| Some((row.symbol?, shorten(&row.qualified, TEXT_BYTES_MAX))))
        .collect();
    let lines = found.iter().filter(|used| !within.contains_key(&used.source));
    let mut lines: Vec<(i64, i32)> =
        lines.map(|used| (used.file_id, i32::try_from(used.place.line).unwrap_or(i32::MAX))).collect();
    lines.sort_unstable();
    lines.dedup();
    let around: HashMap<(i64, u32), String> = navigation::names_around(navigator.tx, &lines)
        .await?
        .into_iter()
        .map(|(file, at, name)| ((file, super::navigator::line(at)), shorten(&name, TEXT_BYTES_MAX)))
        .collect();
    let located = |used: &PlacedUse| {
        let file = names.get(&used.file_id)?;
        Some(Located {
            repo: navigator.other_repository(file.repository_id, target),
            file: file.path.clone(),
            place: Place {
                line: used.place.line,
                column: used.place.column,
                kind: kind_name(used.place.kind).to_owned(),
                within: within.get(&used.source).or(around.get(&(used.file_id, used.place.line))).cloned(),
                certainty: Some(certainty_of(used.certainty)),
                text: texts.get(&(used.file_id, used.place.line)).cloned(),
                ..Place::default()
            },
        })
    };
    Ok(found.iter().filter_map(located).collect())
}

/// Returns the text of lines, trimmed and cut.
pub(super) async fn texts(
    navigator: &mut Navigator<'_>,
    lines: impl Iterator<Item = (i64, u32)>,
) -> Result<HashMap<(i64, u32), String>, Fault> {
    let mut wanted: Vec<(i64, i32)> =
        lines.map(|(file, line)| (file, i32::try_from(line).unwrap_or(i32::MAX))).collect();
    wanted.sort_unstable();
    wanted.dedup();
    if wanted.is_empty() {
        return Ok(HashMap::new());
    }
    let rows = navigation::lines_of(navigator.tx, &wanted).await?;
    let cut = |text: &str| shorten(text.trim(), TEXT_BYTES_MAX);
    Ok(rows.into_iter().map(|(file, at, text)| ((file, super::navigator::line(at)), cut(&text))).collect())
}

fn number(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(file_id: i64, places: usize) -> CountedFile {
        CountedFile { file_id, repository_id: 1, path: format!("{file_id}"), places }
    }

    #[test]
    fn pages_cover_every_place_once() {
        let files = [file(1, 5), file(2, 3), file(3, 1)];
        assert_eq!(files_of_page(&files, 0, 5), (vec![1], 0));
        assert_eq!(files_of_page(&files, 0, 6), (vec![1, 2], 0));
        assert_eq!(files_of_page(&files, 4, 2), (vec![1, 2], 4));
        assert_eq!(files_of_page(&files, 5, 9), (vec![2, 3], 0));
        assert_eq!(files_of_page(&files, 8, 1), (vec![3], 0));
        assert_eq!(files_of_page(&files, 9, 9), (vec![], 0));
        assert_eq!(files_of_page(&files, usize::MAX, usize::MAX), (vec![], 0));
    }

    #[test]
    fn the_file_of_most_places_comes_first() {
        let count = |file_id, path: &str, places| FilePlaces {
            file_id,
            repository_id: 1,
            path: path.to_owned(),
            certainty: StoredCertainty::Resolved,
            kind: 0,
            places,
        };
        let files = by_number(vec![count(1, "b", 2), count(2, "a", 2), count(3, "c", 2), count(3, "c", 1)]);
        assert_eq!(files.iter().map(|file| file.path.as_str()).collect::<Vec<_>>(), ["c", "a", "b"]);
    }

    #[test]
    fn a_kind_narrows_a_relation() {
        assert_eq!(kinds(None, Relation::Callers), UsedFor::Call.bit());
        assert_eq!(kinds(Some(UsedAs::Read), Relation::Callers), UsedFor::Read.bit());
        assert_eq!(kinds(None, Relation::References) & UsedFor::Override.bit(), 0);
        assert_eq!(kinds(None, Relation::Impact) & UsedFor::Import.bit(), 0);
    }
}
