//! The files of a repository, with what they see of each other.

use std::collections::HashMap;
use std::sync::OnceLock;

use languages::symbols::{Arena, Expr, ExprId, Imported, ScopeId, Symbol};

use super::index::{Half, Index};
use super::packages::Packages;
use super::paths::Paths;
use super::reference::Target;
use super::rules::{self, Family};
use super::source_file::SourceFile;
use super::value::Module;

/// Maximum number of imports that hold in all files.
const GLOBAL_STARS_MAX: usize = 256;
/// Maximum number of scopes that add members to types of one name.
pub(crate) const EXTENSIONS_MAX: usize = 1024;

/// Maximum number of files that one file includes itself.
const INCLUDES_MAX: usize = 1024;

/// A symbol that extends a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Extending {
    /// The symbol.
    pub(crate) member: Target,
    /// The file and the scope that say which type: the scope of the member, or one that implements the trait of the member.
    pub(crate) by: (u32, ScopeId),
}

/// Rows by family and name.
pub(crate) type ByName<R> = HashMap<(Family, String), Vec<R>>;

/// The files of a repository.
pub struct Repository {
    pub(crate) paths: Paths,
    packages: OnceLock<Packages>,
    /// The files that each file includes or requires, computed on first use.
    includes: Vec<OnceLock<Vec<u32>>>,
    /// Scopes that add members to a type, by the family and the last name of the type.
    extensions: OnceLock<ByName<(u32, ScopeId)>>,
    /// Data that the rules of some languages gather from all files.
    pub(crate) ecmascript: OnceLock<super::rules::EcmaScriptPackages>,
    pub(crate) go: OnceLock<super::rules::GoFolders>,
    pub(crate) python: OnceLock<super::rules::PythonPackages>,
    pub(crate) rust: OnceLock<super::rules::RustCrates>,
    /// Symbols that are also members of a type that they extend, by family and name.
    pub(crate) extending: OnceLock<ByName<Extending>>,
    /// Imports of all names that hold in all files of a family.
    global_stars: OnceLock<Vec<(Family, u32, u32)>>,
}

impl Repository {
    /// Creates a repository with these files; targets number them in this order.
    #[must_use]
    pub fn new(files: Vec<SourceFile>) -> Self {
        let includes = files.iter().map(|_| OnceLock::new()).collect();
        let families = files.iter().map(|file| rules::of(&file.language).family).collect();
        Self {
            paths: Paths::new(files, families),
            includes,
            packages: OnceLock::new(),
            extensions: OnceLock::new(),
            extending: OnceLock::new(),
            global_stars: OnceLock::new(),
            ecmascript: OnceLock::new(),
            go: OnceLock::new(),
            python: OnceLock::new(),
            rust: OnceLock::new(),
        }
    }

    /// Returns its files.
    #[must_use]
    pub fn files(&self) -> &[SourceFile] {
        self.paths.files()
    }

    /// Returns what others see of a file, with its index. `None` for a number that the repository does not have.
    pub(crate) fn interface(&self, file: u32) -> Option<(Half<'_>, &Index)> {
        let interface = &self.files().get(file as usize)?.interface;
        Some((Half::interface(interface), interface.index()))
    }

    /// Returns a symbol that others can see, with the arena of its expressions.
    pub(crate) fn seen_symbol(&self, target: Target) -> Option<(&Symbol, &Arena)> {
        let interface = &self.files().get(target.file as usize)?.interface;
        Some((interface.symbols.get(target.symbol as usize)?, &interface.arena))
    }

    /// Returns the packages and namespaces that go across files.
    pub(crate) fn packages(&self) -> &Packages {
        self.packages.get_or_init(|| Packages::new(self.files()))
    }

    /// Returns the files that a file includes or requires itself.
    pub(crate) fn includes(&self, file: u32) -> &[u32] {
        let find = || {
            let Some(source) = self.files().get(file as usize) else { return Vec::new() };
            let (interface, rules) = (&source.interface, rules::of(&source.language));
            let all = interface.imports.iter().filter(|import| import.what == Imported::All);
            let located = all.flat_map(|row| (rules.modules)(self, file, interface.arena.text(row.module)));
            let files = located.filter_map(|one| match one.module {
                Module::File(other) => Some(other),
                Module::Folder { .. } | Module::Package(_) => None,
            });
            files.take(INCLUDES_MAX).collect()
        };
        self.includes.get(file as usize).map_or(&[], |known| known.get_or_init(find))
    }

    /// Returns scopes that may add members to a type of this name.
    pub(crate) fn extensions(&self, family: Family, name: &str) -> &[(u32, ScopeId)] {
        let all = self.extensions.get_or_init(|| self.find_extensions());
        all.get(&(family, name.to_owned())).map_or(&[], Vec::as_slice)
    }

    /// Returns imports of all names that hold in all files of a family: file and number of the import.
    pub(crate) fn global_stars(&self, family: Family) -> impl Iterator<Item = (u32, u32)> {
        let all = self.global_stars.get_or_init(|| {
            let mut found = Vec::new();
            for (number, file) in (0..).zip(self.files()) {
                let family = self.paths.family(number);
                if !super::rules::of_family(family).global_stars {
                    continue;
                }
                for (import, row) in (0..).zip(&file.interface.imports) {
                    let holds = row.what == Imported::All && row.exported.is_some();
                    if holds && found.len() < GLOBAL_STARS_MAX {
                        found.push((family, number, import));
                    }
                }
            }
            found
        });
        all.iter().filter(move |row| row.0 == family).map(|row| (row.1, row.2))
    }

    fn find_extensions(&self) -> HashMap<(Family, String), Vec<(u32, ScopeId)>> {
        let mut found: HashMap<_, Vec<_>> = HashMap::new();
        for (number, file) in (0..).zip(self.files()) {
            for (scope, row) in (0..).zip(&file.interface.scopes) {
                let name = row.target.and_then(|target| last_name(&file.interface.arena, target));
                if let Some(name) = name {
                    let same = found.entry((self.paths.family(number), name.to_owned())).or_default();
                    if same.len() < EXTENSIONS_MAX {
                        same.push((number, scope));
                    }
                }
            }
        }
        found
    }
}

/// Returns the last name of a type expression.
pub(crate) fn last_name(arena: &Arena, mut expr: ExprId) -> Option<&str> {
    loop {
        // A part has a smaller number than the whole, so this ends.
        expr = match arena.expr(expr) {
            Expr::Name(name) | Expr::Member(_, name) => return Some(arena.text(*name)),
            Expr::Apply(of, _) | Expr::Instance(of) | Expr::Inside(of) if *of < expr => *of,
            _ => return None,
        };
    }
}
