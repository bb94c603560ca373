//! Replaces the uses in a file that follow from scopes and types by those of a compiler's indexer.
//!
//! The indexer decides only at places that it knows, and only which definition is referred to: the kind of use, and the definition around
//! it, follow from the syntax. A name that refers to something local or outside of the repository is no longer a use.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::OnceLock;

use languages::symbols::{Body, Interface, Place, ScopeId, Symbol, SymbolId, SymbolKind, Use};
use navigation::incremental::places_around;
use navigation::scip::{GivenDocument, GivenTarget, Roles};
use navigation::{ReferenceKind, Repository};

use super::uses::{FileUses, PlacedUse, used_for};
use store::{Certainty, UsePlace, UsedFor};

/// Maximum number of scopes around a symbol that are examined.
const SCOPES_MAX: usize = 64;

/// Places and names of the definitions of a repository, of each file as soon as an indexer refers to it.
pub(super) struct GivenPlaces {
    files: HashMap<String, u32>,
    /// Files that are unchanged since an indexer read them, so that places in them are right.
    unchanged: HashSet<u32>,
    definitions: Vec<OnceLock<FileDefinitions>>,
}

/// The definitions of a file that others can see.
#[derive(Default)]
struct FileDefinitions {
    places: HashMap<Place, SymbolId>,
    names: HashMap<String, Vec<SymbolId>>,
}

impl GivenPlaces {
    /// Creates the places of a repository.
    pub(super) fn new(repository: &Repository, unchanged: HashSet<u32>) -> Self {
        let files = repository.files();
        Self {
            files: files.iter().zip(0..).map(|(file, number)| (file.path.clone(), number)).collect(),
            unchanged,
            definitions: files.iter().map(|_| OnceLock::new()).collect(),
        }
    }

    fn definitions<'a>(
        &'a self,
        repository: &'a Repository,
        file: u32,
    ) -> Option<(&'a FileDefinitions, &'a Interface)> {
        let interface = &repository.files().get(file as usize)?.interface;
        let definitions = self.definitions.get(file as usize)?.get_or_init(|| {
            let mut all = FileDefinitions::default();
            for (symbol, number) in interface.symbols.iter().zip(0..) {
                all.places.entry(symbol.place).or_insert(number);
                let name = interface.arena.text(symbol.name);
                all.names.entry(name.to_owned()).or_default().push(number);
            }
            all
        });
        Some((definitions, interface))
    }

    /// Returns whether a type is defined at a place that others can see.
    fn is_type(&self, repository: &Repository, file: u32, place: Place) -> bool {
        self.definitions(repository, file).is_some_and(|(definitions, interface)| {
            let symbol =
                definitions.places.get(&place).and_then(|symbol| interface.symbols.get(*symbol as usize));
            symbol.is_some_and(|symbol| matches!(symbol.kind, SymbolKind::Type | SymbolKind::Alias))
        })
    }

    /// Returns the files and places where a symbol is defined now.
    fn of(&self, repository: &Repository, target: GivenTarget<'_>) -> Vec<(u32, Place)> {
        let mut found = Vec::new();
        for (path, place) in target.definitions() {
            let Some(file) = self.files.get(path).copied() else { continue };
            let place = place.filter(|_| self.unchanged.contains(&file));
            found.extend(
                place.or_else(|| self.by_name(repository, file, target.names())).map(|place| (file, place)),
            );
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Returns the place of the only definition with these names in a file that has changed since the indexer read it.
    fn by_name(&self, repository: &Repository, file: u32, names: &[String]) -> Option<Place> {
        let (definitions, interface) = self.definitions(repository, file)?;
        let same = definitions.names.get(names.last()?)?.iter();
        let mut same = same.filter_map(|number| interface.symbols.get(*number as usize));
        let mut fitting = same.by_ref().filter(|symbol| has_names(interface, symbol, names));
        let only = fitting.next()?;
        fitting.next().is_none().then_some(only.place)
    }
}

/// Returns whether a symbol of an interface has these names, the outermost first.
fn has_names(interface: &Interface, symbol: &Symbol, names: &[String]) -> bool {
    let mut names = names.iter().rev();
    let mut symbol = Some(symbol);
    while let Some(inner) = symbol {
        if names.next().is_none_or(|name| name != interface.arena.text(inner.name)) {
            return false;
        }
        symbol = around(interface, inner.scope);
    }
    names.next().is_none()
}

/// Returns the innermost definition around a scope.
fn around(interface: &Interface, mut scope: ScopeId) -> Option<&Symbol> {
    for _ in 0..SCOPES_MAX {
        let row = interface.scopes.get(scope as usize)?;
        if let Some(symbol) = row.symbol {
            return interface.symbols.get(symbol as usize);
        }
        if scope == 0 {
            return None;
        }
        scope = row.parent;
    }
    None
}

/// An indexer's statement about the name at a place. A smaller one says more.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Said {
    /// It refers to definitions at these places.
    Targets(Vec<(u32, Place)>),
    /// It refers to a module, or to a definition that cannot be found.
    Unclear,
    /// It refers to something local, or outside of the repository.
    Elsewhere,
}

