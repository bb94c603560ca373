//! Decides what has to be resolved again after files changed: only files that mention a name whose meaning may have changed.
//!
//! Each file stores the names that it offers, with a hash of what each means, and the names that it mentions. When a file is replaced or
//! removed, the caller compares what it offered before with what it offers now. Names that other interfaces define by means of a changed
//! name change with it ([`affected`]). Names are hashed to 32 bits: two names with the same hash only cause unneeded work.
//!
//! Conclusions from the majority of imports are not tracked: the modules of Go, and the scopes of packages in TypeScript.

use std::collections::{BTreeSet, HashMap, HashSet};

use languages::symbols::{
    Arena, Body, Expr, ExprId, FileSymbols, Imported, Interface, ScopeId, ScopeKind, Symbol, SymbolKind,
};

use super::known_interface::TextNames;
use super::name_hash::{hash, names_in};
use super::paths;
use super::repository::last_name;
use super::rules::{self, python::clues};
use super::source_file::SourceFile;
use packages::Packages;

pub use super::name_hash::NameHash;

/// Increase when the same symbols are resolved to other references; all uses are then resolved again.
pub const RESOLVER_VERSION: i32 = 8;

/// Files that describe the other files of their folder: adding or removing one changes all meanings.
const ROOT_FILES: &[&str] = &[
    "__init__.py", "__init__.pyi", "conftest.py", "lib.rs", "main.rs", "manage.py", "noxfile.py", "setup.py",
];
/// Names of files that represent their folder.
const FOLDER_FILES: &[&str] = &["__init__", "index", "mod"];
/// The language of manifests, and that of the packages that they name.
const MANIFESTS: (&str, &str) = ("toml", "rust");
/// The file name of a manifest; when the name in it changes, so do all meanings.
const MANIFEST: &str = "Cargo.toml";
/// A name that no file can have.
const EVERYTHING: &str = "\n";

/// Returns the name of the family of a language: languages of one family see each other's names. Manifests belong to the family of those
/// whose packages they name.
#[must_use]
pub fn family(language: &str) -> &str {
    let language = if language == MANIFESTS.0 { MANIFESTS.1 } else { language };
    rules::of(language).languages.first().copied().unwrap_or(language)
}

/// Returns the languages of the family of a language.
#[must_use]
pub fn family_languages(language: &str) -> Vec<&str> {
    let languages = rules::of(language).languages;
    let mut languages = if languages.is_empty() { vec![language] } else { languages.to_vec() };
    if language == MANIFESTS.1 {
        languages.push(MANIFESTS.0);
    }
    languages
}

/// Returns the hash of a folder: the last bit is 1, so that it differs from the hash of any name.
fn folder_hash(folder: &str) -> NameHash {
    hash(folder) | 1
}

/// Returns the hash for the fact that a folder is a package imported by its name alone.
fn package_hash(folder: &str) -> NameHash {
    folder_hash(&format!("{folder}\n"))
}

/// Returns the folders around a file, the inner ones first.
fn folders_around(path: &str) -> impl Iterator<Item = &str> {
    let first = paths::folder(path);
    std::iter::successors(Some(first), |folder| Some(paths::folder(folder)))
        .take_while(|folder| !folder.is_empty())
}

/// Returns the hashes under which a name is mentioned.
#[must_use]
pub fn name_hashes(name: &str) -> Vec<NameHash> {
    names_in(name).collect()
}

/// Returns the names by which imports know a file: its own, and that of its folder if the file represents the folder.
fn file_names(path: &str) -> Vec<NameHash> {
    let name = paths::name(path);
    let stem = name.split('.').find(|part| !part.is_empty()).unwrap_or(name);
    let folder = paths::name(paths::folder(path));
    let mut names: Vec<NameHash> = names_in(stem).collect();
    if FOLDER_FILES.contains(&stem) {
        names.extend(names_in(folder));
    }
    names
}

