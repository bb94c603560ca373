//! Resolves the uses in files on several threads, and converts them to rows.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::panic::AssertUnwindSafe;
use std::sync::Mutex;

use languages::symbols::{Body, Place, SymbolId, SymbolKind, UseKind};
use navigation::incremental::{family, places_around};
use navigation::scip::GivenDocument;
use navigation::{Reference, ReferenceKind, Repository, Target};

use super::scip_uses::{self, GivenPlaces};
use super::symbols::read_body;
use store::symbols::{PlacedSymbol, file_symbol_id, used_name_id};
use store::{Certainty, UsePlace, UseTarget, UseWrite, UsedFor};

/// Serialised documents of compilers' indexers, by the number of the file.
pub(super) type GivenDocuments = HashMap<u32, Vec<u8>>;

/// The uses in one file, by places; rows of definitions are looked up by these.
pub(super) struct FileUses {
    /// Its number in the repository.
    pub(super) file: u32,
    /// Places of the definitions around uses, the innermost first.
    pub(super) around: Vec<Vec<Place>>,
    pub(super) uses: Vec<PlacedUse>,
}

/// A use with the places of its targets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PlacedUse {
    pub(super) place: UsePlace,
    /// Index of the places around it; `None` outside of all definitions.
    pub(super) around: Option<usize>,
    /// `true` if a type defined elsewhere derives by it, so that no definition around it does.
    pub(super) derives_elsewhere: bool,
    pub(super) name: String,
    /// File and place of the names of its targets.
    pub(super) targets: Vec<(u32, Place)>,
    /// Certainty of the targets.
    pub(super) certainty: Certainty,
}

impl FileUses {
    /// Returns the files whose definitions it refers to.
    pub(super) fn files(&self) -> impl Iterator<Item = u32> {
        let targets = self.uses.iter().flat_map(|one| one.targets.iter().map(|(file, _)| *file));
        targets.chain([self.file])
    }
}

/// Resolves files, given as (number, serialised body), on `threads` threads. Blocks. If `must_stop` becomes true, files are missing.
pub(super) fn resolve_files(
    repository: &Repository,
    bodies: Vec<(u32, Vec<u8>)>,
    given: (&GivenDocuments, &GivenPlaces),
    threads: usize,
    must_stop: &(dyn Fn() -> bool + Sync),
) -> Vec<FileUses> {
    let queue = Mutex::new(bodies.into_iter());
    let next = || queue.lock().ok().and_then(|mut bodies| bodies.next());
    let resolved = Mutex::new(Vec::new());
    let work = || {
        while let Some((file, body)) = next().filter(|_| !must_stop()) {
            let resolving = AssertUnwindSafe(|| resolve_file(repository, file, &body, given));
            // A panic costs this file its uses and does not fail the run.
            let uses = std::panic::catch_unwind(resolving).unwrap_or_else(|_| {
                tracing::error!(file, "resolving the uses of a file failed unexpectedly");
                FileUses { file, around: Vec::new(), uses: Vec::new() }
            });
            if let Ok(mut resolved) = resolved.lock() {
                resolved.push(uses);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(work);
        }
    });
    resolved.into_inner().unwrap_or_default()
}

fn resolve_file(
    repository: &Repository,
    file: u32,
    body: &[u8],
    (given, places): (&GivenDocuments, &GivenPlaces),
) -> FileUses {
    let mut uses = FileUses { file, around: Vec::new(), uses: Vec::new() };
    let Some(source) = repository.files().get(file as usize) else { return uses };
    let Some(body) = read_body(body, &source.interface) else { return uses };
    let references = repository.resolve(file, &body);
    let mut sources: HashMap<SymbolId, usize> = HashMap::new();
    for Reference { kind, place, source: symbol, derives_elsewhere, name, targets } in references {
        let around = symbol.map(|symbol| {
            *sources.entry(symbol).or_insert_with(|| {
                uses.around.push(places_around(&source.interface, &body, symbol));
                uses.around.len() - 1
            })
        });
        let targets: Vec<(u32, Place)> = targets
            .into_iter()
            .filter_map(|target| Some((target.file, place_of(repository, (file, &body), target)?)))
            .collect();
        let place = UsePlace { line: place.line, column: place.column, kind: used_for(kind) };
        uses.uses.push(PlacedUse {
            place,
            around,
            derives_elsewhere,
            name,
            targets,
            certainty: Certainty::Resolved,
        });
    }
    if let Some(document) = given.get(&file).and_then(|bytes| GivenDocument::decode(bytes)) {
        scip_uses::apply(&mut uses, repository, &body, &document, places);
    }
    uses
}

/// Returns the place of a symbol's name. Symbols of the body are known only of the file `own`.
fn place_of(repository: &Repository, own: (u32, &Body), target: Target) -> Option<Place> {
    let interface = &repository.files().get(target.file as usize)?.interface;
    match (target.symbol as usize).checked_sub(interface.symbols.len()) {
        None => interface.symbols.get(target.symbol as usize).map(|symbol| symbol.place),
        Some(at) if target.file == own.0 => own.1.symbols.get(at).map(|symbol| symbol.place),
        Some(_) => None,
    }
}