/// Replaces the uses of a file by those of an indexer.
pub(super) fn apply(
    uses: &mut FileUses,
    repository: &Repository,
    body: &Body,
    given: &GivenDocument,
    places: &GivenPlaces,
) {
    let Some(interface) = repository.files().get(uses.file as usize).map(|file| &file.interface) else {
        return;
    };
    let own = OwnSymbols::new(interface, body);
    let mut targets: HashMap<usize, Vec<(u32, Place)>> = HashMap::new();
    let mut of = |target: GivenTarget<'_>| -> Vec<(u32, Place)> {
        targets.entry(target.number()).or_insert_with(|| places.of(repository, target)).clone()
    };
    let mut said: BTreeMap<Place, Said> = BTreeMap::new();
    let mut roles: HashMap<Place, Roles> = HashMap::new();
    let mut implemented = Vec::new();
    for one in given.occurrences() {
        if one.roles.contains(Roles::DEFINITION) {
            let bases: Vec<_> =
                one.symbol.into_iter().flat_map(GivenTarget::implements).flat_map(&mut of).collect();
            if !bases.is_empty() {
                implemented.push((one.place, bases));
            }
            continue;
        }
        let here = match one.symbol {
            None => Said::Elsewhere,
            Some(symbol) if symbol.names().is_empty() => Said::Unclear,
            Some(symbol) => match of(symbol) {
                found if found.is_empty() => Said::Unclear,
                found if found.iter().all(|(file, place)| *file == uses.file && own.is_local(*place)) => {
                    Said::Elsewhere
                }
                found => Said::Targets(found),
            },
        };
        let all = roles.entry(one.place).or_default();
        *all = all.with(one.roles);
        said.entry(one.place).and_modify(|before| before.join(here.clone())).or_insert(here);
    }
    uses.uses.retain_mut(|one| {
        let place = Place { line: one.place.line, column: one.place.column };
        match said.get(&place) {
            Some(Said::Targets(found)) if one.place.kind != UsedFor::Override => {
                one.targets.clone_from(found);
                one.certainty = Certainty::Scip;
                true
            }
            Some(Said::Elsewhere) => one.place.kind == UsedFor::Override,
            _ => true,
        }
    });
    let kind_of = |place: Place, targets: &[(u32, Place)]| {
        let roles = roles.get(&place).copied().unwrap_or_default();
        if roles.contains(Roles::IMPORT) {
            return UsedFor::Import;
        } else if roles.contains(Roles::WRITE) {
            return UsedFor::Write;
        }
        let are_types = targets.iter().all(|(file, place)| places.is_type(repository, *file, *place));
        if are_types { UsedFor::Type } else { UsedFor::Read }
    };
    add_missing(uses, &own, &said, &kind_of);
    for (place, bases) in implemented {
        add_bases(uses, &own, place, bases);
    }
}

impl Said {
    /// Adds another statement about the same place.
    fn join(&mut self, other: Self) {
        if let (Self::Targets(all), Self::Targets(more)) = (&mut *self, &other) {
            all.extend(more);
            all.sort_unstable();
            all.dedup();
        } else if other < *self {
            *self = other;
        }
    }
}

/// Determines the kind of use of definitions at other places by their places and the place of the use.
type KindOf<'k> = dyn Fn(Place, &[(u32, Place)]) -> UsedFor + 'k;

