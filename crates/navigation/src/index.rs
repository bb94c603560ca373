//! Finds the symbols, imports and exports of one half of a file by name.

use languages::symbols::{
    Arena, Body, Export, Import, Imported, Interface, Scope, ScopeId, Symbol, SymbolId, TextId,
};

/// Maximum number of rows of one name that are looked at.
const SAME_NAME_MAX: usize = 64;

/// One half of a file.
#[derive(Clone, Copy)]
pub(crate) struct Half<'r> {
    pub(crate) arena: &'r Arena,
    pub(crate) scopes: &'r [Scope],
    pub(crate) symbols: &'r [Symbol],
    pub(crate) imports: &'r [Import],
    pub(crate) exports: &'r [Export],
    /// Number of its first symbol.
    pub(crate) first_symbol: SymbolId,
}

impl<'r> Half<'r> {
    /// Returns the half that other files see.
    pub(crate) fn interface(interface: &'r Interface) -> Self {
        let Interface { arena, scopes, symbols, imports, exports, .. } = interface;
        Self { arena, scopes, symbols, imports, exports, first_symbol: 0 }
    }

    /// Returns the half that only the file itself sees.
    pub(crate) fn body(interface: &Interface, body: &'r Body) -> Self {
        let Body { arena, scopes, symbols, imports, .. } = body;
        Self {
            arena,
            scopes,
            symbols,
            imports,
            exports: &[],
            first_symbol: interface.symbols.len() as SymbolId,
        }
    }
}

/// The rows of a half in the order of their names.
#[derive(Debug, Default)]
pub(crate) struct Index {
    /// Texts in the order of their content.
    texts: Vec<TextId>,
    symbols: Vec<(ScopeId, TextId, SymbolId)>,
    /// Imports by the name that they bind in their scope.
    imports: Vec<(ScopeId, TextId, u32)>,
    /// Imports of all names, by scope.
    stars: Vec<(ScopeId, u32)>,
    /// Exports by name.
    exports: Vec<(TextId, u32)>,
    /// Imports by the name under which the file passes them on.
    passed_on: Vec<(TextId, u32)>,
}

impl Index {
    pub(crate) fn new(half: Half<'_>) -> Self {
        let Half { arena, symbols, imports, exports, first_symbol, .. } = half;
        let mut texts: Vec<TextId> = (0..arena.texts.len() as TextId).collect();
        texts.sort_unstable_by_key(|text| arena.text(*text));
        let mut index = Self { texts, ..Self::default() };
        index.symbols.extend((first_symbol..).zip(symbols).map(|(id, row)| (row.scope, row.name, id)));
        for (at, import) in (0..).zip(imports) {
            index.imports.extend(import.local.map(|local| (import.scope, local, at)));
            if import.what == Imported::All {
                index.stars.push((import.scope, at));
            } else {
                index.passed_on.extend(import.exported.map(|exported| (exported, at)));
            }
        }
        index.exports.extend((0..).zip(exports).map(|(at, export)| (export.name, at)));
        index.symbols.sort_unstable();
        index.imports.sort_unstable();
        index.stars.sort_unstable();
        index.exports.sort_unstable();
        index.passed_on.sort_unstable();
        index
    }

    fn text(&self, half: Half<'_>, name: &str) -> Option<TextId> {
        let found = self.texts.binary_search_by_key(&name, |text| half.arena.text(*text));
        found.ok().map(|at| self.texts[at])
    }

    /// Returns the symbols of a name in a scope.
    pub(crate) fn symbols(
        &self,
        half: Half<'_>,
        scope: ScopeId,
        name: &str,
    ) -> impl Iterator<Item = SymbolId> {
        let name = self.text(half, name);
        let from = name.map_or(self.symbols.len(), |name| {
            self.symbols.partition_point(|row| (row.0, row.1) < (scope, name))
        });
        let here = self.symbols[from..].iter().take_while(move |row| row.0 == scope && Some(row.1) == name);
        here.map(|row| row.2).take(SAME_NAME_MAX)
    }

    /// Returns the symbols of a scope.
    pub(crate) fn symbols_of(&self, scope: ScopeId) -> impl Iterator<Item = SymbolId> {
        let from = self.symbols.partition_point(|row| row.0 < scope);
        self.symbols[from..].iter().take_while(move |row| row.0 == scope).map(|row| row.2)
    }

    /// Returns the imports that bind a name in a scope.
    pub(crate) fn imports(&self, half: Half<'_>, scope: ScopeId, name: &str) -> impl Iterator<Item = u32> {
        let name = self.text(half, name);
        let from = name.map_or(self.imports.len(), |name| {
            self.imports.partition_point(|row| (row.0, row.1) < (scope, name))
        });
        let here = self.imports[from..].iter().take_while(move |row| row.0 == scope && Some(row.1) == name);
        here.map(|row| row.2).take(SAME_NAME_MAX)
    }

    /// Returns the imports of all names in a scope.
    pub(crate) fn stars(&self, scope: ScopeId) -> impl Iterator<Item = u32> {
        let from = self.stars.partition_point(|row| row.0 < scope);
        self.stars[from..].iter().take_while(move |row| row.0 == scope).map(|row| row.1)
    }

    /// Returns the exports of a name.
    pub(crate) fn exports(&self, half: Half<'_>, name: &str) -> impl Iterator<Item = u32> {
        by_name(&self.exports, self.text(half, name))
    }

    /// Returns the imports that the file passes on under a name.
    pub(crate) fn passed_on(&self, half: Half<'_>, name: &str) -> impl Iterator<Item = u32> {
        by_name(&self.passed_on, self.text(half, name))
    }
}

fn by_name(rows: &[(TextId, u32)], name: Option<TextId>) -> impl Iterator<Item = u32> {
    let from = name.map_or(rows.len(), |name| rows.partition_point(|row| row.0 < name));
    rows[from..].iter().take_while(move |row| Some(row.0) == name).map(|row| row.1).take(SAME_NAME_MAX)
}