pub(super) fn used_for(kind: ReferenceKind) -> UsedFor {
    match kind {
        ReferenceKind::Use(UseKind::Call) => UsedFor::Call,
        ReferenceKind::Use(UseKind::Read) => UsedFor::Read,
        ReferenceKind::Use(UseKind::Write) => UsedFor::Write,
        ReferenceKind::Use(UseKind::Import) => UsedFor::Import,
        ReferenceKind::Use(UseKind::Type) => UsedFor::Type,
        ReferenceKind::Use(UseKind::Inherit) => UsedFor::Inherit,
        ReferenceKind::Override => UsedFor::Override,
    }
}

/// Returns the names that a use by name alone may mean: those of definitions that other files can see.
pub(super) fn defined_names(repository: &Repository) -> HashSet<String> {
    let mut names = HashSet::new();
    for file in repository.files() {
        for symbol in &file.interface.symbols {
            let is_definition = match symbol.kind {
                SymbolKind::Parameter | SymbolKind::Local | SymbolKind::TypeParameter => false,
                SymbolKind::Field => symbol.is_listed,
                _ => true,
            };
            let name = file.interface.arena.text(symbol.name);
            if is_definition && !names.contains(name) {
                names.insert(name.to_owned());
            }
        }
    }
    names
}

/// Returns whether a use by name alone is stored as one of its file; the definition around it follows from its line.
fn is_of_file(one: &PlacedUse) -> bool {
    matches!(one.place.kind, UsedFor::Read | UsedFor::Write)
}

/// Maximum number of definitions that are examined to find the one around a line.
const AROUND_MAX: usize = 64;

/// The context for converting uses to rows.
pub(super) struct Conversion<'c> {
    pub(super) repository_id: i64,
    pub(super) repository: &'c Repository,
    /// Ids of the files, by their numbers.
    pub(super) ids: &'c [i64],
    /// The symbols of the files, sorted by place.
    pub(super) placed: &'c HashMap<i64, Vec<PlacedSymbol>>,
    /// Names that a use by name alone may mean.
    pub(super) names: &'c HashSet<String>,
}

impl Conversion<'_> {
    /// Returns the rows of a file: one for each source and target, in the order of their first places. Uses of symbols without a row (local
    /// names, parameters, fields) are dropped, and so are names that the repository does not define.
    pub(super) fn rows(&self, file: &FileUses) -> Option<(i64, Vec<UseWrite>)> {
        let (id, source) =
            (*self.ids.get(file.file as usize)?, self.repository.files().get(file.file as usize)?);
        let around: Vec<Option<i64>> = file
            .around
            .iter()
            .map(|places| places.iter().find_map(|place| self.symbol(file.file, *place)))
            .collect();
        let whole_file = file_symbol_id(self.repository_id, &source.path);
        let family = family(&source.language);
        let mut rows: BTreeMap<(i64, UseTarget, Certainty), Vec<UsePlace>> = BTreeMap::new();
        for one in &file.uses {
            // A method without a row, such as one of a nameless class, does not make the definition around it an override.
            let place = Place { line: one.place.line, column: one.place.column };
            if one.place.kind == UsedFor::Override && self.symbol(file.file, place).is_none() {
                continue;
            }
            let source = match one.derives_elsewhere {
                true => None,
                false => one
                    .around
                    .and_then(|at| around.get(at).copied().flatten())
                    .or_else(|| self.around(file.file, one.place.line)),
            };
            let source = source.unwrap_or(whole_file);
            if one.targets.is_empty() && self.names.contains(&one.name) {
                let name = UseTarget::Name(used_name_id(self.repository_id, family, &one.name));
                // Names that are only read are many and alike (`result.output`), so a file has one row of each.
                let source = if is_of_file(one) { whole_file } else { source };
                rows.entry((source, name, Certainty::Name)).or_default().push(one.place);
            }
            let symbols: HashSet<i64> =
                one.targets.iter().filter_map(|(file, place)| self.symbol(*file, *place)).collect();
            for symbol in symbols {
                rows.entry((source, UseTarget::Symbol(symbol), one.certainty)).or_default().push(one.place);
            }
        }
        let mut rows: Vec<UseWrite> = rows
            .into_iter()
            .map(|((source, target, certainty), mut places)| {
                places.sort_unstable();
                places.dedup();
                UseWrite { source, target, certainty, places }
            })
            .collect();
        rows.sort_by_key(|row| (row.places.first().copied(), row.target));
        Some((id, rows))
    }

    /// Returns the innermost definition whose lines contain one: annotations, decorators and bases are used outside of the scopes of their
    /// definitions.
    fn around(&self, file: u32, line: u32) -> Option<i64> {
        let placed = self.placed.get(self.ids.get(file as usize)?)?;
        let line = i32::try_from(line).ok()?;
        // Decorators come before the name, so the definition may be one of the next.
        let end = placed.partition_point(|one| one.line <= line);
        let near = placed.iter().take(end.saturating_add(1)).rev().take(AROUND_MAX);
        let containing = near.filter(|one| one.start_line <= line && line <= one.end_line);
        containing.max_by_key(|one| (one.start_line, -one.end_line)).map(|one| one.symbol)
    }

    /// Returns the symbol whose name is at a place.
    fn symbol(&self, file: u32, place: Place) -> Option<i64> {
        let placed = self.placed.get(self.ids.get(file as usize)?)?;
        let at = (i32::try_from(place.line).ok()?, i32::try_from(place.column).ok()?);
        let first = placed.partition_point(|one| (one.line, one.column) < at);
        placed.get(first).filter(|one| (one.line, one.column) == at).map(|one| one.symbol)
    }
}