/// Adds uses whose targets only the indexer knows: those that are not resolved otherwise, and those that the syntax does not list, such as
/// the bounds of type parameters.
fn add_missing(
    uses: &mut FileUses,
    own: &OwnSymbols<'_>,
    said: &BTreeMap<Place, Said>,
    kind_of: &KindOf<'_>,
) {
    let known: HashSet<(u32, u32)> = uses.uses.iter().map(|one| (one.place.line, one.place.column)).collect();
    let missing = said.iter().filter_map(|(place, said)| match said {
        Said::Targets(targets) if !known.contains(&(place.line, place.column)) => Some((*place, targets)),
        _ => None,
    });
    let missing: Vec<(Place, &Vec<(u32, Place)>)> = missing.collect();
    if missing.is_empty() {
        return;
    }
    let listed: HashMap<Place, &Use> = own.body.uses.iter().map(|used| (used.place, used)).collect();
    let mut sources: HashMap<SymbolId, usize> = HashMap::new();
    for (place, targets) in missing {
        // Without a scope, the definition around it follows from the lines.
        let (source, kind) = match listed.get(&place) {
            Some(used) => (own.source(used.scope), used_for(ReferenceKind::Use(used.kind))),
            None => (None, kind_of(place, targets)),
        };
        let around = source.map(|symbol| {
            *sources.entry(symbol).or_insert_with(|| {
                uses.around.push(places_around(own.interface, own.body, symbol));
                uses.around.len() - 1
            })
        });
        uses.uses.push(PlacedUse {
            place: UsePlace { line: place.line, column: place.column, kind },
            around,
            derives_elsewhere: false,
            name: String::new(),
            targets: targets.clone(),
            certainty: Certainty::Scip,
        });
    }
}

/// Adds the types that a definition implements, or the methods that it overrides.
fn add_bases(uses: &mut FileUses, own: &OwnSymbols<'_>, place: Place, bases: Vec<(u32, Place)>) {
    let Some(symbol) = own.places.get(&place).copied() else { return };
    let is_type = own.get(symbol).is_some_and(|symbol| symbol.kind == SymbolKind::Type);
    let kind = if is_type { UsedFor::Inherit } else { UsedFor::Override };
    let place = UsePlace { line: place.line, column: place.column, kind };
    let around_type = own.get(symbol).map(|symbol| symbol.place);
    let mut bases = bases;
    // In the text, bases are at the place where it names them.
    if is_type {
        bases.retain(|base| {
            !uses.uses.iter().any(|one| {
                let around = one.around.and_then(|at| uses.around.get(at)).and_then(|places| places.first());
                one.place.kind == UsedFor::Inherit
                    && around.copied() == around_type
                    && one.targets.contains(base)
            })
        });
    } else {
        uses.uses.retain(|one| one.place != place);
    }
    if bases.is_empty() {
        return;
    }
    uses.around.push(places_around(own.interface, own.body, symbol));
    uses.uses.push(PlacedUse {
        place,
        around: Some(uses.around.len() - 1),
        derives_elsewhere: false,
        name: String::new(),
        targets: bases,
        certainty: Certainty::Scip,
    });
}

/// The symbols of the file itself.
struct OwnSymbols<'s> {
    interface: &'s Interface,
    body: &'s Body,
    places: HashMap<Place, SymbolId>,
}

impl<'s> OwnSymbols<'s> {
    fn new(interface: &'s Interface, body: &'s Body) -> Self {
        let symbols = interface.symbols.iter().chain(&body.symbols);
        let places = symbols.zip(0..).map(|(symbol, number)| (symbol.place, number)).collect();
        Self { interface, body, places }
    }

    fn get(&self, symbol: SymbolId) -> Option<&'s Symbol> {
        let symbol = symbol as usize;
        let inside = symbol.checked_sub(self.interface.symbols.len());
        inside.map_or_else(|| self.interface.symbols.get(symbol), |at| self.body.symbols.get(at))
    }

    /// Returns whether a local name is defined at a place.
    fn is_local(&self, place: Place) -> bool {
        let symbol = self.places.get(&place).and_then(|symbol| self.get(*symbol));
        symbol.is_some_and(is_local)
    }

    /// Returns the innermost definition around a scope, of those that are not local names.
    fn source(&self, mut scope: ScopeId) -> Option<SymbolId> {
        for _ in 0..SCOPES_MAX {
            let inside = (scope as usize).checked_sub(self.interface.scopes.len());
            let row = match inside {
                None => self.interface.scopes.get(scope as usize),
                Some(at) => self.body.scopes.get(at),
            }?;
            let symbol =
                row.symbol.filter(|symbol| self.get(*symbol).is_some_and(|symbol| !is_local(symbol)));
            if symbol.is_some() || scope == 0 {
                return symbol;
            }
            scope = row.parent;
        }
        None
    }
}

const fn is_local(symbol: &Symbol) -> bool {
    matches!(symbol.kind, SymbolKind::Parameter | SymbolKind::Local | SymbolKind::TypeParameter)
}
