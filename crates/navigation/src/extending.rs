//! Gathers what extends types by its name: members of extensions, extension functions, and the methods of traits that types from
//! elsewhere implement.

use std::collections::{HashMap, HashSet};

use languages::symbols::{ScopeId, ScopeKind, SymbolKind};

use super::reference::Target;
use super::repository::{ByName, EXTENSIONS_MAX, Extending, Repository, last_name};
use super::rules::{self, Family};

impl Repository {
    /// Returns symbols of this name that extend a type.
    pub(crate) fn extending(&self, family: Family, name: &str) -> &[Extending] {
        let all = self.extending.get_or_init(|| find(self));
        all.get(&(family, name.to_owned())).map_or(&[], Vec::as_slice)
    }
}

/// Finds the symbols that extend types in a repository, by family and name.
fn find(repository: &Repository) -> ByName<Extending> {
    let mut found: ByName<Extending> = HashMap::new();
    let mut add = |member: Target, by: (u32, ScopeId)| {
        let Some((row, arena)) = repository.seen_symbol(member) else { return };
        let name = arena.text(row.name).to_owned();
        let same = found.entry((repository.paths.family(member.file), name)).or_default();
        if same.len() < EXTENSIONS_MAX {
            same.push(Extending { member, by });
        }
    };
    let own_types = own_types(repository);
    // Scopes that implement a trait for a type from elsewhere, by the name of the trait.
    let mut implementing: HashMap<&str, Vec<(u32, ScopeId)>> = HashMap::new();
    for (number, file) in (0..).zip(repository.files()) {
        let rules = rules::of(&file.language);
        if !rules.visible_extensions {
            continue;
        }
        let arena = &file.interface.arena;
        for (scope, row) in (0..).zip(&file.interface.scopes) {
            let extended = row.target.and_then(|of| last_name(arena, of));
            // Where only traits extend types from elsewhere, all other members are those of types of the repository.
            let is_own = || row.bases.is_empty() || extended.is_none_or(|name| own_types.contains(name));
            if rules.bases_by_scope && is_own() {
                continue;
            }
            if let Some(symbol) = row.symbol.filter(|_| row.target.is_some()) {
                add(Target { file: number, symbol }, (number, scope));
            } else if extended.is_some() && row.kind == ScopeKind::Type {
                for symbol in members(repository, number, scope) {
                    add(symbol, (number, scope));
                }
                for base in row.bases.iter().filter(|_| rules.bases_by_scope) {
                    let same = last_name(arena, *base).map(|name| implementing.entry(name).or_default());
                    if let Some(same) = same.filter(|same| same.len() < EXTENSIONS_MAX) {
                        same.push((number, scope));
                    }
                }
            }
        }
    }
    // Methods that a trait has itself, which those scopes need not repeat.
    for (number, file) in (0..).zip(repository.files()) {
        if !rules::of(&file.language).bases_by_scope {
            continue;
        }
        for row in file.interface.symbols.iter().filter(|row| row.kind == SymbolKind::Type) {
            let implementing = implementing.get(file.interface.arena.text(row.name));
            for by in implementing.into_iter().flatten() {
                for member in row.inside.into_iter().flat_map(|scope| members(repository, number, scope)) {
                    add(member, *by);
                }
            }
        }
    }
    found
}

/// Returns the symbols in a scope of a file.
fn members(repository: &Repository, file: u32, scope: ScopeId) -> Vec<Target> {
    let symbols = repository.interface(file).map(|(_, index)| index.symbols_of(scope));
    symbols.into_iter().flatten().map(|symbol| Target { file, symbol }).collect()
}

/// Returns the names of types that files define and that get members from elsewhere by traits alone.
fn own_types(repository: &Repository) -> HashSet<&str> {
    let files = repository.files().iter().filter(|file| rules::of(&file.language).bases_by_scope);
    let types = files.flat_map(|file| {
        let symbols =
            file.interface.symbols.iter().filter(|row| row.kind == SymbolKind::Type && row.scope == 0);
        symbols.map(|row| file.interface.arena.text(row.name))
    });
    types.collect()
}