/// Returns the hashes of all names that a file mentions, sorted.
#[must_use]
pub fn mentions(symbols: &FileSymbols) -> Vec<NameHash> {
    let texts = symbols.interface.arena.texts.iter().chain(&symbols.body.arena.texts);
    let names: BTreeSet<NameHash> = texts.flat_map(|text| names_in(text)).collect();
    names.into_iter().collect()
}

/// Returns the names that a file offers to others, each with a hash of its meaning in the lower half; sorted.
#[must_use]
pub fn offers(path: &str, interface: &Interface) -> Vec<u64> {
    Offers::new(path, interface).collect()
}

/// A hash of what determines a meaning, FNV-1a with 64 bits.
#[derive(Clone, Copy)]
struct Meaning(u64);

impl Meaning {
    fn of(tag: u8) -> Self {
        Self(0xcbf2_9ce4_8422_2325).with(&[tag])
    }

    fn with(self, bytes: &[u8]) -> Self {
        let fold = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        // The length separates values that are written one after the other.
        let hash = bytes.iter().fold(self.0, fold);
        Self(bytes.len().to_le_bytes().iter().fold(hash, fold))
    }

    fn with_text(self, text: Option<&str>) -> Self {
        self.with(&[u8::from(text.is_some())]).with(text.unwrap_or_default().as_bytes())
    }

    fn with_hash(self, hash: u64) -> Self {
        self.with(&hash.to_le_bytes())
    }
}

/// Computes what a file offers.
struct Offers<'i> {
    path: &'i str,
    interface: &'i Interface,
    /// The meaning of each expression.
    exprs: Vec<u64>,
    /// The meaning of each scope: the scopes around it.
    scopes: Vec<u64>,
    offers: Vec<u64>,
}

impl<'i> Offers<'i> {
    fn new(path: &'i str, interface: &'i Interface) -> Self {
        let exprs = expr_meanings(&interface.arena);
        Self { path, interface, exprs, scopes: Vec::new(), offers: Vec::new() }
    }

    fn collect(mut self) -> Vec<u64> {
        self.describe_scopes();
        self.add_symbols();
        self.add_imports();
        let file = Meaning::of(0).with(self.path.as_bytes());
        file_names(self.path).into_iter().for_each(|name| self.add(name, file));
        folders_around(self.path).for_each(|folder| self.add(folder_hash(folder), file));
        for clue in clues(self.path, self.interface) {
            self.add(package_hash(clue.package), file.with(clue.inner.as_bytes()));
        }
        if paths::name(self.path) == MANIFEST {
            let imports =
                self.interface.imports.iter().map(|import| self.interface.arena.text(import.module));
            let package = Meaning::of(9).with_text(self.interface.package.as_deref());
            let meaning = imports.fold(package, |meaning, module| meaning.with(module.as_bytes()));
            self.add(hash(EVERYTHING), meaning.with(self.path.as_bytes()));
        }
        if ROOT_FILES.contains(&paths::name(self.path)) {
            self.add(hash(EVERYTHING), file);
        }
        self.offers.sort_unstable();
        self.offers.dedup();
        self.offers
    }

    fn add(&mut self, name: NameHash, Meaning(meaning): Meaning) {
        self.offers.push((u64::from(name) << 32) | (meaning >> 32 ^ meaning & u64::from(u32::MAX)));
    }

    fn add_text(&mut self, name: &str, meaning: Meaning) {
        names_in(name).for_each(|name| self.add(name, meaning));
    }

    fn expr(&self, id: Option<ExprId>) -> u64 {
        id.and_then(|id| self.exprs.get(id as usize)).copied().unwrap_or_default()
    }

    fn exprs(&self, meaning: Meaning, ids: &[ExprId]) -> Meaning {
        ids.iter().fold(meaning.with(&ids.len().to_le_bytes()), |meaning, id| {
            meaning.with_hash(self.expr(Some(*id)))
        })
    }

    fn describe_scopes(&mut self) {
        let arena = &self.interface.arena;
        for scope in &self.interface.scopes {
            let around = self.scopes.get(scope.parent as usize).copied();
            let symbol = scope.symbol.and_then(|symbol| self.interface.symbols.get(symbol as usize));
            let meaning = match around {
                None => Meaning::of(1).with_text(self.interface.package.as_deref()),
                Some(around) => Meaning::of(2)
                    .with_hash(around)
                    .with(&[scope_tag(scope.kind)])
                    .with_text(symbol.map(|symbol| arena.text(symbol.name)))
                    .with_hash(self.expr(scope.target)),
            };
            if let Some(target) = scope.target {
                let name = last_name(arena, target).unwrap_or_default();
                let adds = self.exprs(meaning.with(b"adds"), &scope.bases);
                self.add_text(name, adds);
            }
            self.scopes.push(meaning.0);
        }
    }

    fn add_symbols(&mut self) {
        let mut equals: HashMap<(ScopeId, u32), u32> = HashMap::new();
        for symbol in &self.interface.symbols {
            let ordinal = equals.entry((symbol.scope, symbol.name)).or_default();
            *ordinal += 1;
            let ordinal = *ordinal;
            let flags = [
                symbol_tag(symbol.kind),
                u8::from(symbol.exported),
                u8::from(symbol.is_static),
                u8::from(symbol.is_declaration),
                u8::from(symbol.is_listed),
                u8::from(symbol.inside.is_some()),
            ];
            let meaning = Meaning::of(3)
                .with(&flags)
                .with(&ordinal.to_le_bytes())
                .with_hash(self.scopes.get(symbol.scope as usize).copied().unwrap_or_default())
                .with_hash(self.expr(symbol.declared))
                .with_hash(self.expr(symbol.value));
            let meaning = self.exprs(meaning, &symbol.bases);
            self.add_text(self.interface.arena.text(symbol.name), meaning);
        }
    }

    fn add_imports(&mut self) {
        let arena = &self.interface.arena;
        for import in &self.interface.imports {
            let what = match import.what {
                Imported::Module => Meaning::of(4),
                Imported::Name(name) => Meaning::of(5).with(arena.text(name).as_bytes()),
                Imported::All => Meaning::of(6),
            };
            let meaning = what
                .with(arena.text(import.module).as_bytes())
                .with_text(import.exported.map(|name| arena.text(name)))
                .with_hash(self.scopes.get(import.scope as usize).copied().unwrap_or_default());
            for name in [import.local, import.exported].into_iter().flatten() {
                self.add_text(arena.text(name), meaning);
            }
            if import.what == Imported::All {
                // The names that it passes on are not known here; files that import this file name it.
                file_names(self.path).into_iter().for_each(|name| self.add(name, meaning));
            }
        }
        for export in &self.interface.exports {
            let meaning = Meaning::of(7).with_hash(self.expr(Some(export.value)));
            self.add_text(arena.text(export.name), meaning);
        }
        // A list of exports, whatever it contains, means that nothing else is exported.
        if !self.interface.exports.is_empty() {
            file_names(self.path).into_iter().for_each(|name| self.add(name, Meaning::of(8)));
        }
    }
}

fn scope_tag(kind: ScopeKind) -> u8 {
    match kind {
        ScopeKind::File => 0,
        ScopeKind::Namespace => 1,
        ScopeKind::Type => 2,
        ScopeKind::Function => 3,
        ScopeKind::Block => 4,
    }
}

fn symbol_tag(kind: SymbolKind) -> u8 {
    match kind {
        SymbolKind::Function => 0,
        SymbolKind::Constructor => 1,
        SymbolKind::Type => 2,
        SymbolKind::Alias => 3,
        SymbolKind::Namespace => 4,
        SymbolKind::Variable => 5,
        SymbolKind::Field => 6,
        SymbolKind::Macro => 7,
        SymbolKind::Parameter => 8,
        SymbolKind::Local => 9,
        SymbolKind::TypeParameter => 10,
    }
}

/// Returns the meaning of each expression of an arena; a part is described before the whole.
fn expr_meanings(arena: &Arena) -> Vec<u64> {
    let mut meanings: Vec<u64> = Vec::with_capacity(arena.exprs.len());
    for expr in &arena.exprs {
        let part = |id: ExprId| meanings.get(id as usize).copied().unwrap_or_default();
        let all = |meaning: Meaning, parts: &[ExprId]| {
            parts.iter().fold(meaning, |meaning, id| meaning.with_hash(part(*id)))
        };
        let text = |id: u32| arena.text(id).as_bytes();
        let meaning = match expr {
            Expr::Unknown => Meaning::of(20),
            Expr::Name(name) => Meaning::of(21).with(text(*name)),
            Expr::Member(of, name) => Meaning::of(22).with_hash(part(*of)).with(text(*name)),
            Expr::Call(of) => Meaning::of(23).with_hash(part(*of)),
            Expr::Instance(of) => Meaning::of(24).with_hash(part(*of)),
            Expr::Apply(of, arguments) => all(Meaning::of(25).with_hash(part(*of)), arguments),
            Expr::Inside(of) => Meaning::of(26).with_hash(part(*of)),
            Expr::Either(parts) => all(Meaning::of(27), parts),
            Expr::This => Meaning::of(28),
            Expr::ThisType => Meaning::of(29),
            Expr::Super => Meaning::of(30),
            Expr::Given(of, number) => Meaning::of(31).with_hash(part(*of)).with(&number.to_le_bytes()),
        };
        meanings.push(meaning.0);
    }
    meanings
}

/// Returns all names whose meaning may have changed, given the names that files now offer otherwise than before, and the files (numbers in
/// `files`) that are new or changed. `None` if it may be any name.
#[must_use]
pub fn affected(
    files: &[SourceFile],
    unresolved: &HashSet<u32>,
    changed: impl IntoIterator<Item = NameHash>,
) -> Option<HashSet<NameHash>> {
    let (folders, mut changed): (HashSet<NameHash>, HashSet<NameHash>) =
        changed.into_iter().partition(|hash| hash & 1 == 1);
    let around = files.iter().flat_map(|file| folders_around(&file.path));
    let mut existing: HashSet<NameHash> = around.map(folder_hash).collect();
    let packages = Packages::new(files, unresolved, &existing);
    existing.extend(packages.hashes());
    // The names of deleted folders are not known.
    if changed.contains(&hash(EVERYTHING)) || !folders.is_subset(&existing) {
        return None;
    }
    changed.extend(new_folders(files, unresolved));
    // Each round adds a name or ends the loop.
    loop {
        let before = changed.len();
        for file in files {
            let texts = file.interface.names();
            let touched: Vec<bool> =
                texts.iter().map(|names| names.iter().any(|name| changed.contains(name))).collect();
            if touched.contains(&true) {
                pass_on(file, &touched, texts, &mut changed);
            }
        }
        packages.pass_on(&folders, &mut changed);
        if changed.len() == before {
            return Some(changed);
        }
    }
}

/// Returns the names of folders with nothing but unresolved files, which may be new.
fn new_folders(files: &[SourceFile], unresolved: &HashSet<u32>) -> HashSet<NameHash> {
    let mut folders: HashMap<&str, bool> = HashMap::new();
    for (number, file) in (0..).zip(files) {
        let is_old = !unresolved.contains(&number);
        for folder in folders_around(&file.path) {
            *folders.entry(folder).or_insert(false) |= is_old;
        }
    }
    let new = folders.into_iter().filter(|(_, has_old)| !has_old);
    new.flat_map(|(folder, _)| names_in(paths::name(folder))).collect()
}

/// Adds the names that a file defines by means of changed ones. `touched` marks the texts that contain a changed name, `texts` has the
/// names in each text.
fn pass_on(file: &SourceFile, touched: &[bool], texts: &TextNames, changed: &mut HashSet<NameHash>) {
    let interface = &file.interface;
    let exprs = touched_exprs(&interface.arena, touched);
    let text = |id: u32| touched.get(id as usize).copied().unwrap_or(false);
    let expr = |id: &ExprId| exprs.get(*id as usize).copied().unwrap_or(false);
    let mut add = |id: u32| changed.extend(texts.of(id).iter().copied());
    let scopes: Vec<bool> = interface
        .scopes
        .iter()
        .map(|scope| scope.target.iter().any(expr) || scope.bases.iter().any(expr))
        .collect();
    for symbol in &interface.symbols {
        let Symbol { declared, value, bases, .. } = symbol;
        let in_touched = scopes.get(symbol.scope as usize).copied().unwrap_or(false);
        if in_touched || declared.iter().chain(value).chain(bases).any(expr) {
            add(symbol.name);
        }
    }
    let mut names_file = false;
    for import in &interface.imports {
        let name = match import.what {
            Imported::Name(name) => text(name),
            Imported::Module | Imported::All => false,
        };
        if name || text(import.module) {
            [import.local, import.exported].into_iter().flatten().for_each(&mut add);
            names_file |= import.what == Imported::All;
        }
    }
    interface.exports.iter().filter(|export| expr(&export.value)).for_each(|export| add(export.name));
    let targets = interface.scopes.iter().zip(&scopes).filter(|(_, touched)| **touched);
    let targets = targets.filter_map(|(scope, _)| last_name(&interface.arena, scope.target?));
    changed.extend(targets.flat_map(names_in));
    if names_file {
        changed.extend(file_names(&file.path));
    }
}

/// Marks the expressions that contain a touched text.
fn touched_exprs(arena: &Arena, texts: &[bool]) -> Vec<bool> {
    let mut touched: Vec<bool> = Vec::with_capacity(arena.exprs.len());
    for expr in &arena.exprs {
        let text = |id: u32| texts.get(id as usize).copied().unwrap_or(false);
        let part = |id: &ExprId| touched.get(*id as usize).copied().unwrap_or(false);
        let is_touched = match expr {
            Expr::Unknown | Expr::This | Expr::ThisType | Expr::Super => false,
            Expr::Name(name) => text(*name),
            Expr::Member(of, name) => text(*name) || part(of),
            Expr::Call(of) | Expr::Instance(of) | Expr::Inside(of) | Expr::Given(of, _) => part(of),
            Expr::Apply(of, arguments) => part(of) || arguments.iter().any(part),
            Expr::Either(parts) => parts.iter().any(part),
        };
        touched.push(is_touched);
    }
    touched
}

/// Returns the places of a symbol's name and of the definitions around it, the innermost first. To find the definition around a use, take
/// the first of these places that has one.
#[must_use]
pub fn places_around(
    interface: &Interface,
    body: &Body,
    symbol: languages::symbols::SymbolId,
) -> Vec<languages::symbols::Place> {
    let symbol_at = |id: u32| match (id as usize).checked_sub(interface.symbols.len()) {
        None => interface.symbols.get(id as usize),
        Some(at) => body.symbols.get(at),
    };
    let scope_at = |id: ScopeId| match (id as usize).checked_sub(interface.scopes.len()) {
        None => interface.scopes.get(id as usize),
        Some(at) => body.scopes.get(at),
    };
    let Some(first) = symbol_at(symbol) else { return Vec::new() };
    let mut places = vec![first.place];
    let mut at = first.scope;
    while let Some(scope) = scope_at(at) {
        places.extend(scope.symbol.and_then(symbol_at).map(|symbol| symbol.place));
        // A scope is around those with larger numbers, so this ends.
        if at == 0 || scope.parent >= at {
            break;
        }
        at = scope.parent;
    }
    places
}

#[cfg(test)]
mod edits;
mod packages;
